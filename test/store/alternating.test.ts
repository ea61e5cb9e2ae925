/** Proves by random writes and a model that nodes of two declarations on the same rows lose no values of each other. The store. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Field } from 'bylaw'
import fc from 'fast-check'
import {
  type Pair,
  picked,
  plain,
  record,
  same,
  sides,
  unversioned,
  type Values,
  versioned,
  versions,
} from '../help/pairs.ts'
import { places } from '../help/places.ts'
import { runsOf } from '../help/runs.ts'

interface Step {
  readonly side: 'old' | 'now'
  readonly method: 'PATCH' | 'PUT'
  readonly values: Values
}

/** Steps that change some fields or replace all of them. */
function steps(pairs: readonly Pair[], side: 'old' | 'now'): fc.Arbitrary<Step> {
  const written = pairs.map((pair) => (side === 'old' ? pair.writesOld : pair.writesNow))
  const all = fc.tuple(...written).map((values) => Object.assign({}, ...values))
  const some = fc.subarray([...written.keys()], { minLength: 0, maxLength: 2 }).chain((which) =>
    fc
      .tuple(fc.integer({ min: 0, max: 3 }), ...which.map((i) => written[i] as fc.Arbitrary<Values>))
      .map(([rank, ...values]) => ({
        side,
        method: 'PATCH' as const,
        values: Object.assign(which.length === 0 ? { rank } : {}, ...values),
      })),
  )
  const whole = fc.tuple(all, fc.integer({ min: 0, max: 3 })).map(([values, rank]) => ({
    side,
    method: 'PUT' as const,
    values: { ...values, rank },
  }))
  return fc.oneof({ weight: 6, arbitrary: some }, { weight: 1, arbitrary: whole })
}

interface Story {
  readonly first: Step
  readonly steps: readonly Step[]
}

const stories = (pairs: readonly Pair[]): fc.Arbitrary<Story> => {
  const whole = (side: 'old' | 'now') => steps(pairs, side).filter(({ method }) => method === 'PUT')
  return fc.record({
    first: fc.oneof(whole('old'), whole('now')),
    steps: fc.array(fc.oneof(steps(pairs, 'old'), steps(pairs, 'now')), { minLength: 2, maxLength: 8 }),
  })
}

/** A row as both declarations have it. */
interface Model {
  old: Values
  now: Values
}

/** The values of fields that no caller has sent. */
const usual: Values = { gone: '', fresh: [], country: 'DE' }
const blank = (fields: Readonly<Record<string, Field>>): Values =>
  Object.fromEntries(
    Object.entries(fields).map(([name, { kind }]) => [name, usual[name] ?? (kind === 'list' ? [] : null)]),
  )

/** The fields of a pair after a write of either side: the other side only gets new values for changed fields. */
function reported({ side, method, values }: Step, pair: Pair, before: Model | null): Model {
  const { up, down, merge = (_, made) => made, old: olds, now: nows } = pair
  if (!before) {
    const own = picked(values, side === 'old' ? olds : nows)
    return side === 'old'
      ? { old: own, now: { ...blank(nows), ...merge(completed(blank(nows)), up(own)) } }
      : { old: completed({ ...blank(olds), ...down(own) }), now: own }
  }
  const { old, now } = before
  if (side === 'old') {
    const next = method === 'PUT' ? picked(values, olds) : patched(old, picked(values, olds))
    return { old: next, now: same(up(old), up(next)) ? now : merge(now, up(next)) }
  }
  const next = method === 'PUT' ? picked(values, nows) : patched(now, picked(values, nows))
  const shown = down(next)
  const place = Object.hasOwn(shown, 'place') ? { place: { ...record(old.place), ...record(shown.place) } } : {}
  return { now: next, old: same(down(now), shown) ? old : { ...old, ...shown, ...place } }
}

/** The values with the defaults of members of `place`. */
const completed = (values: Values): Values =>
  Object.hasOwn(values, 'place')
    ? { ...values, place: values.place === null ? { country: 'DE' } : { ...record(values.place), zip: '' } }
    : values

/** Objects are patched member by member, as by PATCH. */
function patched(was: Values, is: Values): Values {
  const isObject = (value: unknown): value is Values =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  return Object.fromEntries(
    [...new Set([...Object.keys(was), ...Object.keys(is)])].map((name) => {
      const [before, next] = [was[name], is[name]]
      if (!Object.hasOwn(is, name)) return [name, before]
      return [name, isObject(before) && isObject(next) ? { ...before, ...next } : next]
    }),
  )
}

const hidden: ReadonlySet<string> = new Set(['pin', 'code'])
/** The values as answers show them. */
const shown = (values: Values): Values =>
  JSON.parse(JSON.stringify(Object.fromEntries(Object.entries(values).filter(([name]) => !hidden.has(name)))))

const runs = runsOf(60)

for (const [store, make] of places)
  for (const [kind, pairs, declared, prefix] of [
    ['versions', Object.values(versioned), versions, '/v2'],
    ['no versions', Object.values(plain), unversioned, ''],
  ] as const)
    describe(`nodes of two declarations with ${kind} that write in turn (${store})`, () => {
      test('lose no acknowledged write of either side, and no untouched field', async (t) => {
        const both = await sides(t, await make(t), ...declared())
        const rows: { path: string; all: readonly Model[] }[] = []
        const path = { old: '/things', now: `${prefix}/things` }
        const look = async (id: string, all: readonly Model[], side: 'old' | 'now') => {
          const { json } = await both[side].ask('GET', `${path[side]}/${id}`)
          const expected = Object.assign({}, ...all.map((model) => model[side]))
          const { id: _, rank: __, createdAt, updatedAt, ...answered } = json
          assert.deepEqual(shown(answered), shown(expected), `${side} ${createdAt} ${updatedAt}`)
        }
        /** Asserts that a list finds the row with all filters on its shown values. */
        const find = async (id: string, all: readonly Model[], side: 'old' | 'now') => {
          const asked = pairs.flatMap((pair, i) =>
            Object.entries(pair[side]).flatMap(([name, { options }]) => {
              const value = (all[i] as Model)[side][name]
              return options.filter && value !== null ? [`${name}=${encodeURIComponent(String(value))}`] : []
            }),
          )
          const { json } = await both[side].ask('GET', `${path[side]}?page_size=100&${asked.join('&')}`)
          const ids = json.data.map((found: Values) => found.id)
          assert.ok(ids.includes(id), `${side} node: ${asked.join('&')} does not find ${JSON.stringify(all)}`)
        }
        await fc.assert(
          fc.asyncProperty(stories(pairs), async ({ first, steps }) => {
            const created = await both[first.side].ask('POST', path[first.side], first.values)
            assert.equal(created.status, 201, JSON.stringify(created.json))
            const { id } = created.json
            let all = pairs.map((pair) => reported(first, pair, null))
            for (const step of steps) {
              const { status, json } = await both[step.side].ask(step.method, `${path[step.side]}/${id}`, step.values)
              assert.equal(status, 200, JSON.stringify(json))
              all = pairs.map((pair, i) => reported(step, pair, all[i] as Model))
              if (step.values.rank === 1) await look(id, all, 'now')
            }
            await look(id, all, 'old')
            await look(id, all, 'now')
            await find(id, all, 'old')
            await find(id, all, 'now')
            rows.push({ path: id, all })
          }),
          { numRuns: runs, seed: Number(process.env.BYLAW_TEST_SEED ?? 7) },
        )
        await both.end()
        for (const { path: id, all } of rows) await look(id, all, 'now')
      })
    })
