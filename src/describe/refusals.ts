/** Tells which errors an operation can be refused with, in the order of the corridor. Part 13; part 7, errors. */
import { type Catalogue, statusOf } from '../errors/catalogue.ts'
import type { Edition, Place, Route } from '../flow/route.ts'
import type { Resource } from '../resources/resource.ts'
import type { Service } from '../service.ts'

/** What can be refused with one status: the types of errors, and those of the violations that are told with them. */
export interface Refusal {
  readonly status: number
  readonly types: readonly string[]
  readonly violations: readonly string[]
  /** Whether it may say which resource was made with an idempotency key. R96. */
  readonly repeats: boolean
}

/** A type, and the more general one that it stands under where that is not the usual one. */
type Named = string | readonly [type: string, under: string]

const when = <T>(holds: boolean, ...values: readonly T[]): readonly T[] => (holds ? values : [])

/** The refusals of an operation; those of OPTIONS where there is no route. */
export function refusalsOf(service: Service, edition: Edition, place: Place, route: Route | null): Refusal[] {
  const { errors: types, declaration } = service
  const own = Object.keys(declaration.errors ?? {})
  const all: Named[] = [
    ...ofMessage,
    ...ofVersion(service),
    ...ofWorld,
    ...when(service.changes.length > 0, 'version-conversion-failed'),
    ...(route === null
      ? ['credentials-in-url', ...when(declares(service.settings.body.onBodyless), 'unexpected-body')]
      : []),
    ...(route === null ? [] : [...ofRoute(service, edition, place, route), ...own]),
  ]
  const byStatus = Map.groupBy(all, (one) => statusIn(types, one))
  return [...byStatus]
    .toSorted(([a], [b]) => a - b)
    .map(([status, named]) => {
      const found = [...new Set(named.map((one) => (typeof one === 'string' ? one : one[0])))]
      return {
        status,
        types: found.map((type) => edition.errorNames.get(type) ?? type).toSorted(),
        violations: [...new Set(found.flatMap((type) => violationsOf(type, types)))].toSorted(),
        repeats: found.includes(reused),
      }
    })
}

const reused = 'idempotency-key-reused'
const declares = (onBodyless: 'reject' | 'ignore'): boolean => onBodyless === 'reject'
const statusIn = (types: Catalogue, one: Named): number =>
  typeof one === 'string' ? statusOf(types, one) : statusOf(types, one[0], one[1])

/** What is wrong one by one, where that is told. R154. */
function violationsOf(type: string, types: Catalogue): string[] {
  if (type === 'already-exists') return [type]
  if (type !== 'validation-failed' && type !== 'invalid-query') return []
  return [...types].filter(([, { parent }]) => parent === type).map(([name]) => name)
}

const ofMessage: readonly Named[] = [
  ...['malformed-request', 'invalid-host', 'invalid-url-encoding', 'uri-too-long', 'header-fields-too-large'],
  ...['expectation-failed', 'request-timeout', 'misdirected-request'],
]

const ofWorld: readonly Named[] = ['internal-error', 'overloaded', 'timeout', 'dependency-unavailable']

/** A version that the path names is another URL: what is said of it there is not said of this operation. */
function ofVersion({ choice }: Service): Named[] {
  const { carriers, usual, ended } = choice
  const beside = carriers.some((one) => one !== 'path')
  return [
    ...when(beside, 'unsupported-version', 'version-conflict'),
    ...when(usual === null, 'version-required'),
    ...when(ended.size > 0 && carriers.includes('query'), 'version-retired'),
    ...when<Named>(ended.size > 0, ['version-retired', 'invalid-version']),
  ]
}

function ofRoute(service: Service, edition: Edition, place: Place, route: Route): Named[] {
  return [
    ...ofCaller(service, route),
    'not-acceptable',
    ...ofContent(route),
    'invalid-query',
    ...ofTarget(edition, place, route),
    ...ofConditions(route),
    ...ofKey(route),
    ...ofRows(service, route),
  ]
}

