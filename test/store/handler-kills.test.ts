/** Proves that money moved by handlers neither appears nor vanishes while processes are killed at random moments. R226. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { places } from '../help/places.ts'
import { type Running, startService } from '../help/process.ts'
import { until } from '../help/until.ts'

const file = fileURLToPath(new URL('../help/bank.ts', import.meta.url))
const [accounts, clients, kills, least] = [6, 16, 4, 150]

/** Sends a request; null if the process was killed meanwhile. */
async function ask(url: string, path: string, json: object, key?: string) {
  try {
    const headers = { 'content-type': 'application/json', ...(key && { 'idempotency-key': key }) }
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(json) })
    return { status: answer.status, json: (await answer.json()) as { id: string; old_id?: string } }
  } catch {
    return null
  }
}

for (const [name, place] of places)
  test(`transfers on two processes that are killed again and again keep the sum (${name})`, async (t) => {
    const where = await place(t)
    const running: Running[] = []
    const open = async () => startService(file, { database: where.url })
    for (let i = 0; i < 2; i++) running.push(await open())
    t.after(() => Promise.all(running.map(({ stop }) => stop('SIGKILL'))))
    const ids: string[] = []
    for (let i = 0; i < accounts; i++)
      ids.push((await ask((running[0] as Running).url, '/accounts', { balance: 20 }))?.json.id as string)
    const balances = async () =>
      (await where.rows('SELECT doc FROM accounts')).map(
        ({ doc }) => JSON.parse(String(doc)) as { id: string; balance: number },
      )
    let isOver = false
    const watched = (async () => {
      for (; !isOver; await pause(1))
        assert.equal(
          (await balances()).reduce((sum, { balance }) => sum + balance, 0),
          20 * accounts,
        )
    })()
    /** The transfers that were acknowledged, by their key. */
    const done = new Map<string, string>()
    let keys = 0
    const client = async (own: number): Promise<void> => {
      for (let round = 0; !isOver; round++) {
        const key = `${own}-${round}`
        keys++
        const from = Math.floor(Math.random() * accounts)
        const transfer = {
          from: ids[from],
          to: ids[(from + 1 + (round % (accounts - 1))) % accounts],
          amount: 1 + (round % 5),
        }
        // The same request is sent again until it is known what became of it.
        for (let tries = 0; !isOver; tries++) {
          const answer = await ask((running[(own + tries) % 2] as Running).url, '/transfers', transfer, key)
          if (answer === null || answer.status === 503) {
            await pause(5)
            continue
          }
          assert.ok([201, 409].includes(answer.status), JSON.stringify(answer))
          if (answer.status === 201) done.set(key, answer.json.id)
          break
        }
      }
    }
    const all = Array.from({ length: clients }, (_, i) => client(i))
    for (let kill = 0; kill < kills; kill++) {
      const before = done.size
      await until(() => done.size > before + 10)
      await pause(Math.random() * 30)
      await (running[kill % 2] as Running).stop('SIGKILL')
      running[kill % 2] = await open()
    }
    await until(() => done.size >= least)
    isOver = true
    await Promise.all([watched, ...all])
    const made = (await where.rows('SELECT doc FROM transfers')).map(
      ({ doc }) => JSON.parse(String(doc)) as { id: string; from: string; to: string; amount: number },
    )
    const stored = new Set(made.map(({ id }) => id))
    for (const [key, id] of done) assert.ok(stored.has(id), `the transfer of ${key} was acknowledged and is lost`)
    assert.equal(new Set(done.values()).size, done.size, 'two keys have one transfer')
    assert.ok(made.length <= keys, 'a key was used twice')
    const expected = new Map(ids.map((id) => [id, 20]))
    for (const { from, to, amount } of made) {
      expected.set(from, (expected.get(from) ?? 0) - amount)
      expected.set(to, (expected.get(to) ?? 0) + amount)
    }
    for (const { id, balance } of await balances()) assert.equal(balance, expected.get(id))
    t.diagnostic(`${made.length} transfers, ${done.size} acknowledged, ${kills} kills`)
  })
