/** Delivery attempt: one attempt of a delivery that this process has taken, and its record. Part 6. R209, R210. */
import type { Document } from '../flow/intent.ts'
import type { EffectReadResult } from '../flow/plan.ts'
import { tablePlan } from '../flow/table.ts'
import { timestampOf } from '../formats/time-texts.ts'
import { mostAttempts } from '../resources/service-fields.ts'
import { deliveryPause, disablesEndpoint } from '../webhooks/retry-pauses.ts'
import type { Attempted } from '../webhooks/send.ts'
import { makeSigner } from '../webhooks/signature.ts'
import { type Delivery, deliveriesIn, ownMembers, readMembers, rowKey, type WebhookEndpoint } from './delivery.ts'
import { changeRow, type DeliveryContext, disableEndpoint, findStored, rowsOf } from './delivery-context.ts'
import { isHeld, keepSend, markFailing, markWorking, removeSend, type SendRow } from './delivery-tables.ts'
import { signingSecrets } from './webhook-terms.ts'

export interface AttemptTerms {
  /** Null if it is disabled, or was removed. */
  readonly own: WebhookEndpoint | null
  readonly holder: string
  /** Since when nothing has succeeded; 0 after a success. */
  readonly failing: number
  readonly isStopped: () => boolean
}

/** An endpoint at which nothing has succeeded for so long is disabled, in milliseconds. */
const patience = 5 * 86_400_000
const forever = 8_640_000_000_000_000

/** Ends an attempt whose delivery another process has now. */
class SendLost extends Error {}

export async function attemptDelivery(context: DeliveryContext, send: SendRow, terms: AttemptTerms): Promise<void> {
  const deliveries = deliveriesIn(context.resources)
  const row = await findStored(context, deliveries, rowKey(send.id, send.account))
  const delivery = row && readMembers<Delivery>(deliveries, row)
  if (!delivery) {
    await rowsOf(context, tablePlan(removeSend, { id: send.id }))
    return
  }
  const { own } = terms
  const at = context.world.now()
  const attempted = own ? await attempt(context, send, delivery, own) : unsent
  if (terms.isStopped() && attempted.error !== null) return handBack(context, send, terms)
  await record(context, send, terms, { attempted, at }).catch((error: unknown) => {
    if (!(error instanceof SendLost)) throw error
  })
}

const unsent: Attempted = {
  ...{ responseStatus: null, error: 'The endpoint is disabled, or was removed.', duration: 0 },
  ...{ response: null, retryAfter: null },
}

async function attempt(
  { world, sender, log }: DeliveryContext,
  { endpoint }: SendRow,
  { eventId, request }: Delivery,
  { url, sealed }: WebhookEndpoint,
): Promise<Attempted> {
  const { body } = request
  try {
    const sign = makeSigner(signingSecrets(sealed, endpoint, world))
    const signed = sign({ id: eventId, at: world.now(), body })
    return await sender.send({
      endpoint,
      url,
      headers: { ...request.headers, ...signed } as Record<string, string>,
      body,
    })
  } catch (err) {
    log.error({ err, endpoint }, 'A delivery could not be signed.')
    return { ...unsent, error: 'The delivery could not be signed.' }
  }
}

/** Lets another process send it at once. */
async function handBack(context: DeliveryContext, send: SendRow, { holder }: AttemptTerms): Promise<void> {
  const { id, due, tries } = send
  await rowsOf(context, tablePlan(keepSend, { id, held: holder, state: 'pending', due, taken: 0, tries }))
}

interface Made {
  readonly attempted: Attempted
  readonly at: number
}

async function record(context: DeliveryContext, send: SendRow, terms: AttemptTerms, made: Made): Promise<void> {
  const { world, resources } = context
  const deliveries = deliveriesIn(resources)
  const { attempted } = made
  const { id, endpoint, account, tries } = send
  const isGone = terms.own === null || disablesEndpoint(attempted.responseStatus)
  const failed = { failures: tries + 1, retryAfter: attempted.retryAfter, now: world.now(), random: world.random() }
  const pause = attempted.error === null || isGone ? null : deliveryPause(failed)
  const status = attempted.error === null ? 'succeeded' : pause === null ? 'failed' : 'pending'
  const { retention } = deliveries.settings.events
  const due = pause !== null ? world.due() + pause : retention === null ? forever : world.due() + retention
  const state = pause === null ? 'ended' : 'pending'
  const keep = tablePlan(keepSend, { id, held: terms.holder, state, due, taken: 0, tries: tries + 1 })
  const admit = ([kept]: readonly EffectReadResult[]): void => {
    if (!isHeld(kept)) throw new SendLost()
  }
  const attemptId = world.newId('att')
  await changeRow(
    context,
    deliveries,
    rowKey(id, account),
    (document) => {
      const { request, attempts: earlier } = document as unknown as Delivery
      const attempts = [...earlier, ownMembers(deliveries, shownAttempt(attemptId, made))].slice(-mostAttempts)
      const url = terms.own?.url ?? request.url
      return { ...document, ...ownMembers(deliveries, { status, attempts, request: { ...request, url } }) }
    },
    { reads: [keep], admit },
  )
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
  { error, responseStatus }: Attempted,
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
