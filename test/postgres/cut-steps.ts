/** The requests that a test sends while connections to the database are cut. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import {
  assertDone,
  assertFound,
  keyed,
  type Place,
  recovered,
  type Step,
  type StoredRow,
  verdictOf,
} from './cut-trials.ts'
import type { AnswerSeen, Node } from './service-on-server.ts'

export const cutApi = service({
  name: 'cuts',
  settings: { batches: 10 },
  resources: {
    things: {
      prefix: 'thg',
      fields: {
        name: f.text({ unique: true }),
        team: f.text({ filter: true, default: 'none' }),
        count: f.integer({ default: 0 }),
      },
      access: 'public',
    },
    orders: {
      prefix: 'ord',
      fields: { note: f.text({ optional: true }) },
      states: { field: 'status', initial: 'draft', transitions: { placements: { from: ['draft'], to: 'placed' } } },
      access: 'public',
    },
    accounts: { prefix: 'acc', fields: { balance: f.integer({ min: 0 }) }, access: 'public' },
    transfers: {
      prefix: 'trf',
      fields: { from: f.ref('accounts'), to: f.ref('accounts'), note: f.text({ unique: true }) },
      access: 'public',
    },
  },
}).handlers({
  transfers: {
    async create({ input: { from, to }, get, change }) {
      await get('accounts', from)
      change('accounts', from, ({ balance }) => ({ balance: balance - 1 }))
      change('accounts', to, ({ balance }) => ({ balance: balance + 1 }))
    },
  },
})

const thingsOf = ({ rows }: Place, name: string) => rows('SELECT * FROM things WHERE by_name = $1', name)

/** Checks the answer to a creation; one with a key is repeated, and is then there once. */
async function checkCreation(
  place: Place,
  {
    name,
    key,
    answer,
    inOutage,
  }: { readonly name: string; readonly key: string | null; readonly answer: AnswerSeen; readonly inOutage: boolean },
): Promise<void> {
  const stored = await thingsOf(place, name)
  const verdict = verdictOf(answer, 201)
  assertDone(stored.length, verdict)
  if (verdict === 'done') assert.deepEqual([answer.json.id, answer.json.name], [stored[0]?.id, name])
  if (key === null) return
  assertFound(stored.length, verdict, inOutage)
  const again = await recovered(() => place.call('POST', '/things', { name }, keyed(key)))
  const [row, ...others] = await thingsOf(place, name)
  assert.deepEqual([others.length, stored[0]?.id ?? again.json.id], [0, row?.id])
  if (stored.length > 0) assert.deepEqual([again.status, again.json.old_id], [409, row?.id])
  else assert.ok(again.status === 201 || again.json.old_id === row?.id, JSON.stringify(again.json))
}

/** Creations at once; those of the given keys have one. */
function creation(name: string, count: number, key: (one: string, i: number) => string | null): Step {
  return {
    name,
    make: async (place, own) => {
      const names = Array.from({ length: count }, (_, i) => `${own}-${String(i).padStart(2, '0')}`)
      const keys = names.map(key)
      return {
        send: () =>
          Promise.all(names.map((one, i) => place.call('POST', '/things', { name: one }, keyed(keys[i] ?? null)))),
        check: async (answers, inOutage) => {
          for (const [i, one] of names.entries())
            await checkCreation(place, { name: one, key: keys[i] ?? null, answer: answers[i] as AnswerSeen, inOutage })
          const next = `${own}-next`
          assert.equal((await recovered(() => place.call('POST', '/things', { name: next }))).status < 500, true)
          assert.equal((await thingsOf(place, next)).length, 1)
        },
      }
    },
  }
}

interface ItemsToRead {
  readonly ids: readonly string[]
  readonly team: string
}

