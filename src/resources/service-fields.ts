/** Service fields: fields and resources that a declaration implies: of states, statuses, derived fields, and webhooks. Parts 2 and 6. */
import { type Field, type Fields, f } from '../fields/field.ts'
import { type Naming, toCase } from '../formats/naming.ts'
import type { DeclaredSettings } from '../settings.ts'
import type { ResourceDeclaration } from './declaration.ts'
import { completeDerivedField } from './derived-fields.ts'
import { type Pairs, pairDeclarationOf, pairResource } from './references.ts'
import { type StatesDeclaration, stateNames } from './states.ts'

/** The field of the state: an enum that only transitions write. */
export const stateField = (states: StatesDeclaration): Field => ({
  kind: 'enum',
  values: stateNames(states),
  options: { readOnly: true, default: states.initial, filter: true, sort: true, ...stateDescriptions(states) },
})

function stateDescriptions(states: StatesDeclaration): { readonly description?: string } {
  const { titles = {}, descriptions = {} } = states
  const lines = stateNames(states).flatMap((state) => {
    const [title, text] = [titles[state], descriptions[state]]
    return (title ?? text) ? `\`${state}\`${title ? ` (${title})` : ''}${text ? `: ${text}` : '.'}` : []
  })
  return lines.length === 0 ? {} : { description: lines.join(' ') }
}

interface DeclaredResource {
  readonly fields: Fields
  readonly states?: StatesDeclaration
}

type Resources<T> = { readonly [name: string]: T }

interface DeclaredService<T> {
  readonly resources: Resources<T>
  readonly pairs?: Pairs
  readonly events?: boolean
  readonly settings?: DeclaredSettings
}

/** The resources of a service with those that it implies, the fields of states, and derived fields that callers cannot write. */
export const withServiceFields = <T extends DeclaredResource>(declared: DeclaredService<T>): Resources<T> =>
  Object.fromEntries(
    withImplied(declared).map(([name, one]) => {
      const added = one.states ? { [one.states.field]: stateField(one.states) } : {}
      const isDerived = Object.values(one.fields).some(({ options }) => options.derived !== undefined)
      if (!one.states && !isDerived) return [name, one]
      const own = Object.entries(one.fields).map(([field, given]) => [field, completeDerivedField(given)])
      return [name, { ...one, fields: { ...Object.fromEntries(own), ...added } }]
    }),
  )

/** Adds the resource of the statuses of asynchronous operations, those of webhooks, and last those of pairs. */
function withImplied<T extends DeclaredResource>(declared: DeclaredService<T>): (readonly [string, T])[] {
  const { resources, pairs = {}, events, settings } = declared
  const all = Object.values(resources)
  const statuses = statusDeclaration(all as never)
  const webhooks = webhookDeclarations(all as never, events, settings) as never as Resources<T>
  const paired = Object.entries(pairs).map(([name, one]) => [
    name,
    pairResource(one, resources as never, settings?.naming ?? 'camel') as never,
  ])
  return Object.entries({
    ...{ ...resources, ...(statuses && { [statusResource]: statuses as never }), ...webhooks },
    ...(Object.fromEntries(paired) as Resources<T>),
  })
}

/** A declaration as the user wrote it: without implied resources and fields of states, and with its pairs. */
export function asDeclared<D extends { readonly resources: Resources<ResourceDeclaration>; readonly pairs?: Pairs }>(
  declaration: D,
): D {
  const all = Object.entries(declaration.resources).map(([name, one]) => [name, one, pairDeclarationOf(one)] as const)
  const own = all
    .filter(([, one, pair]) => !pair && !isAddedResource(one))
    .map(([name, one]) => {
      const { [one.states?.field ?? '']: _, ...fields } = one.fields
      return [name, one.states ? { ...one, fields } : one] as const
    })
  const { pairs: _, ...rest } = declaration
  const pairs = all.flatMap(([name, , pair]) => (pair ? [[name, pair]] : []))
  const paired = pairs.length === 0 ? {} : { pairs: Object.fromEntries(pairs) }
  return { ...rest, resources: Object.fromEntries(own), ...paired } as D
}

/** The resource of the statuses of asynchronous operations, which a declaration implies. R28, R228. */
export const statusResource = 'operations'

