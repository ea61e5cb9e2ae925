/** Part 4 of the contract, methods: creating and reviving items by PUT. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'

const stock = service({
  name: 'stock',
  resources: {
    items: {
      prefix: 'itm',
      fields: { name: f.text() },
      access: 'public',
    },
    parts: { prefix: 'prt', parent: 'items', fields: { name: f.text() }, access: 'public' },
    bins: {
      parent: 'items',
      key: 'number',
      fields: { number: f.integer({ min: 0, max: 999 }), note: f.text({ optional: true }) },
      access: 'public',
    },
    units: { key: 'code', fields: { code: f.text({ pattern: '^[a-z]{1,3}$' }), name: f.text() }, access: 'public' },
    fixed: {
      prefix: 'fix',
      plural: true,
      fields: { name: f.text() },
      access: 'public',
      settings: { resource: { putCreates: 'off' } },
    },
    phoenixes: {
      prefix: 'phx',
      fields: { name: f.text(), code: f.text({ optional: true, unique: true }) },
      access: 'public',
      settings: { resource: { putRevives: 'on' } },
    },
    pages: { prefix: 'pag', fields: { name: f.text() }, access: 'public', methods: ['read', 'replace'] },
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

doors('creating by PUT', stock, (door) => {
  spec('R110', 'only a well-formed identifier of the resource can be created at', async () => {
    for (const path of [
      '/items/foo',
      '/items/prt_00000000000000000000000001',
      '/items/itm_zzzzzzzzzzzzzzzzzzzzzzzzzz',
      `/items/${'x'.repeat(3000)}`,
      '/units/LONG',
      '/units/toolong',
    ]) {
      const answer = await put(door, path, { name: 'A', code: 'x' }, 404)
      assert.equal(answer.json.type, 'resource-not-found')
      assert.equal(
        (await door.send('PUT', path, { body: '{', headers: { 'content-type': 'application/json' } })).status,
        404,
      )
    }
  })

  spec('R110', 'where creation by PUT is off, or there is no creation, an unused id answers 404', async () => {
    for (const path of [
      '/fixed/fix_00000000000000000000000001',
      '/pages/pag_00000000000000000000000001',
      '/parts/prt_00000000000000000000000001',
    ]) {
      assert.equal((await put(door, path, { name: 'A' }, 404)).json.type, 'resource-not-found')
      assert.equal((await put(door, path, { nome: 1 }, 404)).json.type, 'resource-not-found')
      assert.equal((await door.send('GET', path)).status, 404)
    }
    const made = await door.send('POST', '/fixed', { json: { name: 'A' } })
    assert.equal((await put(door, `/fixed/${made.json.id}`, { name: 'B' }, 200)).json.name, 'B')
  })

  spec('R109 R48', 'a key is read from the URL, and may be in the body as well', async () => {
    const plain = await put(door, '/units/kg', { name: 'Kilogram' }, 201)
    assert.deepEqual([plain.json.id, plain.json.code, plain.headers.location], ['kg', 'kg', '/units/kg'])
    assert.equal((await put(door, '/units/m', { code: 'm', name: 'Metre' }, 201)).json.code, 'm')
    assert.deepEqual(wrongs(await put(door, '/units/s', { code: 'm', name: 'Second' }, 400)), ['read-only-field /code'])
    assert.equal((await door.send('GET', '/units/s')).status, 404)
    assert.equal((await put(door, '/units/kg', { name: 'Kilo' }, 200)).json.name, 'Kilo')
    assert.equal((await door.send('POST', '/units', { json: { code: 'kg', name: 'X' } })).status, 409)
  })

  spec('R109 R4', 'a composite key is created below its parent, which has to exist', async () => {
    const [one, two] = [fresh(), fresh()]
    for (const id of [one, two]) await put(door, `/items/${id}`, { name: 'A' }, 201)
    const bin = await put(door, `/items/${one}/bins/7`, { note: 'x' }, 201)
    assert.deepEqual(
      [bin.json.id, bin.json.number, bin.json.itemId, bin.headers.location],
      ['7', 7, one, `/items/${one}/bins/7`],
    )
    assert.equal((await door.send('GET', `/items/${two}/bins/7`)).status, 404)
    for (const path of [
      `/items/${fresh()}/bins/7`,
      `/items/foo/bins/7`,
      `/items/${one}/bins/07`,
      `/items/${one}/bins/1e1`,
      `/items/${one}/bins/1000`,
    ])
      assert.equal((await put(door, path, { note: 'x' }, 404)).json.type, 'resource-not-found', path)
    await door.send('DELETE', `/items/${one}/bins/7`)
    assert.equal((await put(door, `/items/${one}/bins/7`, { note: 'x' }, 410)).json.type, 'resource-deleted')
  })

  spec('R136', 'PUT on a deleted item answers 410, before violations in the body', async () => {
    const path = `/items/${fresh()}`
    await put(door, path, { name: 'A' }, 201)
    await door.send('DELETE', path)
    for (const json of [{ name: 'A' }, { nome: 1 }])
      assert.deepEqual([(await put(door, path, json, 410)).json.type], ['resource-deleted'])
    assert.equal(
      (await door.send('PUT', path, { body: '{', headers: { 'content-type': 'application/json' } })).status,
      410,
    )
    assert.equal((await door.send('GET', path)).status, 410)
  })

  spec('R136 R121', 'where declared, PUT makes a deleted item again, with a tag it never had', async () => {
    const path = '/phoenixes/phx_00000000000000000000000001'
    const tags = new Set<string>()
    const noted = ({ headers }: Answer) => {
      assert.ok(!tags.has(headers.etag as string))
      tags.add(headers.etag as string)
    }
    for (let life = 0; life < 3; life++) {
      noted(await put(door, path, { name: `life ${life}`, code: 'c' }, 201))
      noted(await put(door, path, { name: `late ${life}`, code: 'c' }, 200))
      assert.equal((await door.send('PATCH', path, { json: {} })).status, 200)
      assert.equal((await door.send('DELETE', path)).status, 204)
      assert.equal((await door.send('GET', path)).status, 410)
      assert.equal((await door.send('PATCH', path, { json: {} })).status, 410)
    }
  })

  spec('R136 R90', 'an item that cannot be created again stays deleted', async () => {
    const path = '/phoenixes/phx_00000000000000000000000002'
    await put(door, path, { name: 'A', code: 'x' }, 201)
    await door.send('DELETE', path)
    await door.send('POST', '/phoenixes', { json: { name: 'B', code: 'x' } })
    assert.deepEqual(wrongs(await put(door, path, { name: 'A', code: 'x' }, 409)), ['already-exists /code'])
    assert.equal((await door.send('GET', path)).status, 410)
    assert.equal((await put(door, path, { nome: 'A' }, 400)).json.type, 'validation-failed')
    assert.equal((await door.send('GET', path)).status, 410)
  })
})
