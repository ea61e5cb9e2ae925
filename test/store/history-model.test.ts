/** Replays random writes on both stores, and compares every revision with what a reader saw at the time. R237. The store. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, type Service, service, sum } from 'bylaw'
import fc from 'fast-check'
import { nodeOn, places } from '../help/places.ts'
import { runsOf } from '../help/runs.ts'

const history = { read: 'public' } as const

for (const [name, place] of places)
  describe(`histories of random writes on ${name}`, () => {
    test('R237: every revision is the item that a reader saw at the time, and patches lead from each to each', async (t) => {
      const at = await place(t)
      const node = nodeOn(at, random as Service)
      t.after(node.close)
      await fc.assert(
        fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 12 }), (acts) => replay(node.ask, acts)),
        { numRuns: runsOf(60) },
      )
    })
  })

const random = service({
  name: 'random',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  settings: { batches: 5 },
  events: true,
  resources: {
    items: {
      prefix: 'itm',
      fields: {
        name: f.text({ optional: true }),
        tags: f.list(f.text()),
        place: f.object({ town: f.text({ optional: true }), size: f.integer({ optional: true }) }, { optional: true }),
        meta: f.metadata(),
        total: f.integer({ derived: sum('parts', 'amount') }),
      },
      states: { field: 'status', initial: 'on', transitions: { closures: { from: ['on'], to: 'off' } } },
      access: 'public',
      history,
    },
    parts: {
      prefix: 'par',
      parent: { resource: 'items', onDelete: 'cascade' },
      fields: { amount: f.integer() },
      access: 'public',
      history,
    },
  },
}).change('v2', 'items', { about: 'Titles are names.', renamed: { title: 'name' } })

const word = fc.constantFrom('a', 'b', 'ß', '')
const fields = fc.record(
  {
    name: fc.option(word),
    tags: fc.array(word, { maxLength: 2 }),
    place: fc.option(
      fc.record({ town: fc.option(word), size: fc.option(fc.integer({ min: 0, max: 2 })) }, { requiredKeys: [] }),
    ),
    meta: fc.dictionary(fc.constantFrom('k', 'l'), word),
  },
  { requiredKeys: [] },
)
const act = fc.oneof(
  fc.record({ do: fc.constant('patch' as const), fields }),
  fc.record({ do: fc.constant('put' as const), fields }),
  fc.record({ do: fc.constant('part' as const), amount: fc.integer({ min: 0, max: 3 }) }),
  fc.record({ do: fc.constant('old' as const), title: word }),
  fc.record({ do: fc.constant('batch' as const), names: fc.array(word, { minLength: 1, maxLength: 3 }) }),
  fc.record({ do: fc.constant('close' as const) }),
)
type Act = typeof act extends fc.Arbitrary<infer A> ? A : never
type Ask = ReturnType<typeof nodeOn>['ask']
type Json = Record<string, unknown>

async function carryOut(ask: Ask, path: string, one: Act): Promise<unknown> {
  if (one.do === 'patch') return ask('PATCH', `/v2${path}`, one.fields)
  if (one.do === 'put') return ask('PUT', `/v2${path}`, one.fields)
  if (one.do === 'part') return ask('POST', `/v2${path}/parts`, { amount: one.amount })
  if (one.do === 'old') return ask('PATCH', `/v1${path}`, { title: one.title })
  if (one.do === 'close') return ask('POST', `/v2${path}/closures`)
  const operations = one.names.map((name) => ({ method: 'PATCH', path, body: { name } }))
  return ask('POST', '/v2/batches', { operations })
}

const without = ({ _links, ...item }: Json): Json => item

/** RFC 7396. */
function patched(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const own: Json = typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch))
    if (value === null) delete own[key]
    else own[key] = patched(own[key], value)
  return own
}

/** The same without members that are null, as a merge patch cannot tell them from missing ones. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, one]) => (one === null ? [] : [[key, withoutNulls(one)]])),
  )
}

async function replay(ask: Ask, acts: readonly Act[]): Promise<void> {
  const made = (await ask('POST', '/v2/items', { name: 'a' })).json
  const path = `/items/${made.id}`
  const seen = new Map<string, { readonly v1: Json; readonly v2: Json }>()
  const look = async () => {
    const [v1, v2] = [await ask('GET', `/v1${path}`), await ask('GET', `/v2${path}`)]
    const number = Number.parseInt((v2.headers.get('etag') as string).slice(1).split('-', 1)[0] as string, 36)
    seen.set(String(number), { v1: without(v1.json), v2: without(v2.json) })
  }
  await look()
  for (const one of acts) {
    await carryOut(ask, path, one)
    await look()
  }
  await ask('DELETE', `/v2${path}`)
  const { data } = (await ask('GET', `/v2${path}/revisions?limit=100`)).json
  const numbers: string[] = data.map(({ id }: { id: string }) => id)
  for (const number of seen.keys()) assert.ok(numbers.includes(number), `revision ${number} of ${numbers}`)
  for (const [number, { v1, v2 }] of seen) {
    assert.deepEqual((await ask('GET', `/v2${path}/revisions/${number}`)).json, v2)
    assert.deepEqual((await ask('GET', `/v1${path}/revisions/${number}`)).json, v1)
  }
  let at: unknown = {}
  for (const { id, changes } of data.toReversed()) {
    at = patched(at, changes)
    const known = seen.get(id)
    if (known) assert.deepEqual(withoutNulls(at), withoutNulls(known.v2))
  }
  const [from, to] = [[...seen.keys()][0], [...seen.keys()].at(-1)] as [string, string]
  const { json } = await ask('GET', `/v2${path}/revisions/${from}?against=${to}`)
  assert.deepEqual(withoutNulls(patched(seen.get(to)?.v2, json)), withoutNulls(seen.get(from)?.v2))
}
