/** Summary: groups of the items of a list, with sums and other values of each group. Part 4, list parameters. R236. */
import { type Naming, toKebab, withCapital } from '../formats/naming.ts'
import type { Field } from './field.ts'

/** How times are cut to groups, in UTC. */
export const timeParts = ['day', 'month', 'year'] as const
export type TimePart = (typeof timeParts)[number]
const summaryFunctions = ['sum', 'min', 'max', 'average'] as const
export type SummaryFunction = (typeof summaryFunctions)[number]

/** A field whose values make groups, or the day, month or year of its times in UTC. */
type DeclaredGroup = string | { readonly [P in TimePart]: { readonly [_ in P]: string } }[TimePart]

/**
 * A summary of a list: `GET /orders/summaries/by-status` counts the items of each group.
 * @example byStatus: { group: ['status', { month: 'createdAt' }], sum: ['total'] }
 */
export interface SummaryDeclaration {
  /** The fields whose values make groups; without any, all items are one group: `group: ['status', { month: 'createdAt' }]`. */
  readonly group?: readonly DeclaredGroup[]
  /** Fields whose values are added: `sum: ['total']`. */
  readonly sum?: readonly string[]
  /** Fields whose least values are answered: `min: ['dueOn']`. */
  readonly min?: readonly string[]
  /** Fields whose greatest values are answered: `max: ['dueOn']`. */
  readonly max?: readonly string[]
  /** Fields whose average values are answered, with two more digits: `average: ['total']`. */
  readonly average?: readonly string[]
}

/** The summaries of a resource by name. */
export type DeclaredSummaries = { readonly [name: string]: SummaryDeclaration }

export const summaryKeys = ['group', ...summaryFunctions] as const satisfies readonly (keyof SummaryDeclaration)[]

/** The segment of URLs that summaries are below; an item cannot have it as its key. */
export const summarySegment = 'summaries'
/** The most groups of an answer. */
export const mostGroups = 1000

interface SummaryMember {
  /** Its name in answers. */
  readonly member: string
  /** The name of the field, with dots for a nested one. */
  readonly path: string
  readonly field: Field
}
interface GroupMember extends SummaryMember {
  readonly part: TimePart | null
}
export interface ValueMember extends SummaryMember {
  readonly of: SummaryFunction
}

/** A declared summary, prepared. */
export interface Summary {
  readonly name: string
  /** The last segment of its URL. */
  readonly segment: string
  readonly groups: readonly GroupMember[]
  readonly values: readonly ValueMember[]
}

/** The names of the members of each group besides those of its fields. */
export const fixedMembers: readonly string[] = ['id', 'count']

/** The field of a group, and the part of its times. */
function groupTerm(group: DeclaredGroup): readonly [path: string, part: TimePart | null] {
  if (typeof group === 'string') return [group, null]
  const [[part, path] = ['day', '']] = Object.entries(group)
  return [path, part as TimePart]
}

/** The name of a member: `createdAtMonth`, `sumTotal`. */
function memberName(words: readonly string[], naming: Naming): string {
  const parts = words.flatMap((word) => word.split('.'))
  if (naming === 'snake') return parts.join('_')
  return parts.map((part, i) => (i === 0 ? part : withCapital(part))).join('')
}

/** The fields that a summary names, each once: those of its groups, then those of its values. */
export const fieldsOfSummary = (declared: SummaryDeclaration): readonly string[] => [
  ...new Set([
    ...(declared.group ?? []).map((one) => groupTerm(one)[0]),
    ...summaryFunctions.flatMap((of) => declared[of] ?? []),
  ]),
]

/** The members of the groups of a summary, besides the fixed ones. */
export function summaryMembers(declared: SummaryDeclaration, naming: Naming) {
  const groups = (declared.group ?? []).map((one) => {
    const [path, part] = groupTerm(one)
    return { member: memberName([path, ...(part === null ? [] : [part])], naming), path, part }
  })
  const values = summaryFunctions.flatMap((of) =>
    (declared[of] ?? []).map((path) => ({ member: memberName([of, path], naming), path, of })),
  )
  return { groups, values }
}

/** The summaries of a resource. One that a version cannot answer, as two of its members would have one name, is left out. */
export function summariesOf(
  declared: DeclaredSummaries | undefined,
  fieldAt: (path: string) => Field | undefined,
  naming: Naming,
): Summary[] {
  return Object.entries(declared ?? {}).flatMap(([name, one]) => {
    const { groups, values } = summaryMembers(one, naming)
    const names = [...fixedMembers, ...groups.map(({ member }) => member), ...values.map(({ member }) => member)]
    if (new Set(names).size < names.length) return []
    const withField = <T extends { readonly path: string }>(member: T) => ({
      ...member,
      field: fieldAt(member.path) as Field,
    })
    return [{ name, segment: toKebab(name), groups: groups.map(withField), values: values.map(withField) }]
  })
}

/** The summaries with other names of their fields; one with a field that has none, for which `name` returns null, is left out. */
export function renameSummaries(declared: DeclaredSummaries, name: (path: string) => string | null): DeclaredSummaries {
  const all = Object.entries(declared).flatMap(([own, one]): [string, SummaryDeclaration][] => {
    if (fieldsOfSummary(one).some((path) => name(path) === null)) return []
    const renamed = (path: string) => name(path) as string
    const group = one.group?.map((term) => {
      const [path, part] = groupTerm(term)
      return (part === null ? renamed(path) : { [part]: renamed(path) }) as DeclaredGroup
    })
    const values = summaryFunctions.flatMap((of) => (one[of] ? [[of, one[of].map(renamed)] as const] : []))
    return [[own, { ...(group && { group }), ...Object.fromEntries(values) }]]
  })
  return Object.fromEntries(all)
}
