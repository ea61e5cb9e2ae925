/** Version choice: chooses the version of a call from its path, query or header, else by features or a default. Part 9, versions. */
import { Problem } from '../errors/problem.ts'
import { type Call, type CarriedVersion, headerLines } from '../flow/call.ts'
import { listInWords } from '../formats/naming.ts'
import { type Change, majorOf } from '../resources/change.ts'
import type { VersionedDeclaration } from '../resources/declaration.ts'
import type { Settings } from '../settings.ts'
import { successorLink } from './notices.ts'

/** The versions that a call can choose, and how. */
export interface VersionChoice {
  /** The served labels, and when versions end: the enforced sunset, or the distant past for retired ones. */
  readonly served: readonly string[]
  readonly ended: ReadonlyMap<string, number>
  /** The release times of versions. */
  readonly released: ReadonlyMap<string, number>
  readonly carriers: readonly ('path' | 'query' | 'header')[]
  /** The version of calls that name none; null if they must name one. R192. */
  readonly usual: string | null
  /** Whether that is always the newest version. */
  readonly latest: boolean
  readonly fromFeatures: ((features: ReadonlySet<string>, open: readonly string[]) => string | null | undefined) | null
}

/** Prepares the choice from a declaration and its settings. */
export function versionChoice(
  { versions = {} }: Pick<VersionedDeclaration, 'versions'>,
  changes: readonly Change[],
  served: readonly string[],
  { versions: { carriers, default: usual, fromFeatures, enforceSunset } }: Settings,
): VersionChoice {
  const ends = Object.entries(versions).flatMap(([label, { sunset, retired }]): [string, number][] => {
    if (retired !== undefined) return [[label, Number.NEGATIVE_INFINITY]]
    return enforceSunset && sunset !== undefined ? [[label, Date.parse(sunset)]] : []
  })
  const latest = served.at(-1) as string
  const released = Object.entries(versions).map(([label, one]): [string, number] => [label, Date.parse(one.released)])
  return {
    served,
    ended: new Map(ends),
    released: new Map(released),
    carriers: carriers as VersionChoice['carriers'],
    usual: usual === 'required' ? null : usual === 'latest' ? latest : usual || (served[0] as string),
    latest: usual === 'latest',
    fromFeatures:
      fromFeatures === 'changes' ? (features, open) => versionByFeatures(features, changes, open) : fromFeatures,
  }
}

/** A choice in which some versions (or all) are available before their release. */
export function previewVersions(choice: VersionChoice, labels: readonly string[] | 'all'): VersionChoice {
  const waiting = labels === 'all' ? [] : [...choice.released].filter(([label]) => !labels.includes(label))
  return { ...choice, released: new Map(waiting) }
}

/** The highest version whose changes up to it are all among the features; null if no change applies. R191. */
function versionByFeatures(
  features: ReadonlySet<string>,
  changes: readonly Change[],
  served: readonly string[],
): string | null {
  const has = (label: string) =>
    changes.every(({ version, feature = version }) => majorOf(version) > majorOf(label) || features.has(feature))
  const changed = changes.map(({ version }) => majorOf(version))
  const first = Math.min(...changed)
  return served.filter((label) => majorOf(label) >= first && has(label)).at(-1) ?? null
}

/** A version, and how the URL or a header named it. */
type WrittenVersion = Omit<CarriedVersion, 'prefix'>

/** The path of a call without its version, and the version if the call names one. */
export interface NamedVersion {
  readonly path: string
  readonly carried: WrittenVersion | null
}

interface VersionMention {
  readonly label: string
  readonly by: 'path' | 'query' | 'header'
}

/** Where a version can be named, besides the header. */
interface VersionSources {
  readonly path: string
  /** The values of the query's version parameter. */
  readonly queried: readonly string[]
  readonly now: number
  /** The same path in the version that follows the given one, if it exists there. */
  readonly toward: (label: string, path: string) => string | null
}

const versionPrefix = /^\/(v\d+)(?=\/|$)/

