/** Tells which errors an operation can be refused with, in the order of the corridor. Part 13; part 7, errors. */
import { type Catalogue, typeStatus } from '../errors/catalogue.ts'
import type { Endpoint, Route, ServedVersion } from '../flow/route.ts'
import type { Resource } from '../resources/resource.ts'
import type { Service } from '../service.ts'

/** What can be refused with one status: the types of errors, and those of the violations that are told with them. */
export interface StatusRefusal {
  readonly status: number
  readonly types: readonly string[]
  readonly violations: readonly string[]
  /** Whether it may say which resource was made with an idempotency key. R96. */
  readonly repeats: boolean
}

/** A type, and the more general one that it stands under where that is not the usual one. */
type RefusalType = string | readonly [type: string, under: string]

const when = <T>(holds: boolean, ...values: readonly T[]): readonly T[] => (holds ? values : [])

/** The refusals of an operation; those of OPTIONS where there is no route. */
export function refusalsOf(
  service: Service,
  edition: ServedVersion,
  place: Endpoint,
  route: Route | null,
): StatusRefusal[] {
  const { errors: types, declaration } = service
  const own = Object.keys(declaration.errors ?? {})
  const all: RefusalType[] = [
    ...messageRefusals,
    ...versionRefusals(service),
    ...serviceRefusals,
    ...when(service.changes.length > 0, 'version-conversion-failed'),
    ...(route === null
      ? ['credentials-in-url', ...when(isRejected(service.settings.body.onBodyless), 'unexpected-body')]
      : []),
    ...(route === null ? [] : [...routeRefusals(service, edition, place, route), ...own]),
  ]
  const byStatus = Map.groupBy(all, (one) => statusOfType(types, one))
  return [...byStatus]
    .toSorted(([a], [b]) => a - b)
    .map(([status, named]) => {
      const found = [...new Set(named.map((one) => (typeof one === 'string' ? one : one[0])))]
      return {
        status,
        types: found.map((type) => edition.errorNames.get(type) ?? type).toSorted(),
        violations: [...new Set(found.flatMap((type) => violationTypes(type, types)))].toSorted(),
        repeats: found.includes(keyReused),
      }
    })
}

const keyReused = 'idempotency-key-reused'
const isRejected = (onBodyless: 'reject' | 'ignore'): boolean => onBodyless === 'reject'
const statusOfType = (types: Catalogue, one: RefusalType): number =>
  typeof one === 'string' ? typeStatus(types, one) : typeStatus(types, one[0], one[1])

/** What is wrong one by one, where that is told. R154. */
function violationTypes(type: string, types: Catalogue): string[] {
  if (type === 'already-exists') return [type]
  if (type !== 'validation-failed' && type !== 'invalid-query') return []
  return [...types].filter(([, { parent }]) => parent === type).map(([name]) => name)
}

const messageRefusals: readonly RefusalType[] = [
  ...['malformed-request', 'invalid-host', 'invalid-url-encoding', 'uri-too-long', 'header-fields-too-large'],
  ...['expectation-failed', 'request-timeout', 'misdirected-request'],
]

const serviceRefusals: readonly RefusalType[] = ['internal-error', 'overloaded', 'timeout', 'dependency-unavailable']

/** A version that the path names is another URL: what is said of it there is not said of this operation. */
function versionRefusals({ choice }: Service): RefusalType[] {
  const { carriers, usual, ended } = choice
  const beside = carriers.some((one) => one !== 'path')
  return [
    ...when(beside, 'unsupported-version', 'version-conflict'),
    ...when(usual === null, 'version-required'),
    ...when(ended.size > 0 && carriers.includes('query'), 'version-retired'),
    ...when<RefusalType>(ended.size > 0, ['version-retired', 'invalid-version']),
  ]
}

function routeRefusals(service: Service, edition: ServedVersion, place: Endpoint, route: Route): RefusalType[] {
  return [
    ...callerRefusals(service, route),
    'not-acceptable',
    ...contentRefusals(route),
    'invalid-query',
    ...targetRefusals(edition, place, route),
    ...conditionRefusals(route),
    ...keyRefusals(route),
    ...storeRefusals(service, route),
  ]
}

