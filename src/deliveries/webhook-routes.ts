/** Webhook routes: rotations, tests and replays of endpoints, and retries of deliveries. Part 6. R209, R212. */
import { describedItem, itemConditions } from '../endpoints/described.ts'
import { type EndpointContext, itemPath, itemReply, replayReply, writeRefusal } from '../endpoints/item.ts'
import { admitItem, admitUnlessKeyed, writeItemRoute } from '../endpoints/write-item.ts'
import { invalidBody, Problem } from '../errors/problem.ts'
import { eventTypesOf } from '../events/event-scope.ts'
import { eventText } from '../events/event-text.ts'
import { type Fields, f } from '../fields/field.ts'
import type { FoundRow } from '../flow/found-row.ts'
import type { Intent, RequestContext } from '../flow/intent.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { RowWrite } from '../flow/plan.ts'
import type { Reply } from '../flow/reply.ts'
import type { DescribedAnswer, Route } from '../flow/route.ts'
import { tablePlan } from '../flow/table.ts'
import { toCase } from '../formats/naming.ts'
import { durationMilliseconds } from '../formats/time-texts.ts'
import { claimOfTransition } from '../idempotency/claim.ts'
import { completeDocumentBy, decodeDocument, stampDocument } from '../resources/document.ts'
import { inputFields, readInput } from '../resources/machine.ts'
import type { Resource } from '../resources/resource.ts'
import { samples } from '../resources/samples.ts'
import { deliveryResource, eventTypePattern, isWebhookResource, writeEndpoints } from '../resources/service-fields.ts'
import { encodeDocument } from '../rows/collection.ts'
import {
  deliveriesIn,
  includesType,
  ownMembers,
  readerOf,
  readMembers,
  storedDelivery,
  type WebhookEndpoint,
} from './delivery.ts'
import { addCursor, findHead, retriedHolder, retrySend } from './delivery-tables.ts'
import { isOfEndpoints, scopeOf, typeFaults, withSecret } from './endpoint-routes.ts'
import { newSecret, sealNext } from './webhook-terms.ts'

/** The routes below items of endpoints and deliveries; none for other resources. */
export function webhookRoutes(context: EndpointContext): readonly Route[] {
  if (isOfEndpoints(context)) return [rotationRoute(context), testRoute(context), replayRoute(context)]
  const { name, declaration } = context.resource
  return name === deliveryResource && isWebhookResource(declaration) ? [retryRoute(context)] : []
}

type Input = ReadonlyMap<string, unknown>

interface WebhookAction {
  readonly name: string
  readonly summary: string
  readonly input?: Fields
  readonly answers: readonly DescribedAnswer[]
  readonly answered?: Resource
  readonly decide: (intent: Intent, current: FoundRow, input: Input) => RowWrite
  readonly render: (intent: Intent, outcome: Outcome, base: Reply) => Reply
}

/** A POST below an item, with the conditions and keys of other writes. */
function actionRoute(context: EndpointContext, { name, summary, input: fields = {}, ...own }: WebhookAction): Route {
  const { resource } = context
  const rule = writeEndpoints
  const naming = resource.settings.naming
  const named = Object.fromEntries(Object.entries(fields).map(([member, field]) => [toCase(member, naming), field]))
  const input = inputFields(named, {}, resource.rules)
  const route = writeItemRoute(context, {
    ...{ operation: name, method: 'POST', at: `item/${name}`, rule, content: ['application/json'] },
    ...{ contentOptional: true, claims: 'replayed', headers: () => ({}), admit: admitUnlessKeyed(context) },
    claiming: (request: RequestContext) => claimOfTransition(request, context.representation.today, { name, rule }),
    decide: (intent, current) => {
      admitItem(context, intent, current)
      const read = readInput(input, intent.body ?? {}, resource.settings)
      return own.decide(
        intent,
        current as FoundRow,
        new Map([...read].map(([at, value]) => [toCase(at, 'camel'), value])),
      )
    },
    about: {
      ...{ id: name, summary: () => summary, body: 'input', input, headers: itemConditions, answers: own.answers },
      ...(own.answered && { answered: own.answered }),
      refusals: ['conflict'],
    },
  })
  return { ...route, render: (intent, outcome) => own.render(intent, outcome, renderBase(route, intent, outcome)) }
}

