/** Resource collection: the collection that a resource is stored in, with its columns, indexes and unique constraints. Part 2. */
import { searchedLength } from '../fields/bounds.ts'
import type { ValueCheck } from '../fields/check-members.ts'
import type { Field } from '../fields/field.ts'
import type { ValueRules } from '../fields/kind.ts'
import { fieldsOfSummary } from '../fields/summary.ts'
import type { IdCheck } from '../formats/id.ts'
import { singularOf, toCase } from '../formats/naming.ts'
import { type Collection, type Column, columnOf, type Unique, wordColumnOf } from '../rows/collection.ts'
import { fieldRulesOf } from '../rows/field-rules.ts'
import { fillName, shapeField, shapeName } from '../rows/shape.ts'
import type { Settings } from '../settings.ts'
import { accountNameOf, type DeclarationContext, type ResourceDeclaration, ruledFields } from './declaration.ts'
import { derivedValues, storedAggregates } from './derived-fields.ts'
import { dependentsOf, pairDeclarationOf, referringColumns } from './references.ts'
import { isStatusResource } from './service-fields.ts'
import { stateNames } from './states.ts'

/** A field of a resource. */
interface StoredMember {
  readonly name: string
  readonly field: Field
  readonly check: ValueCheck
  readonly from: 'caller' | 'address' | 'service'
}

/** The parts of a resource that its collection is made from. */
interface ResourceParts {
  readonly name: string
  readonly parent: { readonly resource: string; readonly field: string } | null
  readonly prefix: string | null
  readonly key: string | null
  readonly members: readonly StoredMember[]
  readonly settings: Settings
  readonly rules: ValueRules
  readonly isId: IdCheck
}

export function collectionOf(
  { name, parent, prefix, key, members, settings, rules, isId }: ResourceParts,
  declaration: ResourceDeclaration,
  context: DeclarationContext,
): Collection {
  const composite = key !== null && parent !== null
  const orders = [...(declaration.order ? [declaration.order] : []), ...Object.values(declaration.sorts ?? {})]
  const wanted = [...(declaration.indexes ?? []), ...orders]
  const names = new Set([...(declaration.uniques ?? []), ...orders].flat().map(fieldOfTerm))
  const columnName = columnNamer(composite ? parent.field : null)
  const columns = columnsOf(members, { ...indexedFields(declaration, names), rules }, parent?.field, composite)
  const derived = derivedValues(name, members, declaration, context, rules)
  const fields = members.map((one) => shapeField(one.name, one.field, rules, derived.get(one.name)))
  const below = parent && !composite ? orders.map((terms) => [parent.field, ...terms]) : [] // lists below a parent
  const account = accountNameOf(context.resources, name)
  const ids = account !== null && key === null && settings.resource.id !== 'client' ? [globalId] : []
  return {
    name,
    table: name.replaceAll('-', '_'),
    identity: key === null ? `ids that begin with ${prefix}_` : `the key ${key}`,
    parent: parent && { collection: parent.resource, column: columnName(parent.field), field: parent.field },
    composite,
    account,
    columns,
    kinds: rules.kinds,
    uniques: [...uniquesOf(members, declaration, account, columnName), ...ids],
    indexes: [...wanted, ...below].map((fields) =>
      fields.map((field) => (field.startsWith('-') ? '-' : '') + columnName(fieldOfTerm(field))),
    ),
    referring: referringColumns({ members, composite, account, parent }, context),
    dependents: dependentsOf(name, context),
    fields,
    shape: shapeName(fields),
    aggregates: storedAggregates(name, members, context),
    ...behaviourOf(declaration, context.events),
    ...(hasEvents(declaration, context.events) && { eventPrefix: eventPrefixOf(name, declaration, settings) }),
    rules: fieldRulesOf(members, key, isId, rules, declaration.states?.field),
    ...tombstoneTerms(declaration, settings),
  }
}

/**
 * How long tombstones are kept, and whether deleted rows leave them: with a retention of zero only if an id may be used
 * again, that is, with a `key`, with ids that clients choose, or if the resource offers `create`.
 */
function tombstoneTerms({ key, methods }: ResourceDeclaration, { resource, deleted: { retention } }: Settings) {
  const mayUseIdsAgain = key !== undefined || resource.id === 'client' || (methods?.includes('create') ?? true)
  return { retention, leavesTombstones: retention !== 0 || mayUseIdsAgain }
}

/**
 * The fields of summaries, and the fields that need an index of their own, for access rules too. Such an index also serves a
 * summary of one field.
 */
function indexedFields(declaration: ResourceDeclaration, named: ReadonlySet<string>) {
  const { summaries = {}, access } = declaration
  const all = Object.values(summaries).map(fieldsOfSummary)
  const alone = all.filter(({ length }) => length === 1).flat()
  const isPair = pairDeclarationOf(declaration) !== null
  return { summed: new Set(all.flat()), names: named.union(new Set([...alone, ...ruledFields(access)])), isPair }
}

/** Whether writes of a resource are recorded as events, given the default of the service. R206. */
const hasEvents = (declaration: ResourceDeclaration, all: boolean | undefined): boolean =>
  !isStatusResource(declaration) && (declaration.events ?? all) === true

