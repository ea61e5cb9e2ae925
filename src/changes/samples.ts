/** Samples: fixed documents with all kinds of values, to tell change functions apart by results. Part 9, versions. */
import type { Violation } from '../errors/problem.ts'
import type { Field } from '../fields/field.ts'
import { digestOf } from '../formats/digest.ts'
import type { Member, Resource } from '../resources/resource.ts'
import type { VersionDocument } from './conversion.ts'

const sampleCount = 96
/** Attempts at a value that fits its field. */
const mostTries = 6
const longest = 400

/** Returns the next pseudo-random number below a limit. */
type NextNumber = (below: number) => number

/** Seeded by the name alone, so that the samples of a field do not depend on the other declarations. */
function numbersFor(name: string): NextNumber {
  let state = digestOf(name)
  return (below) => {
    state = (state + 0x9e3779b9) | 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
    return ((mixed ^ (mixed >>> 16)) >>> 0) % below
  }
}

const sampleCache = new WeakMap<Resource['members'], readonly VersionDocument[]>()

export function samples({ members }: Pick<Resource, 'members'>): readonly VersionDocument[] {
  const all =
    sampleCache.get(members) ??
    Array.from({ length: sampleCount }, (_, i) =>
      Object.fromEntries(members.map((member) => [member.name, sampleMember(member, i)])),
    )
  sampleCache.set(members, all)
  return all
}

function sampleMember({ name, field, check, writeOnly }: Member, nth: number): unknown {
  if (writeOnly) return null
  const next = numbersFor(`${name} ${nth}`)
  let value: unknown = null
  for (let i = 0; i < mostTries; i++) {
    value = sampleOptional(field, next)
    const faults: Violation[] = []
    check(value, '', faults)
    if (faults.length === 0) break
  }
  return value
}

const sampleOptional = (field: Field, next: NextNumber): unknown =>
  field.options.optional && next(4) === 0 ? null : sampleValue(field, next)

const pickFrom = <T>(all: readonly T[], next: NextNumber): T => all[next(all.length)] as T
const sampleSome = <T>(most: number, next: NextNumber, make: () => T): T[] =>
  Array.from({ length: next(most + 1) }, make)

const words = [
  ...[
    'Ann',
    'lee',
    'VAN',
    'der',
    'Élodie',
    'O’Neil',
    'x',
    '7',
    '42',
    '2026',
    'a-b',
    'Straße',
    '漢字',
    '😀',
    '',
    'gold',
  ],
  ...['1.5', '-3', '+39', 'ann@example.com', 'a,b', 'IT', 'true', 'null', 'plain', 'Main', 'No.', "d'Arc", '%', '\t'],
]
const separators = [' ', ' ', ' ', ', ', '-', '/', ':', '.', '|', '_', '  ', '\n']

// long because: one line per kind of field
function sampleValue({ kind, options, values = [], item, fields = {} }: Field, next: NextNumber): unknown {
  const time = (): string => new Date(next(0xffffffff) * 1000).toISOString()
  const code = (length: number): string => Array.from({ length }, () => String.fromCharCode(65 + next(26))).join('')
  switch (kind) {
    case 'text':
      return sampleText(options, next)
    case 'email':
      return `${code(1 + next(12)).toLowerCase()}@${code(1 + next(8)).toLowerCase()}.example`
    case 'url':
      return `https://${code(3).toLowerCase()}.example/${sampleSome(3, next, () => code(2)).join('/')}`
    case 'integer':
      return sampleNumber(options, next)
    case 'bigint':
      return String(sampleNumber(options, next))
    case 'decimal': {
      const { scale = 0, precision = 18 } = options
      const whole = Math.abs(sampleNumber(options, next)) % 10 ** Math.min(15, Math.max(1, precision - scale))
      const part = scale === 0 ? '' : `.${String(next(10 ** Math.min(9, scale))).padStart(scale, '0')}`
      return `${Number(options.min ?? -1) < 0 && whole > 0 && next(4) === 0 ? '-' : ''}${whole}${part}`
    }
    case 'boolean':
      return next(2) === 1
    case 'timestamp':
      return time()
    case 'date':
      return time().slice(0, 10)
    case 'duration':
      return pickFrom(['PT0S', 'P1D', 'PT90M', 'P1Y2M', 'P3W'], next)
    case 'interval':
      return `${time()}/${pickFrom(['PT1H', 'P1D', 'P2W'], next)}`
    case 'enum':
      return pickFrom(values, next)
    case 'list':
      return sampleSome(3, next, () => sampleOptional(item as Field, next))
    case 'object':
      return Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, sampleOptional(one, next)]))
    case 'metadata':
      return Object.fromEntries(sampleSome(2, next, () => [code(2).toLowerCase(), pickFrom(words, next)]))
    case 'country':
      return pickFrom(['IT', 'FR', 'DE', 'US', 'GB', 'JP', 'BR'], next)
    case 'currency':
      return pickFrom(['EUR', 'USD', 'JPY', 'GBP'], next)
    case 'ref':
    case 'concept':
      return `${code(3).toLowerCase()}_${code(6).toLowerCase()}`
    default:
      return kind satisfies never
  }
}

/** From short to the longest allowed, with few words and many. */
function sampleText({ min, max }: Field['options'], next: NextNumber): string {
  const [least, most] = [Number(min ?? 0), Math.min(Number(max ?? longest), longest)]
  const joint = pickFrom(separators, next)
  const text = sampleSome(4, next, () => pickFrom(words, next)).join(joint)
  const whole = next(6) === 0 ? `${text} ${pickFrom(words, next)}`.repeat(40) : text
  return [...whole.padEnd(least, 'a')].slice(0, Math.max(least, most)).join('')
}

function sampleNumber({ min, max }: Field['options'], next: NextNumber): number {
  const [least, most] = [Number(min ?? -1e6), Number(max ?? 1e6)]
  const near = [0, 1, -1, 10, 99, 100, 101, 1000, least, most, least + 1, most - 1]
  const value = next(3) === 0 ? pickFrom(near, next) : least + (next(0x7fffffff) / 0x7fffffff) * (most - least)
  return Math.trunc(Math.min(most, Math.max(least, value)))
}