const nothing: Reply = { status: 202, headers: {}, body: null }
/** The reply before `render` of the action replaces it; outcomes with an answer of their own need none. */
const renderBase = (route: Route, intent: Intent, outcome: Outcome): Reply =>
  outcome.is === 'answered' || outcome.is === 'claimed' ? nothing : route.render(intent, outcome)

/** Renders an answer that the route makes itself, also when an idempotency key repeats it. */
function ownAnswer(context: EndpointContext, intent: Intent, outcome: Outcome, reply: (doc: string) => Reply): Reply {
  if (outcome.is === 'claimed') return replayReply(context, intent, outcome, (_, { doc }) => reply(doc))
  if (outcome.is === 'answered') return reply(outcome.doc)
  throw writeRefusal(context, outcome, intent.key)
}

const replayed = ['Idempotency-Replayed']

function rotationRoute(context: EndpointContext): Route {
  const { resource } = context
  const today = context.representation.today
  const secretOf = ({ secret: seed = '' }: Intent, signature: unknown) =>
    newSecret(signature, { fillRandom: () => Buffer.from(seed, 'base64') })
  const route = actionRoute(context, {
    ...{ name: 'secret-rotations', summary: 'Rotate the secret; the former one signs meanwhile' },
    answers: [describedItem(200, 'The endpoint, with the new secret.', resource, replayed)],
    input: { overlap: f.duration({ default: 'P1D' }) },
    decide: (intent, current, input) => {
      const { key, time, world } = intent
      const before = decodeDocument(today, current.doc, current.hidden)
      const { sealed, signature } = readMembers<WebhookEndpoint & { signature: string }>(today, current)
      const { secret, publicKey } = secretOf(intent, signature)
      const until = time + durationFrom(input.get('overlap'))
      const next = sealNext(secret, sealed, { id: key.id, until }, world)
      const after = { ...before, ...ownMembers(today, { sealed: next, publicKey }) }
      return context.writer.update(today, after, { key, time, current, before, always: true })
    },
    render: (intent, outcome, base) => {
      if (outcome.is === 'claimed')
        return replayReply(context, intent, outcome, (_, row) => itemReply(context, intent, 200, row))
      if (intent.secret === undefined || typeof base.body !== 'string') return base
      const { signature } = JSON.parse(base.body)
      return withSecret(base, { ...intent, secret: secretOf(intent, signature).secret }, outcome)
    },
  })
  // The random part of the secret is drawn once, as the decision may run again.
  const drawn = ({ world }: RequestContext) => Buffer.from(world.fillRandom(new Uint8Array(32))).toString('base64')
  return { ...route, parse: (request) => ({ ...route.parse(request), secret: drawn(request) }) }
}

function durationFrom(text: unknown): number {
  const duration = durationMilliseconds(String(text))
  const [message, pointer] = ['overlap must be a duration of days or less, as P1D.', '/overlap']
  if (duration === undefined || duration > 30 * 86_400_000)
    throw invalidBody([{ message, type: 'invalid-value', in: 'body', pointer }])
  return duration
}

function testRoute(context: EndpointContext): Route {
  const deliveries = deliveriesIn(context.resources)
  return actionRoute(context, {
    ...{ name: 'tests', summary: 'Sends a sample of an event', answers: [deliveryAnswer(deliveries)] },
    answered: deliveries,
    decide: (intent, current) => {
      const { key, time, world } = intent
      const today = context.representation.today
      const own = readMembers<WebhookEndpoint>(today, current)
      const account = today.collection.account === null ? null : key.account
      const {
        doc,
        key: delivery,
        create,
        send,
      } = storedDelivery(
        {
          deliveries: deliveriesIn(context.stored),
          writer: context.writer,
          time,
          due: world.due(),
          newId: world.newId,
        },
        { endpoint: { id: key.id, url: own.url, account }, ...sampleEvent(context, own, intent), item: '' },
      )
      const change = { collection: deliveries.name, key: delivery, time, change: () => create }
      return { do: 'keep', answer: doc, effects: [change, send] }
    },
    render: (intent, outcome) => ownAnswer(context, intent, outcome, (doc) => deliveryReply(context, intent, doc)),
  })
}

const deliveryAnswer = (deliveries: Resource): DescribedAnswer =>
  describedItem(202, 'The delivery, which will be sent.', deliveries, ['Location', ...replayed])

