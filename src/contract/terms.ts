/** Terms: the promises of a field to consumers, with all effective bounds, declared or not. Part 9, versioning. */

import { defaultPrecision, lengthsOf } from '../fields/bounds.ts'
import type { Field, Kind } from '../fields/field.ts'
import { standardKinds } from '../fields/kinds.ts'
import { absentValue, valueCheckOf } from '../fields/value-check.ts'
import { listRules } from '../lists/list-rules.ts'
import type { Member, Resource } from '../resources/resource.ts'
import type { Settings } from '../settings.ts'

export interface FieldTerms {
  readonly kind: Kind
  /** Bounds of a length, a number of items, a number or a time. */
  readonly min?: number | string
  readonly max?: number | string
  readonly pattern?: string
  readonly precision?: number
  readonly scale?: number
  /** The values of an enum, sorted: their order means nothing. */
  readonly values?: readonly string[]
  /** The resource of a reference. */
  readonly to?: string
  readonly onDelete?: 'restrict' | 'cascade'
  readonly item?: FieldTerms
  readonly fields?: { readonly [name: string]: FieldTerms }
  /** How many keys metadata may have, and how long its keys and values may be. */
  readonly keys?: number
  readonly keyLength?: number
  readonly valueLength?: number
  readonly nullable?: true
  /** Must be sent. */
  readonly required?: true
  /** The value if nothing is sent, unless it is null. */
  readonly default?: unknown
  readonly readOnly?: true
  readonly writeOnly?: true
  /** The scopes that are needed to read it, and to write it. */
  readonly read?: string
  readonly write?: string
  readonly immutable?: true
  readonly unique?: true
  readonly fold?: true
  readonly sort?: true
  readonly filter?: readonly string[]
}

/** The terms of all fields of a resource, including those that the service sets. */
export function fieldTermsOf(resource: Resource, resources: ReadonlyMap<string, Resource>): Record<string, FieldTerms> {
  const { filters } = listRules(resource, resources)
  const operators = (name: string) => filters.get(name)?.operators
  return Object.fromEntries(
    resource.members.map((member) => [member.name, { ...memberTerms(member, resource, operators) }]),
  )
}

type OperatorsOf = (name: string) => readonly string[] | undefined

function memberTerms({ name, field, from }: Member, resource: Resource, operators: OperatorsOf): FieldTerms {
  const terms = termsOfField(name, field, resource.settings, operators)
  if (name === resource.key || from === 'caller') return terms
  const chosen = name === 'id' && resource.key === null && resource.settings.resource.id === 'client'
  const { required, default: usual, ...rest } = terms
  return chosen ? { ...rest, required: true } : { ...rest, readOnly: true }
}

function termsOfField(name: string, field: Field, settings: Settings, operators: OperatorsOf): FieldTerms {
  const { options } = field
  const usual = absentValue(field, valueCheckOf(field, { settings, isId: () => true, kinds: standardKinds }))
  const said = (option: unknown) => (option === true ? (true as const) : undefined)
  const filter = operators(name)?.toSorted()
  return withoutUndefinedTerms({
    kind: field.kind,
    ...valueTerms(name, field, settings, operators),
    nullable: said(options.optional),
    required: usual === undefined ? true : undefined,
    default: usual ?? undefined,
    readOnly: said(options.readOnly),
    writeOnly: said(options.writeOnly),
    read: options.read,
    write: options.write,
    immutable: said(options.immutable),
    unique: said(options.unique),
    fold: said(options.fold),
    sort: said(options.sort),
    filter,
  })
}

/** The allowed values, apart from null. */
function valueTerms(name: string, field: Field, settings: Settings, operators: OperatorsOf): Partial<FieldTerms> {
  const { kind, options, item, fields = {}, values = [], target } = field
  const inner = (own: string, one: Field, path: string) => [own, termsOfField(path, one, settings, operators)] as const
  switch (kind) {
    case 'text':
    case 'email':
    case 'url':
      return { ...lengthTerms(field), ...(options.pattern === undefined ? {} : { pattern: options.pattern }) }
    case 'integer':
      return { min: options.min ?? Number.MIN_SAFE_INTEGER, max: options.max ?? Number.MAX_SAFE_INTEGER }
    case 'decimal':
      return {
        precision: options.precision ?? defaultPrecision,
        scale: options.scale ?? 0,
        ...boundTerms(field, settings),
      }
    case 'bigint':
    case 'timestamp':
    case 'date':
      return boundTerms(field, settings)
    case 'enum':
      return { values: values.toSorted() }
    case 'ref':
      return { to: target as string, onDelete: options.onDelete ?? 'restrict' }
    case 'list':
      return { ...lengthTerms(field), item: termsOfField('', item as Field, settings, () => undefined) }
    case 'object':
      return { fields: sortMembers(Object.entries(fields).map(([own, one]) => inner(own, one, `${name}.${own}`))) }
    case 'metadata':
      return settings.metadata
    default:
      return {}
  }
}

function lengthTerms(field: Field): Partial<FieldTerms> {
  const { min, max } = lengthsOf(field)
  return { ...(min === 0 ? {} : { min }), max }
}

/** Bounds in the canonical form that values have. */
function boundTerms(field: Field, settings: Settings): Partial<FieldTerms> {
  const { min, max, ...options } = field.options
  const read = valueCheckOf({ ...field, options }, { settings, isId: () => true, kinds: standardKinds })
  const canonical = (bound: unknown) => (bound === undefined ? undefined : String(read(bound, '', []) ?? bound))
  return withoutUndefinedTerms({ kind: field.kind, min: canonical(min), max: canonical(max) })
}

/** Sorts members by name, so that equal contracts have equal texts. */
export const sortMembers = <T>(entries: Iterable<readonly [string, T]>): Record<string, T> =>
  Object.fromEntries([...entries].toSorted(([a], [b]) => (a < b ? -1 : 1)))

function withoutUndefinedTerms(terms: { readonly [K in keyof FieldTerms]: FieldTerms[K] | undefined }): FieldTerms {
  return Object.fromEntries(Object.entries(terms).filter(([, value]) => value !== undefined)) as unknown as FieldTerms
}
