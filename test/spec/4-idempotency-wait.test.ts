/** Part 4 of the contract, idempotency of POST: waiting for the first request with a key. */
import assert from 'node:assert/strict'
import { f, Problem } from 'bylaw'
import type { Outcome } from '../../src/flow/outcome.ts'
import type { Store } from '../../src/flow/store.ts'
import { type Answer, type Door, doors, spec } from '../help/door.ts'
import { things } from '../help/file.ts'
import { fresh, keyOf, refused } from '../help/key-service.ts'

type Act = () => Outcome | Promise<Outcome>

/** Replaces the next creation, unless it is null. */
let next: ((act: Act) => Promise<Outcome>) | null = null
let executed = 0

const gated = (store: Store): Store => ({
  ...store,
  execute: (plan) => {
    if (plan.do !== 'create') return store.execute(plan)
    executed++
    const held = next
    next = null
    return held ? held(() => store.execute(plan)) : store.execute(plan)
  },
})

/** Holds the next creation until `goOn`. */
function hold(): { reached: Promise<void>; goOn: (how: (act: Act) => Outcome | Promise<Outcome>) => void } {
  const { promise: reached, resolve: arrive } = Promise.withResolvers<void>()
  const { promise: how, resolve: goOn } = Promise.withResolvers<(act: Act) => Outcome | Promise<Outcome>>()
  executed = 0
  next = async (act) => {
    arrive()
    return (await how)(act)
  }
  return { reached, goOn }
}

const asUsual = (act: Act) => act()
function broken(): never {
  throw new Error('broken')
}
async function answerLost(act: Act): Promise<never> {
  await act()
  throw new Problem('dependency-unavailable', 'The connection was lost.')
}

const sent = (door: Door, text: unknown, key: string): Promise<Answer> =>
  door.send('POST', '/things', { json: { text }, headers: keyOf(key) })

/** Sends `count` requests: the first is held, and the others wait for it. */
async function waiting(door: Door, key: string, count: number) {
  const { reached, goOn } = hold()
  const first = sent(door, 'a', key)
  await reached
  return { goOn, first, others: Array.from({ length: count }, () => sent(door, 'a', key)) }
}

const statuses = (answers: readonly Answer[]): number[] => answers.map(({ status }) => status).sort()
const patient = (settings: object) => things({ text: f.text() }, { settings: { idempotency: settings } })

doors(
  'waiting for a key',
  patient({}),
  (door) => {
    spec('R102', 'those that wait are answered as repeats', async () => {
      const { goOn, first, others } = await waiting(door, fresh(), 49)
      goOn(asUsual)
      const { status, json } = await first
      assert.equal(status, 201)
      for (const answer of await Promise.all(others)) {
        assert.deepEqual([answer.status, answer.json.type], [409, 'idempotency-key-reused'])
        assert.deepEqual([answer.json.old_id, answer.headers.link], [json.id, `</things/${json.id}>; rel="related"`])
      }
    })

    spec('R102 R103', 'when the first one failed the next one proceeds', async () => {
      const key = fresh()
      const { goOn, first, others } = await waiting(door, key, 9)
      goOn(broken)
      assert.equal((await first).status, 500)
      const answers = await Promise.all(others)
      assert.deepEqual(statuses(answers), [201, ...Array(8).fill(409)])
      const id = answers.find(({ status }) => status === 201)?.json.id
      assert.equal((await sent(door, 'a', key)).json.old_id, id)
      assert.equal(door.errors.length, 1)
    })

    spec('R103', 'a 500 leaves the key free', async () => {
      const key = fresh()
      for (let i = 0; i < 3; i++) {
        hold().goOn(broken)
        assert.equal((await sent(door, 'a', key)).status, 500)
      }
      assert.equal((await sent(door, 'a', key)).status, 201)
    })

    spec('R101', 'if only the answer was lost, the key names the item', async () => {
      const key = fresh()
      const { goOn, first, others } = await waiting(door, key, 9)
      const before = (await door.send('GET', '/things')).json.pagination.totalRecords
      goOn(answerLost)
      assert.equal((await first).status, 503)
      const ids = (await Promise.all(others)).map(({ status, json }) => [status, json.old_id])
      assert.deepEqual(new Set(ids.map(([status]) => status)), new Set([409]))
      assert.equal(new Set(ids.map(([, id]) => id)).size, 1)
      assert.equal((await door.send('GET', `/things/${ids[0]?.[1]}`)).status, 200)
      assert.equal((await door.send('GET', '/things')).json.pagination.totalRecords, before + 1)
    })

    spec('R102 R99', 'with broken fields too', async () => {
      const key = fresh()
      const { goOn, first } = await waiting(door, key, 0)
      const bad = sent(door, 7, key)
      goOn(asUsual)
      const { id } = (await first).json
      const answer = await bad
      assert.deepEqual([answer.status, answer.json.old_id], [409, id])
    })

    spec('R102', 'requests with another key, or without one, do not wait', async () => {
      const { goOn, first } = await waiting(door, fresh(), 0)
      assert.equal((await sent(door, 'b', fresh())).status, 201)
      assert.equal((await door.send('POST', '/things', { json: { text: 'c' } })).status, 201)
      goOn(asUsual)
      assert.equal((await first).status, 201)
    })
  },
  { store: gated },
)

doors(
  'the end of patience',
  patient({ wait: 'PT0.2S' }),
  (door) => {
    spec('R102', 'a request that waited too long is answered that the first one is still running', async () => {
      const key = fresh()
      const { goOn, first, others } = await waiting(door, key, 3)
      for (const one of [...others, sent(door, 7, key)]) {
        const answer = await refused(one, 409, 'idempotency-in-progress')
        assert.equal(answer.headers['retry-after'], '1')
        assert.deepEqual(answer.json, {
          message: 'The first request with this key is still running.',
          type: 'idempotency-in-progress',
          types: ['idempotency-in-progress', 'conflict', 'client-error', 'error'],
        })
      }
      goOn(asUsual)
      const { json } = await first
      assert.equal((await sent(door, 'a', key)).json.old_id, json.id)
    })
  },
  { store: gated },
)

doors(
  'too many that wait',
  patient({ waiters: 3, conflictBody: 'minimal' }),
  (door) => {
    spec('R102', 'a limited number of requests wait for one key, the others are answered at once', async () => {
      const { goOn, first, others } = await waiting(door, fresh(), 8)
      const refusals: Answer[] = []
      await new Promise<void>((done) => {
        for (const one of others) one.then((answer) => refusals.push(answer) === 5 && done())
      })
      for (const { status, json } of refusals) assert.deepEqual([status, json.type], [409, 'idempotency-in-progress'])
      goOn(asUsual)
      const { id } = (await first).json
      const repeats = (await Promise.all(others)).filter(({ json }) => json.old_id === id)
      assert.equal(repeats.length, 3)
      assert.equal(executed, 1)
    })
  },
  { store: gated },
)
