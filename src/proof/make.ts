/** Make: values and bodies made from a resource's fields, for tests generated from a declaration. Part 9, versioning. */
import { matchingText } from '../check/matching-text.ts'
import type { Violation } from '../errors/problem.ts'
import { defaultPrecision, lengthsOf } from '../fields/bounds.ts'
import type { Field } from '../fields/field.ts'
import { absentValue, type ValueCheck } from '../fields/value-check.ts'
import { countryCodes, currencyCodes } from '../formats/codes.ts'
import type { Member, Resource } from '../resources/resource.ts'
import { type Chance, pickOne } from './chance.ts'

/** What values are made from besides their field: choices, and ids for references. */
export interface ValueMaking {
  readonly chance: Chance
  /** The id of an item of a resource; undefined if there is no item. */
  readonly idOf: (resource: string) => string | undefined
}

type MadeBody = Record<string, unknown>

/** A body that a caller could send for a new item; undefined if a required field cannot be filled. */
export function makeBody(resource: Resource, making: ValueMaking): MadeBody | undefined {
  const body: MadeBody = {}
  for (const member of resource.members) {
    const sent = member.from === 'caller' || member.name === resource.key
    if (!sent || (member.absent !== undefined && making.chance.below(4) === 0)) continue
    const value = makeValue(member, making)
    if (value === undefined && member.absent === undefined) return undefined
    if (value !== undefined) body[member.name] = value
  }
  return body
}

const mostTries = 20

/** A value that the field's own check accepts. */
export function makeValue({ field, check }: Pick<Member, 'field' | 'check'>, making: ValueMaking): unknown {
  for (let i = 0; i < mostTries; i++) {
    const value = makeAnyValue(field, making)
    if (value !== undefined && isAccepted(check, value)) return value
  }
  return undefined
}

function isAccepted(check: ValueCheck, value: unknown): boolean {
  const faults: Violation[] = []
  check(value, '', faults)
  return faults.length === 0
}

// long because: one or two lines per kind of field
function makeAnyValue(field: Field, making: ValueMaking): unknown {
  const { chance } = making
  const { kind, options, values = [], item, fields = {}, target } = field
  if (options.optional && chance.below(5) === 0) return null
  switch (kind) {
    case 'text':
      return options.pattern === undefined ? makeText(field, chance) : matchingText(options.pattern, chance)
    case 'email':
      return `${makeWord(chance)}@${makeWord(chance)}.example`
    case 'url':
      return `https://${makeWord(chance)}.example/${chance.below(2) === 0 ? '' : makeWord(chance)}`
    case 'integer':
      return makeInteger(
        Number(options.min ?? Number.MIN_SAFE_INTEGER),
        Number(options.max ?? Number.MAX_SAFE_INTEGER),
        chance,
      )
    case 'bigint':
      return String(makeBigint(options.min, options.max, 2n ** 63n, chance))
    case 'decimal':
      return makeDecimal(field, chance)
    case 'boolean':
      return chance.below(2) === 1
    case 'timestamp':
      return new Date(makeMoment(options.min, options.max, chance)).toISOString()
    case 'date':
      return new Date(makeMoment(options.min, options.max, chance)).toISOString().slice(0, 10)
    case 'duration':
      return pickOne(chance, ['P1D', 'PT0S', 'P3Y6M4DT12H30M5S', 'P2W', 'PT0.5S'])
    case 'interval':
      return pickOne(chance, ['2026-01-01T00:00:00.000Z/P1M', '2026-01-01/2026-02-01', 'P1D/2026-01-01'])
    case 'enum':
      return pickOne(chance, values)
    case 'country':
      return pickOne(chance, [...countryCodes])
    case 'currency':
      return pickOne(chance, [...currencyCodes])
    case 'ref':
      return making.idOf(target as string)
    case 'metadata':
      return Object.fromEntries(
        Array.from({ length: chance.below(3) }, (_, i) => [`${makeWord(chance)}${i}`, makeWord(chance)]),
      )
    case 'list': {
      const { min, max } = lengthsOf(field)
      const length = min + chance.below(Math.min(max - min, 3) + 1)
      return Array.from({ length }, () => makeAnyValue(item as Field, making))
    }
    case 'object':
      return makeObject(fields, making)
    case 'concept':
      return undefined
    default:
      return kind satisfies never
  }
}

function makeObject(fields: NonNullable<Field['fields']>, making: ValueMaking): MadeBody {
  const needless = (field: Field) => absentValue(field, (value) => value) !== undefined
  const sent = Object.entries(fields).filter(([, field]) => !needless(field) || making.chance.below(4) !== 0)
  return Object.fromEntries(sent.map(([name, field]) => [name, makeAnyValue(field, making)]))
}

const letters = [...'abcdefghijklmnopqrstuvwxyz']
const characters = [...letters, ...'AZ09 -_%\'"\\/.,<&', 'é', 'ß', 'Ω', '漢', 'א', '😀', 'e\u0301']

const makeWord = (chance: Chance): string =>
  Array.from({ length: 1 + chance.below(8) }, () => pickOne(chance, letters)).join('')

const mostLetters = 300

/** Mostly short, sometimes of the least or the greatest length. */
function makeText(field: Field, chance: Chance): string {
  const { min, max } = lengthsOf(field)
  const most = Math.min(max, Math.max(min, mostLetters))
  const length = min + chance.length(most - min + 1)
  const made = Array.from({ length }, () => pickOne(chance, characters)).join('')
  return [...made].slice(0, max).join('')
}

/** Mostly near zero, on either side. */
function makeInteger(min: number, max: number, chance: Chance): number {
  const nearest = Math.min(Math.max(0, min), max)
  const below = chance.below(3) === 2 && min < nearest
  return below ? nearest - chance.mostlySmall(nearest - min + 1) : nearest + chance.mostlySmall(max - nearest + 1)
}

function makeBigint(min: unknown, max: unknown, most: bigint, chance: Chance): bigint {
  const [least, greatest] = [
    min === undefined ? -most : BigInt(String(min)),
    max === undefined ? most - 1n : BigInt(String(max)),
  ]
  const way = chance.below(6)
  if (way >= 4) return way === 4 ? least : greatest
  const value = BigInt(chance.mostlySmall(Number.MAX_SAFE_INTEGER))
  return value < least ? least : value > greatest ? greatest : value
}

function makeDecimal({ options }: Field, chance: Chance): string {
  const { precision = defaultPrecision, scale = 0, min, max } = options
  const steps = (bound: unknown) => {
    const [units = '', fraction = ''] = String(bound).split('.')
    return units + fraction.padEnd(scale, '0')
  }
  const [least, most] = [min, max].map((bound) => (bound === undefined ? undefined : steps(bound)))
  const value = makeBigint(
    least ?? -(10n ** BigInt(precision)) + 1n,
    most ?? 10n ** BigInt(precision) - 1n,
    10n ** BigInt(precision),
    chance,
  )
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0')
  const text = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`
  return value < 0n ? `-${text}` : text
}

const century = 100 * 365.25 * 86_400_000
const centuryStart = Date.parse('2000-01-01')

/** A time between the bounds; without bounds, in this century. */
function makeMoment(min: unknown, max: unknown, chance: Chance): number {
  const [least, most] = [min, max].map((bound) => (bound === undefined ? Number.NaN : Date.parse(String(bound))))
  const from =
    Number(least) || (Number.isNaN(most) ? centuryStart : Math.min(centuryStart, Number(most) - century / 100))
  const to = Number(most) || from + century
  return from + chance.below(Math.floor((to - from) / 1000) + 1) * 1000
}
