/** Compares the summaries of random rows, with random filters, with a model that adds exactly. R236. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runsOf } from '../help/runs.ts'
import { type Ask, listedServices, type Made, opened } from './listed-services.ts'
import { compared, matching, type Row, read, valueIn } from './model.ts'
import { asks, inputs } from './samples.ts'
import { summaries } from './summaries.ts'

const asksEach = 6

type Value = string | number | boolean | null
interface Group {
  readonly keys: readonly { readonly member: string; readonly field: string; readonly value: Value }[]
  readonly rows: readonly Row[]
}
interface Declared {
  readonly group?: readonly (string | Readonly<Record<string, string>>)[]
  readonly sum?: readonly string[]
  readonly min?: readonly string[]
  readonly max?: readonly string[]
  readonly average?: readonly string[]
}

const lengths: Readonly<Record<string, number>> = { day: 10, month: 7, year: 4 }
const scales: Readonly<Record<string, number>> = { cost: 2, mass: 12 }
const named = (...words: string[]): string =>
  words
    .flatMap((word) => word.split('.'))
    .map((word, i) => (i === 0 ? word : word[0]?.toUpperCase() + word.slice(1)))
    .join('')

/** The rows by the values of their groups; all of them are one group if there are none. */
function grouped(rows: readonly Row[], { group }: Declared): Group[] {
  if (!group) return [{ keys: [], rows }]
  const keysOf = (row: Row): Group['keys'] =>
    group.map((one) => {
      if (typeof one === 'string') return { member: named(one), field: one, value: valueIn(row, one) as Value }
      const [[part, field]] = Object.entries(one) as [[string, string]]
      const text = valueIn(row, field) as string | null
      return { member: named(field, part), field: 'text', value: text?.slice(0, lengths[part]) ?? null }
    })
  const all = Map.groupBy(rows, (row) => JSON.stringify(keysOf(row).map(({ value }) => value)))
  return [...all.values()].map((own) => ({ keys: keysOf(own[0] as Row), rows: own }))
}

const inOrder =
  (nulls: 'first' | 'last') =>
  (a: Group, b: Group): number => {
    for (const [i, { field, value }] of a.keys.entries()) {
      const other = b.keys[i]?.value ?? null
      if (value === null && other === null) continue
      if (value === null || other === null) return (value === null) === (nulls === 'first') ? -1 : 1
      const order = compared(read(field, value), read(field, other))
      if (order !== 0) return order
    }
    return 0
  }

/** Digits as a decimal with a point. */
function pointed(units: bigint, scale: number): string {
  const text = String(units < 0n ? -units : units).padStart(scale + 1, '0')
  const sign = units < 0n ? '-' : ''
  return sign + (scale === 0 ? text : `${text.slice(0, -scale)}.${text.slice(-scale)}`)
}

/** The quotient, a half rounded away from zero. */
function divided(units: bigint, count: bigint): bigint {
  const size = units < 0n ? -units : units
  const rounded = (2n * size + count) / (2n * count)
  return units < 0n ? -rounded : rounded
}

function valuesOf(rows: readonly Row[], declared: Declared): Record<string, unknown> {
  const present = (field: string) => rows.map((row) => valueIn(row, field)).filter((value) => value !== null)
  const total = (field: string) => present(field).reduce<bigint>((sum, one) => sum + (read(field, one) as bigint), 0n)
  const best = (field: string, sign: number) =>
    present(field).reduce<unknown>(
      (one, other) => (one === null || sign * compared(read(field, other), read(field, one)) > 0 ? other : one),
      null,
    )
  const average = (field: string) => {
    const count = BigInt(present(field).length)
    return count === 0n ? null : pointed(divided(total(field) * 100n, count), (scales[field] ?? 0) + 2)
  }
  const each = (of: 'sum' | 'min' | 'max' | 'average', make: (field: string) => unknown) =>
    (declared[of] ?? []).map((field) => [named(of, field), make(field)] as const)
  return Object.fromEntries([
    ...each('sum', (field) => pointed(total(field), scales[field] ?? 0)),
    ...each('min', (field) => best(field, -1)),
    ...each('max', (field) => best(field, 1)),
    ...each('average', average),
  ])
}

const idOf = ({ keys }: Group): string =>
  keys
    .map(({ member, value }) =>
      value === null ? `${member}%5Bnull%5D=true` : `${member}=${encodeURIComponent(String(value))}`,
    )
    .join('&')

const summarized = (rows: readonly Row[], declared: Declared, nulls: 'first' | 'last'): object[] =>
  grouped(rows, declared)
    .toSorted(inOrder(nulls))
    .map((one) => ({
      id: idOf(one),
      ...Object.fromEntries(one.keys.map(({ member, value }) => [member, value])),
      count: one.rows.length,
      ...valuesOf(one.rows, declared),
    }))

/** Nulls are first in ascending order only if that is the default. */
const nullsOf = ({ nulls }: Made): 'first' | 'last' => nulls(false)

const path = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

async function compareAll(made: Made, rows: readonly Row[], ask: Ask, summarize: (name: string) => Promise<unknown[]>) {
  const found = matching(rows, ask)
  for (const [name, declared] of Object.entries(summaries)) {
    const about = `${made.name} ${name} ${JSON.stringify(ask.filters)} ${JSON.stringify(ask.any)} ${JSON.stringify(ask.search)}`
    const answer = await summarize(path(name))
    // The order of members counts too.
    assert.equal(JSON.stringify(answer), JSON.stringify(summarized(found, declared, nullsOf(made))), about)
  }
}

for (const made of listedServices)
  for (const kind of ['SQLite', 'PostgreSQL'] as const)
    test(`R236: ${made.name} (${kind}): summaries count, add and compare exactly`, async () => {
      const numRuns = Math.ceil(runsOf(20) / (kind === 'PostgreSQL' ? 10 : made.file ? 4 : 1))
      await fc.assert(
        fc.asyncProperty(
          inputs,
          fc.array(asks(made), { minLength: asksEach, maxLength: asksEach }),
          async (given, all) => {
            const opening = await opened(made, kind)
            const rows = await opening.add(given)
            for (const ask of all) await compareAll(made, rows, ask, (name) => opening.summarize(name, ask))
            await opening.close()
          },
        ),
        { numRuns },
      )
    })