function ofCaller({ quotas, settings }: Service, { rule, operation, resource, beyond = [] }: Route): Named[] {
  const { members, access, collection } = resource
  const writes = ['create', 'replace', 'change'].includes(operation)
  const scoped = members.some(({ read, write }) => (writes ? write.length > 0 : operation === 'list' && read !== null))
  const makes = operation === 'replace' && typeof access === 'object'
  return [
    ...['credentials-in-url', 'ambiguous-credentials', 'invalid-credentials', 'too-many-requests'],
    ...when([rule, ...beyond].some((one) => one !== 'public') || scoped, 'credentials-missing'),
    ...when([rule, ...beyond].some((one) => one && isScope(one)) || scoped || makes, 'insufficient-scope'),
    ...when(collection.account !== null || beyond.includes(undefined), 'access-denied'),
    ...when(quotas !== null, 'quota-exceeded'),
    ...when(settings.limits.callerConcurrency !== null, 'too-many-concurrent-requests'),
  ]
}

export const isScope = (rule: string): boolean => rule !== 'public' && rule !== 'authenticated'

function ofContent({ content, operation, resource }: Route): Named[] {
  if (content.length === 0)
    return [resource.settings.body.onBodyless === 'reject' ? 'unexpected-body' : 'content-too-large']
  const taken = ['unsupported-media-type', 'unsupported-charset', 'unsupported-content-coding', 'content-too-large']
  const read = ['body-required', 'malformed-json', 'duplicate-json-key', 'invalid-encoding', 'validation-failed']
  return [...taken, ...when(operation !== 'list', ...read)]
}

/** The item, or the owner of what is listed or made. */
function ofTarget({ resources }: Edition, { template }: Place, { resource, operation }: Route): Named[] {
  const owner = resource.parent && resources.get(resource.parent.resource)
  const below = template.split('/').length > 3 && owner
  const items = operation !== 'list' && operation !== 'create'
  const chosen = operation === 'create' && (resource.key !== null || resource.settings.resource.id === 'client')
  const asked = [...when(items, resource), ...(below ? [owner] : [])]
  return [
    ...asked.flatMap(({ settings }) => [
      settings.missing.status === 410 ? 'gone' : 'resource-not-found',
      ...when(settings.deleted.status === 410, 'resource-deleted'),
    ]),
    ...when(chosen && resource.settings.deleted.status === 410, 'resource-deleted'),
    ...when(resource.collection.account !== null && operation === 'create', 'resource-not-found'),
  ]
}

function ofConditions({ operation, resource, content }: Route): Named[] {
  const writes = operation !== 'list' && operation !== 'read'
  const changes = writes && operation !== 'create'
  return [
    ...when(writes || content.length === 0, 'precondition-failed'),
    ...when(writes, 'invalid-precondition'),
    ...when(changes && resource.settings.concurrency.required, 'precondition-required'),
  ]
}

/** Which operations take keys. R108. */
export const takesKeys = ({ operation, resource: { settings } }: Route): boolean =>
  operation === 'create' || (operation === 'change' && settings.idempotency.methods.includes('PATCH'))

function ofKey(route: Route): Named[] {
  if (!takesKeys(route)) return []
  const { mode, bodyField, required } = route.resource.settings.idempotency
  const mismatched = 'idempotency-key-payload-mismatch'
  return [
    'idempotency-key-invalid',
    ...when(bodyField !== null, 'idempotency-key-mismatch'),
    ...when(required && route.operation === 'create', 'idempotency-key-missing'),
    ...[reused, mismatched, 'idempotency-in-progress'],
    ...when<Named>(mode === 'replay', [mismatched, 'unprocessable']),
  ]
}

/** What the store knows against it. */
function ofRows({ resources }: Service, { operation, resource, beside = [] }: Route): Named[] {
  const { collection, key, settings } = resource
  const chosen = key !== null || settings.resource.id !== 'typeid'
  const writes = ['create', 'replace', 'change'].includes(operation)
  const written = [
    collection,
    ...[...resources.values()].map((one) => one.collection).filter(({ name }) => beside.includes(name)),
  ]
  const kept = written.some(({ uniques }) => uniques.some(({ fields }) => fields.length > 0))
  const unique = kept || (operation === 'create' && chosen)
  return [
    ...when(writes && unique, 'already-exists'),
    ...when(operation === 'remove' && hasDependents(resource), 'has-dependents'),
    ...when(operation === 'list' && beside.length > 0, 'not-implemented'),
  ]
}

const hasDependents = ({ collection }: Resource): boolean => collection.dependents.length > 0
