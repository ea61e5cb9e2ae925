/** Queries: translates filters and sorts of older versions to current fields, and error messages back. Part 9, versions. */
import { invalidBody, Problem, type Violation } from '../errors/problem.ts'
import { listInWords } from '../formats/naming.ts'
import type { Comparison } from '../resources/change.ts'
import { resolveConcepts } from '../resources/declaration.ts'
import { oldValuesByNew } from '../resources/repoint.ts'
import { isVersionColumn, versionColumnName } from './columns.ts'
import { type ChangeStep, type FindMovedField, linkTarget } from './conversion.ts'

/** A field name, with a leading minus sign for descending. */
type SortTerm = string

/** Splits a dotted path into its first name and the rest, which begins with the dot. */
function splitPath(path: string): [top: string, rest: string] {
  const dot = path.indexOf('.')
  return dot < 0 ? [path, ''] : [path.slice(0, dot), path.slice(dot)]
}

/** A filter or sort on the row that the field `by` links to. */
export interface JoinedQuery<T> {
  readonly by: string
  /** The current name of the linked resource. */
  readonly resource: string
  readonly asks: readonly T[]
  /** The same query on the value that this row keeps while it links to no other. */
  readonly own: T
}

/** Translates a filter to current fields, all of which must match; null if that is impossible. Steps are newest first. */
export function translateFilter(
  steps: readonly ChangeStep[],
  comparison: Comparison,
  elsewhere: FindMovedField,
): readonly (Comparison | JoinedQuery<Comparison>)[] | null {
  let all: readonly (Comparison | JoinedQuery<Comparison>)[] = [comparison]
  for (const step of steps.toReversed()) {
    const next: (Comparison | JoinedQuery<Comparison>)[] = []
    for (const one of all) {
      const translated = 'by' in one ? [followLinkName(step, one)] : filterBefore(step, one, elsewhere)
      if (translated === null) return null
      next.push(...translated)
    }
    all = next
  }
  return all
}

/** A later version may have renamed the linking field. */
const followLinkName = <T>({ change: { renamed = {} } }: ChangeStep, one: JoinedQuery<T>): JoinedQuery<T> =>
  Object.hasOwn(renamed, one.by) ? { ...one, by: renamed[one.by] as string } : one

const filterBefore = (step: ChangeStep, one: Comparison, elsewhere: FindMovedField) =>
  isVersionColumn(one.field) ? [one] : (joinedFilter(step, one, elsewhere) ?? ownFilter(step, one))

/** Filters by a field that moved to another row; undefined if it did not move, or cannot be translated there. */
function joinedFilter(
  step: ChangeStep,
  one: Comparison,
  elsewhere: FindMovedField,
): [JoinedQuery<Comparison>] | undefined {
  const { moved = {}, filters = {} } = step.change
  const move = Object.hasOwn(filters, one.field) || !Object.hasOwn(moved, one.field) ? undefined : moved[one.field]
  const target = move && linkTarget(step, move.by)
  const there = target === undefined ? undefined : elsewhere(step, target, move?.to as string)
  const asks = there?.ask(one)
  return there && asks ? [{ by: move?.by as string, resource: there.resource, asks, own: one }] : undefined
}

function ownFilter(step: ChangeStep, one: Comparison): readonly Comparison[] | null {
  const { change, own, concepts } = step
  const { renamed = {}, removed = {}, moved = {}, mapped = {}, shown = {}, filters = {} } = change
  const [top, rest] = splitPath(one.field)
  const answer = Object.hasOwn(filters, one.field) ? filters[one.field] : undefined
  if (answer) return answer(one)
  const column = versionColumnName(step, one.field, 'filter')
  if (column !== null) return [{ ...one, field: column }]
  if (Object.hasOwn(removed, top) || Object.hasOwn(moved, top)) return null
  const is = Object.hasOwn(renamed, top) ? (renamed[top] as string) : top
  const field = own.fields[is]
  if (!field || (!Object.hasOwn(mapped, is) && !Object.hasOwn(shown, is))) return [{ ...one, field: is + rest }]
  const down = oldValuesByNew(resolveConcepts(field, concepts).values ?? [], mapped[is] ?? {}, shown[is] ?? {})
  const up = (value: unknown): unknown[] => {
    const images = [...down].filter(([, old]) => old === value).map(([now]) => now)
    const own = mapped[is]?.[value as string]
    return [...new Set(own === undefined ? images : [own, ...images])]
  }
  return mapFilterValues({ ...one, field: is }, up)
}

/** Rewrites a comparison, where each older value may stand for several newer ones. */
function mapFilterValues(one: Comparison, up: (value: unknown) => unknown[]): Comparison[] {
  switch (one.is) {
    case 'eq':
      return [{ ...one, is: 'in', value: up(one.value) }]
    case 'in':
      return [{ ...one, value: (one.value as unknown[]).flatMap(up) }]
    case 'ne':
      return up(one.value).map((value) => ({ ...one, value }))
    default:
      return [one]
  }
}