/** Reads of items that a node has made; they are repeated after a lost connection, so they always succeed. */
function reading(name: string, pathsOf: (items: ItemsToRead) => readonly string[], most = 5): Step {
  const made = new WeakMap<Place['call'], Promise<ItemsToRead>>()
  return {
    name,
    make: async (place) => {
      if (!made.has(place.call)) made.set(place.call, itemsToRead(place))
      const items = (await made.get(place.call)) as ItemsToRead
      await recovered(() => place.call('PATCH', `/things/${items.ids[0]}`, { count: ++writes })) // empties the cache
      const stored = await place.rows('SELECT * FROM things WHERE by_team = $1 ORDER BY id', items.team)
      const expected = stored.slice(0, most).map(({ doc }) => doc)
      const send = () => Promise.all(pathsOf(items).map((path) => place.call('GET', path)))
      const check = (answers: readonly AnswerSeen[]): void => {
        for (const { status, json } of answers) {
          assert.equal(status, 200, JSON.stringify(json))
          if (json.pagination) assert.equal(json.pagination.totalRecords, 5)
        }
        const shown = answers.flatMap(({ json }) => json.data ?? [json])
        const fields = shown.map(({ id, name, team, count }) => ({ id, name, team, count })).sort(byId)
        assert.deepEqual(
          fields,
          expected.map(({ id, name, team, count }) => ({ id, name, team, count })),
        )
      }
      return {
        send,
        check: async (answers, inOutage) => {
          const refused = inOutage && answers.filter((one) => one.status !== 200)
          if (refused) for (const one of refused) assert.equal(verdictOf(one, 200), 'unchanged')
          if (!refused || refused.length === 0) check(answers)
          for (const path of pathsOf(items)) await recovered(() => place.call('GET', path))
          check(await send())
        },
      }
    },
  }
}

const byId = (one: { readonly id: string }, other: { readonly id: string }): number => (one.id < other.id ? -1 : 1)
let [teams, writes] = [0, 1000]

/** A new item; the key finds it if the answer of its creation did not come in time. */
async function created({ call }: Pick<Place, 'call'>, path: string, body: object, key: string): Promise<AnswerSeen> {
  const answer = await recovered(() => call('POST', path, body, keyed(key)))
  return answer.status === 201 ? answer : recovered(() => call('GET', `${path}/${answer.json.old_id}`))
}

async function itemsToRead({ call }: Place): Promise<ItemsToRead> {
  const team = `team-${++teams}`
  const ids: string[] = []
  for (let i = 0; i < 5; i++) {
    const name = `${team}-${i}`
    ids.push((await created({ call }, '/things', { name, team }, name)).json.id)
  }
  return { ids: ids.sort(), team }
}

interface WriteOfItem {
  readonly name: string
  readonly collection: string
  readonly body: (name: string) => object
  readonly request: (path: string, etag: string, name: string) => Parameters<Node['call']>
  readonly success: number
  /** How often it was done, from the stored rows. */
  readonly times: (stored: readonly StoredRow[]) => number
  /** The statuses of the repeated request if it was done, and otherwise. */
  readonly again: readonly [done: number, not: number]
  readonly isKeyed?: true
}

/** A write of an item, which is repeated afterwards, and then is done once. */
function writing({ name, collection, body, request, success, times, again, isKeyed }: WriteOfItem): Step {
  return {
    name,
    make: async (place, own) => {
      const { json, etag } = await created(place, `/${collection}`, body(own), `new-${own}`)
      const stored = () => place.rows(`SELECT * FROM ${collection} WHERE id = $1`, json.id)
      const sent = request(`/${collection}/${json.id}`, etag, own)
      return {
        send: async () => [await place.call(...sent)],
        check: async ([answer], inOutage) => {
          const before = times(await stored())
          const verdict = verdictOf(answer as AnswerSeen, success)
          assertDone(before, verdict)
          if (isKeyed) assertFound(before, verdict, inOutage)
          const { status } = await recovered(() => place.call(...sent))
          assert.equal(status, again[before > 0 ? 0 : 1])
          assert.equal(times(await stored()), 1)
        },
      }
    },
  }
}

