/** Stored rows: converts them between the versions that wrote them and the newest one. Part 9, versions. */
import { type Change, majorOf, versionLabels } from '../resources/change.ts'
import type { ResourceRules, VersionedDeclaration, Versions } from '../resources/declaration.ts'
import { memberTable, type Resource } from '../resources/resource.ts'
import type { Column, VersionConversions } from '../rows/collection.ts'
import { completeDocument, type Members, type MovedValue, shapeName } from '../rows/shape.ts'
import { isVersionColumn, withVersionColumns } from './columns.ts'
import {
  type ChangeStep,
  type Conversion,
  compileConversion,
  type FindMovedField,
  identityMapping,
  joinedSource,
  keptFieldName,
  mapDown,
  mapUp,
  type ValueSource,
  type VersionDocument,
  type VersionMapping,
} from './conversion.ts'
import { runConversion } from './conversion-error.ts'
import { movedFieldFinder, type VersionAt, versionHistory } from './history.ts'
import { originalNames, resourceAt, withFormerSources, withFormerStates, withOriginalNames } from './original-names.ts'
import { translateSort } from './queries.ts'
import { withStoredStatuses } from './stored-statuses.ts'

interface DeclaredHistory {
  readonly declaration: VersionedDeclaration
  readonly changes: readonly Change[]
  readonly rules: ResourceRules
}

/** Adds the conversions of rows that other versions stored, and the columns and indexes of older versions. R196. */
export function withStoredVersions(
  today: ReadonlyMap<string, Resource>,
  declared: DeclaredHistory,
): ReadonlyMap<string, Resource> {
  const { versions } = declared.declaration
  if (declared.changes.length === 0) return versions ? withVersionLabels(today, versions) : today
  const all = versionHistory(declared.declaration, declared.changes, declared.rules.kinds)
  const origins = originalNames(today, all)
  const kept = new Map(
    [...today].map(([name, one]) => [
      name,
      withOriginalNames(
        withFormerStates(withFormerSources(withKeptFields(one, all, declared.rules), all), all),
        origins,
      ),
    ]),
  )
  const elsewhere = movedFieldFinder(all, (name) => kept.get(name)?.members.map((member) => member.name) ?? [])
  const resources = new Map(
    [...kept].map(([name, one]) => {
      const own = all.filter(({ histories }) => histories.has(name))
      const steps = own[0]?.histories.get(name)?.steps ?? []
      const served = own.filter(({ label }) => declared.declaration.versions?.[label]?.retired === undefined)
      const past = { steps, served: served[0]?.label ?? '', rules: declared.rules }
      const whole = withOrderIndexes(withVersionColumns(one, past, elsewhere), served, elsewhere)
      return [name, withConversions(whole, all, declared.rules, elsewhere)]
    }),
  )
  const whole = withStoredStatuses(resources, all, declared.rules)
  return versions ? withVersionLabels(whole, versions) : whole
}

/** Adds the labels of all declared versions, from which the version of stored rows is derived. */
function withVersionLabels(all: ReadonlyMap<string, Resource>, versions: Versions): ReadonlyMap<string, Resource> {
  const labels = versionLabels({ versions })
  return new Map([...all].map(([name, one]) => [name, { ...one, collection: { ...one.collection, versions: labels } }]))
}

/** Adds indexes for the orders of several terms that older versions declare, if a term is a column that only they have. */
function withOrderIndexes(
  today: Resource,
  served: readonly VersionAt<VersionedDeclaration>[],
  elsewhere: FindMovedField,
): Resource {
  const { collection } = today
  const columns = new Map(collection.columns.map(({ field, name }) => [field, name]))
  const columnIn = (term: string): string | undefined => {
    const [sign, field] = term.startsWith('-') ? ['-', term.slice(1)] : ['', term]
    const name = field === 'id' ? 'id' : columns.get(field)
    return name && sign + name
  }
  const found = served.flatMap(({ declaration, histories }) => {
    const { name = '', steps = [] } = histories.get(today.name) ?? {}
    const { order = [], sorts = {} } = declaration.resources[name] ?? {}
    return [order, ...Object.values(sorts)].map((terms) =>
      terms.flatMap((term) => translateSort(steps, term, elsewhere) ?? []),
    )
  })
  const own = found.flatMap((terms) => {
    const names = terms.map((term) => (typeof term === 'string' ? columnIn(term) : undefined))
    const isOwn = terms.some((term) => typeof term === 'string' && isVersionColumn(term))
    return isOwn && names.every((name) => name !== undefined) ? [names] : []
  })
  const below = collection.composite ? undefined : collection.parent?.column
  const all = [...own, ...(below === undefined ? [] : own.map((names) => [below, ...names]))]
  const indexes = [...new Map([...collection.indexes, ...all].map((names) => [names.join(), names])).values()]
  return own.length === 0 ? today : { ...today, collection: { ...collection, indexes } }
}

