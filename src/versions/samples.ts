/** Samples: documents of all kinds that a resource could have, the same ones at any time, to tell functions apart by what they make of them. Part 9, versions. */
import type { Violation } from '../errors/problem.ts'
import type { Field } from '../resources/field.ts'
import type { Member, Resource } from '../resources/resource.ts'
import type { Document } from './program.ts'

const count = 96
/** How often a value is looked for that fits its field. */
const tries = 6
const longest = 400

/** A number below another one; each call gives the next. */
type Chance = (below: number) => number

/** Chance that follows from a name alone, so that a field has the same values whatever else is declared. */
function chanceOf(name: string): Chance {
  let state = 0x811c9dc5
  for (let i = 0; i < name.length; i++) state = Math.imul(state ^ name.charCodeAt(i), 0x01000193)
  return (below) => {
    state = (state + 0x9e3779b9) | 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
    return ((mixed ^ (mixed >>> 16)) >>> 0) % below
  }
}

const made = new WeakMap<Resource['members'], readonly Document[]>()

export function samples({ members }: Pick<Resource, 'members'>): readonly Document[] {
  const all =
    made.get(members) ??
    Array.from({ length: count }, (_, i) =>
      Object.fromEntries(members.map((member) => [member.name, sampleOf(member, i)])),
    )
  made.set(members, all)
  return all
}

function sampleOf({ name, field, check, hidden }: Member, nth: number): unknown {
  if (hidden) return null
  const next = chanceOf(`${name} ${nth}`)
  let value: unknown = null
  for (let i = 0; i < tries; i++) {
    value = optional(field, next)
    const faults: Violation[] = []
    check(value, '', faults)
    if (faults.length === 0) break
  }
  return value
}

const optional = (field: Field, next: Chance): unknown =>
  field.options.optional && next(4) === 0 ? null : fresh(field, next)

const pick = <T>(all: readonly T[], next: Chance): T => all[next(all.length)] as T
const several = <T>(most: number, next: Chance, make: () => T): T[] => Array.from({ length: next(most + 1) }, make)

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
const joints = [' ', ' ', ' ', ', ', '-', '/', ':', '.', '|', '_', '  ', '\n']

// long because: one line a kind of field
function fresh({ kind, options, values = [], item, fields = {} }: Field, next: Chance): unknown {
  const time = (): string => new Date(next(0xffffffff) * 1000).toISOString()
  const code = (length: number): string => Array.from({ length }, () => String.fromCharCode(65 + next(26))).join('')
  switch (kind) {
    case 'text':
      return textOf(options, next)
    case 'email':
      return `${code(1 + next(12)).toLowerCase()}@${code(1 + next(8)).toLowerCase()}.example`
    case 'url':
      return `https://${code(3).toLowerCase()}.example/${several(3, next, () => code(2)).join('/')}`
    case 'integer':
      return numberOf(options, next)
    case 'bigint':
      return String(numberOf(options, next))
    case 'decimal': {
      const { scale = 0, precision = 18 } = options
      const whole = Math.abs(numberOf(options, next)) % 10 ** Math.min(15, Math.max(1, precision - scale))
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
      return pick(['PT0S', 'P1D', 'PT90M', 'P1Y2M', 'P3W'], next)
    case 'interval':
      return `${time()}/${pick(['PT1H', 'P1D', 'P2W'], next)}`
    case 'enum':
      return pick(values, next)
    case 'list':
      return several(3, next, () => optional(item as Field, next))
    case 'object':
      return Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, optional(one, next)]))
    case 'metadata':
      return Object.fromEntries(several(2, next, () => [code(2).toLowerCase(), pick(words, next)]))
    case 'country':
      return pick(['IT', 'FR', 'DE', 'US', 'GB', 'JP', 'BR'], next)
    case 'currency':
      return pick(['EUR', 'USD', 'JPY', 'GBP'], next)
    case 'ref':
    case 'concept':
      return `${code(3).toLowerCase()}_${code(6).toLowerCase()}`
    default:
      return kind satisfies never
  }
}

/** Few words and many, short ones and as long as may be. */
function textOf({ min, max }: Field['options'], next: Chance): string {
  const [least, most] = [Number(min ?? 0), Math.min(Number(max ?? longest), longest)]
  const joint = pick(joints, next)
  const text = several(4, next, () => pick(words, next)).join(joint)
  const whole = next(6) === 0 ? `${text} ${pick(words, next)}`.repeat(40) : text
  return [...whole.padEnd(least, 'a')].slice(0, Math.max(least, most)).join('')
}

function numberOf({ min, max }: Field['options'], next: Chance): number {
  const [least, most] = [Number(min ?? -1e6), Number(max ?? 1e6)]
  const near = [0, 1, -1, 10, 99, 100, 101, 1000, least, most, least + 1, most - 1]
  const value = next(3) === 0 ? pick(near, next) : least + (next(0x7fffffff) / 0x7fffffff) * (most - least)
  return Math.trunc(Math.min(most, Math.max(least, value)))
}
