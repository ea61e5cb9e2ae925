/** Part 2 of the contract: the representation of answers, and the accepted content types. */
import assert from 'node:assert/strict'
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'
import { created } from '../help/verdict.ts'

const resources = {
  notes: { prefix: 'not', fields: { name: f.text({ optional: true }), metadata: f.metadata() }, access: 'public' },
} as const
const desk = service({ name: 'desk', resources })
const zstd = service({ name: 'zstd', resources, settings: { request: { codings: ['zstd'] }, limits: { body: 1000 } } })
const plain = service({ name: 'plain', resources, settings: { request: { codings: [] } } })

const patchTypes = 'application/merge-patch+json, application/json'
const text = '{"name":"a"}'

const swiftly = (body: string | Buffer) => brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 2 } })

const accepting = (door: Door, path: string, accept: string) => door.send('GET', path, { headers: { accept } })
const sending = (door: Door, headers: Record<string, string>, body: string | Uint8Array = text): Promise<Answer> =>
  door.send('POST', '/notes', { body, headers })
const coded = (door: Door, coding: string, body: string | Uint8Array) =>
  sending(door, { 'content-type': 'application/json', 'content-encoding': coding }, body)

doors('negotiation', desk, (door) => {
  spec('R30', 'JSON is answered if Accept allows it, is missing or is malformed', async () => {
    const path = (await created(door, '/notes', { name: 'a' })).headers.location as string
    const admitting = [
      '*/*',
      'application/*',
      'application/json',
      'Application/JSON',
      'application/json;charset=utf-8',
      'text/html, */*;q=0.1',
    ]
    const ranked = [
      'application/json;q=0.001',
      '*/*;q=0, application/json',
      'application/*;q=0, application/json;q=0.1',
      'text/html;q=0, */*',
      'application/json;profile="a,b;q=0"',
    ]
    const unread = [
      '',
      ',',
      'json',
      'text',
      'text/html;q=2',
      'text/html;q=abc',
      '*/json',
      'text/html, ]',
      'a/b/c',
      'text/html;x="',
    ]
    for (const accept of [...admitting, ...ranked, ...unread])
      for (const target of [path, '/notes']) {
        const { status, headers, json } = await accepting(door, target, accept)
        assert.equal(status, 200, accept)
        assert.equal(headers['content-type'], 'application/json')
        assert.equal(typeof json, 'object')
      }
    assert.equal((await door.send('GET', path)).status, 200)
  })

  spec('R31', 'if no acceptable type is offered the answer is 406, in JSON, with the offered types', async () => {
    const path = (await created(door, '/notes', { name: 'a' })).headers.location as string
    const excluding = [
      'application/xml',
      'text/*',
      'application/json;q=0, */*',
      '*/*;q=0',
      'application/json;q=0.0',
      'application/*;q=0, */*;q=0.1',
      'application/merge-patch+json',
    ]
    for (const accept of excluding)
      for (const target of [path, '/notes']) {
        const { status, headers, json } = await accepting(door, target, accept)
        assert.deepEqual(
          [status, json.type, headers['content-type']],
          [406, 'not-acceptable', 'application/json'],
          accept,
        )
        assert.match(json.message, /application\/json/)
      }
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']) {
      const sent = method === 'DELETE' || method === 'HEAD' ? {} : { json: { name: 'b' } }
      const { status } = await door.send(method, method === 'POST' ? '/notes' : path, {
        ...sent,
        headers: { accept: 'text/html' },
      })
      assert.equal(status, 406, method)
    }
    assert.equal((await door.send('GET', path)).json.name, 'a')
  })

  spec('R30 R31', 'Accept with problem+json only is 406 for a resource', async () => {
    const { status, headers, json } = await accepting(door, '/notes', 'application/problem+json')
    assert.deepEqual([status, headers['content-type'], json.status], [406, 'application/problem+json', 406])
    assert.equal((await accepting(door, '/notes', 'application/problem+json, application/json;q=0.1')).status, 200)
  })

  spec('R31', 'an unknown path is reported before Accept', async () => {
    assert.equal((await accepting(door, '/nope', 'text/html')).status, 404)
  })

  spec('R32', 'content is JSON in UTF-8, however that is written', async () => {
    const types = [
      'application/json',
      'APPLICATION/json',
      'application/json; charset=utf-8',
      'application/json; charset="UTF-8"',
      'application/json;CHARSET=Utf-8',
      'application/json;',
      'application/json; profile=x',
    ]
    for (const type of types) assert.equal((await sending(door, { 'content-type': type })).status, 201, type)
  })

  spec('R32 R33', 'other types are answered by 415 with the accepted types, and without codings', async () => {
    const types = [
      'text/plain',
      'text/json',
      'application/xml',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/merge-patch+json',
      'application/vnd.api+json',
      'application/jsonx',
      '*/*',
      'application/*',
      'json',
      'application/json, text/plain',
      'application/json charset=utf-8',
    ]
    for (const type of types) {
      const { status, headers, json } = await sending(door, { 'content-type': type })
      assert.deepEqual([status, json.type], [415, 'unsupported-media-type'], type)
      assert.equal(headers.accept, 'application/json')
      assert.equal(headers['accept-encoding'], undefined)
      assert.equal(headers['accept-patch'], undefined)
    }
  })

  spec('R32', 'content without a type is answered by 415', async () => {
    for (const method of ['POST', 'PUT', 'PATCH']) {
      const path = method === 'POST' ? '/notes' : '/notes/not_01h455vb4pex5vsknk084sn02q'
      const { status, headers } = await door.send(method, path, { body: Buffer.from(text) })
      assert.deepEqual([status, headers.accept], [415, method === 'PATCH' ? patchTypes : 'application/json'])
    }
  })

  spec('R32', 'on PATCH a 415 has Accept-Patch too, and merge patches are accepted', async () => {
    const path = (await created(door, '/notes', { name: 'a' })).headers.location as string
    for (const type of ['application/xml', 'application/json-patch+json', 'text/plain']) {
      const { status, headers } = await door.send('PATCH', path, { body: text, headers: { 'content-type': type } })
      assert.deepEqual([status, headers.accept, headers['accept-patch']], [415, patchTypes, patchTypes])
    }
    for (const type of patchTypes.split(', '))
      assert.equal((await door.send('PATCH', path, { body: text, headers: { 'content-type': type } })).status, 200)
  })

  spec('R32', 'other charsets are answered by 415', async () => {
    const types = [
      'application/json; charset=iso-8859-1',
      'application/json;charset=utf8',
      'application/json; charset="utf-16"',
      'application/json; charset=us-ascii',
      'application/json; charset=""',
      'application/json; charset=utf-8; charset=latin1',
    ]
    for (const type of types) {
      const { status, headers, json } = await sending(door, { 'content-type': type })
      assert.deepEqual([status, json.type, headers.accept], [415, 'unsupported-charset', 'application/json'], type)
    }
  })

  spec('R33', 'gzip, br and identity are decoded, alone and combined', async () => {
    const codings: [coding: string, body: string | Uint8Array][] = [
      ['gzip', gzipSync(text)],
      ['GZip', gzipSync(text)],
      ['x-gzip', gzipSync(text)],
      ['br', brotliCompressSync(text)],
      ['identity', text],
      ['', text],
      ['gzip, br', brotliCompressSync(gzipSync(text))],
      ['br, identity, gzip', gzipSync(brotliCompressSync(text))],
    ]
    for (const [coding, body] of codings) {
      const { status, json } = await coded(door, coding, body)
      assert.deepEqual([status, json.name], [201, 'a'], coding)
    }
  })

  spec('R33', 'other codings are answered by 415 with Accept-Encoding', async () => {
    for (const coding of [
      'compress',
      'deflate',
      'zstd',
      'gzip, compress',
      'gzip, gzip, gzip, gzip',
      'chunked',
      'utf-8',
    ]) {
      const { status, headers, json } = await coded(door, coding, deflateSync(text))
      assert.deepEqual(
        [status, json.type, headers['accept-encoding']],
        [415, 'unsupported-content-coding', 'gzip, br'],
        coding,
      )
    }
  })

  spec('R33', 'content that does not match its Content-Encoding is 400', async () => {
    const whole = gzipSync(JSON.stringify({ name: 'a'.repeat(500) }))
    for (const [coding, body] of [
      ['gzip', text],
      ['br', text],
      ['gzip', brotliCompressSync(text)],
      ['gzip', whole.subarray(0, -5)],
      ['gzip, br', gzipSync(text)],
    ] as const) {
      const { status, json } = await coded(door, coding, body)
      assert.deepEqual([status, json.type], [400, 'malformed-request'], coding)
    }
    assert.equal((await coded(door, 'gzip', gzipSync(''))).json.type, 'body-required')
    assert.equal((await coded(door, 'gzip', gzipSync('{'))).json.type, 'malformed-json')
  })

  spec('R33', 'the decoded size counts against the limit of the body, whatever the size sent', async () => {
    const MiB = 1024 * 1024
    const sized = (size: number) => `{"zap":"${'a'.repeat(size - 10)}"}`
    for (const [coding, code] of [
      ['gzip', gzipSync],
      ['br', swiftly],
    ] as const) {
      assert.equal((await coded(door, coding, code(sized(MiB)))).status, 400)
      const over = await coded(door, coding, code(sized(MiB + 1)))
      assert.deepEqual([over.status, over.json.type], [413, 'content-too-large'])
      const bomb = code(Buffer.alloc(10 * MiB))
      assert.ok(bomb.length < 11_000)
      assert.equal((await coded(door, coding, bomb)).status, 413)
    }
    const nested = gzipSync(gzipSync(Buffer.alloc(10 * MiB)))
    assert.ok(nested.length < 200)
    assert.equal((await coded(door, 'gzip, gzip', nested)).status, 413)
  })

  spec('R1 R32', 'the media type is checked before a query parameter, a missing item or a broken body', async () => {
    const headers = { 'content-type': 'text/plain' }
    const path = '/notes/not_01h455vb4pex5vsknk084sn02q?x=1'
    assert.equal((await door.send('PATCH', path, { body: '{', headers })).status, 415)
    assert.equal(
      (await door.send('PATCH', path, { body: '{', headers: { ...headers, accept: 'text/html' } })).status,
      406,
    )
  })
})

doors('other codings', zstd, (door) => {
  spec('R33', 'request.codings lists the accepted codings, limits.body the largest content', async () => {
    assert.equal((await coded(door, 'zstd', zstdCompressSync(text))).status, 201)
    const { status, headers } = await coded(door, 'gzip', gzipSync(text))
    assert.deepEqual([status, headers['accept-encoding']], [415, 'zstd'])
    assert.equal((await coded(door, 'zstd', zstdCompressSync(Buffer.alloc(100_000)))).status, 413)
  })
})

doors('no codings', plain, (door) => {
  spec('R33', 'without codings only uncompressed content is accepted', async () => {
    const { status, headers } = await coded(door, 'gzip', gzipSync(text))
    assert.deepEqual([status, headers['accept-encoding']], [415, 'identity'])
    assert.equal((await coded(door, 'identity', text)).status, 201)
  })
})
