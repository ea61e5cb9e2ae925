/** Index width: shortens long texts in indexes, where the database limits the size of an entry. Pure. The store. */
import type { Condition } from '../flow/plan.ts'
import { type Cell, type Collection, type Column, indexesOf } from '../rows/collection.ts'
import { type Dialect, quoted } from './dialect.ts'

/** The most bytes of a code point, and the overhead of each column in an index entry. */
const [codePoint, overhead] = [4, 8]
/** The most code points of a key that clients choose, and of a generated id with its prefix. */
const [chosenKey, madeId] = [255, 40]
const shortText = 10
const leastPrefix = 25

/**
 * The columns of an index as it is built. `by_name~300` means the first 300 characters of a text that may be too long, and
 * `by_name#` a digest of it, for unique indexes.
 */
export function fitIndexColumns(
  one: Collection,
  names: readonly string[],
  { maxIndexBytes }: Dialect,
  unique: boolean,
): readonly string[] {
  if (maxIndexBytes === null) return names
  const texts = names.flatMap(
    (name) => one.columns.find((column) => column.name === columnOfTerm(name) && isWide(column)) ?? [],
  )
  const rest = names.filter((name) => !texts.some((column) => column.name === columnOfTerm(name)))
  const room = maxIndexBytes - names.length * overhead - rest.reduce((sum, name) => sum + maxBytesOf(one, name), 0)
  const all = texts.reduce((sum, { most }) => sum + (most as number) * codePoint, 0)
  if (all <= room) return names
  const share = Math.max(leastPrefix, Math.floor(room / codePoint / texts.length))
  const isCut = (name: string) =>
    texts.some((column) => column.name === columnOfTerm(name) && (column.most as number) > share)
  return names.map((name) => (isCut(name) ? `${name}${unique ? '#' : `~${share}`}` : name))
}

const isWide = ({ type, most }: Column): boolean => type === 'text' && most !== null && most > shortText

/** The most bytes of a value that is not a long text: a number, a time, a generated id, or a key that clients choose. */
function maxBytesOf({ columns, composite, identity, parent }: Collection, name: string): number {
  const column = columns.find((one) => one.name === columnOfTerm(name))
  const isForeign = column && (column.name === parent?.column || /^ref\b/.test(column.form))
  if (column) return isForeign ? chosenKey * codePoint : madeId
  return composite || identity.startsWith('the key') ? chosenKey * codePoint : madeId
}

/** The column of an index term, without its sign and mark. */
export const columnOfTerm = (term: string): string => term.replace(/^-/, '').replace(/[~#]\d*$/, '')

/** An index term as SQL. */
export function indexTerm(term: string): string {
  const [, minus, name = '', mark, count] = /^(-?)(.*?)(?:([~#])(\d*))?$/.exec(term) ?? []
  const value =
    mark === '#' ? `md5(${quoted(name)})` : mark === '~' ? leftText(quoted(name), Number(count)) : quoted(name)
  return minus ? `${value} DESC` : value
}

const leftText = (value: string, count: number): string => `left(${value}, ${count})`

/** The columns that lead an index with only their first characters, and the number of these characters. */
export function indexPrefixes(one: Collection, dialect: Dialect): ReadonlyMap<string, number> {
  if (dialect.maxIndexBytes === null) return noPrefixes
  const cut = indexesOf(one).flatMap(({ of, columns }) =>
    fitIndexColumns(one, columns, dialect, false)
      .filter((term) => columnOfTerm(term) === columnOfTerm(of[0] as string) && term.includes('~'))
      .map((term): [string, number] => [columnOfTerm(term), Number(term.split('~')[1])]),
  )
  return new Map(cut)
}

const noPrefixes: ReadonlyMap<string, number> = new Map()

const signs = { eq: '=', gt: '>=', gte: '>=', lt: '<=', lte: '<=' } as const

/** An additional condition on the first characters of a long text, so that the index on these can be used. */
export function prefixConditions(
  prefixes: ReturnType<typeof indexPrefixes>,
  one: Condition,
  bind: (value: Cell) => string,
): readonly string[] {
  const count = prefixes.get(one.column)
  if (count === undefined) return []
  const start = leftText(quoted(one.column), count)
  const cut = (value: Cell) => bind(typeof value === 'string' ? [...value].slice(0, count).join('') : value)
  switch (one.is) {
    case 'eq':
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return [`${start} ${signs[one.is]} ${cut(one.value)}`]
    case 'in':
      return one.values.length === 0 ? [] : [`${start} IN (${one.values.map(cut).join(', ')})`]
    case 'like':
      return one.parts[0] ? [`${start} >= ${cut(one.parts[0])}`] : []
    default:
      return []
  }
}
