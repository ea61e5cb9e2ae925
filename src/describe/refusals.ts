/** Tells which errors an operation can be refused with, in the order of the corridor. Part 13; part 7, errors. */
import { isScope } from '../auth/allow.ts'
import { absenceTypes } from '../endpoints/described.ts'
import { type Catalogue, type RefusalType, typeStatus } from '../errors/catalogue.ts'
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
    ...ownerRefusals(edition, place, route),
    ...keyRefusals(route),
    ...route.about.refusals,
  ]
}

function callerRefusals({ quotas, settings }: Service, { rule, resource, furtherRules = [] }: Route): RefusalType[] {
  const rules = [rule, ...furtherRules]
  return [
    ...['credentials-in-url', 'ambiguous-credentials', 'invalid-credentials', 'too-many-requests'],
    ...when(
      rules.some((one) => one !== 'public'),
      'credentials-missing',
    ),
    ...when(
      rules.some((one) => one && isScope(one)),
      'insufficient-scope',
    ),
    ...when(resource.collection.account !== null || rules.includes(undefined), 'access-denied'),
    ...when(quotas !== null, 'quota-exceeded'),
    ...when(settings.limits.callerConcurrency !== null, 'too-many-concurrent-requests'),
  ]
}

function contentRefusals({ content, about, resource }: Route): RefusalType[] {
  if (content.length === 0)
    return [resource.settings.body.onBodyless === 'reject' ? 'unexpected-body' : 'content-too-large']
  const taken = ['unsupported-media-type', 'unsupported-charset', 'unsupported-content-coding', 'content-too-large']
  const read = ['body-required', 'malformed-json', 'duplicate-json-key', 'invalid-encoding', 'validation-failed']
  return [...taken, ...when(about.body !== 'form', ...read)]
}

/** The owner of what is listed, made or addressed below it. */
function ownerRefusals({ resources }: ServedVersion, place: Endpoint, { resource }: Route): readonly RefusalType[] {
  const owner = resource.parent && resources.get(resource.parent.resource)
  return owner && isBelowOwner(place, resource) ? absenceTypes(owner) : []
}

export const isBelowOwner = ({ template }: Endpoint, { parent }: Resource): boolean =>
  parent !== null && template.startsWith(`/${parent.resource}/{`)

function keyRefusals({ claims, resource }: Route): RefusalType[] {
  if (claims === null) return []
  const { mode, bodyField } = resource.settings.idempotency
  const mismatched = 'idempotency-key-payload-mismatch'
  return [
    'idempotency-key-invalid',
    ...when(bodyField !== null, 'idempotency-key-mismatch'),
    ...when(claims === 'required', 'idempotency-key-missing'),
    ...[keyReused, mismatched, 'idempotency-in-progress'],
    ...when<RefusalType>(mode === 'replay', [mismatched, 'unprocessable']),
  ]
}
