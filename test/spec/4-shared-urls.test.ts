/** Part 7 of the contract, conditional read: no two contents have the same strong tag, for all callers and versions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { type Answer, doors, spec } from '../help/door.ts'

/** Several accounts have items with the same URL: by an id that clients choose, a key, and a key below a parent. */
const yard = service({
  name: 'yard',
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' } },
  scopes: { pii: 'See personal data' },
  resources: {
    boats: {
      prefix: 'boa',
      owner: 'accountId',
      fields: { name: f.text(), tax: f.text({ optional: true, read: 'pii' }) },
      access: 'authenticated',
      settings: { resource: { id: 'client' } },
    },
    berths: {
      parent: 'boats',
      key: 'number',
      fields: { number: f.integer(), note: f.text() },
      access: 'authenticated',
    },
    tags: { key: 'word', owner: 'accountId', fields: { word: f.text(), hue: f.text() }, access: 'authenticated' },
  },
})
  .change('v2', 'boats', { about: '`title` is a name.', renamed: { title: 'name' } })
  .change('v2', 'tags', { about: '`shade` is a hue.', renamed: { shade: 'hue' } })

const holders = {
  ann: { account: 'a' },
  amy: { account: 'a', scopes: ['pii'] },
  bob: { account: 'b' },
  ben: { account: 'b', scopes: ['pii'] },
} as const

doors(
  'items of several accounts at one URL',
  yard,
  (door) => {
    const as = (who: string, method: string, path: string, json?: object, headers = {}): Promise<Answer> =>
      door.send(method, path, { json, headers: { ...door.as(who), ...headers } })
    const places = [
      ['/v2/boats', { id: 'boa_1', name: 'x' }, '/v2/boats/boa_1', '/v1/boats/boa_1'],
      ['/v2/boats/boa_1/berths', { number: 1, note: 'x' }, '/v2/boats/boa_1/berths/1', '/v1/boats/boa_1/berths/1'],
      ['/v2/tags', { word: 'w', hue: 'x' }, '/v2/tags/w', '/v1/tags/w'],
    ] as const

    spec('R121 R141', 'have tags of their own, in every version and for any scopes', async () => {
      for (const [path, json, ...urls] of places) {
        const made = await Promise.all(['ann', 'bob'].map((who) => as(who, 'POST', path, json)))
        assert.deepEqual(
          made.map(({ status }) => status),
          [201, 201],
        )
        assert.notEqual(made[0]?.headers.etag, made[1]?.headers.etag)
        for (const url of urls) {
          const tags = await Promise.all(
            Object.keys(holders).map(async (who) => (await as(who, 'GET', url)).headers.etag as string),
          )
          const [ann, amy, bob, ben] = tags as [string, string, string, string]
          for (const foreign of [bob, ben])
            for (const who of ['ann', 'amy'])
              assert.equal((await as(who, 'GET', url, undefined, { 'if-none-match': foreign })).status, 200)
          for (const [who, own] of [
            ['ann', ann],
            ['amy', amy],
            ['bob', bob],
            ['ben', ben],
          ] as const)
            assert.equal((await as(who, 'GET', url, undefined, { 'if-none-match': own })).status, 304)
        }
      }
    })

    spec('R124 R121', 'are written only with a tag of the own account, with any scopes', async () => {
      for (const [path, json, url] of places) {
        for (const who of ['ann', 'bob']) await as(who, 'POST', path, json)
        const tag = async (who: string) => (await as(who, 'GET', url)).headers.etag as string
        const [own, wide, foreign] = [await tag('ann'), await tag('amy'), await tag('bob')]
        const { status, headers } = await as('ann', 'PATCH', url, {}, { 'if-match': foreign })
        assert.deepEqual([status, headers.etag], [412, own])
        for (const one of [own, wide])
          assert.equal((await as('ann', 'PATCH', url, {}, { 'if-match': one })).status, 200)
        const old = `${own.slice(0, own.lastIndexOf('-') + 7)}"`
        assert.equal((await as('ann', 'GET', url, undefined, { 'if-none-match': old })).status, 200)
        assert.equal((await as('ann', 'PATCH', url, {}, { 'if-match': old })).status, 412)
        assert.equal((await as('ann', 'DELETE', url, undefined, { 'if-match': foreign })).status, 412)
      }
    })

    spec('R148 R121', 'are listed for each account with a tag of its own', async () => {
      await as('ann', 'POST', '/v2/tags', { word: 'l', hue: 'a' })
      await as('bob', 'POST', '/v2/tags', { word: 'l', hue: 'b' })
      for (const url of ['/v2/tags', '/v1/tags']) {
        const tag = (await as('bob', 'GET', url)).headers.etag as string
        assert.equal((await as('ann', 'GET', url, undefined, { 'if-none-match': tag })).status, 200)
      }
    })
  },
  { holders },
)

