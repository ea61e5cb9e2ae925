/** Convert: source code that converts the value of one field to another, for proposed changes. Part 9, versioning. */

import type { FieldTerms } from '../fields/kind.ts'
import { standardKinds } from '../fields/kinds.ts'
import { valueCode } from './code.ts'
import { fitsTerms, placeholderCode } from './placeholder.ts'

/** Returns an expression that converts `source` to a value of `to`; undefined if it would need a missing placeholder. */
export function convertExpression(source: string, from: FieldTerms, to: FieldTerms): string | undefined {
  const empty = from.nullable === true || from.writeOnly === true || from.read !== undefined
  const inner = convertKind(source, { ...from, nullable: undefined as never }, to)
  if (!empty || inner === undefined) return inner
  const nothing = to.nullable ? 'null' : placeholderCode(to)
  if (nothing === undefined) return undefined
  if (inner === source) return nothing === 'null' ? `${source} ?? null` : `${source} ?? ${nothing}`
  return inner === nothing ? inner : `${source} == null ? ${nothing} : ${inner}`
}

function convertKind(source: string, from: FieldTerms, to: FieldTerms): string | undefined {
  if (isText(to) && from.kind !== to.kind) return convertToText(source, from, to)
  if (from.kind === to.kind) return convertSameKind(source, from, to)
  if (from.kind === 'list' && from.item) return convertFromList(source, from.item, to)
  if (to.kind === 'list' && to.item) return convertToList(source, from, to)
  if (isNumber(from) && isNumber(to)) return convertNumber(source, from, to)
  if (isText(from)) return convertFromText(source, to)
  if (from.kind === 'timestamp' && to.kind === 'date') return clampTime(`${source}.slice(0, 10)`, {}, to)
  if (from.kind === 'date' && to.kind === 'timestamp') return clampTime(`\`\${${source}}T00:00:00.000Z\``, {}, to)
  if (from.kind === 'boolean' && isNumber(to)) return convertFromBoolean(source, ['1', '0'], to)
  if (to.kind === 'boolean' && from.kind === 'integer') return `${source} !== 0`
  const [yes, no] = booleanPair(from.kind === 'boolean' ? to : from)
  if (from.kind === 'boolean' && yes !== undefined) return `${source} ? ${valueCode(yes)} : ${valueCode(no)}`
  if (to.kind === 'boolean' && yes !== undefined) return `${source} === ${valueCode(yes)}`
  return placeholderCode(to)
}

const booleanPairs = ['yes no', 'on off', 'true false', 'active inactive', 'enabled disabled', 'open closed']

/** Enum values that clearly stand for true and false. */
const booleanPair = ({ values = [] }: FieldTerms): readonly string[] =>
  booleanPairs.map((pair) => pair.split(' ')).find((pair) => pair.every((one) => values.includes(one))) ?? []

const isText = ({ kind }: FieldTerms): boolean => kind === 'text'
const isNumber = ({ kind }: FieldTerms): boolean => kind === 'integer' || kind === 'bigint' || kind === 'decimal'

function convertSameKind(source: string, from: FieldTerms, to: FieldTerms): string | undefined {
  switch (to.kind) {
    case 'text':
      return convertText(source, from, to)
    case 'email':
    case 'url':
      return orPlaceholder(lengthConditions(source, from, to), source, to)
    case 'integer':
    case 'bigint':
    case 'decimal':
      return convertNumber(source, from, to)
    case 'timestamp':
    case 'date':
      return clampTime(source, from, to)
    case 'enum':
      return from.values?.every((one) => to.values?.includes(one)) ? source : convertEnum(source, from, to)
    case 'ref':
      return from.to === to.to ? source : placeholderCode(to)
    case 'list':
      return convertList(source, from, to)
    case 'object':
      return convertObject(source, from, to)
    default:
      return source
  }
}

/** Conditions on the number of characters, counted in code points as bounds are. */
function lengthConditions(source: string, from: Partial<FieldTerms>, to: FieldTerms): string[] {
  const least = Number(to.min ?? 0) > Number(from.min ?? 0) ? [`[...${source}].length >= ${to.min}`] : []
  const most = to.max !== undefined && Number(from.max ?? Number.POSITIVE_INFINITY) > Number(to.max)
  return [...least, ...(most ? [`[...${source}].length <= ${to.max}`] : [])]
}

/** Cuts a text that can only be too long; in all other cases a text that does not fit becomes a placeholder. */
function convertText(source: string, from: Partial<FieldTerms>, to: FieldTerms): string | undefined {
  const length = lengthConditions(source, from, to)
  const form =
    to.pattern === undefined || to.pattern === from.pattern ? [] : [`${regexCode(to.pattern)}.test(${source})`]
  const cut = length.length === 1 && length[0]?.includes('<=') && to.pattern === undefined
  return cut ? `[...${source}].slice(0, ${to.max}).join('')` : orPlaceholder([...length, ...form], source, to)
}