/** The states in which an operation has ended. */
export const endedStates: readonly unknown[] = ['succeeded', 'failed', 'cancelled']

const statusStates: StatesDeclaration = {
  field: 'status',
  initial: 'queued',
  entered: ['running', 'succeeded', 'failed'],
  transitions: { cancellations: { from: ['queued', 'running'], to: 'cancelled' } },
}

const byService = { readOnly: true } as const
const result: Field = { kind: 'json', options: { ...byService, optional: true } }

const statusFields: Fields = {
  operation: f.text({ ...byService, default: '' }),
  item: f.text({ ...byService, optional: true }),
  due: f.timestamp({ ...byService, optional: true }),
  progress: f.integer({ ...byService, default: 0, min: 0, max: 100 }),
  result,
  error: f.object({ type: f.text(), message: f.text() }, { ...byService, optional: true }),
  /** The data for the worker, as JSON. */
  request: f.text({ ...byService, optional: true, writeOnly: true, max: 1_000_000 }),
}

type DeclaredActions = Pick<ResourceDeclaration, 'operations' | 'access'>

/** Whether a resource is that of the statuses; a declared one may have its name if no operation is asynchronous. */
export const isStatusResource = ({ states }: Pick<ResourceDeclaration, 'states'>): boolean =>
  states?.entered !== undefined

/** The resource of the statuses; undefined if no operation is asynchronous. */
function statusDeclaration(resources: readonly DeclaredActions[]): ResourceDeclaration | undefined {
  const served = resources.filter(({ operations = {} }) => Object.values(operations).some((one) => one.asynchronous))
  // Each row is visible only to callers that may call its operation, and of their account if it works on items of accounts.
  const rules = served.flatMap(({ access, operations = {} }) => [access, ...Object.values(operations)])
  const rule = JSON.stringify(rules).includes('"public"') ? 'public' : 'authenticated'
  if (served.length === 0) return undefined
  return {
    ...{ prefix: 'opr', fields: statusFields, states: statusStates, methods: ['read'] },
    settings: { deleted: { retention: 'P7D' } }, // the service removes statuses all the time, so their tombstones must expire
    access: { read: rule, change: rule },
  }
}

/** The resources of endpoints and deliveries, which a service with webhooks implies. R212. */
export const endpointResource = 'webhook-endpoints'
export const deliveryResource = 'webhook-deliveries'
const readEndpoints = 'webhook-endpoints:read'
export const writeEndpoints = 'webhook-endpoints:write'

/** The scopes that a service with webhooks implies. */
const webhookScopes: Readonly<Record<string, string>> = {
  [readEndpoints]: 'Read endpoints of webhooks and their deliveries',
  [writeEndpoints]: 'Register endpoints of webhooks, and repeat deliveries',
}

/** The scopes that `events.reactions` implies: their callers see and settle the failures of all accounts. */
export const readReactions = 'reactions:read'
export const writeReactions = 'reactions:write'
const reactionScopes: Readonly<Record<string, string>> = {
  [readReactions]: 'Read the failures of reactions, of all accounts',
  [writeReactions]: 'Retry and skip the failures of reactions, of all accounts',
}

/** The scopes that a declaration implies. */
export function impliedScopes({ resources, events, settings }: DeclaredService<OwnedResource>) {
  const all = Object.values(resources)
  const hasEndpoints = Object.keys(webhookDeclarations(all, events, settings)).length > 0
  const isServed = recordsEvents(all, events) && isOn(settings?.events?.reactions)
  return { ...(hasEndpoints && webhookScopes), ...(isServed && reactionScopes) }
}

const isOn = (toggle: unknown): boolean => toggle === true || toggle === 'on'

const recordsEvents = (resources: readonly OwnedResource[], events: boolean | undefined): boolean =>
  resources.some((one) => (one.events ?? events) === true)

const optional = { readOnly: true, optional: true } as const
const hidden = { ...optional, writeOnly: true } as const

/** A type of event, or all of a resource. */
export const eventTypePattern = '^[^.]+\\.(?:\\*|[^.]+)$'

