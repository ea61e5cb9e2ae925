/** Part 4 of the contract, methods: replacing by PUT. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'

const stock = service({
  name: 'stock',
  resources: {
    items: {
      prefix: 'itm',
      fields: {
        name: f.text({ max: 50 }),
        note: f.text({ optional: true }),
        level: f.enum(['low', 'high'], { default: 'low' }),
        tags: f.list(f.text()),
        metadata: f.metadata(),
        size: f.object(
          { width: f.integer(), depth: f.integer({ optional: true }), unit: f.text({ default: 'mm' }) },
          { optional: true },
        ),
        currency: f.currency({ immutable: true, optional: true }),
        pin: f.text({ writeOnly: true, optional: true }),
        seal: f.text({ writeOnly: true, immutable: true, optional: true }),
        rating: f.integer({ readOnly: true, default: 3 }),
      },
      access: 'public',
    },
    secrets: { prefix: 'sec', fields: { name: f.text(), pin: f.text({ writeOnly: true }) }, access: 'public' },
    parts: { prefix: 'prt', parent: 'items', fields: { name: f.text() }, access: 'public' },
    bins: {
      parent: 'items',
      key: 'number',
      fields: { number: f.integer({ min: 0, max: 999 }), note: f.text({ optional: true }) },
      access: 'public',
    },
    labels: { prefix: 'lab', fields: { name: f.text() }, access: 'public', settings: { etag: { onPut: 'verbatim' } } },
  },
})

const item = (n: number) => `itm_${String(n).padStart(26, '0')}`
let used = 0
/** A new identifier for each test. */
const fresh = (): string => item(++used)

async function put(
  door: Door,
  path: string,
  json: object,
  status: number,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const answer = await door.send('PUT', path, { json, headers })
  assert.equal(answer.status, status, `PUT ${path} ${answer.text}`)
  return answer
}

const wrongs = ({ json }: Answer): string[] =>
  json.errors.map(({ type, pointer }: { type: string; pointer: string }) => `${type} ${pointer}`)

