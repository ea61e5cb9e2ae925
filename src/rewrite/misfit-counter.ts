/** Misfit counter: counts by field the rows whose values do not fit the declaration. Pure. The store. */
import type { Violation } from '../errors/problem.ts'
import { type Bounds, type Misfit, unlimitedBounds, widenBounds } from '../fields/bounds.ts'
import type { FieldRules } from '../rows/collection.ts'
import { type DeclaredRow, rowLabel } from '../schema/declared-rows.ts'

export interface MisfitCounter {
  readonly see: (row: DeclaredRow) => void
  /** The misfits of each field that has any; `whole` if all rows were read. */
  readonly misfits: (whole: boolean) => Record<string, Misfit>
  /** The length in bytes of the longest text of a field that does not fit. */
  readonly longest: (field: string) => number
}

/** How many rows are named by default. */
export const defaultNamed = 5

/** A field to check; `wide` are the bounds that its values are known to fit, null if unknown. */
export interface JudgedField {
  readonly name: string
  readonly wide: Bounds | null
}

export function misfitCounter(
  rules: FieldRules,
  judged: readonly JudgedField[],
  mostNamed = defaultNamed,
): MisfitCounter {
  const counts = judged.map(({ name, wide }) => {
    const { bounds, check } = rules.get(name) as NonNullable<ReturnType<FieldRules['get']>>
    return { name, check, known: wide, rows: 0, ids: [] as string[], says: '', wide: wide ?? bounds, longest: 0 }
  })
  return {
    see: (row) => {
      for (const count of row.failure === null ? counts : []) {
        const value = row.document[count.name]
        const faults: Violation[] = []
        count.check(value ?? null, `/${count.name}`, faults)
        if (!faults[0]) continue
        count.rows++
        if (typeof value === 'string') count.longest = Math.max(count.longest, Buffer.byteLength(value))
        if (count.ids.length < mostNamed) count.ids.push(rowLabel(row))
        count.says ||= faults[0].message
        if (count.known === null) count.wide = widenBounds(count.wide, value)
      }
    },
    misfits: (whole) => {
      const some = counts.filter(({ rows }) => rows > 0 || !whole)
      const entries = some.map(({ name, rows, ids, says, wide, known }): [string, Misfit] => {
        return [name, { rows, more: !whole, ids, says, wide: whole || known ? wide : unlimitedBounds(wide) }]
      })
      return Object.fromEntries(entries)
    },
    longest: (field) => counts.find(({ name }) => name === field)?.longest ?? 0,
  }
}