function deliveryReply({ contexts }: EndpointContext, intent: Intent, doc: string): Reply {
  const deliveries = contexts.get(deliveryResource) as EndpointContext
  const { id } = JSON.parse(doc) as { id: string }
  const { body } = itemReply(deliveries, intent, 202, { doc, revision: 1 })
  const headers = { Location: itemPath(deliveries.resource, { id, parent: null }, intent.carried) }
  return { status: 202, headers, body }
}

/** An event as the endpoint would get it, of an item that does not exist. */
function sampleEvent(context: EndpointContext, own: WebhookEndpoint, { time, world, caller }: Intent) {
  const scope = scopeOf(context, own.version)
  const source = scope.sources.find((one) => eventTypesOf(one).some((type) => includesType(own.eventTypes, type)))
  if (!source) throw new Problem('conflict', 'The endpoint asks for no type of event that there is.')
  const { today } = source.context.representation
  const [action = 'created'] =
    [...source.actions].find(([, name]) => includesType(own.eventTypes, `${source.prefix}.${name}`)) ?? []
  const [sample = {}] = samples(today)
  const document = completeDocumentBy(today, ({ name }) => sample[name])
  const id = today.prefix === null ? 'sample' : world.newId(today.prefix)
  const key = { id, parent: today.collection.composite ? 'sample' : null, account: null }
  stampDocument(today, document, key, null, time)
  const { doc } = encodeDocument(today.collection, document)
  const event = {
    id: world.newId('evt'),
    position: 0,
    collection: source.collection,
    ...{ key, item: '' },
    action,
    sequence: 1,
    joined: new Map(),
    time,
    doc,
  }
  const type = `${source.prefix}.${source.actions.get(action)}`
  return {
    event: { id: event.id, type, position: 0 },
    body: eventText(scope, source, event, readerOf(own, caller.account), world),
  }
}

function replayRoute(context: EndpointContext): Route {
  const types = f.list(f.text({ max: 200, pattern: eventTypePattern }), { max: 100, optional: true })
  return actionRoute(context, {
    ...{ name: 'replays', summary: 'Send the events of a time range again' },
    input: { since: f.timestamp(), until: f.timestamp({ optional: true }), eventTypes: types },
    answers: [describedItem(202, 'The events will be sent.', context.resource, replayed)],
    decide: (intent, { doc, hidden }, input) => {
      const { key, world } = intent
      const own = readMembers<WebhookEndpoint>(context.representation.today, { doc, hidden })
      const faults = typeFaults(context, own.version, (input.get('eventTypes') as string[] | null) ?? [])
      if (faults.length > 0) throw invalidBody(faults)
      if (own.status !== 'enabled') throw new Problem('conflict', 'The endpoint is disabled; enable it first.')
      const free = { taken: 0, holder: '', failing: 0, enabled: 1, position: 0 }
      const terms = JSON.stringify(Object.fromEntries(input))
      const row = { ...free, id: world.newId('whr'), endpoint: key.id, account: key.account ?? '', terms }
      return {
        ...{ do: 'keep', answer: doc },
        consequences: {
          reads: [tablePlan(findHead, { name: 'events' })],
          decide: ([head]) => {
            const last =
              head && 'rows' in head ? Number((head.rows[0] as { position?: number } | undefined)?.position) : 0
            return { do: 'keep', answer: doc, effects: last > 0 ? [tablePlan(addCursor, { ...row, last })] : [] }
          },
        },
      }
    },
    render: (intent, outcome) =>
      ownAnswer(context, intent, outcome, (doc) => ({
        ...itemReply(context, intent, 202, { doc, revision: 1 }),
        headers: {},
      })),
  })
}

function retryRoute(context: EndpointContext): Route {
  const today = context.representation.today
  return actionRoute(context, {
    ...{ name: 'retries', summary: 'Retry a delivery' },
    answers: [describedItem(202, 'The delivery, which will be sent.', context.resource, replayed)],
    decide: ({ key, time, world }, current) => {
      const before = decodeDocument(today, current.doc, current.hidden)
      const due = { state: 'pending', due: world.due(), tries: 0, holder: retriedHolder }
      const again = tablePlan(retrySend, { id: key.id, ...due })
      const guard = { reads: [again], admit: () => {} }
      return context.writer.update(
        today,
        { ...before, status: 'pending' },
        { key, time, current, before, always: true, guard },
      )
    },
    render: (intent, outcome, base) =>
      outcome.is === 'claimed'
        ? replayReply(context, intent, outcome, (_, row) => itemReply(context, intent, 202, row))
        : { ...base, status: 202 },
  })
}
