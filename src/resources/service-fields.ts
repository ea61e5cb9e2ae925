/** Service fields: fields that a declaration implies: of states, of statuses, and derived ones as read-only fields. Part 2. */
import { type Field, type Fields, f } from '../fields/field.ts'
import type { Naming } from '../formats/naming.ts'
import type { ResourceDeclaration } from './declaration.ts'
import { completeDerivedField } from './derived-fields.ts'
import { type StatesDeclaration, stateNames } from './states.ts'
import { isWebhookResource, webhookDeclarations } from './webhook-resources.ts'

/** The field of the state: an enum that only transitions write. */
export const stateField = (states: StatesDeclaration): Field => ({
  kind: 'enum',
  values: stateNames(states),
  options: { readOnly: true, default: states.initial, filter: true, sort: true },
})

interface DeclaredResource {
  readonly fields: Fields
  readonly states?: StatesDeclaration
}

type Resources<T> = { readonly [name: string]: T }

interface DeclaredService<T> {
  readonly resources: Resources<T>
  readonly events?: boolean
  readonly settings?: { readonly naming?: Naming }
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

/** Resources with that of the statuses of asynchronous operations, and those of webhooks. */
function withImplied<T extends DeclaredResource>(declared: DeclaredService<T>): (readonly [string, T])[] {
  const { resources, events, settings } = declared
  const all = Object.values(resources)
  const statuses = statusDeclaration(all as never)
  const webhooks = webhookDeclarations(all as never, events, settings?.naming) as never as Resources<T>
  return Object.entries({ ...resources, ...(statuses && { [statusResource]: statuses as never }), ...webhooks })
}

/** Resources as they were declared, without implied ones, and without the fields of their states. */
export const withoutStateFields = <T extends DeclaredResource>(resources: Resources<T>): Resources<T> =>
  Object.fromEntries(
    Object.entries(resources)
      .filter(([, one]) => !isStatusResource(one) && !isWebhookResource(one as never))
      .map(([name, one]) => {
        const { [one.states?.field ?? '']: _, ...fields } = one.fields
        return [name, one.states ? { ...one, fields } : one]
      }),
  )

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

type Statused = Pick<ResourceDeclaration, 'operations' | 'access'>

/** Whether a resource is that of the statuses; a declared one may have its name if no operation is asynchronous. */
export const isStatusResource = ({ states }: Pick<ResourceDeclaration, 'states'>): boolean =>
  states?.entered !== undefined

/** The resource of the statuses; undefined if no operation is asynchronous. */
function statusDeclaration(resources: readonly Statused[]): ResourceDeclaration | undefined {
  const served = resources.filter(({ operations = {} }) => Object.values(operations).some((one) => one.asynchronous))
  // Each row is visible only to callers that may call its operation, and of their account if it works on items of accounts.
  const rules = served.flatMap(({ access, operations = {} }) => [access, ...Object.values(operations)])
  const rule = JSON.stringify(rules).includes('"public"') ? 'public' : 'authenticated'
  if (served.length === 0) return undefined
  return {
    ...{ prefix: 'opr', fields: statusFields, states: statusStates, methods: ['read'] },
    access: { read: rule, change: rule },
  }
}