doors('replacing', stock, (door) => {
  spec('R109 R123', 'PUT replaces an item and answers 200 with the resource, its tag and its place', async () => {
    const path = `/items/${fresh()}`
    const first = await put(door, path, { name: 'A', note: 'x', tags: ['t'], metadata: { k: 'v' } }, 201)
    const second = await put(door, path, { name: 'B' }, 200)
    assert.equal(second.headers['content-location'], path)
    assert.equal(second.headers.location, undefined)
    assert.notEqual(second.headers.etag, first.headers.etag)
    const { createdAt, updatedAt, id, ...rest } = second.json
    assert.deepEqual(rest, {
      name: 'B',
      note: null,
      level: 'low',
      tags: [],
      metadata: {},
      size: null,
      currency: null,
      rating: 3,
    })
    assert.equal(createdAt, first.json.createdAt)
    assert.ok(updatedAt >= createdAt)
    const read = await door.send('GET', path)
    assert.deepEqual([read.text, read.headers.etag], [second.text, second.headers.etag])
  })

  spec('R109', 'PUT creates at an unused URL and answers 201 with where it is', async () => {
    const path = `/items/${fresh()}`
    const answer = await put(door, path, { name: 'A' }, 201)
    assert.deepEqual([answer.headers.location, answer.headers['content-location']], [path, path])
    assert.deepEqual([answer.json.id, answer.json.level, answer.json.rating], [path.slice('/items/'.length), 'low', 3])
    const read = await door.send('GET', path)
    assert.deepEqual([read.text, read.headers.etag], [answer.text, answer.headers.etag])
  })

  spec('R109', 'on a collection PUT and PATCH answer 405', async () => {
    for (const path of ['/items', `/items/${fresh()}/bins`, '/parts'])
      for (const method of ['PUT', 'PATCH']) {
        const answer = await door.send(method, path, { json: {} })
        assert.deepEqual([answer.status, answer.json.type], [405, 'method-not-allowed'])
        assert.equal(answer.headers.allow, path === '/parts' ? 'GET, HEAD, OPTIONS' : 'GET, HEAD, OPTIONS, POST')
      }
  })

  spec(
    'R111',
    'a missing writable field is set to its default or null; a missing required one is refused',
    async () => {
      const path = `/items/${fresh()}`
      await put(door, path, { name: 'A', note: 'x', level: 'high', size: { width: 1, depth: 2, unit: 'cm' } }, 201)
      const bare = await put(door, path, { note: 'y' }, 400)
      assert.deepEqual(wrongs(bare), ['field-required /name'])
      const next = await put(door, path, { name: 'A', size: { width: 1 } }, 200)
      assert.deepEqual(
        [next.json.note, next.json.level, next.json.size],
        [null, 'low', { width: 1, depth: null, unit: 'mm' }],
      )
      assert.deepEqual(wrongs(await put(door, path, { name: 'A', size: {} }, 400)), ['field-required /size/width'])
      const nulls = await put(door, path, { name: null, level: null, tags: null, metadata: null }, 400)
      assert.deepEqual(
        wrongs(nulls),
        ['/name', '/level', '/tags', '/metadata'].map((at) => `field-required ${at}`),
      )
      const created = await put(door, `/items/${fresh()}`, {}, 400)
      assert.deepEqual(wrongs(created), ['field-required /name'])
    },
  )

  spec('R111', 'a write-only field left out keeps its value, and null clears it', async () => {
    const path = `/items/${fresh()}`
    await put(door, path, { name: 'A', pin: '1', seal: 's' }, 201)
    const tagAfter = async (json: object) => (await put(door, path, { name: 'A', ...json }, 200)).headers.etag
    const made = await tagAfter({})
    const first = await tagAfter({ pin: '1' })
    assert.notEqual(first, made, 'a write-only value counts as a change, or its tag would tell what it was')
    for (const seal of ['other', 's', null])
      assert.deepEqual(wrongs(await put(door, path, { name: 'A', seal }, 400)), ['immutable-field /seal'])
    assert.equal(await tagAfter({}), first)
    const cleared = await tagAfter({ pin: null })
    assert.notEqual(cleared, first)
    const again = await tagAfter({ pin: null })
    assert.notEqual(again, cleared)
    assert.equal(await tagAfter({}), again)
    for (const answer of [await door.send('GET', path), await put(door, path, { name: 'A', pin: '9' }, 200)])
      assert.ok(!('pin' in answer.json) && !('seal' in answer.json))
  })

  spec('R111', 'a required write-only field is needed only at creation', async () => {
    const created = await door.send('POST', '/secrets', { json: { name: 'A', pin: '1' } })
    assert.equal(created.status, 201)
    assert.deepEqual(wrongs(await door.send('POST', '/secrets', { json: { name: 'A' } })), ['field-required /pin'])
    const path = `/secrets/${created.json.id}`
    assert.equal((await put(door, path, { name: 'B' }, 200)).json.name, 'B')
    assert.deepEqual(wrongs(await put(door, path, { name: 'B', pin: null }, 400)), ['field-required /pin'])
    assert.deepEqual(wrongs(await put(door, '/secrets/sec_00000000000000000000000000', { name: 'B' }, 400)), [
      'field-required /pin',
    ])
  })

  spec('R112 R48', 'a fetched object can be sent back, twice, and changes nothing', async () => {
    const path = `/items/${fresh()}`
    await put(door, path, { name: 'A', note: 'x', metadata: { b: '1', a: '2' }, size: { width: 1 }, pin: '1' }, 201)
    const read = await door.send('GET', path)
    for (let n = 0; n < 2; n++) {
      const answer = await put(door, path, read.json, 200)
      assert.deepEqual([answer.text, answer.headers.etag], [read.text, read.headers.etag])
    }
    const reordered = Object.fromEntries(Object.entries(read.json).reverse())
    assert.equal((await put(door, path, reordered, 200)).headers.etag, read.headers.etag)
    assert.equal((await door.send('GET', path)).headers['last-modified'], read.headers['last-modified'])
  })

  spec('R48', 'managed fields are ignored in a PUT; an id or key that differs from the URL is refused', async () => {
    const id = fresh()
    await put(door, `/items/${id}`, { name: 'A' }, 201)
    const read = (await door.send('GET', `/items/${id}`)).json
    const answer = await put(
      door,
      `/items/${id}`,
      { name: 'A', createdAt: 5, updatedAt: 'never', rating: 'x', _links: { self: 1 } },
      200,
    )
    assert.deepEqual(answer.json, read)
    assert.deepEqual(wrongs(await put(door, `/items/${id}`, { name: 'A', id: item(999) }, 400)), [
      'read-only-field /id',
    ])
    assert.deepEqual(wrongs(await put(door, `/items/${id}`, { name: 'A', id: null }, 400)), ['read-only-field /id'])
    const bin = `/items/${id}/bins/7`
    await put(door, bin, { number: 7, id: '7', itemId: id }, 201)
    assert.deepEqual(wrongs(await put(door, bin, { number: 8 }, 400)), ['read-only-field /number'])
    assert.deepEqual(wrongs(await put(door, bin, { number: '7' }, 400)), ['read-only-field /number'])
    assert.deepEqual(wrongs(await put(door, bin, { itemId: item(999) }, 400)), ['read-only-field /itemId'])
    const part = await door.send('POST', `/items/${id}/parts`, { json: { name: 'P' } })
    await put(door, `/parts/${part.json.id}`, { name: 'Q', itemId: id }, 200)
    assert.deepEqual(wrongs(await put(door, `/parts/${part.json.id}`, { name: 'Q', itemId: item(999) }, 400)), [
      'read-only-field /itemId',
    ])
  })

  spec('R119', 'a field declared immutable keeps its value, in a PUT as in a PATCH', async () => {
    const path = `/items/${fresh()}`
    await put(door, path, { name: 'A', currency: 'USD' }, 201)
    assert.deepEqual(wrongs(await put(door, path, { name: 'A', currency: 'EUR' }, 400)), ['immutable-field /currency'])
    assert.deepEqual(wrongs(await put(door, path, { name: 'A', currency: null }, 400)), ['immutable-field /currency'])
    assert.deepEqual(wrongs(await put(door, path, { name: 'A' }, 400)), ['immutable-field /currency'])
    assert.equal((await put(door, path, { name: 'B', currency: 'USD' }, 200)).json.name, 'B')
    assert.equal((await door.send('PATCH', path, { json: { currency: 'EUR' } })).status, 400)
    assert.equal((await door.send('PATCH', path, { json: { currency: 'USD', name: 'C' } })).json.name, 'C')
  })

  spec('R154', 'all violations are reported together, and nothing is changed', async () => {
    const path = `/items/${fresh()}`
    await put(door, path, { name: 'A', currency: 'USD' }, 201)
    const before = await door.send('GET', path)
    const answer = await put(door, path, { nome: 1, level: 'mid', id: 'x', tags: [1] }, 400)
    assert.deepEqual(wrongs(answer).sort(), [
      'field-required /name',
      'immutable-field /currency',
      'invalid-type /tags/0',
      'invalid-value /level',
      'read-only-field /id',
      'unknown-field /nome',
    ])
    assert.deepEqual((await door.send('GET', path)).text, before.text)
  })

  spec('R123 R120', 'a 204 to PUT has a tag only if the stored item equals the sent one', async () => {
    const path = `/items/${fresh()}`
    const minimal = { prefer: 'return=minimal' }
    await put(door, path, { name: 'A' }, 201)
    const short = await put(door, path, { name: 'B' }, 204, minimal)
    assert.deepEqual(
      [short.text, short.headers.etag, short.headers['preference-applied']],
      ['', undefined, 'return=minimal'],
    )
    assert.equal(short.headers['content-type'], undefined)
    const read = await door.send('GET', path)
    assert.equal(read.json.name, 'B')
    const same = await put(door, path, read.json, 204, minimal)
    assert.equal(same.headers.etag, read.headers.etag)
    const created = await put(door, `/items/${fresh()}`, { name: 'A' }, 201, minimal)
    assert.equal(created.json.name, 'A')
  })

  spec('R123', 'with verbatim that holds for every answer to PUT', async () => {
    const path = '/labels/lab_00000000000000000000000001'
    assert.equal((await put(door, path, { name: 'A' }, 201)).headers.etag, undefined)
    const next = await put(door, path, { name: 'B' }, 200)
    assert.deepEqual([next.json.name, next.headers.etag], ['B', undefined])
    const read = await door.send('GET', path)
    assert.equal((await put(door, path, read.json, 200)).headers.etag, read.headers.etag)
    assert.match((await door.send('PATCH', path, { json: { name: 'C' } })).headers.etag ?? '', /^"/)
  })
})