const writesOfItems: readonly WriteOfItem[] = [
  {
    name: 'a change with If-Match',
    collection: 'things',
    body: (name) => ({ name }),
    request: (path, etag) => ['PATCH', path, { count: 7 }, { 'if-match': etag }],
    success: 200,
    times: ([row]) => Number(row?.revision) - 1,
    again: [412, 200],
  },
  {
    name: 'a deletion',
    collection: 'things',
    body: (name) => ({ name }),
    request: (path) => ['DELETE', path],
    success: 204,
    times: ({ length }) => 1 - length,
    again: [204, 204],
  },
  {
    name: 'a transition with a key',
    collection: 'orders',
    body: (note) => ({ note }),
    request: (path, _, key) => ['POST', `${path}/placements`, undefined, keyed(key)],
    success: 200,
    times: ([row]) => Number(row?.revision) - 1,
    again: [200, 200],
    isKeyed: true,
  },
]

/** Two creations in one transaction. */
const batch: Step = {
  name: 'a batch with a key',
  make: async (place, own) => {
    const names = [`${own}-a`, `${own}-b`]
    const operations = names.map((name) => ({ method: 'POST', path: '/things', body: { name } }))
    const stored = () => place.rows('SELECT * FROM things WHERE by_name = ANY($1)', `{${names.join()}}`)
    const ask = () => place.call('POST', '/batches', { operations }, keyed(own))
    return {
      send: async () => [await ask()],
      check: async ([answer], inOutage) => {
        const before = await stored()
        assert.equal(before.length % 2, 0, 'half of a batch was stored')
        const verdict = verdictOf(answer as AnswerSeen, 200)
        assertDone(before.length / 2, verdict)
        assertFound(before.length, verdict, inOutage)
        const { status, json } = await recovered(ask)
        assert.equal(status, 200, JSON.stringify(json)) // replayed, or carried out now
        assert.equal((await stored()).length, 2)
      },
    }
  },
}

/** Writes whose handlers change the same rows, which share a transaction. */
const transfers: Step = {
  name: 'transfers at once',
  make: async (place, own) => {
    const made = [0, 1].map(() => recovered(() => place.call('POST', '/accounts', { balance: 1000 })))
    const [from, to] = (await Promise.all(made)).map(({ json }) => json.id as string)
    const notes = Array.from({ length: 3 }, (_, i) => `${own}-${i}`)
    const ask = (note: string, i: number) =>
      place.call('POST', '/transfers', { from, to, note }, keyed(i % 2 ? note : null))
    const stored = (note: string) => place.rows('SELECT * FROM transfers WHERE by_note = $1', note)
    const assertMoved = async () => {
      const all = await place.rows('SELECT * FROM transfers WHERE by_note = ANY($1)', `{${notes.join()}}`)
      const accounts = await place.rows('SELECT * FROM accounts WHERE id = ANY($1)', `{${from},${to}}`)
      const balanceOf = (id = '') => accounts.find((one) => one.id === id)?.doc.balance
      assert.deepEqual([balanceOf(from), balanceOf(to)], [1000 - all.length, 1000 + all.length])
    }
    return {
      send: () => Promise.all(notes.map(ask)),
      check: async (answers, inOutage) => {
        await assertMoved()
        for (const [i, note] of notes.entries()) {
          const { length } = await stored(note)
          const verdict = verdictOf(answers[i] as AnswerSeen, 201)
          assertDone(length, verdict)
          if (i % 2 === 0) continue
          assertFound(length, verdict, inOutage)
          assert.equal((await recovered(() => ask(note, i))).status, length > 0 ? 409 : 201)
          assert.equal((await stored(note)).length, 1)
        }
        await assertMoved()
      },
    }
  },
}

export const steps: readonly Step[] = [
  reading('an item', ({ ids }) => [`/things/${ids[0]}`], 1),
  reading('several items at once', ({ ids }) => ids.map((id) => `/things/${id}`)),
  reading('a page', ({ team }) => [`/things?team=${team}&page=1`]),
  reading('a list', ({ team }) => [`/things?team=${team}&limit=5`]),
  creation('a creation', 1, () => null),
  creation('a creation with a key', 1, (name) => name),
  creation('creations at once', 6, (name, i) => (i % 2 ? name : null)),
  ...writesOfItems.map(writing),
  batch,
  transfers,
]
