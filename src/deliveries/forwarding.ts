/** Forwarding: sends events to one URL as webhooks are delivered, those of an item in their order. Part 6. R209, R210. */
import type { ReceivedEvent } from '../events/event-client.ts'
import { pause, type World, within } from '../flow/world.ts'
import { disablesEndpoint } from '../webhooks/retry-pauses.ts'
import { type AttemptResult, mostConnections, type Sender } from '../webhooks/send.ts'
import { makeSigner, type Sign } from '../webhooks/signature.ts'
import { deliveryHeaders } from './delivery.ts'

export interface ForwardedAttempt extends AttemptResult {
  readonly event: ReceivedEvent
  /** The id of the item. */
  readonly item: string
  /** The time until the next attempt, in milliseconds; null if this was the last one. */
  readonly next: number | null
}

interface ForwardingTerms {
  readonly url: string
  readonly secret: string
  readonly sender: Sender
  readonly world: World
  readonly report: (attempt: ForwardedAttempt) => void
}

interface Forwarder {
  /** Takes an event for delivery; settles when the next one may be taken. */
  readonly take: (event: ReceivedEvent) => Promise<void>
  /** Lets attempts under way end, and returns how many events were neither delivered nor given up. */
  readonly stop: () => Promise<number>
}

const retryPauses = [1000, 2000, 4000]
/** How long attempts under way may take during a stop, in milliseconds. */
const stopPatience = 1000

export function forwardTo(terms: ForwardingTerms): Forwarder {
  const sign = makeSigner([terms.secret])
  /** The last delivery of each item. */
  const last = new Map<string, Promise<void>>()
  const pending = new Set<Promise<void>>()
  let [isStopped, open] = [false, 0]

  async function take(event: ReceivedEvent): Promise<void> {
    const key = `${event.type.split('.', 1)[0]} ${partsOf(event).item}`
    const done = (last.get(key) ?? Promise.resolve())
      .then(() => deliver(event, sign, { ...terms, isStopped: () => isStopped }))
      .then((isOver) => {
        if (isOver) open--
        pending.delete(done)
        if (last.get(key) === done) last.delete(key)
      })
    last.set(key, done)
    pending.add(done)
    open++
    while (pending.size >= mostConnections) await Promise.race(pending)
  }

  async function stop(): Promise<number> {
    isStopped = true
    await within(terms.world, stopPatience, Promise.all(pending), () => [])
    terms.sender.close()
    return open
  }

  return { take, stop }
}

/** Sends an event until it is accepted or given up; returns false if it was stopped before. */
async function deliver(
  event: ReceivedEvent,
  sign: Sign,
  { url, sender, world, report, isStopped }: ForwardingTerms & { readonly isStopped: () => boolean },
): Promise<boolean> {
  const { id, text: body } = event
  const { item, format } = partsOf(event)
  for (const next of [...retryPauses, null]) {
    if (isStopped()) return false
    const headers = { ...deliveryHeaders(format), ...sign({ id, at: world.now(), body }) }
    const attempted = await sender.send({ endpoint: url, url, headers, body })
    const isOver = next === null || attempted.error === null || disablesEndpoint(attempted.responseStatus)
    report({ ...attempted, event, item, next: isOver ? null : next })
    if (isOver) return true
    await pause(world, next)
  }
  return true
}

/** The id of the item, and the form of the event. */
function partsOf({ text }: ReceivedEvent): { readonly item: string; readonly format: 'cloudevents' | 'standard' } {
  const { specversion, subject, data } = JSON.parse(text)
  return specversion === undefined ? { item: data.id, format: 'standard' } : { item: subject, format: 'cloudevents' }
}
