/** Notices: the headers that give the version of an answer, its deprecation and its end. Part 9, versions. */
import type { Endpoint, Route, ServedVersion } from '../flow/route.ts'
import type { Deprecation, Operation, VersionDeclaration, VersionedDeclaration } from '../resources/declaration.ts'
import type { Settings } from '../settings.ts'

/** The notice of a version or of an operation in it, prepared at start; times are in milliseconds. */
export interface VersionNotice {
  readonly label: string
  /** The value of `Deprecation`, and when it is first sent. R198, R199. */
  readonly deprecation: { readonly value: string; readonly from: number } | null
  /** The value of `Sunset`, and its time. R200. */
  readonly sunset: { readonly value: string; readonly at: number } | null
  /** Links that are the same for all answers. R201. */
  readonly links: string
  /** The version to move to; null if there is none, or if only the operation ends and the version stays. */
  readonly successor: string | null
  /** Resources that have another name in that version. */
  readonly names: ReadonlyMap<string, string>
}

/** The notices of all versions of a service. */
export function versionNotices(
  editions: readonly ServedVersion[],
  { versions = {} }: Pick<VersionedDeclaration, 'versions'>,
  served: readonly string[],
  settings: Settings,
): ReadonlyMap<string, VersionNotice> {
  const all = editions.map((version): [string, VersionNotice] => {
    const { label } = version
    const later = served.find((one) => Number(one.slice(1)) > Number(label.slice(1))) ?? null
    const next = editions.find((one) => one.label === later)
    const own = versions[label] ?? {}
    const notice = noticeOf(label, [own], formatIn(own, settings), later)
    return [label, { ...notice, names: next ? renamedResources(version, next) : noNames }]
  })
  return new Map(all)
}

const noNames: ReadonlyMap<string, string> = new Map()

function renamedResources({ resources }: ServedVersion, next: ServedVersion): VersionNotice['names'] {
  const there = new Map([...next.resources.values()].map(({ name, collection }) => [collection.name, name]))
  const names = [...resources.values()].map(
    ({ name, collection }) => [name, there.get(collection.name) ?? name] as const,
  )
  return new Map(names.filter(([own, other]) => own !== other))
}

type DeclaredEnd = Partial<VersionDeclaration & Deprecation>

const formatIn = ({ format }: DeclaredEnd, { deprecation }: Settings): 'true' | 'rfc9745' =>
  format ?? deprecation.format

/** The notices of deprecated operations, by route, and by endpoint for OPTIONS. R198. */
export function operationNotices(
  editions: readonly ServedVersion[],
  { versions = {} }: Pick<VersionedDeclaration, 'versions'>,
  notices: ReadonlyMap<string, VersionNotice>,
  settings: Settings,
): ReadonlyMap<Route | Endpoint, VersionNotice> {
  const byRoute = new Map<Route | Endpoint, VersionNotice>()
  for (const { label, endpoints } of editions) {
    const own: DeclaredEnd = versions[label] ?? {}
    const goes = own.deprecated !== undefined || own.sunset !== undefined
    const { successor, names } = notices.get(label) as VersionNotice
    const noticeWith = (all: readonly DeclaredEnd[]) => ({
      ...noticeOf(label, [...all, own], formatIn(own, settings), goes ? successor : null),
      names,
    })
    for (const endpoint of endpoints) {
      const left = [...endpoint.methods.values()].flatMap((route) => {
        const { deprecations = {} } = route.resource.declaration
        const deprecation = deprecations[route.operation as Operation]
        if (deprecation) byRoute.set(route, noticeWith([deprecation]))
        return deprecation ?? []
      })
      if (left.length > 0) byRoute.set(endpoint, noticeWith(left))
    }
  }
  return byRoute
}

/** Makes a notice: of several declarations, the earliest dates and all links. */
function noticeOf(
  label: string,
  all: readonly DeclaredEnd[],
  format: 'true' | 'rfc9745',
  successor: string | null,
): VersionNotice {
  const times = (name: 'deprecated' | 'sunset') =>
    all.flatMap((one) => (one[name] === undefined ? [] : [Date.parse(one[name])]))
  const first = (moments: readonly number[]) => (moments.length === 0 ? null : Math.min(...moments))
  const [from, at] = [first(times('deprecated')), first(times('sunset'))]
  const dated = format === 'rfc9745'
  const value = dated ? `@${Math.floor((from ?? 0) / 1000)}` : 'true'
  const links = all.flatMap(({ guide, policy, successor: instead }) => [
    ...(guide === undefined ? [] : [`<${guide}>; rel="deprecation"; type="text/html"`]),
    ...(policy === undefined ? [] : [`<${policy}>; rel="sunset"`]),
    ...(instead === undefined ? [] : [successorLink(instead)]),
  ])
  return {
    label,
    deprecation: from === null ? null : { value, from: dated ? Number.NEGATIVE_INFINITY : from },
    sunset: at === null ? null : { value: new Date(at).toUTCString(), at },
    links: [...new Set(links)].join(', '),
    successor,
    names: noNames,
  }
}

/** Adds the version headers; `successor` finds the same path in the version to move to. R193, R198 to R201. */
export function addVersionHeaders(
  headers: Record<string, string>,
  { label, deprecation, sunset, links }: VersionNotice,
  successor: () => string | null,
  now: number,
): void {
  headers.Version = label
  if (deprecation === null && sunset === null) return
  const deprecated = deprecation !== null && deprecation.from <= now
  if (deprecated) headers.Deprecation = deprecation.value
  if (sunset !== null) headers.Sunset = sunset.value
  if (!deprecated && sunset === null) return
  const next = successor()
  const allLinks = next === null ? links : links === '' ? successorLink(next) : `${links}, ${successorLink(next)}`
  if (allLinks !== '') headers.Link = headers.Link === undefined ? allLinks : `${headers.Link}, ${allLinks}`
}

export const successorLink = (path: string): string => `<${path}>; rel="successor-version"`