const regexCode = (pattern: string): string => `new RegExp(${valueCode(pattern)}, 'u')`

function orPlaceholder(conditions: readonly string[], source: string, to: FieldTerms): string | undefined {
  if (conditions.length === 0) return source
  const other = placeholderCode(to)
  return other === undefined ? undefined : `${conditions.join(' && ')} ? ${source} : ${other}`
}

function convertToText(source: string, from: FieldTerms, to: FieldTerms): string | undefined {
  if (from.kind === 'list' && from.item) return convertFromList(source, from.item, to)
  const most = from.values
    ? Math.max(...from.values.map((one) => [...one].length))
    : (standardKinds[from.kind]?.longest ?? from.max)
  if (most === undefined || from.kind === 'object' || from.kind === 'metadata') return placeholderCode(to)
  const written = from.kind === 'integer' || from.kind === 'boolean' ? `String(${source})` : source
  return convertText(written, { min: 1, max: most }, to)
}

const digitsPattern = (count: number): string => (count > 0 ? `\\d{1,${count}}` : '')

/** Keeps a text that is a valid value of the kind; any other text becomes a placeholder. */
function convertFromText(source: string, to: FieldTerms): string | undefined {
  const { kind, precision = 18, scale = 0 } = to
  const day = '\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\\d|2[0-8])'
  const forms: Partial<Record<FieldTerms['kind'], string>> = {
    integer: '^(0|-?[1-9]\\d{0,14})$',
    bigint: '^(0|-?[1-9]\\d{0,17})$',
    decimal:
      scale === 0 ? `^[1-9]${digitsPattern(precision - 1)}$` : `^[1-9]\\d{0,${precision - scale - 1}}\\.\\d{${scale}}$`,
    date: `^${day}$`,
    timestamp: `^${day}T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d\\.\\d{3}Z$`,
  }
  if (kind === 'boolean') return `${source} === 'true'`
  if (kind === 'enum') return convertEnum(source, {}, to)
  const form = precision === scale ? undefined : forms[kind]
  const other = placeholderCode(to)
  if (form === undefined || other === undefined) return other
  const taken = kind === 'date' || kind === 'timestamp' ? clampTime(source, {}, to) : numberFromText(source, kind, to)
  return taken === undefined ? other : `${regexCode(form)}.test(${source}) ? ${taken} : ${other}`
}

const numberFromText = (source: string, kind: FieldTerms['kind'], to: FieldTerms): string | undefined =>
  kind === 'integer'
    ? clampInteger(`Number(${source})`, {}, to)
    : kind === 'bigint' || to.min !== undefined || to.max !== undefined
      ? convertNumber(source, { kind: to.kind, scale: to.scale ?? 0 }, to)
      : source

/** Comparisons with the shared values narrow the type, so that the generated code compiles without a cast. */
function convertEnum(source: string, from: Partial<FieldTerms>, to: FieldTerms): string | undefined {
  const other = placeholderCode(to)
  const both = (to.values ?? []).filter((one) => from.values?.includes(one) ?? true)
  if (other === undefined || both.length === 0) return other
  return `${both.map((one) => `${source} === ${valueCode(one)}`).join(' || ')} ? ${source} : ${other}`
}

/** Compares times as text, which sorts as the times do. */
function clampTime(source: string, from: Partial<FieldTerms>, { min, max }: FieldTerms): string {
  const low = min !== undefined && (from.min === undefined || from.min < min)
  const high = max !== undefined && (from.max === undefined || from.max > max)
  const least = low ? `${source} < ${valueCode(min)} ? ${valueCode(min)} : ` : ''
  return `${least}${high ? `${source} > ${valueCode(max)} ? ${valueCode(max)} : ` : ''}${source}`
}

const leastInteger = Number.MIN_SAFE_INTEGER
const mostInteger = Number.MAX_SAFE_INTEGER

function clampInteger(source: string, from: Partial<FieldTerms>, to: FieldTerms): string {
  const [min, max] = [Number(to.min ?? leastInteger), Number(to.max ?? mostInteger)]
  const low = min > Number(from.min ?? leastInteger) ? `Math.max(${min}, ${source})` : source
  return max < Number(from.max ?? mostInteger) ? `Math.min(${max}, ${low})` : low
}

