/** Versioned path: finds the version of a call, and its path without the base path and the version. Part 9, versions. */

import type { RefusalType } from '../errors/catalogue.ts'
import { Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import type { Caller } from '../flow/caller.ts'
import { nobody } from '../flow/caller.ts'
import type { Reply } from '../flow/reply.ts'
import type { Route, ServedVersion } from '../flow/route.ts'
import { admitQuota, featuresOf, spendQuota } from '../limits/quota.ts'
import { versionsInQuery } from '../lists/query-string.ts'
import { locate } from '../routing/locate.ts'
import type { Service } from '../service.ts'
import { addVersionHeaders, type VersionNotice } from '../versions/notices.ts'
import { isEnded, isReleased, type NamedVersion, readVersion, unnamedVersion } from '../versions/version-choice.ts'
import { identifyCaller } from './identify-caller.ts'
import { check, phase, type RequestState, type VersionedPath } from './phase.ts'
import { addVary, credentialHeaders } from './reply-headers.ts'

type PlacedService = Pick<Service, 'settings' | 'documents'>

/**
 * A target without the base path; null if it is outside of it. Documents of other standards have paths of their own, and
 * targets that are no paths (`*`) concern the service itself.
 */
export function targetBelow(target: string, { settings, documents }: PlacedService): string | null {
  const { basePath } = settings.server
  if (basePath === '' || !target.startsWith('/')) return target
  const end = target.indexOf('?')
  const path = end < 0 ? target : target.slice(0, end)
  if (documents.has(path)) return target
  if (path === basePath) return `/${target.slice(path.length)}`
  return path.startsWith(`${basePath}/`) ? target.slice(basePath.length) : null
}

export const outsideProblem = ({ settings }: PlacedService): Problem =>
  new Problem(
    'route-not-found',
    `There is no such path: all paths of this service begin with ${settings.server.basePath}.`,
  )

/** Removes the base path from the target, for all later phases. */
export const mountPhase = check({
  name: 'mount',
  pass: (state) => {
    const { service } = state.context
    if (service.settings.server.basePath === '') return
    const target = targetBelow(state.call.target, service)
    if (target === null) throw outsideProblem(service)
    state.call = { ...state.call, target }
  },
})

const callPath = ({ target }: Call): string => {
  const end = target.indexOf('?')
  return end < 0 ? target : target.slice(0, end)
}

/** Reads the version that a call names; the refusal of a retired version links to its successor. R188, R204. */
function namedVersionOf(call: Call, service: Service, now: number): NamedVersion {
  const toward = (label: string, path: string) => successorUrl(service, label, path, now)
  return readVersion(call, { path: callPath(call), queried: versionsInQuery(call.target), now, toward }, service.choice)
}

function chooseVersion(
  { carried, path }: NamedVersion,
  caller: Caller,
  { choice, editions, quotas, settings }: Service,
  now: number,
): VersionedPath {
  const { basePath } = settings.server
  const { label, inPath, query } = carried ?? unnamedVersion(featuresOf(caller, quotas), choice, { now, basePath })
  const own = { label, inPath, prefix: basePath + inPath, query }
  return { version: editions.get(label) as ServedVersion, carried: own, path }
}

/** How a version names the input or the field that a handler points to. */
export const pointedNamesOf =
  ({ namesOf }: ServedVersion, { resource: { name, collection }, inputNames }: Route) =>
  (pointed: string): readonly string[] =>
    inputNames?.(pointed) ?? namesOf(name, collection.name, pointed)

/** The version that serves a call of a known caller. */
export const versionedPathOf = (call: Call, caller: Caller, service: Service, now: number): VersionedPath =>
  chooseVersion(namedVersionOf(call, service, now), caller, service, now)

/** The URL of the same path in the next version that has not ended; null if that has no such path. R201. */
function successorUrl(service: Service, label: string, path: string, now: number): string | null {
  const { notices, editions, choice, settings } = service
  const { successor: next = null, names } = notices.get(label) ?? {}
  const version = next === null || !isReleased(choice, next, now) ? undefined : editions.get(next)
  if (next === null || !version) return null
  const segment = (own: string, i: number) => (i % 2 === 1 ? (names?.get(own) ?? own) : own)
  const there = names?.size ? path.split('/').map(segment).join('/') : path
  if (isEnded(choice, next, now)) return successorUrl(service, next, there, now)
  if (!isLocated(version.tree, there)) return null
  const { basePath } = settings.server
  return choice.carriers.includes('path') ? `${basePath}/${next}${there}` : `${basePath}${there}?version=${next}`
}

/** Whether a path has an endpoint; false for a malformed escape. */
function isLocated(tree: ServedVersion['tree'], path: string): boolean {
  try {
    return locate(tree, path) !== null
  } catch {
    return false
  }
}

/** Chooses the version. If features choose it, the caller is identified first. R188, R191. */
export const versionPhase = phase({
  name: 'version',
  gives: 'versioned',
  pass: (state) => {
    const { call, context } = state
    const { service, world } = context
    const now = world.due()
    const named = namedVersionOf(call, service, now)
    const early = named.carried === null && service.choice.fromFeatures !== null && call.method !== 'OPTIONS'
    return early
      ? identifiedEarly(state).then((caller) => chooseVersion(named, caller, service, now))
      : chooseVersion(named, nobody, service, now)
  },
  refuses: ({ service }) => [
    ...versionRefusals(service),
    ...(service.changes.length > 0 ? ['version-conversion-failed'] : []),
  ],
  explains: [
    {
      step: 'version',
      informs: true,
      check: ({ service, request: { carried } }) =>
        service.declaration.versions ? `served by ${carried.label}` : null,
    },
  ],
  completes: addNotices,
})

/** Counts a failed authentication against the quota before refusing it. */
async function identifiedEarly(state: RequestState): Promise<Caller> {
  const { call, context } = state
  const { caller, problem } = await identifyCaller(call, 'public', context)
  if (!problem) return caller
  state.rate = await spendQuota(context, call, nobody)
  admitQuota(state.rate)
  throw problem
}

/** The refusals that an operation lists. A version in the path belongs to another URL, so its refusals are not listed. */
function versionRefusals({ choice: { carriers, usual, ended } }: Service): RefusalType[] {
  return [
    ...(carriers.some((one) => one !== 'path') ? ['unsupported-version', 'version-conflict'] : []),
    ...(usual === null ? ['version-required'] : []),
    ...(ended.size > 0 && carriers.includes('query') ? ['version-retired'] : []),
    ...(ended.size > 0 ? [['version-retired', 'invalid-version'] as const] : []),
  ]
}

/** Adds the version of a reply, and its deprecation notices. R145, R193, R198. */
function addNotices({ headers }: Reply, { versioned, noticed, context, reply }: RequestState): void {
  if (reply !== null && versioned === null) return // a document outside the versions
  const { choice, settings, going, notices } = context.service
  if (versioned !== null) {
    const { version, path } = versioned
    const notice = (noticed && going.get(noticed)) ?? (notices.get(version.label) as VersionNotice)
    const now = context.world.due()
    const next = () => (notice.successor === null ? null : successorUrl(context.service, version.label, path, now))
    addVersionHeaders(headers, notice, next, now)
  }
  const inUrl = versioned !== null && versioned.carried.inPath + versioned.carried.query !== ''
  if (choice.fromFeatures !== null && !inUrl) addVary(headers, credentialHeaders(settings.auth))
  if (choice.carriers.includes('header')) addVary(headers, ['version'])
}