const endpointFields: Fields = {
  url: f.url({ max: 2000 }),
  description: f.text({ max: 500, optional: true }),
  eventTypes: f.list(f.text({ max: 200, pattern: eventTypePattern }), { min: 1, max: 100 }),
  version: f.text({ readOnly: true, default: '' }),
  signature: f.enum(['v1', 'v1a'], { default: 'v1', immutable: true }),
  ordered: f.boolean({ default: false, immutable: true }),
  status: f.enum(['enabled', 'disabled'], { default: 'enabled', filter: true }),
  disabledReason: f.text(optional),
  scopes: f.list(f.text(), { readOnly: true }),
  /** Only in the answer that makes it. */
  secret: f.text(optional),
  publicKey: f.text(optional),
  /** The secrets as they are stored, and the caller that created the endpoint. */
  sealed: f.text({ ...hidden, max: 10_000 }),
  madeBy: f.text(hidden),
}

/** How many attempts of a delivery are kept: the newest ones, as it can be sent again by hand any number of times. */
export const mostAttempts = 100

const attemptFields: Fields = {
  ...{ id: f.text({ max: 100 }), at: f.timestamp(), responseStatus: f.integer({ min: 100, max: 999, optional: true }) },
  ...{ duration: f.duration(), error: f.text({ optional: true }) },
  response: f.text({ optional: true, max: 1024 }),
}

const deliveryFields: Fields = {
  endpointId: f.text({ readOnly: true, default: '', filter: true }),
  eventId: f.text({ readOnly: true, default: '', filter: true }),
  eventType: f.text({ readOnly: true, default: '' }),
  status: f.enum(['pending', 'succeeded', 'failed'], { readOnly: true, default: 'pending', filter: true }),
  request: f.object(
    { url: f.text({ max: 2000 }), headers: f.metadata(), body: f.text({ max: 100_000_000 }) },
    byService,
  ),
  attempts: f.list(f.object(attemptFields), { readOnly: true, max: mostAttempts }),
}

/** Fields with their names, and those of their parts, in the case of the service. */
export const inCase = (fields: Fields, naming: Naming): Fields =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [toCase(name, naming), partsInCase(field, naming)]))

const partsInCase = (field: Field, naming: Naming): Field => ({
  ...field,
  ...(field.item && { item: partsInCase(field.item, naming) }),
  ...(field.fields && { fields: inCase(field.fields, naming) }),
})

/** An object with the names of its members in the case of the service, or back in camel case. */
export const membersIn = (members: Readonly<Record<string, unknown>>, naming: Naming): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [toCase(name, naming), value]))

interface OwnedResource {
  readonly owner?: string
  readonly events?: boolean
}

/** The implied resources; none without webhooks, or if no resource has events. They belong to accounts if any other resource does. */
function webhookDeclarations(
  resources: readonly OwnedResource[],
  events: boolean | undefined,
  { naming = 'camel', events: { webhooks = false } = {} }: DeclaredSettings = {},
): Readonly<Record<string, ResourceDeclaration>> {
  if (!isOn(webhooks) || !recordsEvents(resources, events)) return {}
  const owner = resources.find((one) => one.owner !== undefined)?.owner
  const owned = owner === undefined ? {} : { owner }
  const access = { read: readEndpoints, write: writeEndpoints }
  return {
    [endpointResource]: {
      ...{ prefix: 'whe', fields: inCase(endpointFields, naming), access, ...owned, events: false },
      methods: ['list', 'read', 'create', 'change', 'remove'],
    },
    [deliveryResource]: {
      ...{ prefix: 'whd', fields: inCase(deliveryFields, naming), access, ...owned, events: false },
      methods: ['list', 'read'],
      // Deliveries are deleted after their retention, many at a time; a tombstone for each would fill the database.
      settings: { deleted: { retention: 'PT0S' } },
    },
  }
}

/** Whether a resource is that of endpoints or of deliveries. With webhooks on, a declared resource cannot have their names. */
export const isWebhookResource = ({ access, prefix }: Pick<ResourceDeclaration, 'access' | 'prefix'>): boolean =>
  (prefix === 'whe' || prefix === 'whd') && typeof access === 'object' && access.read === readEndpoints

/** Whether the service adds the resource, so that the declaration does not have it. */
export const isAddedResource = (declaration: ResourceDeclaration): boolean =>
  isStatusResource(declaration) || isWebhookResource(declaration)
