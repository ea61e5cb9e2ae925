/** Proves that deliveries survive the processes that send them: none is lost, and ordered ones keep the order of each item. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { places } from '../help/places.ts'
import { sink } from '../help/sinks.ts'
import { until } from '../help/until.ts'
import { webhookNode } from '../help/webhooks.ts'

const script = fileURLToPath(new URL('../help/hook-node.ts', import.meta.url))
const [items, changes] = [6, 5]

interface Arrival {
  readonly ordered: boolean
  readonly item: string
  readonly sequence: number
  readonly id: string
}

/** A server that answers as many deliveries as `terms` says, and keeps the others open in `held`. */
async function holdingSink(t: TestContext) {
  const [arrivals, held]: [Arrival[], ServerResponse[]] = [[], []]
  const terms = { answers: 8 }
  const { url } = await sink(t, async (request, response) => {
    const event = JSON.parse(Buffer.concat(await request.toArray()).toString())
    const ordered = request.url === '/ordered'
    arrivals.push({ ordered, item: event.data.id, sequence: event.sequence, id: event.id })
    if (terms.answers-- > 0) response.writeHead(204).end()
    else held.push(response)
  })
  const { port } = new URL(url)
  return { url: `http://127.0.0.1:${port}`, arrivals, held, terms }
}

function startNode(t: TestContext, database: string) {
  const child = spawn(process.execPath, ['--conditions=bylaw-source', script, database], { stdio: 'inherit' })
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  t.after(kill)
  return kill
}

/** Each item's events in their order, where one may come again before the next. */
function judgeOrder(arrivals: readonly Arrival[]): void {
  const last = new Map<string, number>()
  for (const { item, sequence } of arrivals.filter(({ ordered }) => ordered)) {
    const before = last.get(item) ?? 0
    assert.ok(sequence === before || sequence === before + 1, `${item}: ${sequence} came after ${before}`)
    last.set(item, sequence)
  }
}

for (const [name, place] of places)
  test(`R206 R210 R212: deliveries of a process that is killed are sent by another one after its lease, on ${name}`, async (t) => {
    const at = await place(t)
    const { url, arrivals, held, terms } = await holdingSink(t)
    const { send } = webhookNode(t, at.url)
    for (const ordered of [false, true]) {
      const json = { url: `${url}/${ordered ? 'ordered' : 'any'}`, eventTypes: ['order.*'], ordered }
      assert.equal((await send('POST', '/webhook-endpoints', json)).status, 201)
    }
    for (let item = 0; item < items; item++) {
      const { body } = await send('POST', '/orders', { note: '1' })
      for (let n = 2; n <= changes; n++) await send('PATCH', `/orders/${body.id}`, { note: `${n}` })
    }
    const count = async (where: string) =>
      Number((await at.rows(`SELECT count(*) AS n FROM bylaw_webhook_sends WHERE ${where}`))[0]?.n)
    const all = 2 * items * changes

    const killFirst = startNode(t, at.url)
    const waiting = () => count(`state = 'pending' AND taken = 0`)
    await until(async () => held.length >= 8 && (await waiting()) > 0)
    await killFirst()
    const inFlight = arrivals.slice(-held.length)
    const [taken, pending] = [await count(`state = 'pending' AND taken > 0`), await count(`state = 'pending'`)]
    assert.ok(taken >= held.length, `${taken} were taken, and ${held.length} were being sent`)
    assert.ok(pending > taken, 'some wait for another process')

    // The second node has those that the first one had not taken, and waits for the lease of the others.
    const before = arrivals.length
    terms.answers = 1000
    const killSecond = startNode(t, at.url)
    const isOpen = (where: string) => `state = 'pending' AND ${where}`
    await until(async () => (await count(isOpen(`taken = 0 AND item = ''`))) === 0)
    const again = new Set(arrivals.slice(before).map(({ ordered, id }) => `${ordered} ${id}`))
    assert.deepEqual(
      inFlight.filter(({ ordered, id }) => again.has(`${ordered} ${id}`)),
      [],
      'not before its lease ends',
    )
    await killSecond()

    await at.rows('UPDATE bylaw_webhook_sends SET taken = 1 WHERE taken > 0')
    await at.rows('UPDATE bylaw_webhook_cursors SET taken = 1 WHERE taken > 0')
    startNode(t, at.url)
    await until(async () => (await count(`state = 'pending'`)) === 0)
    const kinds = new Set(arrivals.map(({ ordered, id }) => `${ordered} ${id}`))
    assert.equal(kinds.size, all, 'each event reached each endpoint')
    assert.equal(await count(`state = 'ended'`), all)
    judgeOrder(arrivals)
    const { body } = await send('GET', '/webhook-deliveries?status=succeeded&limit=100')
    assert.equal(body.data.length, all)
  })
