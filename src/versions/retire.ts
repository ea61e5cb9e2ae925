/** Tells with every answer which version it is of, and how that version goes. Part 9, versions. */
import type { VersionDeclaration, Versioned } from '../resources/change.ts'
import type { Settings } from '../resources/settings.ts'

/** What is told of a version, made ready at start; times are in milliseconds. */
export interface Notice {
  readonly label: string
  /** The value of `Deprecation`, and from when on it is sent. R198, R199. */
  readonly deprecation: { readonly value: string; readonly from: number } | null
  /** R200. */
  readonly sunset: { readonly value: string; readonly at: number } | null
  /** Links that are the same for all answers. R201. */
  readonly links: readonly string[]
  /** The version to move to. */
  readonly successor: string | null
}

/** What is told of one of the versions of a service. */
export function noticeIn(
  { versions = {} }: Pick<Versioned, 'versions'>,
  label: string,
  served: readonly string[],
  { deprecation }: Settings,
): Notice {
  const labels = [...new Set([...Object.keys(versions), label])]
  const later = served.find((one) => Number(one.slice(1)) > Number(label.slice(1))) ?? null
  return noticeOf(label, versions[label] ?? {}, deprecation.format, labels.length > 1 ? later : null)
}

/** What is told of a version that is declared so. */
function noticeOf(
  label: string,
  { deprecated, sunset, guide, policy, format }: Partial<VersionDeclaration>,
  usual: 'true' | 'rfc9745',
  successor: string | null,
): Notice {
  const [from, at] = [deprecated, sunset].map((text) => (text === undefined ? null : Date.parse(text))) as [
    number | null,
    number | null,
  ]
  const dated = (format ?? usual) === 'rfc9745'
  const value = dated ? `@${Math.floor((from ?? 0) / 1000)}` : 'true'
  return {
    label,
    deprecation: from === null ? null : { value, from: dated ? Number.NEGATIVE_INFINITY : from },
    sunset: at === null ? null : { value: new Date(at).toUTCString(), at },
    links: [
      ...(guide === undefined ? [] : [`<${guide}>; rel="deprecation"; type="text/html"`]),
      ...(policy === undefined ? [] : [`<${policy}>; rel="sunset"`]),
    ],
    successor,
  }
}

/** Completes the headers of an answer; `successor` is the same place in the version to move to, if it is there. R193, R198 to R201. */
export function retire(
  headers: Record<string, string>,
  { label, deprecation, sunset, links }: Notice,
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
  const all = [headers.Link, ...links, ...(next === null ? [] : [successorLink(next)])]
  const told = all.filter((one) => one !== undefined)
  if (told.length > 0) headers.Link = told.join(', ')
}

export const successorLink = (path: string): string => `<${path}>; rel="successor-version"`
