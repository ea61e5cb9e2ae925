/** Memory: services in one process share nothing that they remember, count or compile; modules keep no state. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { f, service } from 'bylaw'
import { callerGate } from '../../src/corridor/server-context.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import type { Service } from '../../src/service.ts'
import { openStore } from '../../src/terminal/open.ts'
import { keyFor } from '../help/door.ts'
import { state } from '../help/house.ts'
import { type NodeAnswer, type Place, places } from '../help/places.ts'

const text = f.text({ filter: true, sort: true })
const declared = (fields: Parameters<typeof f.object>[0], hourly: number) =>
  service({
    name: 'shop',
    tiers: { few: { hourly } },
    resources: { notes: { prefix: 'not', fields, access: 'authenticated', settings: { list: { maxPageSize: 50 } } } },
  } as Parameters<typeof service>[0]) as unknown as Service

const plain = declared({ text }, 500)
const other = declared({ text, rank: f.integer({ optional: true, sort: true, filter: 'range' }) }, 500)

interface Running {
  readonly key: Record<string, string>
  readonly ask: (method: string, path: string, json?: object, more?: Record<string, string>) => Promise<NodeAnswer>
}

async function running(t: TestContext, declaration: Service, { url }: Place): Promise<Running> {
  const store = await openStore(declaration, url, 'apply')
  t.after(store.close)
  const world = serviceWorld(realWorld, store)
  const log = { error: (about: object) => assert.fail(JSON.stringify(about)), warn: () => {}, info: () => {} }
  const authenticate = callerGate(declaration, store, world)
  const door = fetchDoor({ service: declaration, store, world, authenticate, log, open: () => true })
  const key = await keyFor(store, 'ann', { account: 'acc_ann' }, world.now() - 1000)
  const ask: Running['ask'] = async (method, path, json, more) => {
    const headers = { ...key, ...(json && { 'content-type': 'application/json' }), ...more }
    const sent = { method, headers, ...(json && { body: JSON.stringify(json) }) }
    const answer = await door(new Request(`http://localhost${path}`, sent))
    const body = await answer.text()
    return { status: answer.status, headers: answer.headers, json: body === '' ? null : JSON.parse(body), text: body }
  }
  return { key, ask }
}

/** Sends the same request to both services in turn, several times: a shared cache would change an answer. */
async function inTurn(all: readonly Running[], path: string): Promise<NodeAnswer[]> {
  let previous: NodeAnswer[] = []
  for (let i = 0; i < 4; i++) {
    const again: NodeAnswer[] = []
    for (const { ask } of all) again.push(await ask('GET', path))
    if (i > 0) assert.deepEqual(again, previous, path)
    previous = again
  }
  return previous
}

const texts = ({ json }: NodeAnswer): string[] => json.data.map((one: { text: string }) => one.text)
const paths = [
  '/notes?sort=text',
  '/notes?sort=text&page_size=2',
  '/notes?text=one&sort=text',
  '/notes?sort=text&page=2&page_size=1',
]

/** Two services of one name with the same paths, ids and keys answer each from its own rows. */
async function shareNothing(one: Running, two: Running): Promise<void> {
  const names = ['one', 'two']
  const own: string[] = []
  for (const [i, { ask }] of [one, two].entries()) {
    for (const text of ['one', `${names[i]} a`, `${names[i]} b`]) {
      const made = await ask('POST', '/notes', { text }, { 'idempotency-key': text.replace(/^.* /, '') })
      assert.equal(made.status, 201, JSON.stringify(made.json))
      own[i] = made.json.id
    }
  }
  for (const path of paths) {
    const [first, second] = (await inTurn([one, two], path)) as [NodeAnswer, NodeAnswer]
    assert.deepEqual([first.status, second.status], [200, 200], path)
    assert.ok(
      texts(first).every((text) => !text.startsWith('two')),
      path,
    )
    assert.ok(
      texts(second).every((text) => text === 'one' || text.startsWith('two')),
      path,
    )
    assert.equal(texts(first).length, texts(second).length, path)
  }
  const found = await inTurn([one, two], `/notes/${own[0]}`)
  assert.deepEqual(
    found.map(({ status }) => status),
    [200, 404],
  )
  assert.equal((await one.ask('GET', '/notes', undefined, two.key)).status, 401, 'a key of the other service')
  assert.equal((await two.ask('GET', '/notes', undefined, one.key)).status, 401, 'a key of the other service')
  const page = await one.ask('GET', '/notes?sort=text&cursor=&limit=1')
  const next = `/notes?sort=text&limit=1&cursor=${page.json.pagination.nextCursor}`
  assert.deepEqual(
    (await inTurn([one, two], next)).map(({ status }) => status),
    [200, 400],
  )
  await two.ask('DELETE', `/notes/${own[1]}`)
  assert.equal(texts(await one.ask('GET', '/notes?sort=text')).length, 3)
  assert.equal(texts(await two.ask('GET', '/notes?sort=text')).length, 2)
}

for (const [store, make] of places)
  describe(`two services in one process (${store})`, () => {
    test('two declarations of one name answer each from its own rows, with its own secret', async (t) => {
      const [one, two] = [await running(t, plain, await make(t)), await running(t, other, await make(t))]
      await shareNothing(one, two)
      const [first, second] = (await inTurn([one, two], '/notes?sort=rank')) as [NodeAnswer, NodeAnswer]
      assert.deepEqual([first.status, second.status], [400, 200])
    })
    test('the quota of one is not spent by the other, although the key has the same name', async (t) => {
      const few = declared({ text }, 5)
      const [one, two] = [await running(t, few, await make(t)), await running(t, few, await make(t))]
      const statuses: number[] = []
      for (let i = 0; i < 7; i++) statuses.push((await one.ask('GET', '/notes')).status)
      assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429, 429])
      assert.equal((await two.ask('GET', '/notes')).status, 200)
    })
  })

test('one declaration on SQLite and on PostgreSQL is compiled for each of them', async (t) => {
  const [one, two] = await Promise.all(places.map(async ([, make]) => running(t, plain, await make(t))))
  await shareNothing(one as Running, two as Running)
})

describe('the house rule of state', () => {
  const complaints = (text: string, path = 'src/lists/list-query.ts') => state([{ path, text }])
  test('no module keeps mutable state', () => {
    for (const one of [
      'const all = new Map()',
      'const all = new Map<string, string>()',
      'const all = new Set<string>()',
      'const all = new WeakMap<object, string>([])',
      'export const all = new WeakSet()',
      'const all = new Memo<string, string>(5)',
      'const all = new Remembered<string>(5)',
      'const all = new ServiceState()',
      'let all = 0',
      'export let all: string | null = null',
    ]) {
      const [first, ...more] = complaints(`const a = 1\n/** Of all. */\n${one}`)
      assert.match(first ?? one, /^src\/lists\/list-query\.ts:3 keeps all for the whole process.*ServiceState/)
      assert.deepEqual(more, [])
    }
  })
  test('constant tables, pure memos, and what a function keeps are allowed', () => {
    for (const one of [
      "const signs = new Map([['a', 1]])",
      "const names: ReadonlySet<string> = new Set(['a'])",
      'const none: ReadonlyMap<string, number> = new Map()',
      '/** Pure: digests by their text. */\nconst digests = new Memo<string, string>(100)',
      'function make() {\n  let count = 0\n  const all = new Map()\n}',
      '// let all = 0',
    ])
      assert.deepEqual(complaints(one), [], one)
    const thread = 'const prepared = new Memo<string, string>(100)'
    assert.deepEqual(complaints(thread, 'src/sqlite/thread.ts'), [])
  })
})
