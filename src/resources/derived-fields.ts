/** Derived fields: functions of the same document, and aggregates of the rows that belong or refer to it. Part 2, fields. */
import { DerivedMisfit } from '../errors/derived-misfit.ts'
import type { Violation } from '../errors/problem.ts'
import type { Aggregate } from '../fields/aggregate.ts'
import type { ValueCheck } from '../fields/check-members.ts'
import type { Field } from '../fields/field.ts'
import type { ValueRules } from '../fields/kind.ts'
import { valueCheckOf } from '../fields/value-check.ts'
import { digestOf } from '../formats/digest.ts'
import type { StoredAggregate } from '../rows/aggregates.ts'
import type { DerivedValue, Members, SourceNames } from '../rows/shape.ts'
import {
  type DeclarationContext,
  parentDeclarationOf,
  parentFieldName,
  type ResourceDeclaration,
  resolveConcepts,
} from './declaration.ts'
import { samples } from './samples.ts'

interface DerivedMember {
  readonly name: string
  readonly field: Field
  readonly check: ValueCheck
}

const aggregateIn = ({ options }: Field): Aggregate | null =>
  typeof options.derived === 'object' ? options.derived : null

/** How the derived fields of a resource get their values, by name. */
export function derivedValues(
  resource: string,
  members: readonly DerivedMember[],
  { derived = {}, fields }: Pick<ResourceDeclaration, 'derived' | 'fields'>,
  context: DeclarationContext,
  rules: ValueRules,
): ReadonlyMap<string, DerivedValue> {
  const nameOf = derivedNames(context, rules)
  const formerName: SourceNames = (of, one) => [of, context.resources[of]?.fields[one]?.options.was ?? one]
  const sources = sourceNames(fields, context)
  const totals = members.filter(({ field }) => isTotal(aggregateIn(field))).map(({ name }) => name)
  return new Map(
    members.flatMap(({ name, field, check }): [string, DerivedValue][] => {
      if (field.options.derived === undefined) return []
      const make = derived[name] as DerivingFunction | undefined
      const of =
        make &&
        ((document: Members) => {
          const unknown = totals.filter((one) => (document[one] ?? null) === null)
          return ifKnown(() => derivedValue([resource, name], make, check, frozenSources(document, sources, unknown)))
        })
      const named = (called: SourceNames) => nameOf(resource, name, called)
      return [[name, { name: named(asDeclared), formerNames: [named(formerName)], named, of: of ?? null }]]
    }),
  )
}

const asDeclared: SourceNames = (resource, field) => [resource, field]

type DerivingFunction = (document: Members) => unknown

/** The fields that functions receive: the declared ones that are not functions themselves. */
const sourceNames = (
  fields: ResourceDeclaration['fields'],
  { concepts }: Pick<DeclarationContext, 'concepts'>,
): readonly string[] =>
  Object.keys(fields).filter((name) => resolveConcepts(fields[name] as Field, concepts).options.derived !== true)

/** Sums and counts are null only until they are filled; until then a function that reads one has no value. */
const isTotal = (aggregate: Aggregate | null): boolean => aggregate?.of === 'sum' || aggregate?.of === 'count'
const unknownTotal = new Error('The total is not filled yet.')

function frozenSources(document: Members, sources: readonly string[], unknown: readonly string[]): Members {
  const values = Object.fromEntries(sources.map((name) => [name, document[name]]))
  if (unknown.length === 0) return frozen(values)
  for (const value of Object.values(values)) freezeDeep(value)
  const get = (): never => {
    throw unknownTotal
  }
  return Object.freeze(Object.defineProperties(values, Object.fromEntries(unknown.map((name) => [name, { get }]))))
}

