/** Part 7 of the contract: answers in br, zstd and gzip, each with a separate tag. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'

const fields = { name: f.text({ filter: true }), note: f.text({ max: 9000, default: '' }) }
const access = 'public'

const library = service({
  name: 'library',
  resources: {
    books: { prefix: 'bok', fields, access },
    letters: { prefix: 'let', fields, access, settings: { resource: { compress: false } } },
    cards: { prefix: 'crd', fields, access, settings: { compression: { minBytes: 0 } } },
    stones: { prefix: 'stn', fields, access, settings: { compression: { minBytes: 'off' } } },
    films: { prefix: 'flm', fields, access, settings: { etag: { mode: 'weak' } } },
  },
})

const note = 'So it goes on and on, page after page. '.repeat(60)

async function made(door: Door, collection = 'books', json: object = { name: 'A', note }): Promise<string> {
  return (await door.send('POST', `/${collection}`, { json })).headers.location as string
}

const get = (door: Door, path: string, accept: string, headers: Record<string, string> = {}): Promise<Answer> =>
  door.send('GET', path, { headers: { 'accept-encoding': accept, ...headers } })

doors('coding', library, (door) => {
  spec('R146', 'the best acceptable coding is used, by quality', async () => {
    const path = await made(door)
    const plain = await door.send('GET', path)
    for (const [accept, coding] of [
      ['gzip', 'gzip'],
      ['br', 'br'],
      ['zstd', 'zstd'],
      ['gzip, deflate, br, zstd', 'br'],
      ['gzip;q=0, br', 'br'],
      ['br;q=0.1, gzip;q=0.9', 'gzip'],
      ['*', 'br'],
      ['', undefined],
      ['identity', undefined],
      ['identity;q=0, foo', undefined],
      ['*;q=0', undefined],
      ['deflate', undefined],
      ['gzip;q=x', undefined],
    ] as const) {
      const answer = await get(door, path, accept)
      assert.deepEqual([answer.status, answer.headers['content-encoding']], [200, coding], accept)
      assert.equal(answer.text, plain.text, accept)
      assert.equal(answer.headers['content-length'], String(answer.bytes.length), accept)
      assert.ok(coding === undefined || answer.bytes.length < plain.bytes.length / 2, accept)
    }
  })

  spec('R145 R146', 'whether coded or not, answers vary by Accept-Encoding and version', async () => {
    const path = await made(door)
    const short = await made(door, 'books', { name: 'B' })
    for (const target of [path, short, '/books', '/stones'])
      for (const accept of ['gzip', '', 'identity'])
        assert.equal((await get(door, target, accept)).headers.vary, 'Accept-Encoding, version', `${target} ${accept}`)
  })

  spec('R146', 'short content is not compressed, and length is counted in bytes', async () => {
    const bare = (await door.send('GET', await made(door, 'books', { name: 'B' }))).bytes.length
    for (const [text, coding] of [
      ['x'.repeat(1023 - bare), undefined],
      ['x'.repeat(1024 - bare), 'gzip'],
      ['é'.repeat(Math.ceil((1024 - bare) / 2)), 'gzip'],
      ['é'.repeat(Math.floor((1023 - bare) / 2)), undefined],
    ] as const) {
      const answer = await get(door, await made(door, 'books', { name: 'B', note: text }), 'gzip')
      assert.equal(answer.headers['content-encoding'], coding, String(text.length))
      assert.equal(answer.json.note, text)
    }
  })

  spec('R146', 'settings say from which length on, and where never', async () => {
    for (const [collection, coding] of [
      ['cards', 'gzip'],
      ['stones', undefined],
      ['letters', undefined],
    ] as const) {
      const path = await made(door, collection, { name: 'A', note: collection === 'cards' ? '' : note })
      for (const target of [path, `/${collection}`])
        assert.equal((await get(door, target, 'gzip')).headers['content-encoding'], coding, target)
    }
  })

  spec('R146', 'no-transform switches coding off', async () => {
    const path = await made(door)
    for (const value of ['no-transform', 'no-cache, No-Transform'])
      assert.equal((await get(door, path, 'br', { 'cache-control': value })).headers['content-encoding'], undefined)
    assert.equal((await get(door, path, 'br', { 'cache-control': 'no-cache' })).headers['content-encoding'], 'br')
  })

  spec('R10', 'HEAD names the coding, and never a length that GET would not have', async () => {
    const path = await made(door)
    for (const target of [path, '/books'])
      for (const accept of ['gzip', 'br', 'zstd', 'identity']) {
        const read = await get(door, target, accept)
        const head = await door.send('HEAD', target, { headers: { 'accept-encoding': accept } })
        assert.deepEqual([head.status, head.bytes.length], [200, 0])
        for (const name of ['etag', 'content-encoding', 'content-type', 'vary', 'cache-control', 'link'])
          assert.equal(head.headers[name], read.headers[name], `${target} ${accept} ${name}`)
        const length = accept === 'identity' ? read.headers['content-length'] : undefined
        assert.equal(head.headers['content-length'], length, `${target} ${accept}`)
        assert.equal(head.headers['transfer-encoding'], undefined)
      }
  })

  spec('R146', 'answers to writes and errors are coded like any other', async () => {
    const created = await door.send('POST', '/books', {
      json: { name: 'A', note },
      headers: { 'accept-encoding': 'br' },
    })
    assert.deepEqual([created.status, created.headers['content-encoding'], created.json.note], [201, 'br', note])
    const etag = created.headers.etag as string
    assert.match(etag, /\+br"$/)
    const json = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`unknown${i}`, i]))
    const refused = await door.send('POST', '/books', { json, headers: { 'accept-encoding': 'gzip' } })
    assert.deepEqual([refused.status, refused.headers['content-encoding']], [400, 'gzip'])
    assert.equal(refused.json.errors.length, 31)
    assert.equal(refused.headers.vary, 'Accept-Encoding, Accept, version')
    const secret = await door.send('POST', '/letters', { json, headers: { 'accept-encoding': 'gzip' } })
    assert.deepEqual([secret.status, secret.headers['content-encoding']], [400, undefined])
  })
})

doors('tags of codings', library, (door) => {
  spec('R122', 'a coding has a tag of its own, made from the plain one', async () => {
    for (const collection of ['books', 'films']) {
      const path = await made(door, collection)
      for (const target of [path, `/${collection}`]) {
        const plain = (await door.send('GET', target)).headers.etag as string
        for (const coding of ['gzip', 'br', 'zstd'])
          assert.equal((await get(door, target, coding)).headers.etag, `${plain.slice(0, -1)}+${coding}"`)
      }
    }
  })

  spec('R122', 'a write takes the tag of any coding of the current state, and of no other state', async () => {
    const path = await made(door)
    const stale = (await get(door, path, 'gzip')).headers.etag as string
    for (const method of ['PUT', 'PATCH', 'DELETE'])
      for (const coding of ['gzip', 'br', 'zstd']) {
        const one = await made(door)
        const etag = (await get(door, one, coding)).headers.etag as string
        const content = method === 'DELETE' ? {} : { json: { name: 'B' } }
        const refused = await door.send(method, one, { ...content, headers: { 'if-match': `W/${etag}` } })
        assert.equal(refused.status, 412, `${method} weak`)
        const done = await door.send(method, one, { ...content, headers: { 'if-match': etag } })
        assert.equal(done.status, method === 'DELETE' ? 204 : 200, `${method} ${coding}`)
      }
    await door.send('PATCH', path, { json: { name: 'B' } })
    const late = await door.send('PUT', path, { json: { name: 'C' }, headers: { 'if-match': stale } })
    assert.equal(late.status, 412)
    const current = (await get(door, path, 'br')).headers.etag as string
    for (const tag of [current, `W/${current}`]) {
      const refused = await door.send('PATCH', path, { json: { name: 'D' }, headers: { 'if-none-match': tag } })
      assert.equal(refused.status, 412, tag)
    }
  })

  spec('R142', 'a 304 returns the very tag that was listed, if its coding is acceptable now', async () => {
    const path = await made(door)
    for (const target of [path, '/books']) {
      const plain = (await door.send('GET', target)).headers.etag as string
      const of = (coding: string) => `${plain.slice(0, -1)}+${coding}"`
      for (const [accept, listed, status, etag] of [
        ['br, gzip', of('gzip'), 304, of('gzip')],
        ['br, gzip', of('br'), 304, of('br')],
        ['br, gzip', plain, 304, plain],
        ['br, gzip', `"x", W/${of('gzip')}`, 304, of('gzip')],
        ['br', `${of('gzip')}, ${plain}`, 304, plain],
        ['identity', of('gzip'), 200, plain],
        ['', of('gzip'), 200, plain],
        ['gzip;q=0, br', of('gzip'), 200, of('br')],
        ['identity;q=0, br', plain, 200, of('br')],
        ['br', of('zstd'), 200, of('br')],
        ['br', '*', 304, of('br')],
        ['br, gzip', of('compress'), 200, of('br')],
      ] as const) {
        const answer = await get(door, target, accept, { 'if-none-match': listed })
        assert.deepEqual([answer.status, answer.headers.etag], [status, etag], `${accept}: ${listed}`)
        if (status === 304) {
          assert.equal(answer.bytes.length, 0)
          for (const name of ['content-encoding', 'content-type', 'content-length'])
            assert.equal(answer.headers[name], undefined, name)
          assert.equal(answer.headers.vary, 'Accept-Encoding, version')
        }
      }
    }
  })

  spec('R142', 'the tag of an old state is never confirmed, in any coding', async () => {
    const path = await made(door)
    const before = (await get(door, path, 'gzip')).headers.etag as string
    await door.send('PATCH', path, { json: { name: 'B' } })
    const answer = await get(door, path, 'gzip', { 'if-none-match': before })
    assert.deepEqual([answer.status, answer.json.name], [200, 'B'])
  })
})
