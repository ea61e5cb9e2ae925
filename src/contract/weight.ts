/** Weight: the effect that a change of each setting has on consumers. Part 9, versioning. */

import { isObject } from '../fields/value-check.ts'
import { toCase } from '../formats/naming.ts'
import type { Settings } from '../settings.ts'

/** Breaking: requests are refused or answers lose something. Additive: something is only added. None: nobody notices. */
export type Weight = 'breaking' | 'additive' | 'none'

/** Weighs a change of one setting. */
type WeighChange = (before: unknown, after: unknown) => Weight

/** Any change breaks. */
const alwaysBreaks: WeighChange = () => 'breaking'
/** Consumers do not notice a change, or may not rely on the value. */
const unnoticed: WeighChange = () => 'none'

/** Each later value accepts or answers all that the earlier ones did, and more. */
const steps =
  (...values: readonly unknown[]): WeighChange =>
  (before, after) =>
    values.indexOf(after) > values.indexOf(before) && values.includes(before) ? 'additive' : 'breaking'

/** A greater number allows more; null means no bound. */
const greaterAllowsMore: WeighChange = (before, after) => (amountOf(after) > amountOf(before) ? 'additive' : 'breaking')
const amountOf = (value: unknown): number => (typeof value === 'number' ? value : Number.POSITIVE_INFINITY)

/** A greater number allows more; null means none. */
const greaterOrNone: WeighChange = (before, after) => (Number(after) > Number(before) ? 'additive' : 'breaking')

/** A new member allows more; a removed one breaks. */
const moreMembers: WeighChange = (before, after) => {
  const [had, has] = [before, after].map((list) => (Array.isArray(list) ? list : []))
  return had?.every((one) => has?.includes(one)) ? 'additive' : 'breaking'
}

/** It may be set for the first time; any later change breaks. */
const setOnce =
  (none: unknown): WeighChange =>
  (before) =>
    before === none ? 'additive' : 'breaking'

const turnedOn = steps(false, true)
const turnedOff = steps(true, false)