/** Translates a sort term of an older version to current terms; null if that is impossible. */
export function translateSort(
  steps: readonly ChangeStep[],
  term: SortTerm,
  elsewhere: FindMovedField,
): readonly (SortTerm | JoinedQuery<SortTerm>)[] | null {
  let all: readonly (SortTerm | JoinedQuery<SortTerm>)[] = [term]
  for (const step of steps.toReversed()) {
    const next: (SortTerm | JoinedQuery<SortTerm>)[] = []
    for (const one of all) {
      const translated = typeof one === 'string' ? sortBefore(step, one, elsewhere) : [followLinkName(step, one)]
      if (translated === null) return null
      next.push(...translated)
    }
    all = next
  }
  return all
}

function sortBefore(
  step: ChangeStep,
  term: SortTerm,
  elsewhere: FindMovedField,
): readonly (SortTerm | JoinedQuery<SortTerm>)[] | null {
  if (isVersionColumn(term)) return [term]
  const { renamed = {}, removed = {}, moved = {}, sorts = {} } = step.change
  const [sign, name] = term.startsWith('-') ? ['-', term.slice(1)] : ['', term]
  const [top, rest] = splitPath(name)
  const other = Object.hasOwn(sorts, name) ? sorts[name] : undefined
  if (other) return other.map((to) => (sign === '' ? to : reverseTerm(to)))
  const column = versionColumnName(step, name, 'sort')
  if (column !== null) return [sign + column]
  if (Object.hasOwn(removed, top)) return null
  const move = Object.hasOwn(moved, name) ? moved[name] : undefined
  if (!move)
    return Object.hasOwn(moved, top)
      ? null
      : [sign + (Object.hasOwn(renamed, top) ? (renamed[top] as string) : top) + rest]
  const target = linkTarget(step, move.by)
  const there = target === undefined ? undefined : elsewhere(step, target, move.to)
  const terms = there?.order()
  if (!there || !terms) return null
  return [{ by: move.by, resource: there.resource, asks: sign === '' ? terms : terms.map(reverseTerm), own: term }]
}

const reverseTerm = (term: SortTerm): SortTerm => (term.startsWith('-') ? term.slice(1) : `-${term}`)

/** The older names of a current field. An added field counts as the new name of every field that the same change removed. */
export function olderNames(steps: readonly ChangeStep[], name: string): readonly string[] {
  return steps.reduce<readonly string[]>(
    (names, { change }) =>
      names.flatMap((one) => {
        const { renamed = {}, added = [], removed = {} } = change
        if (added.includes(one)) return Object.keys(removed)
        return [Object.keys(renamed).find((old) => renamed[old] === one) ?? one]
      }),
    [name],
  )
}

/** Returns the older names of a current field. */
export type NamesOfField = (field: string) => readonly string[]

interface FieldNaming {
  readonly names: NamesOfField
  /** Whether a change function computes a current field. */
  readonly isComputed?: (field: string) => boolean
}

/** Reports violations of current fields under the names that the version gives them. */
export function withOlderNames<T>({ names, isComputed }: FieldNaming, make: () => T): T {
  try {
    return make()
  } catch (problem) {
    if (!(problem instanceof Problem) || problem.violations.length === 0) throw problem
    const isMade = ({ pointer }: Violation) => isComputed?.(pointer?.split('/')[1] ?? '') === true
    throw invalidBody(
      problem.violations.flatMap((one) => (isMade(one) ? madeValueViolations : renameViolation)(one, names)),
    )
  }
}

/** For a computed value that its field refuses: the client sent only the inputs, so the violation names these. */
function madeValueViolations(one: Violation, names: NamesOfField): Violation[] {
  const [, top = ''] = one.pointer?.split('/') ?? []
  const old = names(top)
  const of = old.length === 1 ? 'it' : 'them'
  const [rule, type] =
    one.type === 'field-required' ? ['is missing.', 'invalid-value'] : [one.message.replace(/^\S+ /, ''), one.type]
  const message = `${old.length === 0 ? 'The fields' : listInWords(old, 'and')} cannot be accepted: the value computed from ${of} ${rule}`
  const pointers = old.length === 0 ? [''] : old.map((name) => `/${name}`)
  return pointers.map((pointer) => ({ ...one, message, type, pointer }))
}

/** Reports a violation under the older names of its field. */
export function renameViolation(one: Violation, names: NamesOfField): Violation[] {
  const [, top, ...rest] = one.pointer?.split('/') ?? []
  if (top === undefined) return [one]
  const old = names(top)
  if (old.length === 1 && old[0] === top) return [one]
  const says = one.message.startsWith(`${top} `) ? one.message.slice(top.length) : null
  const several = old.length === 0 ? [''] : old
  return several.map((name) => ({
    ...one,
    message: says === null || name === '' ? one.message : name + says,
    pointer: name === '' ? '' : ['', name, ...rest].join('/'),
  }))
}