/** Names the source of a derived field and the sources it depends on: if the name changes, rows are rewritten. */
function derivedNames(
  { resources, concepts }: DeclarationContext,
  rules: ValueRules,
): (resource: string, field: string, called: SourceNames) => string {
  const names = new Map<string, string>() // cached, as trying a function is slow and many sums may depend on it
  const nameOf = (resource: string, name: string, called: SourceNames): string => {
    const declaration = resources[resource]
    const field = declaration && Object.hasOwn(declaration.fields, name) ? declaration.fields[name] : undefined
    const aggregate = field && aggregateIn(field)
    if (aggregate) {
      const own = { ...aggregate, ...(aggregate.by && { by: called(aggregate.resource, aggregate.by)[1] }) }
      ;[own.resource, own.field] = called(aggregate.resource, aggregate.field)
      return `${JSON.stringify(Object.entries(own).toSorted())} ${nameOf(aggregate.resource, aggregate.field, called)}`
    }
    const make = field?.options.derived === true ? declaration?.derived?.[name] : undefined
    if (!declaration || !make) return ''
    const place = `${resource}.${name}`
    const tried = names.get(place) ?? triedName(declaration, make as DerivingFunction)
    names.set(place, tried)
    return tried
  }
  const triedName = (declaration: ResourceDeclaration, make: DerivingFunction): string => {
    const members = sourceNames(declaration.fields, { concepts }).map((one) => {
      const field = resolveConcepts(declaration.fields[one] as Field, concepts)
      return { name: one, field, check: valueCheckOf(field, rules), writeOnly: field.options.writeOnly === true }
    })
    return functionName(make, samples({ members, rules }))
  }
  return nameOf
}

/** The value of a function in its stored form. The request is refused if the value does not fit the field. */
function derivedValue(
  [collection, field]: readonly [collection: string, field: string],
  make: DerivingFunction,
  check: ValueCheck,
  document: Members,
): unknown {
  const faults: Violation[] = []
  const stored = check(make(document) ?? null, `/${field}`, faults)
  if (faults[0]) throw new DerivedMisfit({ collection, field, row: null }, faults[0])
  return stored
}

function ifKnown(value: () => unknown): unknown {
  try {
    return value()
  } catch (error) {
    if (error === unknownTotal) return null
    throw error
  }
}

/** Identifies a function by its results, so that a new build of the same function changes nothing. */
function functionName(make: DerivingFunction, tried: readonly Members[]): string {
  const results = tried.map((document) => {
    try {
      return JSON.stringify(make(frozen({ ...document }))) ?? 'undefined'
    } catch {
      return 'throws'
    }
  })
  return `function ${digestOf(results.join('\n')).toString(36)}`
}

function frozen(document: Members): Members {
  for (const value of Object.values(document)) freezeDeep(value)
  return Object.freeze(document)
}

function freezeDeep(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  for (const one of Object.values(value)) freezeDeep(one)
  Object.freeze(value)
}

/** The fields of a resource by which its rows belong or refer to another one. */
export function linkingFields(
  name: string,
  target: string,
  { resources, concepts, settings }: Pick<DeclarationContext, 'resources' | 'concepts' | 'settings'>,
): readonly string[] {
  const declaration = resources[name]
  if (!declaration) return []
  const owns = parentDeclarationOf(declaration)?.resource === target
  const references = Object.entries(declaration.fields).filter(([, declared]) => {
    const { kind, target: to } = resolveConcepts(declared, concepts)
    return kind === 'ref' && to === target
  })
  return [
    ...(owns ? [parentFieldName(target, resources[target], settings)] : []),
    ...references.map(([field]) => field),
  ]
}

/** The aggregates of a resource, as the store keeps them. */
export function storedAggregates(
  name: string,
  members: readonly Pick<DerivedMember, 'name' | 'field'>[],
  context: DeclarationContext,
): readonly StoredAggregate[] {
  return members.flatMap(({ name: field, field: { kind, options } }) => {
    const { derived, scale = 0 } = options
    if (typeof derived !== 'object' || !Object.hasOwn(context.resources, derived.resource)) return []
    const { of, resource, field: source, by = linkingFields(resource, name, context)[0] as string } = derived
    const composite = context.resources[resource]?.key !== undefined
    const owner = parentDeclarationOf(context.resources[resource] as ResourceDeclaration)
    const owned = owner?.resource === name && by === parentFieldName(name, context.resources[name], context.settings)
    const column = owned && composite ? 'parent' : `by_${by}`
    return [{ field, of, collection: resource, column, by, source, kind, scale }]
  })
}

/** A field as it is served: callers cannot write a derived one; a sum or a count begins at zero. */
export function completeDerivedField(field: Field): Field {
  const { derived } = field.options
  if (derived === undefined) return field
  const zero = field.kind === 'integer' ? 0 : '0'
  const isNumber = ['integer', 'bigint', 'decimal'].includes(field.kind)
  const isZero = isNumber && isTotal(aggregateIn(field))
  return { ...field, options: { ...field.options, readOnly: true, ...(isZero && { default: zero }) } as never }
}