// long because: one line per setting
const scales: Readonly<Record<string, WeighChange>> = {
  naming: alwaysBreaks,
  'path.trailingSlash': steps('reject', 'redirect', 'ignore'),
  'path.verbs': unnoticed, // limits only what may be declared
  'methods.unknown': alwaysBreaks,
  'methods.query': unnoticed, // recorded as a method of each path
  'query.unknown': steps('reject', 'ignore'),
  'query.ignored': moreMembers,
  'body.unknownFields': steps('reject', 'ignore'),
  'body.onBodyless': steps('reject', 'ignore'),
  'body.maxDepth': greaterAllowsMore,
  'body.maxKeys': greaterAllowsMore,
  'request.codings': moreMembers,
  'resource.id': alwaysBreaks,
  'resource.putCreates': turnedOn,
  'resource.links': steps('none', 'actions', 'all'),
  'resource.putRevives': turnedOn,
  'resource.compress': unnoticed, // negotiated with each request
  'dates.acceptOffsets': turnedOn,
  'metadata.keys': unnoticed, // these three are recorded with each metadata field
  'metadata.keyLength': unnoticed,
  'metadata.valueLength': unnoticed,
  'list.pagination.styles': moreMembers,
  'list.pagination.style': alwaysBreaks,
  'list.pagination.field': alwaysBreaks,
  'list.pagination.names': alwaysBreaks,
  'list.pagination.totals': steps('off', 'exact'),
  'list.pagination.countLimit': greaterAllowsMore,
  'list.maxPageSize': greaterAllowsMore,
  'list.pageSize': alwaysBreaks,
  'list.overMax': steps('reject', 'clamp'),
  'list.maxOffset': greaterAllowsMore,
  'list.maxFilters': greaterAllowsMore,
  'list.maxSetSize': greaterAllowsMore,
  'list.maxSortable': unnoticed, // limits only what may be declared
  'list.nullsDefault': alwaysBreaks,
  'list.cursor.ttl': greaterAllowsMore,
  'list.fields': turnedOn,
  'list.or': turnedOn,
  'list.links': (before, after) => (before === 'none' || after === 'both' ? 'additive' : 'breaking'),
  'idempotency.mode': alwaysBreaks,
  'idempotency.conflictBody': steps('minimal', 'extended'),
  'idempotency.bodyField': setOnce(null),
  'idempotency.required': turnedOff,
  'idempotency.scope': alwaysBreaks,
  'idempotency.retention': greaterAllowsMore,
  'idempotency.wait': unnoticed, // only how long and how many callers wait; the answer is the same
  'idempotency.waiters': unnoticed,
  'idempotency.methods': moreMembers,
  'patch.jsonPatch': turnedOn,
  'prefer.minimalOnCreate': alwaysBreaks, // decides whether POST follows `Prefer: return=minimal`
  'etag.mode': steps('off', 'weak', 'strong'),
  'etag.onPut': steps('verbatim', 'with-content'),
  'concurrency.required': turnedOff,
  'deleted.status': alwaysBreaks,
  'deleted.retention': greaterAllowsMore,
  'delete.repeat': steps('gone', 'no-content'),
  'missing.status': alwaysBreaks,
  'cache.scope': unnoticed, // caches follow the headers of each answer
  'cache.maxAge': unnoticed,
  'cache.groups': unnoticed,
  'compression.minBytes': unnoticed,
  'errors.problemBase': alwaysBreaks,
  'auth.apiKeyHeader': setOnce(null),
  'auth.credentialNames': unnoticed, // such parameters are refused either way
  'auth.tokens': setOnce(null),
  'cors.origins': moreMembers,
  'cors.headers': moreMembers,
  'limits.body': greaterAllowsMore,
  'limits.url': greaterAllowsMore,
  'limits.headers': greaterAllowsMore,
  'limits.headerFields': greaterAllowsMore,
  'limits.headersTimeout': greaterAllowsMore,
  'limits.requestTimeout': greaterAllowsMore,
  'limits.handlerTimeout': unnoticed, // limits the service, not the consumer
  'limits.idleTimeout': unnoticed,
  'limits.writeTimeout': unnoticed,
  'limits.concurrency': unnoticed,
  'limits.callerConcurrency': greaterAllowsMore,
  'limits.loopDelay': unnoticed,
  'rateLimit.lease': unnoticed,
  'rateLimit.headers': setOnce('none'),
  'versions.carriers': moreMembers,
  'versions.default': alwaysBreaks,
  'versions.fromFeatures': alwaysBreaks,
  'versions.idle': unnoticed,
  batches: greaterOrNone,
  'history.retention': unnoticed, // the contract of each resource has its own
  'events.retention': greaterAllowsMore,
  'events.payload': alwaysBreaks,
  'events.format': alwaysBreaks,
  'events.stream': turnedOn,
  'events.webhooks': turnedOn,
  'events.reactions': turnedOn,
  'events.publish': unnoticed,
  'operations.workers': unnoticed,
  'operations.attempts': unnoticed,
  'operations.timeout': unnoticed,
  'operations.retention': greaterAllowsMore,
  'dropped.retention': unnoticed, // copies of dropped values are never answered
  'versions.enforceSunset': unnoticed, // each answer of the version announces it
  'deprecation.format': alwaysBreaks,
  'openapi.version': alwaysBreaks,
  'openapi.public': turnedOn,
  'server.basePath': alwaysBreaks,
  'server.engine': unnoticed,
  'server.paths.docs': unnoticed,
  'server.paths.problems': unnoticed,
  'log.account': unnoticed,
  serverTiming: unnoticed,
}

/** Settings of which a contract only records whether they are set: their values differ between deployments. */
const onlyWhether = new Set(['auth.tokens', 'versions.fromFeatures'])

/** Weighs a change of a setting; for a setting without a rule, any change breaks. */
export const weighSetting = (path: string, before: unknown, after: unknown): Weight =>
  (scales[path] ?? alwaysBreaks)(before, after)

/** The values in force of settings that depend on others. */
const derivedSettings: Readonly<Record<string, (settings: Settings) => unknown>> = {
  'list.pagination.style': ({ list: { pagination } }) =>
    pagination.styles.includes(pagination.style) ? pagination.style : pagination.styles[0],
  'list.pageSize': ({ list }) => Math.min(list.pageSize, list.maxPageSize),
  'idempotency.bodyField': ({ naming, idempotency }) =>
    idempotency.bodyField === '' ? toCase('idempotency-key', naming) : idempotency.bodyField,
}

/** The value of a setting as contracts record it. */
export function contractSetting(settings: Settings, path: string): unknown {
  const inForce = derivedSettings[path]
  if (inForce) return inForce(settings)
  const value = path.split('.').reduce((at: unknown, name) => (at as Record<string, unknown>)[name], settings)
  return onlyWhether.has(path) && value !== null ? true : value
}

/** The paths of all settings. */
function settingPaths(value: unknown, at = ''): string[] {
  if (!isObject(value) || Object.hasOwn(scales, at)) return [at]
  return Object.entries(value).flatMap(([name, one]) => settingPaths(one, at === '' ? name : `${at}.${name}`))
}

/** The paths of settings that a consumer can notice. */
export const noticeableSettings = (settings: Settings): string[] =>
  settingPaths(settings).filter((path) => scales[path] !== unnoticed)

/** The paths of settings without a rule, where any change breaks. */
export const unweighedSettings = (settings: Settings): string[] =>
  settingPaths(settings).filter((path) => !Object.hasOwn(scales, path))