/** The first part of event types: the singular of the resource, as `orderLine`. R205. */
export const eventPrefixOf = (name: string, { singular }: ResourceDeclaration, { naming }: Settings): string =>
  toCase(singular ?? singularOf(name), naming)

/** The types of the events of a service, by the names of its newest version. R205. */
export const declaredEventTypes = (
  resources: DeclarationContext['resources'],
  all: boolean | undefined,
  settings: Settings,
): readonly string[] =>
  Object.entries(resources).flatMap(([name, one]) => {
    if (!hasEvents(one, all)) return []
    const entered = Object.values(one.states?.transitions ?? {}).map(({ to }) => to)
    const actions = new Set(['created', 'updated', 'deleted', ...entered])
    return [...actions].map((action) => `${eventPrefixOf(name, one, settings)}.${action}`)
  })

/** The behaviour that nodes with an older declaration may lack. Equal declarations have equal texts. */
function behaviourOf(
  declaration: ResourceDeclaration,
  all: boolean | undefined,
): Pick<Collection, 'behaviour' | 'history'> {
  const { states, parent, history } = declaration
  const events = hasEvents(declaration, all)
  const { transitions = {}, writable = {} } = states ?? {}
  const within = typeof parent === 'object' ? parent.while : undefined
  const timers = Object.entries(transitions).flatMap(([name, { from, to, after, at }]) =>
    after === undefined && at === undefined ? [] : [[name, from, to, after ?? null, at ?? null]],
  )
  const guards = (['change', 'remove', 'while'] as const).filter((one) => (one === 'while' ? within : writable[one]))
  if (!states && !within && !events && !history) return {}
  return {
    ...(history && { history: true }),
    behaviour: {
      ...(states && { states: stateNames(states) }),
      ...(timers.length > 0 && { timers: JSON.stringify(timers) }),
      ...(guards.length > 0 && { guards }),
      ...(events && { events }),
      ...(history && { history: true }),
    },
  }
}

/** The column of a field; `above` is the parent's id, if it is a part of the primary key. */
const columnNamer =
  (above: string | null) =>
  (field: string): string =>
    field === 'id' ? 'id' : field === above ? 'parent' : `by_${field}`

/** The field of a sort term, without its sign. */
const fieldOfTerm = (term: string): string => term.replace(/^-/, '')

/** The columns of all fields except those of the primary key. */
function columnsOf(
  members: readonly StoredMember[],
  wanted: IndexedFields,
  parent: string | undefined,
  composite: boolean,
): Collection['columns'] {
  return members
    .flatMap(({ name, field }) => columnsOfField(name, field, wanted))
    .filter(({ field }) => field !== 'id' && !(composite && field === parent))
    .map((column) => (column.field === parent ? { ...column, most: null } : column)) // ids are short
    .map((column) => (wanted.isPair ? { ...column, unindexed: true } : column))
}

interface IndexedFields {
  /** The fields that `order`, `sorts`, `indexes` and `uniques` name. */
  readonly names: ReadonlySet<string>
  /** The fields that summaries name. */
  readonly summed: ReadonlySet<string>
  /** Whether rows are pairs, which are found by their key, and from the other side by the index of its reference. */
  readonly isPair: boolean
  readonly rules: ValueRules
}

/** The columns that a field needs: its own, or those of its nested fields. */
function columnsOfField(name: string, field: Field, wanted: IndexedFields, below = false): Collection['columns'] {
  const optional = below || field.options.optional === true
  if (field.fields)
    return Object.entries(field.fields).flatMap(([inner, one]) =>
      columnsOfField(`${name}.${inner}`, one, wanted, optional),
    )
  const { filter, sort, unique, search } = field.options
  const isAsked = filter || sort || unique || wanted.names.has(name) || field.target !== undefined
  const { kinds } = wanted.rules
  const isSummed = wanted.summed.has(name)
  const own = isAsked || isSummed ? [columnOf(name, field, kinds, optional)] : []
  const words = search ? [wordColumnOf(name, searchedLength(field, kinds))] : []
  return [...own.map((column) => (isAsked ? column : { ...column, unindexed: true as const })), ...words].map(
    (column) => withFill(column, field, wanted.rules),
  )
}

/** A `fill` changes values, so its column is a new one: old nodes keep the former column. */
const withFill = (column: Column, field: Field, rules: ValueRules): Column =>
  field.options.fill === undefined ? column : { ...column, form: `${column.form} =${fillName(field, rules)}` }

/** The uniqueness of generated ids across accounts; no answer reveals that another account has an id. R110. */
const globalId: Unique = { name: 'id', fields: [], columns: ['id'] }

/** The unique constraints, each per account if items belong to accounts. */
function uniquesOf(
  members: readonly StoredMember[],
  declaration: ResourceDeclaration,
  account: string | null,
  columnName: (field: string) => string,
): Unique[] {
  const single = members.filter(({ field }) => field.options.unique).map(({ name }) => [name])
  return [...single, ...(declaration.uniques ?? [])].map((fields) => ({
    name: fields.join('_'),
    fields,
    columns: [...(account === null ? [] : ['account']), ...fields.map(columnName)],
  }))
}