/** Reads the version that a call names; conflicting or unavailable versions are refused. R188 to R190, R204. */
export function readVersion(
  call: Call,
  { path, queried, now, toward }: VersionSources,
  choice: VersionChoice,
): NamedVersion {
  const { carriers } = choice
  const [, inPath] = carriers.includes('path') ? (versionPrefix.exec(path) ?? []) : []
  const inQuery = carriers.includes('query') ? queried : []
  const header = call.headers.version === undefined || !carriers.includes('header') ? [] : headerLines(call, 'version')
  if (inPath === undefined && inQuery.length === 0 && header.length === 0) return { path, carried: null }
  const mentions: VersionMention[] = [
    ...(inPath === undefined ? [] : [{ label: inPath, by: 'path' as const }]),
    ...inQuery.map((label) => ({ label, by: 'query' as const })),
    ...header.flatMap((line) => line.split(',')).map((label) => ({ label: label.trim(), by: 'header' as const })),
  ]
  const [first] = mentions as [VersionMention, ...VersionMention[]]
  const rest = inPath === undefined ? path : path.slice(inPath.length + 1)
  for (const one of mentions) admitVersion(one, choice, now, () => toward(one.label, rest))
  const other = mentions.find(({ label }) => label !== first.label)
  if (other) {
    const message = `The ${first.by} names ${first.label} and the ${other.by} ${other.label}. Name one version.`
    throw new Problem('version-conflict', message, { extra: placeOf(other.by) })
  }
  const { label } = first
  const query = first.by === 'query' ? `version=${label}` : ''
  return { path: rest, carried: { label, inPath: inPath === undefined ? '' : `/${label}`, query } }
}

/** The place of a mistake; a version in the path has no name. R155. */
const placeOf = (by: VersionMention['by']): Readonly<Record<string, unknown>> => ({
  in: by,
  ...(by !== 'path' && { name: 'version' }),
})

export const isEnded = ({ ended }: VersionChoice, label: string, now: number): boolean =>
  (ended.get(label) ?? Number.POSITIVE_INFINITY) <= now

export const isReleased = ({ released }: VersionChoice, label: string, now: number): boolean =>
  (released.get(label) ?? Number.NEGATIVE_INFINITY) <= now

/** Whether a version is served, is released and has not ended yet. R189, R204. */
const isOpen = (choice: VersionChoice, label: string, now: number): boolean =>
  choice.served.includes(label) && !isEnded(choice, label, now) && isReleased(choice, label, now)

export const openVersions = (choice: VersionChoice, now: number): readonly string[] =>
  choice.served.filter((one) => isOpen(choice, one, now))

/** Refuses a version that is not open: ended, not released, or unknown. R189, R204. */
function admitVersion(
  { label, by }: VersionMention,
  choice: VersionChoice,
  now: number,
  toward: () => string | null,
): void {
  if (isOpen(choice, label, now)) return
  const open = openVersions(choice, now)
  const mend = `Supported: ${listInWords(open, 'and') || 'none yet'}.`
  if (isEnded(choice, label, now)) {
    const next = toward()
    throw new Problem('version-retired', `${label} is not served any more. ${mend}`, {
      ...(by === 'header' ? { under: 'invalid-version' } : {}),
      headers: next === null ? {} : { Link: successorLink(next) },
      extra: placeOf(by),
    })
  }
  if (by === 'path') throw new Problem('unknown-version', `There is no version of this name. ${mend}`)
  throw new Problem('unsupported-version', `The version in the ${by} is not a version of this service. ${mend}`, {
    extra: placeOf(by),
  })
}

/** The version of a call that names none: by the caller's features, else the default. R191, R192. */
export function unnamedVersion(
  features: ReadonlySet<string>,
  choice: VersionChoice,
  { now, basePath }: { readonly now: number; readonly basePath: string },
): WrittenVersion {
  const { usual, latest, fromFeatures } = choice
  if (usual !== null && !latest && !fromFeatures && isOpen(choice, usual, now))
    return { label: usual, inPath: '', query: '' }
  const open = openVersions(choice, now)
  const chosen = fromFeatures?.(features, open) ?? null
  const own = chosen !== null && isReleased(choice, chosen, now) ? chosen : null
  const label = own ?? (latest ? (open.at(-1) ?? usual) : usual)
  if (label === null) {
    const named = versionExamples(open.at(-1) ?? 'v1', basePath)
    const ways = choice.carriers.map((one) => named[one])
    const message = `Name a version, by ${listInWords(ways, 'or')}. Supported: ${listInWords(open, 'and') || 'none yet'}.`
    throw new Problem('version-required', message)
  }
  if (!isReleased(choice, label, now))
    throw new Problem('unknown-version', `No version is named, and ${label} is not released yet. Name one that is.`)
  admitVersion({ label, by: 'header' }, choice, now, () => null)
  return { label, inPath: '', query: '' }
}

/** How each carrier names a version, in words. */
export const versionExamples = (label: string, basePath: string) => ({
  path: `the path (\`${basePath}/${label}/…\`)`,
  query: `the query (\`?version=${label}\`)`,
  header: `a header (\`version: ${label}\`)`,
})

/** The base URL of the newest version, whose field names are used. */
export function newestVersionUrl({ served, usual, carriers }: VersionChoice, url: string): string {
  const label = served.at(-1)
  return label === usual || !carriers.includes('path') ? url : `${url}/${label}`
}
