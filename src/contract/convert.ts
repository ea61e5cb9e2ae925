/** Convert: source text that makes a value of one field fit another, for changes that are pasted. Part 9, versioning. */

import { fits, spare } from './spare.ts'
import type { Terms } from './terms.ts'
import { code } from './written.ts'

/** An expression that turns another one into what a field takes; undefined where no value can stand for all others. */
export function converted(source: string, from: Terms, to: Terms): string | undefined {
  const empty = from.nullable === true || from.writeOnly === true || from.read !== undefined
  const inner = unlike(source, { ...from, nullable: undefined as never }, to)
  if (!empty || inner === undefined) return inner
  const nothing = to.nullable ? 'null' : spare(to)
  if (nothing === undefined) return undefined
  if (inner === source) return nothing === 'null' ? `${source} ?? null` : `${source} ?? ${nothing}`
  return inner === nothing ? inner : `${source} == null ? ${nothing} : ${inner}`
}

function unlike(source: string, from: Terms, to: Terms): string | undefined {
  if (isText(to) && from.kind !== to.kind) return toText(source, from, to)
  if (from.kind === to.kind) return alike(source, from, to)
  if (from.kind === 'list' && from.item) return fromList(source, from.item, to)
  if (to.kind === 'list' && to.item) return toList(source, from, to)
  if (isNumber(from) && isNumber(to)) return numbered(source, from, to)
  if (isText(from)) return fromText(source, to)
  if (from.kind === 'timestamp' && to.kind === 'date') return between(`${source}.slice(0, 10)`, {}, to)
  if (from.kind === 'date' && to.kind === 'timestamp') return between(`\`\${${source}}T00:00:00.000Z\``, {}, to)
  if (from.kind === 'boolean' && isNumber(to)) return chosen(source, ['1', '0'], to)
  if (to.kind === 'boolean' && from.kind === 'integer') return `${source} !== 0`
  const [yes, no] = answersIn(from.kind === 'boolean' ? to : from)
  if (from.kind === 'boolean' && yes !== undefined) return `${source} ? ${code(yes)} : ${code(no)}`
  if (to.kind === 'boolean' && yes !== undefined) return `${source} === ${code(yes)}`
  return spare(to)
}

const answers = ['yes no', 'on off', 'true false', 'active inactive', 'enabled disabled', 'open closed']

/** The values of an enum that plainly stand for true and false. */
const answersIn = ({ values = [] }: Terms): readonly string[] =>
  answers.map((pair) => pair.split(' ')).find((pair) => pair.every((one) => values.includes(one))) ?? []

const isText = ({ kind }: Terms): boolean => kind === 'text'
const isNumber = ({ kind }: Terms): boolean => kind === 'integer' || kind === 'bigint' || kind === 'decimal'

function alike(source: string, from: Terms, to: Terms): string | undefined {
  switch (to.kind) {
    case 'text':
      return text(source, from, to)
    case 'email':
    case 'url':
      return orSpare(lengthOf(source, from, to), source, to)
    case 'integer':
    case 'bigint':
    case 'decimal':
      return numbered(source, from, to)
    case 'timestamp':
    case 'date':
      return between(source, from, to)
    case 'enum':
      return from.values?.every((one) => to.values?.includes(one)) ? source : member(source, from, to)
    case 'ref':
      return from.to === to.to ? source : spare(to)
    case 'list':
      return list(source, from, to)
    case 'object':
      return object(source, from, to)
    default:
      return source
  }
}

/** What has to hold of the number of characters; they are counted by code points, as bounds are. */
function lengthOf(source: string, from: Partial<Terms>, to: Terms): string[] {
  const least = Number(to.min ?? 0) > Number(from.min ?? 0) ? [`[...${source}].length >= ${to.min}`] : []
  const most = to.max !== undefined && Number(from.max ?? Number.POSITIVE_INFINITY) > Number(to.max)
  return [...least, ...(most ? [`[...${source}].length <= ${to.max}`] : [])]
}

/** A text is cut where that is enough; where more is asked, another one stands for those that do not fit. */
function text(source: string, from: Partial<Terms>, to: Terms): string | undefined {
  const length = lengthOf(source, from, to)
  const form = to.pattern === undefined || to.pattern === from.pattern ? [] : [`${regex(to.pattern)}.test(${source})`]
  const cut = length.length === 1 && length[0]?.includes('<=') && to.pattern === undefined
  return cut ? `[...${source}].slice(0, ${to.max}).join('')` : orSpare([...length, ...form], source, to)
}

const regex = (pattern: string): string => `new RegExp(${code(pattern)}, 'u')`

