/** Random rows, requests and changes for walks: few different values, so that many are equal, and unusual ones. */
import fc from 'fast-check'
import { codePoint } from '../help/unit.ts'
import { type Ask, type Made, sortable } from './listed-services.ts'
import type { Filter } from './model.ts'

export type Input = Readonly<Record<string, unknown>>

export type Deed =
  | { readonly do: 'add'; readonly input: Input }
  | { readonly do: 'remove' | 'set'; readonly at: number; readonly input: Input }

const odd = [
  '',
  ' ',
  'a',
  'A',
  'b',
  'ab',
  'aB',
  'a%',
  '%',
  '_',
  'a_b',
  'axb',
  '\\',
  '\\%',
  '"',
  "'",
  ',',
  '(a)',
  'in:(a)',
  'null',
  '*',
  '[a]',
  '?',
  'é',
  'e\u0301',
  'É',
  'ß',
  '😀',
  '～',
  '\uffff',
  '\u{10ffff}',
  '\ud7ff',
  '\ue000',
  '\n',
]
const free = fc.string({ unit: codePoint, maxLength: 4 }).map((text) => text.replaceAll('\0', ''))
const text = fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...odd) }, { weight: 1, arbitrary: free })
const count = fc.oneof(
  fc.integer({ min: -2, max: 2 }),
  fc.constantFrom(Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER),
)
const huge = fc.constantFrom(
  '0',
  '-1',
  '1',
  '9007199254740992',
  '9007199254740993',
  '-9007199254740993',
  '9223372036854775807',
  '-9223372036854775808',
)
const cost = fc.constantFrom('0', '0.01', '-0.01', '10.5', '9.99', '-10', '9999999999999999.99', '-9999999999999999.99')
const mass = fc.constantFrom(
  '0',
  '0.000000000001',
  '-0.000000000001',
  '1.5',
  '999999999999999999.999999999999',
  '-999999999999999999.999999999999',
  '-999999999999999999.999999999998',
)
const day = fc.constantFrom('2026-01-01', '2026-01-02', '0001-12-31', '9999-12-31')
const flag = fc.boolean()

const values: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  word: text,
  name: text,
  soft: text,
  count,
  huge,
  cost,
  mass,
  flag,
  day,
  'spot.depth': count,
}
const said = fc
  .array(fc.constantFrom('blue', 'blues', 'whale', 'we', 'a', 'and'), { maxLength: 5 })
  .map((all) => all.join(' '))
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { freq: 3 })

const input: fc.Arbitrary<Input> = fc.record({
  word: maybe(text),
  name: text,
  soft: maybe(text),
  count: maybe(count),
  huge: maybe(huge),
  cost,
  mass: maybe(mass),
  flag: maybe(flag),
  day: maybe(day),
  spot: maybe(fc.record({ depth: maybe(count) })),
  said: maybe(said),
})

export const inputs = fc.array(input, { maxLength: 16 })

const measures = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'null']
const pattern = fc
  .array(
    fc.oneof(fc.constantFrom('%', '_', 'a', 'b', 'B', '\\%', '\\\\', '*', '[', 'é', '😀'), fc.constantFrom('%', 'a')),
    { maxLength: 4 },
  )
  .map((parts) => parts.join(''))

const filter: fc.Arbitrary<Filter> = fc.constantFrom(...sortable).chain((field): fc.Arbitrary<Filter> => {
  const textual = field === 'word' || field === 'name' || field === 'soft'
  const operators = field === 'flag' ? ['eq', 'ne', 'in', 'null'] : textual ? [...measures, 'like', 'like'] : measures
  return fc.constantFrom(...operators).chain((operator): fc.Arbitrary<Filter> => {
    if (operator === 'null') return fc.boolean().map((is) => [field, operator, String(is)] as const)
    if (operator === 'like') return pattern.map((one) => [field, operator, one] as const)
    const value = (values[field] as fc.Arbitrary<unknown>).map(String)
    if (operator === 'in') return fc.array(value, { maxLength: 4 }).map((all) => [field, operator, all] as const)
    return value.map((one) => [field, operator, one] as const)
  })
})

/** Filters by different fields and operators, as a parameter can occur only once. */
const filters = fc.uniqueArray(filter, { maxLength: 2, selector: ([field, operator]) => `${field} ${operator}` })

/** A request whose alternatives are each served by an index, in the order of the list. */
function servedByIndexes(ask: Ask): fc.Arbitrary<Ask> {
  const alternatives = (fields: readonly string[], operators: readonly string[]) =>
    fc.array(
      filter.filter(([field, operator]) => fields.includes(field) && operators.includes(operator)),
      { minLength: 1, maxLength: 4 },
    )
  const single = ['eq', 'in', 'null']
  const sortedBy = (name: string) => ({ ...ask, sort: { by: 'field' as const, name }, filters: [] })
  return fc.oneof(
    alternatives(sortable, single).map((any) => ({ ...ask, sort: null, filters: [], any })),
    alternatives(['flag', 'day', 'name'], ['eq', 'null', 'gte', 'lt']).map((any) => ({ ...sortedBy('name'), any })),
    alternatives(['cost'], ['gte', 'lte', 'gt', 'lt', 'eq']).map((any) => ({ ...sortedBy('cost'), any })),
  )
}

export function asks({ customs }: Made): fc.Arbitrary<Ask> {
  const fieldSort = fc.constantFrom(...sortable).map((name) => ({ by: 'field' as const, name }))
  const customSort = fc.constantFrom(...Object.keys(customs)).map((name) => ({ by: 'custom' as const, name }))
  return fc
    .record({
      sort: fc.oneof(
        { weight: 1, arbitrary: fc.constant(null) },
        { weight: 4, arbitrary: fieldSort },
        { weight: 4, arbitrary: customSort },
      ),
      order: fc.constantFrom(null, 'asc' as const, 'desc' as const),
      nulls: fc.constantFrom(null, 'first' as const, 'last' as const),
      filters,
      search: fc.option(
        fc.uniqueArray(fc.constantFrom('b', 'blue', 'whale', 'w', 'and', 'x'), { minLength: 1, maxLength: 2 }),
        {
          freq: 3,
        },
      ),
      any: fc.option(fc.array(filter, { minLength: 1, maxLength: 5 }), { freq: 2 }),
      limit: fc.integer({ min: 1, max: 6 }),
      offset: fc.nat(12),
    })
    .chain((ask) =>
      fc.oneof({ weight: 3, arbitrary: fc.constant(ask) }, { weight: 1, arbitrary: servedByIndexes(ask) }),
    )
    .map((ask) => ({ ...ask, order: ask.sort ? ask.order : null, nulls: ask.sort?.by === 'field' ? ask.nulls : null }))
}

const deed: fc.Arbitrary<Deed> = fc.oneof(
  fc.record({ do: fc.constant('add' as const), input }),
  fc.record({ do: fc.constantFrom('remove' as const, 'set' as const), at: fc.nat(30), input }),
)

export const changes = fc.array(deed, { maxLength: 18 })
