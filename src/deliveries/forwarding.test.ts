/** Forwarded events: their order, their attempts, and a stop. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testWorld } from '../../test/help/world.ts'
import { verify } from '../webhooks/verification.ts'
import { type ForwardedAttempt, forwardTo } from './forwarding.ts'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const eventOf = (id: string, item: string) => ({
  ...{ id, type: 'order.updated' },
  text: JSON.stringify({ id, type: 'order.updated', data: { id: item } }),
})
const cloudEventOf = (id: string, item: string) => ({
  ...{ id, type: 'order.updated' },
  text: JSON.stringify({ specversion: '1.0', id, type: 'order.updated', subject: item, data: {} }),
})

/** A receiver that answers an event with a status, at once or when `answer` is called. */
function forwarding(statusOf: (id: string) => number | null) {
  const world = testWorld()
  const sent: { id: string; at: number; headers: Readonly<Record<string, string>>; body: string }[] = []
  const attempts: ForwardedAttempt[] = []
  const held = new Map<string, () => void>()
  const send = async ({ headers, body }: { headers: Readonly<Record<string, string>>; body: string }) => {
    const id = headers['webhook-id'] as string
    sent.push({ id, at: world.monotonic(), headers, body })
    const status = statusOf(id)
    if (status === null) await new Promise<void>((resolve) => held.set(id, resolve))
    const error = status === null || status < 300 ? null : 'refused'
    return { responseStatus: status ?? 204, error, duration: 1, response: '', retryAfter: null }
  }
  let closed = false
  const close = (): void => {
    closed = true
  }
  const { take, stop } = forwardTo({
    ...{ url: 'http://localhost:4000', secret, sender: { send, close }, world },
    report: (one) => attempts.push(one),
  })
  const idsOf = () => sent.map(({ id }) => id)
  return { world, sent, attempts, take, stop, idsOf, answer: (id: string) => held.get(id)?.(), closed: () => closed }
}

test('a delivery is signed at each attempt, and its content type follows the form of the event', async () => {
  const { world, sent, take } = forwarding((id) => (id === 'evt_1' ? 500 : 204))
  await take(eventOf('evt_1', 'ord_1'))
  await take(cloudEventOf('evt_2', 'ord_2'))
  await world.pass(1000)
  const [first, second, again] = sent
  assert.ok(first && second && again)
  assert.equal(first.headers['content-type'], 'application/json')
  assert.equal(first.headers['user-agent'], 'bylaw-webhooks')
  assert.equal(second.headers['content-type'], 'application/cloudevents+json')
  assert.equal(again.id, 'evt_1')
  assert.equal(Number(again.headers['webhook-timestamp']), Number(first.headers['webhook-timestamp']) + 1)
  for (const { headers, body } of sent) await verify(headers, body, secret, { now: world.now })
})

test('an event that is refused is sent four times, and the later events of its item wait', async () => {
  const { world, sent, attempts, take, idsOf } = forwarding((id) => (id === 'evt_1' ? 503 : 204))
  for (const [id, item] of [
    ['evt_1', 'ord_1'],
    ['evt_2', 'ord_1'],
    ['evt_3', 'ord_2'],
  ] as const)
    await take(eventOf(id, item))
  await world.pass(0)
  assert.deepEqual(idsOf(), ['evt_1', 'evt_3'])
  await world.pass(60_000)
  assert.deepEqual(idsOf(), ['evt_1', 'evt_3', 'evt_1', 'evt_1', 'evt_1', 'evt_2'])
  assert.deepEqual(
    sent.filter(({ id }) => id === 'evt_1').map(({ at }) => at),
    [0, 1000, 3000, 7000],
  )
  assert.deepEqual(
    attempts.filter(({ event }) => event.id === 'evt_1').map(({ next }) => next),
    [1000, 2000, 4000, null],
  )
})

test('an event of CloudEvents waits for its item too', async () => {
  const { world, take, idsOf, answer } = forwarding((id) => (id === 'evt_1' ? null : 204))
  for (const id of ['evt_1', 'evt_2']) await take(cloudEventOf(id, 'ord_1'))
  await world.pass(0)
  assert.deepEqual(idsOf(), ['evt_1'])
  answer('evt_1')
  await world.pass(0)
  assert.deepEqual(idsOf(), ['evt_1', 'evt_2'])
})

test('410 ends the attempts', async () => {
  const { world, take, idsOf } = forwarding(() => 410)
  await take(eventOf('evt_1', 'ord_1'))
  await world.pass(60_000)
  assert.deepEqual(idsOf(), ['evt_1'])
})

test('ten deliveries are open at most; then the next event is not taken', async () => {
  const { world, take, idsOf, answer } = forwarding(() => null)
  for (let n = 1; n < 10; n++) await take(eventOf(`evt_${n}`, `ord_${n}`))
  let taken = false
  void take(eventOf('evt_10', 'ord_10')).then(() => {
    taken = true
  })
  await world.pass(1000)
  assert.deepEqual([idsOf().length, taken], [10, false])
  answer('evt_4')
  await world.pass(0)
  assert.equal(taken, true)
})

test('a stop waits a second for attempts under way, and counts what was not delivered', async () => {
  const { world, take, stop, idsOf, answer, closed } = forwarding((id) => (id === 'evt_3' ? 500 : null))
  for (const [id, item] of [
    ['evt_1', 'ord_1'],
    ['evt_2', 'ord_1'],
    ['evt_3', 'ord_2'],
    ['evt_4', 'ord_3'],
  ] as const)
    await take(eventOf(id, item))
  await world.pass(0)
  const stopped = stop()
  answer('evt_1')
  await world.pass(999)
  assert.equal(closed(), false)
  await world.pass(1)
  assert.equal(await stopped, 3)
  assert.equal(closed(), true)
  await world.pass(60_000)
  assert.deepEqual(idsOf(), ['evt_1', 'evt_3', 'evt_4'])
})
