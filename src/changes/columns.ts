/** Columns of older versions: indexed values of their changed fields, computed from documents. Part 9, versions. */
import { createHash } from 'node:crypto'
import type { Violation } from '../errors/problem.ts'
import type { Field } from '../fields/field.ts'
import { isObject } from '../fields/value-check.ts'
import { type Change, declarationBefore, fieldBefore, keepsOrder, majorOf } from '../resources/change.ts'
import { type ResourceRules, resolveConcepts } from '../resources/declaration.ts'
import { type Member, makeResource, type Resource } from '../resources/resource.ts'
import { samples } from '../resources/samples.ts'
import { type Cell, type Column, cellIn, columnOf } from '../rows/collection.ts'
import {
  type ChangeStep,
  compileConversion,
  type FindMovedField,
  identityMapping,
  mapDown,
  type VersionDocument,
} from './conversion.ts'

type ColumnUse = 'filter' | 'sort'

/** Separates a field from the step that removed it. Declared names never contain it. */
const columnMark = ':'
const columnName = (path: string, { place }: Pick<ChangeStep, 'place'>): string => path + columnMark + place

/** Whether a name is that of a version column; later changes never rename these. */
export const isVersionColumn = (name: string): boolean => name.includes(columnMark)

const topOf = (path: string): string => path.split('.', 1)[0] as string

/** The old field that a step removed or changed; undefined if the newer version's field can answer in its place. */
function changedField(step: FieldStep, top: string, asks: ColumnUse): Field | undefined {
  const { change, own, concepts, kinds } = step
  const { renamed = {}, removed = {}, retyped = {}, mapped = {}, shown = {}, response } = change
  if (Object.hasOwn(removed, top)) return resolveConcepts(removed[top] as Field, concepts)
  const is = Object.hasOwn(renamed, top) ? (renamed[top] as string) : top
  const now = Object.hasOwn(own.fields, is) ? resolveConcepts(own.fields[is] as Field, concepts) : undefined
  if (!now) return undefined
  if (Object.hasOwn(retyped, is)) {
    const old = resolveConcepts(retyped[is] as Field, concepts)
    const answers = now.options[asks] || (asks === 'sort' && !old.options.sort)
    const isSame = !response && answers && columnOf('', old, kinds).form === columnOf('', now, kinds).form
    return isSame && old.kind !== 'object' ? undefined : old
  }
  if (asks === 'filter' || (!Object.hasOwn(mapped, is) && !Object.hasOwn(shown, is))) return undefined
  if (keepsOrder(now.values ?? [], mapped[is] ?? {}, shown[is] ?? {})) return undefined
  return fieldBefore(is, now, change as Change, { resources: {}, concepts })
}

/** The field at a dotted path, given the field of its first name. */
function fieldAtPath(field: Field, path: string): Field | undefined {
  let at: Field | undefined = field
  for (const name of path.split('.').slice(1)) at = at?.fields?.[name]
  return at
}

type FieldStep = Pick<ChangeStep, 'change' | 'own' | 'concepts' | 'kinds'>

/** Whether an old field needs a column of its own: lists filter or sort by it, or a declared order contains it. */
function isQueried(step: FieldStep, path: string, asks: ColumnUse): boolean {
  const field = changedField(step, topOf(path), asks)
  if (!field) return false
  if (asks === 'filter' || fieldAtPath(field, path)?.options.sort)
    return Boolean(fieldAtPath(field, path)?.options[asks])
  const { order = [], sorts = {} } = step.own
  const { [topOf(path)]: is = topOf(path) } = step.change.renamed ?? {}
  const orders = [order, ...Object.values(sorts)].flat().map((term) => term.replace(/^-/, ''))
  return orders.includes(is + path.slice(topOf(path).length))
}

/** The column for a filter or sort by an old field; null if the newer version's fields answer it. */
export function versionColumnName(
  step: FieldStep & Pick<ChangeStep, 'place'>,
  path: string,
  asks: ColumnUse,
): string | null {
  const says = (asks === 'filter' ? step.change.filters : step.change.sorts) ?? {}
  return isQueried(step, path, asks) && !Object.hasOwn(says, path) ? columnName(path, step) : null
}

interface ServedHistory {
  /** The steps back to the oldest version, newest first. */
  readonly steps: readonly ChangeStep[]
  /** The oldest served version that has the resource. */
  readonly served: string
  readonly rules: ResourceRules
}