function orSpare(conditions: readonly string[], source: string, to: Terms): string | undefined {
  if (conditions.length === 0) return source
  const other = spare(to)
  return other === undefined ? undefined : `${conditions.join(' && ')} ? ${source} : ${other}`
}

/** The most characters that values of a kind are written with. */
const longest: Partial<Record<Terms['kind'], number>> = {
  ...{ integer: 17, bigint: 20, decimal: 41, boolean: 5, date: 10, timestamp: 24, duration: 100, interval: 100 },
  ...{ country: 2, currency: 3, ref: 200 },
}

function toText(source: string, from: Terms, to: Terms): string | undefined {
  if (from.kind === 'list' && from.item) return fromList(source, from.item, to)
  const most = from.values ? Math.max(...from.values.map((one) => [...one].length)) : (longest[from.kind] ?? from.max)
  if (most === undefined || from.kind === 'object' || from.kind === 'metadata') return spare(to)
  const written = from.kind === 'integer' || from.kind === 'boolean' ? `String(${source})` : source
  return text(written, { min: 1, max: most }, to)
}

const digits = (count: number): string => (count > 0 ? `\\d{1,${count}}` : '')

/** What is written as a value of the kind is taken as it is. */
function fromText(source: string, to: Terms): string | undefined {
  const { kind, precision = 18, scale = 0 } = to
  const day = '\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\\d|2[0-8])'
  const forms: Partial<Record<Terms['kind'], string>> = {
    integer: '^(0|-?[1-9]\\d{0,14})$',
    bigint: '^(0|-?[1-9]\\d{0,17})$',
    decimal: scale === 0 ? `^[1-9]${digits(precision - 1)}$` : `^[1-9]\\d{0,${precision - scale - 1}}\\.\\d{${scale}}$`,
    date: `^${day}$`,
    timestamp: `^${day}T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d\\.\\d{3}Z$`,
  }
  if (kind === 'boolean') return `${source} === 'true'`
  if (kind === 'enum') return member(source, {}, to)
  const form = precision === scale ? undefined : forms[kind]
  const other = spare(to)
  if (form === undefined || other === undefined) return other
  const taken = kind === 'date' || kind === 'timestamp' ? between(source, {}, to) : numberOf(source, kind, to)
  return taken === undefined ? other : `${regex(form)}.test(${source}) ? ${taken} : ${other}`
}

const numberOf = (source: string, kind: Terms['kind'], to: Terms): string | undefined =>
  kind === 'integer'
    ? clamped(`Number(${source})`, {}, to)
    : kind === 'bigint' || to.min !== undefined || to.max !== undefined
      ? numbered(source, { kind: to.kind, scale: to.scale ?? 0 }, to)
      : source

/** Comparisons with the values that both have narrow the type, so that the text compiles without a cast. */
function member(source: string, from: Partial<Terms>, to: Terms): string | undefined {
  const other = spare(to)
  const both = (to.values ?? []).filter((one) => from.values?.includes(one) ?? true)
  if (other === undefined || both.length === 0) return other
  return `${both.map((one) => `${source} === ${code(one)}`).join(' || ')} ? ${source} : ${other}`
}

/** Times are compared by their texts. */
function between(source: string, from: Partial<Terms>, { min, max }: Terms): string {
  const low = min !== undefined && (from.min === undefined || from.min < min)
  const high = max !== undefined && (from.max === undefined || from.max > max)
  const least = low ? `${source} < ${code(min)} ? ${code(min)} : ` : ''
  return `${least}${high ? `${source} > ${code(max)} ? ${code(max)} : ` : ''}${source}`
}

const least = Number.MIN_SAFE_INTEGER
const most = Number.MAX_SAFE_INTEGER

function clamped(source: string, from: Partial<Terms>, to: Terms): string {
  const [min, max] = [Number(to.min ?? least), Number(to.max ?? most)]
  const low = min > Number(from.min ?? least) ? `Math.max(${min}, ${source})` : source
  return max < Number(from.max ?? most) ? `Math.min(${max}, ${low})` : low
}