/** Converts between kinds of numbers; unless both are integers, as a BigInt count of the smallest step. */
function convertNumber(source: string, from: FieldTerms, to: FieldTerms): string | undefined {
  if (from.kind === 'integer' && to.kind === 'integer') return clampInteger(source, from, to)
  const [had, has] = [from.scale ?? 0, to.scale ?? 0]
  const step = has - had
  const kept = from.kind === to.kind && step === 0
  const bounds =
    to.kind === 'integer' ? [BigInt(to.min ?? leastInteger), BigInt(to.max ?? mostInteger)] : unitBounds(to)
  if (kept && isWithinBounds(unitBounds(from), bounds)) return source
  const units = `BigInt(${from.kind === 'decimal' && had > 0 ? `${source}.replace('.', '')` : source})`
  const scaled = step === 0 ? units : `${units} ${step > 0 ? '*' : '/'} ${10n ** BigInt(Math.abs(step))}n`
  const [min, max] = bounds as [bigint, bigint]
  const low = `units < ${min}n ? ${valueCode(writeUnits(min, to))} : `
  const high = `units > ${max}n ? ${valueCode(writeUnits(max, to))} : `
  const written = to.kind === 'integer' ? 'Number(units)' : has === 0 ? 'String(units)' : decimalExpression(has)
  return `((units) => ${low}${high}${written})(${scaled})`
}

const isWithinBounds = ([min, max]: readonly bigint[], [low, high]: readonly bigint[]): boolean =>
  (low as bigint) <= (min as bigint) && (high as bigint) >= (max as bigint)

/** The bounds of a field, as whole numbers of its smallest step. */
function unitBounds({ kind, min, max, precision = 18, scale = 0 }: FieldTerms): readonly [bigint, bigint] {
  const greatest = kind === 'decimal' ? 10n ** BigInt(precision) - 1n : 2n ** 63n - 1n
  const units = (bound: string | number): bigint => {
    const [whole = '', part = ''] = String(bound).split('.')
    return BigInt(whole + part.padEnd(scale, '0').slice(0, scale))
  }
  return [min === undefined ? -greatest : units(min), max === undefined ? greatest : units(max)]
}

function writeUnits(units: bigint, { kind, scale = 0 }: FieldTerms): string | number {
  if (kind === 'integer') return Number(units)
  const text = String(units < 0n ? -units : units).padStart(scale + 1, '0')
  const pointed = scale === 0 ? text : `${text.slice(0, -scale)}.${text.slice(-scale)}`
  return units < 0n ? `-${pointed}` : pointed
}

const decimalExpression = (scale: number): string =>
  `\`\${units < 0n ? '-' : ''}\${String(units < 0n ? -units : units).padStart(${scale + 1}, '0').replace(/(?=\\d{${scale}}$)/, '.')}\``

function convertFromBoolean(source: string, values: readonly [string, string], to: FieldTerms): string | undefined {
  const [yes, no] = values.map((one) => writeUnits(BigInt(one) * 10n ** BigInt(to.scale ?? 0), to))
  return fitsTerms(yes, to) && fitsTerms(no, to)
    ? `${source} ? ${valueCode(yes)} : ${valueCode(no)}`
    : placeholderCode(to)
}

function convertList(source: string, from: FieldTerms, to: FieldTerms): string | undefined {
  const name = source.startsWith('one') ? `${source.split(/\W/)[0]}_` : 'one'
  const item = convertExpression(name, from.item as FieldTerms, to.item as FieldTerms)
  if (item === undefined) return placeholderCode(to)
  const all = item === name ? source : `${source}.map((${name}) => ${bracketObject(item)})`
  const cut = to.max !== undefined && Number(from.max ?? mostInteger) > Number(to.max)
  const some = cut ? `${all}.slice(0, ${to.max})` : all
  return orPlaceholder(Number(to.min ?? 0) > Number(from.min ?? 0) ? [`${source}.length >= ${to.min}`] : [], some, to)
}

const bracketObject = (text: string): string => (text.startsWith('{') ? `(${text})` : text)

function convertToList(source: string, from: FieldTerms, to: FieldTerms): string | undefined {
  const item = convertExpression(source, from, to.item as FieldTerms)
  return item === undefined || Number(to.min ?? 0) > 1 || Number(to.max ?? 1) < 1 ? placeholderCode(to) : `[${item}]`
}

function convertFromList(source: string, item: FieldTerms, to: FieldTerms): string | undefined {
  const [first, other] = [convertExpression(`${source}[0]`, item, to), placeholderCode(to)]
  return first === undefined || other === undefined ? other : `${source}[0] === undefined ? ${other} : ${first}`
}

/**
 * An object with all fields of the target, converted from the fields of the same name. TypeScript widens the literals
 * of an object that `map` returns, unless the object is frozen.
 */
function convertObject(
  source: string,
  { fields: there = {} }: FieldTerms,
  { fields = {} }: FieldTerms,
): string | undefined {
  const members = Object.entries(fields).map(([name, terms]) => {
    const own = there[name]
    const value = own ? convertExpression(`${source}.${name}`, own, terms) : placeholderCode(terms)
    return value === undefined ? undefined : `${name}: ${value}`
  })
  if (members.includes(undefined)) return undefined
  const code = `{ ${members.join(', ')} }`
  const widens = source.startsWith('one') && Object.values(fields).some(({ kind }) => kind === 'enum')
  return widens ? `Object.freeze(${code})` : code
}
