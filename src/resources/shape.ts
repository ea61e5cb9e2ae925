/** Shape: how documents hold the fields of a resource, and how older documents are brought to it. Part 2, resources and their fields. */
import type { Field } from './field.ts'
import { decimal } from './texts.ts'
import { absent, checkOf, defaultPrecision, isObject, type Rules } from './values.ts'

/** A field as documents hold it. */
export interface Shaped {
  readonly name: string
  /** The name it had before; its values move with it. */
  readonly was: string | undefined
  /** The kind, of a reference with the resource that it names. */
  readonly kind: string
  /** What stands where nothing is stored. */
  readonly absent: unknown
  /** Stored and never answered. */
  readonly hidden: boolean
  /** The digits of a decimal: in all, and behind the point. */
  readonly digits: readonly [precision: number, scale: number] | null
  /** The fields of an object, or the item of a list. */
  readonly inner: readonly Shaped[]
}

export function shaped(name: string, field: Field, rules: Rules): Shaped {
  const { kind, target, item, fields = {}, options } = field
  const inner = Object.entries(item ? { '*': item } : fields)
  return {
    name,
    was: options.was,
    kind: target === undefined ? kind : `${kind} ${target}`,
    absent: absent(field, checkOf(field, rules)) ?? null,
    hidden: options.writeOnly === true,
    digits: kind === 'decimal' ? [options.precision ?? defaultPrecision, options.scale ?? 0] : null,
    inner: inner.map(([name, one]) => shaped(name, one, rules)),
  }
}

/** Names a structure: two documents of one name have the same members, held in the same way. */
export function shapeName(fields: readonly Shaped[]): string {
  const part = ({ name, kind, hidden, digits, inner }: Shaped): unknown => [name, kind, hidden, digits, inner.map(part)]
  return JSON.stringify(fields.map(part))
}

/** A document of an older shape as one of today's: new fields get their default, renamed ones their value. */
export function completed(fields: readonly Shaped[], document: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    fields.map((field) => {
      const { name, was = name, absent } = field
      const from = Object.hasOwn(document, name) ? name : was
      return [name, Object.hasOwn(document, from) ? fitted(field, document[from]) : absent]
    }),
  )
}

function fitted({ name, digits, inner }: Shaped, value: unknown): unknown {
  if (digits && typeof value === 'string') return refitted(name, value, digits)
  if (Array.isArray(value)) return value.map((one) => fitted(inner[0] as Shaped, one))
  return inner.length > 0 && isObject(value) ? completed(inner, value) : value
}

/** A decimal with as many digits behind the point as are declared now. One that would lose some is not touched. */
function refitted(name: string, text: string, [precision, scale]: readonly [number, number]): string {
  const least = text.includes('.') ? text.replace(/\.?0+$/, '') : text
  const made = decimal(least, precision, scale)
  if (made !== 'format' && made !== 'digits' && made !== 'range') return made
  throw new Error(`${name} is ${text}, which does not fit ${precision} digits with ${scale} of them behind the point.`)
}
