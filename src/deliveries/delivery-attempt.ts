/** Delivery attempt: one attempt of a delivery that this process has taken, and its record. Part 6. R209, R210. */
import type { Document } from '../flow/intent.ts'
import { despiteConflicts } from '../flow/store.ts'
import { tablePlan } from '../flow/table.ts'
import { timestampOf } from '../formats/time-texts.ts'
import { mostAttempts } from '../resources/service-fields.ts'
import { makeActivity } from '../telemetry/activity.ts'
import { deliveryPause, disablesEndpoint } from '../webhooks/retry-pauses.ts'
import type { AttemptResult } from '../webhooks/send.ts'
import { makeSigner, type Sign } from '../webhooks/signature.ts'
import type { AttemptRecords } from './attempt-records.ts'
import { type Delivery, deliveriesIn, ownMembers, rowKey, type WebhookEndpoint } from './delivery.ts'
import { changePlan, type DeliveryContext, disableEndpoint, releaseHeld, rowsOf } from './delivery-context.ts'
import { keepSend, markFailing, markWorking, type SendRow } from './delivery-tables.ts'
import { signingSecrets } from './webhook-terms.ts'

export interface AttemptTerms {
  /** Null if it is disabled, or was removed. */
  readonly own: WebhookEndpoint | null
  readonly sign: Sign
  readonly holder: string
  readonly records: AttemptRecords
  /** Called when the attempt has ended, before its record: whether it was delivered, within `fastAnswer` milliseconds. */
  readonly wasSent: (isDelivered: boolean) => void
  readonly fastAnswer: number
  /** Since when nothing has succeeded; 0 after a success. */
  readonly failing: number
  readonly isStopped: () => boolean
}

/** An endpoint whose deliveries have all failed for this time is disabled. In milliseconds. */
const patience = 5 * 86_400_000
const forever = 8_640_000_000_000_000

/** A delivery that this process has taken, as it is stored. */
export interface TakenSend {
  readonly send: SendRow
  readonly delivery: Delivery
  readonly revision: number
}

export async function attemptDelivery(context: DeliveryContext, taken: TakenSend, terms: AttemptTerms): Promise<void> {
  const { send } = taken
  const at = context.world.now()
  const attempted = terms.own ? await post(context, taken, terms.own, terms.sign) : unsent
  context.world.state.of(makeActivity, null).deliveries.add(attempted.error === null ? 'succeeded' : 'failed')
  terms.wasSent(attempted.error === null && attempted.duration < terms.fastAnswer)
  // Another process sends it at once.
  if (terms.isStopped() && attempted.error !== null) await releaseHeld(context, [send.id], terms.holder)
  else await record(context, taken, terms, { attempted, at })
}

/** Signs with the secrets of an endpoint, which are opened once. */
export function signerOf({ world }: DeliveryContext, endpoint: string, own: WebhookEndpoint | null): Sign {
  let sign: Sign | undefined
  return (content) => {
    sign ??= makeSigner(signingSecrets(own?.sealed ?? '', endpoint, world))
    return sign(content)
  }
}

const unsent: AttemptResult = {
  ...{ responseStatus: null, error: 'The endpoint is disabled, or was removed.', duration: 0 },
  ...{ response: null, retryAfter: null },
}

/** Never rejects. */
async function post(
  { world, sender, log }: DeliveryContext,
  { send: { endpoint }, delivery: { eventId, request } }: TakenSend,
  { url }: WebhookEndpoint,
  sign: Sign,
): Promise<AttemptResult> {
  const { body } = request
  try {
    const headers = { ...request.headers, ...sign({ id: eventId, at: world.now(), body }) } as Record<string, string>
    return await sender.send({ endpoint, url, headers, body })
  } catch (err) {
    log.error({ err, endpoint }, 'A delivery could not be signed.')
    return { ...unsent, error: 'The delivery could not be signed.' }
  }
}

interface Made {
  readonly attempted: AttemptResult
  readonly at: number
}

async function record(context: DeliveryContext, taken: TakenSend, terms: AttemptTerms, attempt: Made): Promise<void> {
  const { world, resources } = context
  const deliveries = deliveriesIn(resources)
  const { attempted } = attempt
  const { id, endpoint, account, tries } = taken.send
  const isGone = terms.own === null || disablesEndpoint(attempted.responseStatus)
  const failed = { failures: tries + 1, retryAfter: attempted.retryAfter, now: world.now(), random: world.random() }
  const pause = attempted.error === null || isGone ? null : deliveryPause(failed)
  const status = attempted.error === null ? 'succeeded' : pause === null ? 'failed' : 'pending'
  const attemptId = world.newId('att')
  const change = changePlan(context, deliveries, rowKey(id, account), (document, revision) => {
    const { request, attempts: earlier, status: former } = document as unknown as Delivery
    // The receiver may have quoted values that were erased during the attempt.
    const isErased = request.body !== taken.delivery.request.body
    const own = { ...shownAttempt(attemptId, attempt), ...(isErased && { response: null }) }
    const others = earlier.filter((one) => one.id !== attemptId) // the attempt is there if its commit seemed to fail
    const attempts = [...others, ownMembers(deliveries, own)].slice(-mostAttempts)
    const url = terms.own?.url ?? request.url
    // Another process may have delivered it, if this one was too slow; or it was retried by hand during this attempt.
    const isOver = former !== 'pending' && status !== 'succeeded'
    const isRetried = revision !== taken.revision && earlier.at(-1)?.id === taken.delivery.attempts.at(-1)?.id
    const next = { status: isOver || isRetried ? former : status, attempts, request: { ...request, url } }
    return { ...document, ...ownMembers(deliveries, next) }
  })
  const { retention } = deliveries.settings.events
  const kept = retention === null ? forever : world.due() + retention
  const again = { id, held: terms.holder, state: 'pending', taken: 0, tries: tries + 1 }
  const follows = pause === null ? kept : tablePlan(keepSend, { ...again, due: world.due() + pause })
  await despiteConflicts(world, () => terms.records.add({ id, shown: change, follows }))
  await judgeEndpoint(context, { id: endpoint, account }, attempted, terms)
}

const shownAttempt = (id: string, { attempted, at }: Made): Document => ({
  ...{ id, at: timestampOf(at), responseStatus: attempted.responseStatus },
  duration: `PT${(attempted.duration / 1000).toFixed(3)}S`,
  ...{ error: attempted.error, response: attempted.response },
})

/** Remembers since when an endpoint fails, and disables one that is gone or fails for too long. */
async function judgeEndpoint(
  context: DeliveryContext,
  endpoint: { readonly id: string; readonly account: string },
  { error, responseStatus }: AttemptResult,
  { own, failing }: AttemptTerms,
): Promise<void> {
  if (own === null) return
  const now = context.world.due()
  const { id } = endpoint
  if (error === null) {
    if (failing > 0) await rowsOf(context, tablePlan(markWorking, { id, none: 0 }))
  } else if (disablesEndpoint(responseStatus)) {
    await disableEndpoint(context, endpoint, 'The endpoint answered 410.')
  } else if (failing === 0) {
    await rowsOf(context, tablePlan(markFailing, { id, none: 0, now }))
  } else if (now - failing > patience) {
    await disableEndpoint(context, endpoint, 'Nothing could be delivered for five days.')
  }
}