/** Items of an older version have values from rows with a secret, and from values that their own row keeps. */
const bank = service({
  name: 'bank',
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' } },
  settings: { resource: { id: 'client' } },
  resources: {
    homes: {
      prefix: 'hom',
      fields: { city: f.text({ optional: true }), code: f.text({ writeOnly: true, optional: true }) },
      access: 'public',
    },
    cards: {
      prefix: 'car',
      fields: {
        name: f.text(),
        pin: f.text({ writeOnly: true, optional: true }),
        homeId: f.ref('homes', { optional: true }),
      },
      access: 'public',
    },
  },
}).change('v2', 'cards', { about: 'The city is that of the home.', moved: { city: { by: 'homeId', to: 'city' } } })

doors('tags of a version whose fields have moved', bank, (door) => {
  const make = (path: string, json: object) => door.send('POST', path, { json })
  const tagOf = async (path: string) => (await door.send('GET', path)).headers.etag as string

  spec('R121 R124', 'follow the changes of the other row, and are valid for writes until then', async () => {
    await make('/v2/homes', { id: 'hom_1', city: 'Rome', code: '1' })
    await make('/v2/homes', { id: 'hom_2', city: 'Rome', code: '1' })
    await make('/v2/cards', { id: 'car_1', name: 'x', pin: '1234', homeId: 'hom_1' })
    const seen = new Set<string>()
    const next = async () => {
      const tag = await tagOf('/v1/cards/car_1')
      assert.ok(!seen.has(tag), tag)
      seen.add(tag)
      const again = await door.send('GET', '/v1/cards/car_1', { headers: { 'if-none-match': tag } })
      assert.deepEqual([again.status, again.headers.etag], [304, tag])
      return tag
    }
    await next()
    for (const json of [{ city: 'Bonn' }, { code: '2' }]) {
      const before = await tagOf('/v1/cards/car_1')
      assert.equal((await door.send('PATCH', '/v2/homes/hom_1', { json })).status, 200)
      const stale = await door.send('PATCH', '/v1/cards/car_1', {
        json: { name: 'y' },
        headers: { 'if-match': before },
      })
      assert.equal(stale.status, 412)
      await next()
    }
    await door.send('PATCH', '/v2/cards/car_1', { json: { homeId: 'hom_2' } })
    await next()
    await door.send('PATCH', '/v2/cards/car_1', { json: { homeId: null } })
    const tag = await next()
    const put = await door.send('PATCH', '/v1/cards/car_1', { json: { city: 'Kiel' }, headers: { 'if-match': tag } })
    assert.deepEqual([put.status, put.json.city, put.headers.etag], [200, 'Kiel', await next()])
  })
})

const notes = (revision: number) =>
  service({
    name: 'notes',
    versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' } },
    settings: { resource: { id: 'client' } },
    resources: { notes: { prefix: 'not', fields: { text: f.text() }, access: 'public' } },
  }).change('v2', 'notes', {
    about: 'A text was a title.',
    removed: { title: f.text() },
    added: ['text'],
    revision,
    request: ({ title }) => ({ text: title }),
    response: ({ text }) => ({ title: text }),
  })

test('R121: another revision of functions is another tag of the versions that they make, and of no other', async () => {
  const tags = async (revision: number) => {
    const { call, close } = testing(notes(revision))
    await call('/v2/notes', { method: 'POST', json: { id: 'not_1', text: 'x' } })
    const all = await Promise.all(['v1', 'v2'].map((version) => call(`/${version}/notes/not_1`)))
    await close()
    return all.map(({ headers }) => headers.get('etag')?.split('-').at(-1))
  }
  const [before, again, after] = [await tags(1), await tags(1), await tags(2)]
  assert.deepEqual(before, again)
  assert.notEqual(before[0], after[0])
  assert.equal(before[1], after[1])
})

test('a revision of functions is a whole number', () => {
  for (const revision of [0, 1.5, Number.NaN, '2' as never])
    assert.throws(() => notes(revision).editions, /changes\.v2\.notes\.revision/)
})
