/** Webhook resources: the resources of endpoints and deliveries, which a service with events implies. Part 6. R212. */
import { type Field, type Fields, f } from '../fields/field.ts'
import { type Naming, toCase } from '../formats/naming.ts'
import type { ResourceDeclaration } from './declaration.ts'

export const [endpointResource, deliveryResource] = ['webhook-endpoints', 'webhook-deliveries']
export const [readEndpoints, writeEndpoints] = ['webhook-endpoints:read', 'webhook-endpoints:write']

/** The scopes that a service with events implies. */
export const webhookScopes: Readonly<Record<string, string>> = {
  [readEndpoints as string]: 'Read endpoints of webhooks and their deliveries',
  [writeEndpoints as string]: 'Register endpoints of webhooks, and repeat deliveries',
}

const byService = { readOnly: true, optional: true } as const
const hidden = { ...byService, writeOnly: true } as const
const json = (options: Field['options']): Field => ({ kind: 'json', options })

const endpointFields: Fields = {
  url: f.text({ max: 2000 }),
  description: f.text({ max: 500, optional: true }),
  eventTypes: f.list(f.text({ max: 200 }), { min: 1, max: 100 }),
  version: f.text({ readOnly: true, default: '' }),
  signature: f.enum(['v1', 'v1a'], { default: 'v1', immutable: true }),
  ordered: f.boolean({ default: false, immutable: true }),
  status: f.enum(['enabled', 'disabled'], { default: 'enabled', filter: true }),
  disabledReason: f.text(byService),
  scopes: f.list(f.text(), { readOnly: true }),
  /** Only in the answer that makes it. */
  secret: f.text(byService),
  publicKey: f.text(byService),
  /** The secrets as they are stored, and the caller that has made the endpoint. */
  sealed: f.text({ ...hidden, max: 10_000 }),
  madeBy: f.text(hidden),
}

const deliveryFields: Fields = {
  endpointId: f.text({ readOnly: true, default: '', filter: true }),
  eventId: f.text({ readOnly: true, default: '', filter: true }),
  eventType: f.text({ readOnly: true, default: '' }),
  status: f.enum(['pending', 'succeeded', 'failed'], { readOnly: true, default: 'pending', filter: true }),
  request: json(byService),
  attempts: json(byService),
}

const inCase = (fields: Fields, naming: Naming): Fields =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [toCase(name, naming), field]))

/** An object with the names of its members in the case of the service, or back in camel case. */
export const membersIn = (given: Readonly<Record<string, unknown>>, naming: Naming): Record<string, unknown> =>
  Object.fromEntries(Object.entries(given).map(([name, value]) => [toCase(name, naming), value]))

interface OwnedResource {
  readonly owner?: string
  readonly events?: boolean
}

/** The implied resources; none if no resource has events. They belong to accounts if any other resource does. */
export function webhookDeclarations(
  resources: readonly OwnedResource[],
  events: boolean | undefined,
  naming: Naming = 'camel',
): Readonly<Record<string, ResourceDeclaration>> {
  if (!resources.some((one) => (one.events ?? events) === true)) return {}
  const owner = resources.find((one) => one.owner !== undefined)?.owner
  const owned = owner === undefined ? {} : { owner }
  const access = { read: readEndpoints, write: writeEndpoints } as ResourceDeclaration['access']
  return {
    [endpointResource as string]: {
      ...{ prefix: 'whe', fields: inCase(endpointFields, naming), access, ...owned, events: false },
      methods: ['list', 'read', 'create', 'change', 'remove'],
    },
    [deliveryResource as string]: {
      ...{ prefix: 'whd', fields: inCase(deliveryFields, naming), access, ...owned, events: false },
      methods: ['list', 'read'],
    },
  }
}

/** Whether a resource is that of endpoints or of deliveries. Declared ones cannot be where events are on. */
export const isWebhookResource = ({ access, prefix }: Pick<ResourceDeclaration, 'access' | 'prefix'>): boolean =>
  (prefix === 'whe' || prefix === 'whd') && typeof access === 'object' && access.read === readEndpoints