/** Adds fields that keep a moved value in the row itself while its optional link is null. */
function withKeptFields(
  today: Resource,
  all: readonly VersionAt<VersionedDeclaration>[],
  rules: ResourceRules,
): Resource {
  const steps = all.find(({ histories }) => histories.has(today.name))?.histories.get(today.name)?.steps ?? []
  const found = steps.flatMap((step, i) =>
    Object.entries(step.change.moved ?? {}).flatMap(([name, { by }]) => {
      let link = by
      for (const { change } of steps.slice(0, i).toReversed()) link = change.renamed?.[link] ?? link
      const before = all.findLast(({ label }) => majorOf(label) < majorOf(step.change.version as string))
      const own = before && resourceAt(before, today.name, rules)
      return today.byName.get(link)?.absent === null && own ? keptField(own, name, keptFieldName(step, name)) : []
    }),
  )
  if (found.length === 0) return today
  const table = memberTable([...today.members, ...found.map(({ member }) => member)])
  const { collection } = today
  const fields = [...collection.fields, ...found.flatMap(({ fields }) => fields)]
  const columns = [...collection.columns, ...found.flatMap(({ columns }) => columns)]
  return { ...today, ...table, collection: { ...collection, fields, columns, shape: shapeName(fields) } }
}

/** An older version shows the default where no value is kept, so its filters and sorts must see the default too. */
const defaultedCell = ({ cell, form }: Column, usual: unknown): Partial<Column> =>
  usual == null ? {} : { cell: (value) => cell(value ?? usual), form: `${form} else ${JSON.stringify(usual)}` }

/** Turns a field of an older version into a write-only one. */
function keptField({ byName, collection }: Resource, name: string, kept: string) {
  const member = byName.get(name)
  if (!member) return []
  const rest = { absent: null, from: 'service', immutable: false, writeOnly: true, write: [] } as const
  return [
    {
      member: { ...member, ...rest, name: kept },
      fields: collection.fields
        .filter((one) => one.name === name)
        .map((one) => ({ ...one, name: kept, was: undefined, writeOnly: true, absent: null })),
      columns: collection.columns
        .filter(({ field }) => field === name)
        .map((one) => ({
          ...one,
          name: `by_${kept}`,
          field: kept,
          required: false,
          ...defaultedCell(one, member.absent),
        })),
    },
  ]
}

function withConversions(
  today: Resource,
  all: readonly VersionAt<VersionedDeclaration>[],
  rules: ResourceRules,
  elsewhere: FindMovedField,
): Resource {
  const first = all.find(({ histories }) => histories.has(today.name))
  const last = first?.histories.get(today.name)?.steps.find(changesDocuments)
  if (!first || !last) return today
  const ways = new Map(all.map((past) => [past.label, conversionOf(past, today, rules, elsewhere)]))
  const way = (storedVersion: string) => ways.get(ways.has(storedVersion) ? storedVersion : first.label) ?? null
  const { collection } = today
  const epochs: VersionConversions = {
    toToday: (storedVersion, document, recorded) => way(storedVersion)?.toToday(document, recorded) ?? document,
    toOlder: (storedVersion, document, rows) => way(storedVersion)?.toOlder(document, rows) ?? document,
    joined: (storedVersion) => way(storedVersion)?.joined ?? [],
    reshapes: resourceAt(first, today.name, rules)?.collection.shape !== collection.shape,
    receivers: [...new Set([...ways.values()].flatMap((one) => one?.receivers ?? []))],
    fieldsOf: (storedVersion) => way(storedVersion)?.fields ?? collection.fields,
    movedValues: (storedVersion, document, recorded) => way(storedVersion)?.movedValues(document, recorded) ?? [],
    sourceField: (storedVersion, field) => {
      const found = way(storedVersion)
      return found ? found.source(field) : field
    },
  }
  return {
    ...today,
    collection: { ...collection, shape: `${last.change.version} ${collection.shape}`, conversions: epochs },
  }
}

/** Whether a step changes stored documents. */
export function changesDocuments({
  change: { renamed, removed, added, retyped, required, mapped, moved },
}: ChangeStep): boolean {
  return [renamed, removed, added, retyped, required, mapped, moved].some((one) => Object.keys(one ?? {}).length > 0)
}