/** Adds the columns by which older versions filter and sort, as long as one of these versions is served. */
export function withVersionColumns(today: Resource, past: ServedHistory, elsewhere: FindMovedField): Resource {
  const { steps, served } = past
  const isServed = ({ change }: ChangeStep): boolean => majorOf(served) < majorOf(change.version as string)
  const spare: Column[] = []
  const wanted: Column[] = []
  for (const [i, step] of steps.entries()) {
    const { removed, retyped, mapped, shown } = step.change
    if (!removed && !retyped && !mapped && !shown) continue
    const old = resourceBefore(step, past)
    for (const column of old.collection.columns) {
      const asks = (['filter', 'sort'] as const).filter((one) => isQueried(step, column.field, one))
      if (asks.length === 0) continue
      const versionColumn = makeVersionColumn({ today, old, column, steps: steps.slice(0, i + 1) }, elsewhere)
      spare.push(versionColumn)
      if (isServed(step) && asks.some((one) => versionColumnName(step, column.field, one) !== null))
        wanted.push(versionColumn)
    }
  }
  if (spare.length === 0) return today
  const { collection } = today
  return { ...today, collection: { ...collection, columns: [...collection.columns, ...wanted], olderColumns: spare } }
}

/** The resource in the version before a step. */
function resourceBefore({ change, declaration }: ChangeStep, { rules }: ServedHistory): Resource {
  const before = declarationBefore(declaration, change as Change)
  const name = change.was ?? (change.resource as string)
  const { resources, concepts = {} } = before
  return makeResource(name, resources[name] as NonNullable<(typeof resources)[string]>, {
    resources,
    concepts,
    ...rules,
  })
}

interface ColumnSource {
  readonly today: Resource
  readonly old: Resource
  readonly column: Column
  /** The steps from the newest version back to the one that has the field, newest first. */
  readonly steps: readonly ChangeStep[]
}

/** The column of an older field. A value that does not fit the field, or whose computation throws, is null. */
function makeVersionColumn({ today, old, column, steps }: ColumnSource, elsewhere: FindMovedField): Column {
  const top = topOf(column.field)
  const member = old.byName.get(top) as Member
  const names = today.members.map(({ name }) => name)
  const convert = compileConversion(
    steps.reduce((program, step) => mapDown(program, step, elsewhere), identityMapping(today.name, names)),
    [top],
  )
  const mask = maskUnreadable(today, member)
  const of = (document: Readonly<VersionDocument>): unknown => {
    try {
      const value = convert(mask(document))[0] ?? member.absent ?? null
      const faults: Violation[] = []
      const fitting = value === null ? null : member.check(value, '', faults)
      const text = faults.length > 0 ? null : valueAt(fitting, column.field)
      return typeof text === 'string' && !isStorableText(text) ? null : text
    } catch {
      return null // `bylaw verify` reports it; a write by a client of the newest version must not fail because of it
    }
  }
  const step = steps.at(-1) as ChangeStep
  const path = columnName(column.field, step)
  const own: Column = { ...column, name: `by_${path}`, field: path, required: false, of }
  const documents = samples(today)
  const [digest, again] = [0, 1].map(() => digestCells(documents.map((one) => cellIn(own, one))))
  if (digest !== again) throw new Error(unsteadyMessage(step, column.field))
  return { ...own, form: `${column.form} made ${digest}` }
}

/** Lone surrogates and NUL: requests may not contain them, and no database stores them. */
const isStorableText = (text: string): boolean => text.isWellFormed() && !text.includes('\u0000')

const unsteadyMessage = ({ change: { version, resource } }: ChangeStep, path: string): string =>
  `changes.${version}.${resource}.response: It computes a different \`${path}\` for the same item each time, so lists cannot be filtered or sorted by it. Let it depend on the item alone, or leave \`filter\` and \`sort\` out of \`${path}\`.`

/** Removes write-only fields and nulls fields that need another read scope: a column must not reveal them. R169. */
function maskUnreadable(
  { members }: Resource,
  { read: scope }: Member,
): (document: Readonly<VersionDocument>) => VersionDocument {
  const readable = members.filter(({ writeOnly }) => !writeOnly)
  const unreadable = new Set(readable.filter(({ read }) => read !== null && read !== scope).map(({ name }) => name))
  return (document) =>
    Object.fromEntries(readable.map(({ name }) => [name, unreadable.has(name) ? null : document[name]]))
}

function valueAt(value: unknown, path: string): unknown {
  let at = value
  for (const name of path.split('.').slice(1)) at = isObject(at) ? at[name] : null
  return at ?? null
}

/** Identifies a function by its results for fixed samples: functions have no names, and a changed one is a new column. */
const digestCells = (cells: readonly Cell[]): string =>
  createHash('sha256')
    .update(JSON.stringify(cells.map((one) => (typeof one === 'bigint' ? String(one) : one))))
    .digest('hex')
    .slice(0, 12)