function callerRefusals(
  { quotas, settings }: Service,
  { rule, operation, resource, furtherRules = [] }: Route,
): RefusalType[] {
  const { members, access, collection } = resource
  const writes = ['create', 'replace', 'change'].includes(operation)
  const scoped = members.some(({ read, write }) => (writes ? write.length > 0 : operation === 'list' && read !== null))
  const makes = operation === 'replace' && typeof access === 'object'
  return [
    ...['credentials-in-url', 'ambiguous-credentials', 'invalid-credentials', 'too-many-requests'],
    ...when([rule, ...furtherRules].some((one) => one !== 'public') || scoped, 'credentials-missing'),
    ...when([rule, ...furtherRules].some((one) => one && isScope(one)) || scoped || makes, 'insufficient-scope'),
    ...when(collection.account !== null || furtherRules.includes(undefined), 'access-denied'),
    ...when(quotas !== null, 'quota-exceeded'),
    ...when(settings.limits.callerConcurrency !== null, 'too-many-concurrent-requests'),
  ]
}

export const isScope = (rule: string): boolean => rule !== 'public' && rule !== 'authenticated'

function contentRefusals({ content, operation, resource }: Route): RefusalType[] {
  if (content.length === 0)
    return [resource.settings.body.onBodyless === 'reject' ? 'unexpected-body' : 'content-too-large']
  const taken = ['unsupported-media-type', 'unsupported-charset', 'unsupported-content-coding', 'content-too-large']
  const read = ['body-required', 'malformed-json', 'duplicate-json-key', 'invalid-encoding', 'validation-failed']
  return [...taken, ...when(operation !== 'list', ...read)]
}

/** The item, or the owner of what is listed or made. */
function targetRefusals(
  { resources }: ServedVersion,
  { template }: Endpoint,
  { resource, operation }: Route,
): RefusalType[] {
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

function conditionRefusals({ operation, resource, content }: Route): RefusalType[] {
  const writes = operation !== 'list' && operation !== 'read'
  const changes = writes && operation !== 'create'
  return [
    ...when(writes || content.length === 0, 'precondition-failed'),
    ...when(writes, 'invalid-precondition'),
    ...when(changes && resource.settings.concurrency.required, 'precondition-required'),
  ]
}

/** Which operations take keys. R108. */
export const takesIdempotencyKeys = ({ operation, resource: { settings } }: Route): boolean =>
  operation === 'create' || (operation === 'change' && settings.idempotency.methods.includes('PATCH'))

function keyRefusals(route: Route): RefusalType[] {
  if (!takesIdempotencyKeys(route)) return []
  const { mode, bodyField, required } = route.resource.settings.idempotency
  const mismatched = 'idempotency-key-payload-mismatch'
  return [
    'idempotency-key-invalid',
    ...when(bodyField !== null, 'idempotency-key-mismatch'),
    ...when(required && route.operation === 'create', 'idempotency-key-missing'),
    ...[keyReused, mismatched, 'idempotency-in-progress'],
    ...when<RefusalType>(mode === 'replay', [mismatched, 'unprocessable']),
  ]
}

/** What the store knows against it. */
function storeRefusals({ resources }: Service, { operation, resource, otherCollections = [] }: Route): RefusalType[] {
  const { collection, key, settings } = resource
  const chosen = key !== null || settings.resource.id !== 'typeid'
  const writes = ['create', 'replace', 'change'].includes(operation)
  const written = [
    collection,
    ...[...resources.values()].map((one) => one.collection).filter(({ name }) => otherCollections.includes(name)),
  ]
  const kept = written.some(({ uniques }) => uniques.some(({ fields }) => fields.length > 0))
  const unique = kept || (operation === 'create' && chosen)
  return [
    ...when(writes && unique, 'already-exists'),
    ...when(operation === 'remove' && hasDependents(resource), 'has-dependents'),
    ...when(operation === 'list' && otherCollections.length > 0, 'not-implemented'),
  ]
}

const hasDependents = ({ collection }: Resource): boolean => collection.dependents.length > 0