/** Converts documents between a former version and the newest one. */
interface StoredConversion {
  readonly toToday: (document: Members, recorded?: boolean) => VersionDocument
  readonly toOlder: ConvertDocument
  readonly joined: VersionMapping['joined']
  readonly source: (field: string) => string | null
  readonly movedValues: (document: Members, recorded?: boolean) => readonly MovedValue[]
  readonly receivers: readonly string[]
  readonly fields: Resource['collection']['fields']
}

type ConvertDocument = (
  document: Readonly<VersionDocument>,
  rows?: readonly (Members | null)[],
  options?: Parameters<Conversion>[2],
) => VersionDocument

function conversionOf(
  past: VersionAt<VersionedDeclaration>,
  today: Resource,
  rules: ResourceRules,
  elsewhere: FindMovedField,
): StoredConversion | null {
  const steps = past.histories.get(today.name)?.steps ?? []
  const own = resourceAt(past, today.name, rules)
  if (!own || steps.length === 0) return null
  const down = steps.reduce((program, step) => mapDown(program, step, elsewhere), unchanged(today, today))
  const up = steps.toReversed().reduce(mapUp, unchanged(today, own))
  const convertUp = documentConverter(up, today)
  const given = movedFieldsOf(down, up)
  const whole = (document: Members) => completeDocument(own.collection.fields, document)
  const hides = own.collection.fields.some(({ writeOnly }) => writeOnly)
  const newest = (document: Members, recorded = false) => convertUp(whole(document), [], { partial: recorded && hides })
  return {
    toToday: (document, recorded) => {
      const made = runConversion(today, document, 0, () => newest(document, recorded), true)
      // The linked row has the value.
      for (const { name, by } of given) if (today.byName.has(name) && made[by] != null) made[name] = null
      return made
    },
    fields: own.collection.fields,
    receivers: given.map(({ collection }) => collection),
    movedValues: (document, recorded = false) =>
      given.flatMap((one) => {
        const found = one.value(whole(document), { partial: recorded && hides })
        return movedValueOf(one, today, found, newest(document, recorded))
      }),
    toOlder: documentConverter(down, own),
    joined: down.joined,
    source: (field) => {
      const source = up.sources.get(field)
      const isKept = given.some(({ name }) => name === field) // kept only while there is no linked row
      return isDirect(source) && !isKept && isDirect(down.sources.get(source.name)) ? source.name : null
    },
  }
}

const unchanged = (of: Resource, { members }: Resource): VersionMapping =>
  identityMapping(
    of.name,
    members.map(({ name }) => name),
  )

/** Whether a value is copied unchanged. If so both ways, nodes of both versions write the same column. */
const isDirect = (source: ValueSource | undefined): source is ValueSource =>
  source?.from === 'document' && source.map === null && source.otherwise === null

/** The fields of a former version that other rows have now, with their old values and new places. */
function movedFieldsOf(down: VersionMapping, up: VersionMapping) {
  const all = [...down.sources.values()].flatMap((source) => joinedSource(source) ?? [])
  return [...new Map(all.map((one) => [one.name, one])).values()].flatMap(({ name, at, there }) => {
    const { by, collection } = down.joined[at] as VersionMapping['joined'][number]
    const convert = compileConversion(up, [name])
    if (!there) return []
    const { read, put, isNew } = there
    const value = (document: Members, options: Parameters<Conversion>[2]) => convert(document, [], options)[0]
    return [{ name, by, field: name.replace(/@.*$/, ''), collection, read, put, isNew, value }]
  })
}

/** The value that a document passes to another row; none if it has no value, or keeps it itself. `now` is its newest form. */
function movedValueOf(
  { value: _, by, name, put, ...there }: ReturnType<typeof movedFieldsOf>[number],
  today: Resource,
  found: unknown,
  now: VersionDocument,
): MovedValue[] {
  const id = now[by]
  if (found == null || (id == null && today.byName.has(name))) return []
  return [{ ...there, value: found, id: typeof id === 'string' ? id : null, put: (row) => put(row, found) }]
}

/** Omits fields without a value, so that their defaults apply. */
function documentConverter(program: VersionMapping, { members }: Resource): ConvertDocument {
  const names = members.map(({ name }) => name)
  const convert = compileConversion(program, names)
  return (document, rows, options) => {
    const values = convert(document, rows, options)
    return Object.fromEntries(names.map((name, i) => [name, values[i]]).filter(([, value]) => value !== undefined))
  }
}
