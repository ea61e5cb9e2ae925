/** A declaration as data: what each of its versions presents, and the service that follows from it. */
import { count, type Field, f, max, min, sum } from 'bylaw'
import type { Machine } from './machine.ts'

/** How a kind of field shows a number of the model: each number has one value, and no two have the same. */
export interface Encoding {
  readonly show: (canon: number) => unknown
  readonly make: (options: object) => Field
  /** -1 if the order of the values is the reverse of the numbers; 0 if lists are not sorted by it. */
  readonly order: 1 | -1 | 0
  /** Whether a field of this kind may have a filter. */
  readonly filter: boolean
  /** The kind of the field in the database. */
  readonly stored: string
}

/** The numbers of the model are from 0 to this. */
export const greatest = 11
export const numbers = Array.from({ length: greatest + 1 }, (_, i) => i)
const colours = ['red', 'green', 'blue', 'white', 'black', 'grey', 'pink', 'brown', 'cyan', 'lime', 'gold', 'navy']
const towns = colours.map((_, i) => `town${(i * 5) % 12}`)
const two = (n: number): string => String(n).padStart(2, '0')

export const encodings = {
  integer: { show: (n) => n, make: (o) => f.integer(o), order: 1, filter: true, stored: 'integer' },
  text: { show: (n) => `w${two(n)}`, make: (o) => f.text({ max: 40, ...o }), order: 1, filter: true, stored: 'text' },
  reversed: {
    show: (n) => `z${99 - n}`,
    make: (o) => f.text({ max: 50, ...o }),
    order: -1,
    filter: true,
    stored: 'text',
  },
  decimal: {
    show: (n) => `${n}.50`,
    make: (o) => f.decimal({ scale: 2, ...o }),
    order: 1,
    filter: true,
    stored: 'decimal',
  },
  bigint: { show: (n) => String(n), make: (o) => f.bigint(o), order: 1, filter: true, stored: 'bigint' },
  date: { show: (n) => `2026-01-${two(n + 1)}`, make: (o) => f.date(o), order: 1, filter: true, stored: 'date' },
  colour: { show: (n) => colours[n], make: (o) => f.enum(colours as never, o), order: 0, filter: true, stored: 'enum' },
  town: { show: (n) => towns[n], make: (o) => f.enum(towns as never, o), order: 0, filter: true, stored: 'enum' },
  list: {
    show: (n) => (n === 0 ? [] : [n]),
    make: (o) => f.list(f.integer(), o),
    order: 0,
    filter: false,
    stored: 'list',
  },
  object: {
    show: (n) => ({ inner: n }),
    make: (o) => f.object({ inner: f.integer() }, o),
    order: 0,
    filter: false,
    stored: 'object',
  },
} satisfies Record<string, Encoding>
export type Kind = keyof typeof encodings
export const kinds = Object.keys(encodings) as Kind[]
export const encodingOf = (kind: Kind): Encoding => encodings[kind]

export function read(kind: Kind, value: unknown): number | null {
  if (value === null) return null
  const text = JSON.stringify(value)
  const found = numbers.find((n) => JSON.stringify(encodings[kind].show(n)) === text)
  return found ?? 0 // functions of changes are tried with values of every form
}
export const show = (kind: Kind, canon: number | null): unknown => (canon === null ? null : encodings[kind].show(canon))

/** The options of a field. Versions that only rename the field share the object. */
export interface Options {
  kind: Kind
  filter: boolean
  sort: boolean
  unique: boolean
  optional: boolean
  fallback: number
  /** Whether the field is required and has no default. */
  bare?: boolean
}

export interface Total {
  readonly by: 'count' | 'sum' | 'min' | 'max'
  /** The attribute of the children that is added up. */
  readonly of: string
  filter: boolean
}

/** What a version presents of a resource: names and options by attribute; attributes keep their identity in all versions. */
export interface Presented {
  plural: string
  fields: Record<string, { name: string; options: Options }>
  totals: Record<string, { name: string; total: Total }>
  machine?: Machine
}

export type ResourceId = 'parent' | 'child' | 'other'
export const resourceIds: readonly ResourceId[] = ['parent', 'child', 'other']

export interface Version {
  readonly name: string
  readonly resources: Record<ResourceId, Presented>
}

export interface Declaration {
  /** The oldest version first. */
  versions: Version[]
  /** The former names of fields that this declaration renames within a version, by `resource.attribute`. */
  was: Record<string, string>
  events: boolean
  history: boolean
}

export const versionAt = ({ versions }: Declaration, nth: number): Version => versions[nth] as Version
export const newest = ({ versions }: Declaration): Version => versions.at(-1) as Version

/** A copy in which versions still share the options of a field, which are compared by identity. */
export const copyOf = (declaration: Declaration): Declaration => structuredClone(declaration)

export function fieldOf({ kind, filter, sort, unique, optional, fallback, bare }: Options, was?: string): Field {
  const range = kind === 'integer' || kind === 'decimal' || kind === 'date'
  return encodings[kind].make({
    ownMeaning: 'Random fields of different kinds have the same names.',
    ...(filter && { filter: range ? 'range' : true }),
    ...(sort && { sort: true }),
    ...(unique && { unique: true }),
    ...(optional ? { optional: true } : unique || bare || kind === 'list' ? {} : { default: show(kind, fallback) }),
    ...(was !== undefined && { was }),
  })
}

/** Whether a change maps the values of a field, which are those of an enum in both versions. */
export const isMapped = (old: Options, next: Options): boolean =>
  [old, next].every(({ kind }) => kind === 'colour' || kind === 'town')

/** Whether a change only makes a field required. */
export const isRequired = (old: Options, next: Options): boolean =>
  old.kind === next.kind && old.optional && !next.optional

/** The field of a total in a version that still has it while newer ones do not. */
export const formerTotal = ({ total: { by, filter } }: { readonly total: Total }): Field =>
  f.integer({
    ownMeaning: 'Random fields of different kinds have the same names.',
    ...(by === 'min' || by === 'max' ? { optional: true } : { default: 0 }),
    ...(filter && { filter: true as const }),
  })

export function totalField(declaration: Declaration, { by, of, filter }: Total): Field {
  const { child } = newest(declaration).resources
  const options = {
    ownMeaning: 'Random fields of different kinds have the same names.',
    ...(filter && { filter: true as const }),
  }
  if (by === 'count') return f.integer({ derived: count(child.plural), ...options })
  const source = child.fields[of]?.name as string
  if (by === 'sum') return f.integer({ derived: sum(child.plural, source), ...options })
  return f.integer({ optional: true, derived: (by === 'min' ? min : max)(child.plural, source), ...options })
}
