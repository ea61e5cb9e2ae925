/** Noticed: for every setting, what a change of it means to a consumer. Part 9, versioning. */
import { cased } from '../resources/naming.ts'
import type { Settings } from '../resources/settings.ts'
import { isObject } from '../resources/values.ts'

/** What a change does: refuse what was accepted or leave out what was answered, only ever add to it, or nothing one can notice. */
export type Weight = 'breaking' | 'additive' | 'none'

/** Weighs a change of one setting. */
type Scale = (before: unknown, after: unknown) => Weight

/** Whatever it is, another one breaks. */
const fixed: Scale = () => 'breaking'
/** No consumer notices, or none may rely on it. */
const quiet: Scale = () => 'none'

/** Each step up accepts or answers what those before it did, and more. */
const steps =
  (...values: readonly unknown[]): Scale =>
  (before, after) =>
    values.indexOf(after) > values.indexOf(before) && values.includes(before) ? 'additive' : 'breaking'

/** A greater number allows more; null is no bound at all. */
const more: Scale = (before, after) => (amount(after) > amount(before) ? 'additive' : 'breaking')
const amount = (value: unknown): number => (typeof value === 'number' ? value : Number.POSITIVE_INFINITY)

/** One more member allows more; one that is gone breaks. */
const members: Scale = (before, after) => {
  const [had, has] = [before, after].map((list) => (Array.isArray(list) ? list : []))
  return had?.every((one) => has?.includes(one)) ? 'additive' : 'breaking'
}

/** What was not there may come; once there it stays as it is. */
const once =
  (none: unknown): Scale =>
  (before) =>
    before === none ? 'additive' : 'breaking'

const turnedOn = steps(false, true)
const turnedOff = steps(true, false)

// long because: one line a setting
const scales: Readonly<Record<string, Scale>> = {
  naming: fixed,
  'path.trailingSlash': steps('reject', 'redirect', 'ignore'),
  'path.verbs': quiet, // decides what may be declared
  'methods.unknown': fixed,
  'methods.query': quiet, // stands among the methods of each path
  'query.unknown': steps('reject', 'ignore'),
  'query.ignored': members,
  'body.unknownFields': steps('reject', 'ignore'),
  'body.onBodyless': steps('reject', 'ignore'),
  'body.maxDepth': more,
  'body.maxKeys': more,
  'request.codings': members,
  'resource.id': fixed,
  'resource.putCreates': turnedOn,
  'resource.putRevives': turnedOn,
  'resource.compress': quiet, // negotiated with each request
  'dates.acceptOffsets': turnedOn,
  'metadata.keys': quiet, // these three stand at each field of metadata
  'metadata.keyLength': quiet,
  'metadata.valueLength': quiet,
  'list.pagination.styles': members,
  'list.pagination.style': fixed,
  'list.pagination.field': fixed,
  'list.pagination.names': fixed,
  'list.pagination.totals': steps('off', 'exact'),
  'list.pagination.countLimit': more,
  'list.maxPageSize': more,
  'list.pageSize': fixed,
  'list.overMax': steps('reject', 'clamp'),
  'list.maxOffset': more,
  'list.maxFilters': more,
  'list.maxSetSize': more,
  'list.maxSortable': quiet, // decides what may be declared
  'list.nullsDefault': fixed,
  'list.cursor.ttl': more,
  'list.links': (before, after) => (before === 'none' || after === 'both' ? 'additive' : 'breaking'),
  'idempotency.mode': fixed,
  'idempotency.conflictBody': steps('minimal', 'extended'),
  'idempotency.bodyField': once(null),
  'idempotency.required': turnedOff,
  'idempotency.scope': fixed,
  'idempotency.retention': more,
  'idempotency.wait': quiet, // times and places of waiting; the answer to waiting stays the same
  'idempotency.waiters': quiet,
  'idempotency.methods': members,
  'prefer.minimalOnCreate': fixed, // decides whether the answer to POST has content where the client prefers none
  'etag.mode': steps('off', 'weak', 'strong'),
  'etag.onPut': steps('verbatim', 'with-content'),
  'concurrency.required': turnedOff,
  'deleted.status': fixed,
  'deleted.retention': more,
  'delete.repeat': steps('gone', 'no-content'),
  'missing.status': fixed,
  'cache.scope': quiet, // caches follow what each answer says
  'cache.maxAge': quiet,
  'cache.groups': quiet,
  'compression.minBytes': quiet,
  'errors.problemBase': fixed,
  'auth.apiKeyHeader': once(null),
  'auth.credentialNames': quiet, // these are refused either way
  'auth.tokens': once(null),
  'cors.origins': members,
  'cors.headers': members,
  'limits.body': more,
  'limits.url': more,
  'limits.headers': more,
  'limits.headerFields': more,
  'limits.headersTimeout': more,
  'limits.requestTimeout': more,
  'limits.handlerTimeout': quiet, // how long the service may take itself
  'limits.idleTimeout': quiet,
  'limits.writeTimeout': quiet,
  'limits.concurrency': quiet,
  'limits.callerConcurrency': more,
  'limits.loopDelay': quiet,
  'rateLimit.lease': quiet,
  'rateLimit.headers': once('none'),
  'versions.carriers': members,
  'versions.default': fixed,
  'versions.fromFeatures': fixed,
  'versions.idle': quiet,
  'dropped.retention': quiet, // copies of dropped values are never answered
  'versions.enforceSunset': quiet, // announced with each answer of the version
  'deprecation.format': fixed,
  'openapi.version': fixed,
  'openapi.public': turnedOn,
  serverTiming: quiet,
}

/** Settings of which a contract only says whether there is one: what it is differs from place to place. */
const onlyWhether = new Set(['auth.tokens', 'versions.fromFeatures'])

/** What a change of a setting means; of one that stands in no table here any change breaks. */
export const weighSetting = (path: string, before: unknown, after: unknown): Weight =>
  (scales[path] ?? fixed)(before, after)

/** What is in force where a setting follows others by itself. */
const following: Readonly<Record<string, (settings: Settings) => unknown>> = {
  'list.pagination.style': ({ list: { pagination } }) =>
    pagination.styles.includes(pagination.style) ? pagination.style : pagination.styles[0],
  'list.pageSize': ({ list }) => Math.min(list.pageSize, list.maxPageSize),
  'idempotency.bodyField': ({ naming, idempotency }) =>
    idempotency.bodyField === '' ? cased('idempotency-key', naming) : idempotency.bodyField,
}

/** The value of a setting as contracts hold it. */
export function settingAt(settings: Settings, path: string): unknown {
  const inForce = following[path]
  if (inForce) return inForce(settings)
  const value = path.split('.').reduce((at: unknown, name) => (at as Record<string, unknown>)[name], settings)
  return onlyWhether.has(path) && value !== null ? true : value
}

/** The paths of all settings. */
function leaves(value: unknown, at = ''): string[] {
  if (!isObject(value) || Object.hasOwn(scales, at)) return [at]
  return Object.entries(value).flatMap(([name, one]) => leaves(one, at === '' ? name : `${at}.${name}`))
}

/** Those that a consumer can notice. */
export const noticedIn = (settings: Settings): string[] => leaves(settings).filter((path) => scales[path] !== quiet)

/** Those without a rule, of which any change breaks. */
export const unweighed = (settings: Settings): string[] =>
  leaves(settings).filter((path) => !Object.hasOwn(scales, path))
