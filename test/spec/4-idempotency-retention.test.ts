/** Part 4 of the contract, idempotency of POST: how long a key is kept. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'
import { fresh, keyOf } from '../help/key-service.ts'

const day = 86_400_000
let now = Date.UTC(2026, 10, 20)
const start = (): number => {
  now += 1000 * day
  return now
}

const fields = { note: f.text({ optional: true }) }
const office = service({
  name: 'office',
  resources: {
    letters: { prefix: 'let', fields, access: 'public' },
    notes: { prefix: 'not', fields, access: 'public', settings: { idempotency: { retention: 'P30D' } } },
    calls: {
      prefix: 'cal',
      fields,
      access: 'public',
      settings: { idempotency: { retention: 'PT1H', mode: 'replay' } },
    },
  },
})

const post = (door: Door, path: string, key: string, json: object = {}): Promise<Answer> =>
  door.send('POST', path, { json, headers: keyOf(key) })

doors(
  'retention',
  office,
  (door) => {
    spec('R106', 'a key is kept for ever', async () => {
      const [key, first] = [fresh(), start()]
      const { id } = (await post(door, '/letters', key)).json
      for (const days of [1, 366, 36_600]) {
        now = first + days * day
        const { status, json } = await post(door, '/letters', key)
        assert.deepEqual([status, json.old_id], [409, id])
      }
      now = first
    })

    spec('R104 R106', 'a key of a deleted resource is kept as long', async () => {
      const [key, first] = [fresh(), start()]
      const { id } = (await post(door, '/letters', key)).json
      assert.equal((await door.send('DELETE', `/letters/${id}`)).status, 204)
      for (const days of [0, 366]) {
        now = first + days * day
        const { status, json } = await post(door, '/letters', key)
        assert.deepEqual([status, json.old_id], [409, id])
        assert.equal((await door.send('GET', `/letters/${id}`)).status, 410)
      }
    })

    spec('R106', 'with a duration a key is free again when that has passed since its first use', async () => {
      const [key, first] = [fresh(), start()]
      const { id } = (await post(door, '/notes', key, { note: 'a' })).json
      for (const days of [15, 29]) {
        now = first + days * day
        const { status, json } = await post(door, '/notes', key, { note: 'a' })
        assert.deepEqual([status, json.old_id], [409, id])
      }
      now = first + 31 * day
      const again = await post(door, '/notes', key, { note: 'b' })
      assert.equal(again.status, 201)
      now += 29 * day
      const { status, json } = await post(door, '/notes', key, { note: 'b' })
      assert.deepEqual([status, json.old_id, json.type], [409, again.json.id, 'idempotency-key-reused'])
      assert.equal((await door.send('GET', `/notes/${id}`)).json.note, 'a')
    })

    spec('R106 R98', 'so is its first answer', async () => {
      const [key, first] = [fresh(), start()]
      await post(door, '/calls', key, { note: 'a' })
      now = first + 59 * 60_000
      assert.equal((await post(door, '/calls', key, { note: 'b' })).status, 422)
      now = first + 61 * 60_000
      const again = await post(door, '/calls', key, { note: 'b' })
      assert.deepEqual([again.status, again.headers['idempotency-replayed']], [201, undefined])
      const repeat = await post(door, '/calls', key, { note: 'b' })
      assert.deepEqual([repeat.text, repeat.headers['idempotency-replayed']], [again.text, 'true'])
    })

    spec('R106 R99', 'an expired key is not reported before violations of fields', async () => {
      const [key, first] = [fresh(), start()]
      await post(door, '/notes', key)
      now = first + 31 * day
      const { status, json } = await post(door, '/notes', key, { note: 1 })
      assert.deepEqual([status, json.type], [400, 'validation-failed'])
      assert.equal((await post(door, '/notes', key, { note: 'b' })).status, 201)
    })

    spec('R106 R102', 'of parallel requests with a key that is free again one creates', async () => {
      const [key, first] = [fresh(), start()]
      await post(door, '/notes', key)
      now = first + 31 * day
      const answers = await Promise.all(Array.from({ length: 20 }, () => post(door, '/notes', key)))
      assert.equal(answers.filter(({ status }) => status === 201).length, 1)
      assert.equal(new Set(answers.map(({ json }) => json.id ?? json.old_id)).size, 1)
    })
  },
  { now: () => now },
)
