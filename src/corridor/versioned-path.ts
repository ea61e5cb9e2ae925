/** Versioned path: the version that a call is of, and its path without it. Part 9, versions. */
import { locate } from '../endpoints/locate.ts'
import type { Call, CarriedVersion } from '../flow/call.ts'
import type { Caller } from '../flow/caller.ts'
import type { ServedVersion } from '../flow/route.ts'
import { featuresOf } from '../limits/quota.ts'
import { versionsInQuery } from '../lists/query-string.ts'
import type { Service } from '../service.ts'
import { isEnded, isReleased, type NamedVersion, readVersion, unnamedVersion } from '../versions/choose.ts'

/** The version that serves a call, and its path without it. */
export interface VersionedPath {
  readonly version: ServedVersion
  readonly carried: CarriedVersion
  readonly path: string
}

const callPath = ({ target }: Call): string => {
  const end = target.indexOf('?')
  return end < 0 ? target : target.slice(0, end)
}

/** What a call says of its version; where that is not served any more, the way to another one is told. R188, R204. */
export function namedVersionOf(call: Call, service: Service, now: number): NamedVersion {
  const toward = (label: string, path: string) => successorUrl(service, label, path, now)
  return readVersion(call, { path: callPath(call), queried: versionsInQuery(call.target), now, toward }, service.choice)
}

export function chooseVersion(
  { carried, path }: NamedVersion,
  caller: Caller,
  { choice, editions, quotas }: Service,
  now: number,
): VersionedPath {
  const own = carried ?? unnamedVersion(featuresOf(caller, quotas), choice, now)
  return { version: editions.get(own.label) as ServedVersion, carried: own, path }
}

/** The version that serves a call of a caller, in one step. */
export const versionedPathOf = (call: Call, caller: Caller, service: Service, now: number): VersionedPath =>
  chooseVersion(namedVersionOf(call, service, now), caller, service, now)

/** The same place in the version to move to, where it is there; the way to one that has ended itself goes on to the next. R201. */
export function successorUrl(service: Service, label: string, path: string, now: number): string | null {
  const { notices, editions, choice } = service
  const { successor: next = null, names } = notices.get(label) ?? {}
  const edition = next === null || !isReleased(choice, next, now) ? undefined : editions.get(next)
  if (next === null || !edition) return null
  const segment = (own: string, i: number) => (i % 2 === 1 ? (names?.get(own) ?? own) : own)
  const there = names?.size ? path.split('/').map(segment).join('/') : path
  if (isEnded(choice, next, now)) return successorUrl(service, next, there, now)
  if (!isLocated(edition.tree, there)) return null
  return choice.carriers.includes('path') ? `/${next}${there}` : `${there}?version=${next}`
}

/** Whether a path leads to a place. One with a malformed escape was refused, and its refusal comes here to be labelled. */
function isLocated(tree: ServedVersion['tree'], path: string): boolean {
  try {
    return locate(tree, path) !== null
  } catch {
    return false
  }
}
