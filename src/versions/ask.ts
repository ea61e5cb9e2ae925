/** What a comparison or an order of an older version asks of the fields of today, and what their names are in it. Part 9, versions. */
import { type Comparison, shownAs } from '../resources/change.ts'
import { resolved } from '../resources/declaration.ts'
import type { Step } from './program.ts'

/** A term of an order: a field, with a minus sign where it is descending. */
type Term = string

/** The top of a path with dots, and the rest. */
function parted(path: string): [top: string, rest: string] {
  const dot = path.indexOf('.')
  return dot < 0 ? [path, ''] : [path.slice(0, dot), path.slice(dot)]
}

/** What a comparison asks of today's fields, all of which has to hold; null where it cannot be asked. Steps are given the newest first. */
export function asked(steps: readonly Step[], comparison: Comparison): readonly Comparison[] | null {
  let all: readonly Comparison[] = [comparison]
  for (const step of steps.toReversed()) {
    const next: Comparison[] = []
    for (const one of all) {
      const found = askedBy(step, one)
      if (found === null) return null
      next.push(...found)
    }
    all = next
  }
  return all
}

function askedBy({ change, own, concepts }: Step, one: Comparison): readonly Comparison[] | null {
  const { renamed = {}, removed = {}, moved = {}, mapped = {}, shown = {}, filters = {} } = change
  const [top, rest] = parted(one.field)
  const answer = Object.hasOwn(filters, one.field) ? filters[one.field] : undefined
  if (answer) return answer(one)
  if (Object.hasOwn(removed, top) || Object.hasOwn(moved, top)) return null
  const is = Object.hasOwn(renamed, top) ? (renamed[top] as string) : top
  const field = own.fields[is]
  if (!field || (!Object.hasOwn(mapped, is) && !Object.hasOwn(shown, is))) return [{ ...one, field: is + rest }]
  const down = shownAs(resolved(field, concepts).values ?? [], mapped[is] ?? {}, shown[is] ?? {})
  const up = (value: unknown): unknown[] => {
    const images = [...down].filter(([, old]) => old === value).map(([now]) => now)
    const own = mapped[is]?.[value as string]
    return [...new Set(own === undefined ? images : [own, ...images])]
  }
  return valued({ ...one, field: is }, up)
}

/** A comparison with values that each mean several others. */
function valued(one: Comparison, up: (value: unknown) => unknown[]): Comparison[] {
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

/** The order of today that an order by an old field is; null where there is none. */
export function ordered(steps: readonly Step[], term: Term): readonly Term[] | null {
  let all: readonly Term[] = [term]
  for (const { change } of steps.toReversed()) {
    const { renamed = {}, removed = {}, moved = {}, sorts = {} } = change
    const next: Term[] = []
    for (const one of all) {
      const [sign, name] = one.startsWith('-') ? ['-', one.slice(1)] : ['', one]
      const [top, rest] = parted(name)
      const other = Object.hasOwn(sorts, name) ? sorts[name] : undefined
      if (other) next.push(...other.map((to) => (sign === '' ? to : turned(to))))
      else if (Object.hasOwn(removed, top) || Object.hasOwn(moved, top)) return null
      else next.push(sign + (Object.hasOwn(renamed, top) ? (renamed[top] as string) : top) + rest)
    }
    all = next
  }
  return all
}

const turned = (term: Term): Term => (term.startsWith('-') ? term.slice(1) : `-${term}`)

/** The names that a field of today has in the older version: none where it has no part in it. */
export function namesOf(steps: readonly Step[], name: string): readonly string[] {
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
