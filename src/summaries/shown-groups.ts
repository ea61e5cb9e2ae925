/** Shown groups: the groups of a summary as a version answers them, in order. Part 4, list parameters. R236. */
import type { ServedSummary } from '../changes/older-summaries.ts'
import type { Field } from '../fields/field.ts'
import { fieldKind, type ValueRules } from '../fields/kind.ts'
import type { ValueMember } from '../fields/summary.ts'
import type { SummarizedGroup } from '../flow/outcome.ts'
import { divide } from '../formats/decimal.ts'
import { unitsText } from '../formats/number-texts.ts'
import { compareCells } from '../rows/collection.ts'
import type { SummaryColumns } from './summary-columns.ts'

type GroupValue = SummarizedGroup['values'][number]

/** Makes the function that shows groups. Groups whose values are the same in an older version are combined there. */
export function shownGroups(
  { own, shown }: ServedSummary,
  { numeric, places }: SummaryColumns,
  { settings, kinds }: Pick<ValueRules, 'settings' | 'kinds'>,
): (groups: readonly SummarizedGroup[]) => object[] {
  const nullsFirst = settings.list.nullsDefault === 'first'
  const compareKeys = (a: SummarizedGroup, b: SummarizedGroup): number => {
    for (const [i, isNumeric] of numeric.groups.entries()) {
      const order = compareParts(a.key[i] ?? null, b.key[i] ?? null, isNumeric, nullsFirst)
      if (order !== 0) return order
    }
    return 0
  }
  const valueOfCell = ({ kind, options }: Field, text: string): unknown =>
    (fieldKind(kind, kinds).cell?.(options).value ?? String)(text)
  const memberOf = (value: ValueMember, totals: GroupValue): unknown => {
    const { of, field } = value
    if (of === 'min' || of === 'max') {
      const bound = of === 'min' ? totals.least : totals.greatest
      return bound === null ? null : valueOfCell(field, bound)
    }
    const scale = field.options.scale ?? 0
    const sum = unitsText(totals.sum, scale)
    if (of === 'sum') return sum
    return totals.filled === 0n ? null : divide(sum, totals.filled, scale + averageDigits)
  }
  const show = ({ key, count, values }: SummarizedGroup): object => {
    const members = own.groups.map(({ member, field, part }, i) => {
      const text = key[i] ?? null
      return [member, text === null ? null : part === null ? valueOfCell(field, text) : text] as const
    })
    return Object.fromEntries([
      ['id', groupId(members)],
      ...members,
      ['count', count],
      ...own.values.map((one, i) => [one.member, memberOf(one, values[places[i] as number] as GroupValue)]),
    ])
  }
  return (groups) => merged(groups, shown, numeric.values).toSorted(compareKeys).map(show)
}

/** The digits of an average beyond those of its field. */
export const averageDigits = 2

/** The values of a group in the form of a query: `status=paid`, `status%5Bnull%5D=true`. */
const groupId = (members: readonly (readonly [name: string, value: unknown])[]): string =>
  members
    .map(([name, value]) => (value === null ? [`${name}[null]`, 'true'] : [name, String(value)]))
    .map((pair) => pair.map(encodeURIComponent).join('='))
    .join('&')

function compareParts(a: string | null, b: string | null, isNumeric: boolean, nullsFirst: boolean): number {
  if (a === null && b === null) return 0
  if (a === null) return nullsFirst ? -1 : 1
  if (b === null) return nullsFirst ? 1 : -1
  return isNumeric ? compareCells(BigInt(a), BigInt(b)) : compareCells(a, b)
}

/** Combines groups whose values are the same in the version. */
function merged(
  groups: readonly SummarizedGroup[],
  shown: ServedSummary['shown'],
  isNumber: readonly boolean[],
): readonly SummarizedGroup[] {
  const all = new Map<string, SummarizedGroup>()
  for (const one of groups) {
    const key = one.key.map((value, i) => (value === null ? null : (shown[i]?.(value) ?? value)))
    const name = JSON.stringify(key)
    const before = all.get(name)
    all.set(name, before ? joinGroups(before, one, isNumber) : { ...one, key })
  }
  return [...all.values()]
}

const joinGroups = (a: SummarizedGroup, b: SummarizedGroup, isNumber: readonly boolean[]): SummarizedGroup => ({
  key: a.key,
  count: a.count + b.count,
  values: a.values.map((one, i) => {
    const other = b.values[i] as GroupValue
    const better = (x: string | null, y: string | null, sign: 1 | -1): string | null =>
      x === null || (y !== null && sign * compareParts(y, x, isNumber[i] === true, false) > 0) ? y : x
    return {
      filled: one.filled + other.filled,
      sum: one.sum + other.sum,
      least: better(one.least, other.least, -1),
      greatest: better(one.greatest, other.greatest, 1),
    }
  }),
})