/** Numbers of any kind; those that are texts go through whole numbers of their smallest steps. */
function numbered(source: string, from: Terms, to: Terms): string | undefined {
  if (from.kind === 'integer' && to.kind === 'integer') return clamped(source, from, to)
  const [had, has] = [from.scale ?? 0, to.scale ?? 0]
  const step = has - had
  const kept = from.kind === to.kind && step === 0
  const bounds = to.kind === 'integer' ? [BigInt(to.min ?? least), BigInt(to.max ?? most)] : boundsOf(to)
  if (kept && within(boundsOf(from), bounds)) return source
  const units = `BigInt(${from.kind === 'decimal' && had > 0 ? `${source}.replace('.', '')` : source})`
  const scaled = step === 0 ? units : `${units} ${step > 0 ? '*' : '/'} ${10n ** BigInt(Math.abs(step))}n`
  const [min, max] = bounds as [bigint, bigint]
  const low = `units < ${min}n ? ${code(writtenOf(min, to))} : `
  const high = `units > ${max}n ? ${code(writtenOf(max, to))} : `
  const written = to.kind === 'integer' ? 'Number(units)' : has === 0 ? 'String(units)' : pointed(has)
  return `((units) => ${low}${high}${written})(${scaled})`
}

const within = ([min, max]: readonly bigint[], [low, high]: readonly bigint[]): boolean =>
  (low as bigint) <= (min as bigint) && (high as bigint) >= (max as bigint)

/** Whole numbers of the smallest step that a field allows. */
function boundsOf({ kind, min, max, precision = 18, scale = 0 }: Terms): readonly [bigint, bigint] {
  const greatest = kind === 'decimal' ? 10n ** BigInt(precision) - 1n : 2n ** 63n - 1n
  const units = (bound: string | number): bigint => {
    const [whole = '', part = ''] = String(bound).split('.')
    return BigInt(whole + part.padEnd(scale, '0').slice(0, scale))
  }
  return [min === undefined ? -greatest : units(min), max === undefined ? greatest : units(max)]
}

function writtenOf(units: bigint, { kind, scale = 0 }: Terms): string | number {
  if (kind === 'integer') return Number(units)
  const text = String(units < 0n ? -units : units).padStart(scale + 1, '0')
  const pointed = scale === 0 ? text : `${text.slice(0, -scale)}.${text.slice(-scale)}`
  return units < 0n ? `-${pointed}` : pointed
}

const pointed = (scale: number): string =>
  `\`\${units < 0n ? '-' : ''}\${String(units < 0n ? -units : units).padStart(${scale + 1}, '0').replace(/(?=\\d{${scale}}$)/, '.')}\``

function chosen(source: string, values: readonly [string, string], to: Terms): string | undefined {
  const [yes, no] = values.map((one) => writtenOf(BigInt(one) * 10n ** BigInt(to.scale ?? 0), to))
  return fits(yes, to) && fits(no, to) ? `${source} ? ${code(yes)} : ${code(no)}` : spare(to)
}

function list(source: string, from: Terms, to: Terms): string | undefined {
  const name = source.startsWith('one') ? `${source.split(/\W/)[0]}_` : 'one'
  const item = converted(name, from.item as Terms, to.item as Terms)
  if (item === undefined) return spare(to)
  const all = item === name ? source : `${source}.map((${name}) => ${bracketed(item)})`
  const cut = to.max !== undefined && Number(from.max ?? most) > Number(to.max)
  const some = cut ? `${all}.slice(0, ${to.max})` : all
  return orSpare(Number(to.min ?? 0) > Number(from.min ?? 0) ? [`${source}.length >= ${to.min}`] : [], some, to)
}

const bracketed = (text: string): string => (text.startsWith('{') ? `(${text})` : text)

function toList(source: string, from: Terms, to: Terms): string | undefined {
  const item = converted(source, from, to.item as Terms)
  return item === undefined || Number(to.min ?? 0) > 1 || Number(to.max ?? 1) < 1 ? spare(to) : `[${item}]`
}

function fromList(source: string, item: Terms, to: Terms): string | undefined {
  const [first, other] = [converted(`${source}[0]`, item, to), spare(to)]
  return first === undefined || other === undefined ? other : `${source}[0] === undefined ? ${other} : ${first}`
}

/**
 * An object with all its fields, those that are there under the same name made to fit. TypeScript widens the literals of
 * an object that is made in `map`, and of a frozen one it does not.
 */
function object(source: string, { fields: there = {} }: Terms, { fields = {} }: Terms): string | undefined {
  const members = Object.entries(fields).map(([name, terms]) => {
    const own = there[name]
    const value = own ? converted(`${source}.${name}`, own, terms) : spare(terms)
    return value === undefined ? undefined : `${name}: ${value}`
  })
  if (members.includes(undefined)) return undefined
  const whole = `{ ${members.join(', ')} }`
  const widens = source.startsWith('one') && Object.values(fields).some(({ kind }) => kind === 'enum')
  return widens ? `Object.freeze(${whole})` : whole
}
