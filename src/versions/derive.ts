/** Derive: the fields of older versions that have index columns of their own, filled by what the changes make of a document. Part 9, versions. */
import { createHash } from 'node:crypto'
import type { Violation } from '../errors/problem.ts'
import { before, type Change, fieldBefore, keepsOrder, majorOf } from '../resources/change.ts'
import { type Cell, type Column, cellIn, columnOf } from '../resources/collection.ts'
import { resolved } from '../resources/declaration.ts'
import type { Field } from '../resources/field.ts'
import { type Member, type Resource, resource } from '../resources/resource.ts'
import type { Settings } from '../resources/settings.ts'
import { isObject } from '../resources/values.ts'
import { back, conversion, type Document, type Elsewhere, plain, type Step } from './program.ts'
import { samples } from './samples.ts'

type Asks = 'filter' | 'sort'

/** Stands between a field and the step that took it away; no declared field has it in its name. */
const mark = ':'
const columnName = (path: string, { place }: Pick<Step, 'place'>): string => path + mark + place

/** Whether a name is that of such a column, which is the same in all later versions. */
export const isColumn = (name: string): boolean => name.includes(mark)

const topOf = (path: string): string => path.split('.', 1)[0] as string

/** The field that a step took away or made another one; undefined where the newer version answers for it. */
function fieldIn(step: Told, top: string, asks: Asks): Field | undefined {
  const { change, own, concepts } = step
  const { renamed = {}, removed = {}, retyped = {}, mapped = {}, shown = {}, response } = change
  if (Object.hasOwn(removed, top)) return resolved(removed[top] as Field, concepts)
  const is = Object.hasOwn(renamed, top) ? (renamed[top] as string) : top
  const now = Object.hasOwn(own.fields, is) ? resolved(own.fields[is] as Field, concepts) : undefined
  if (!now) return undefined
  if (Object.hasOwn(retyped, is)) {
    const old = resolved(retyped[is] as Field, concepts)
    const answers = now.options[asks] || (asks === 'sort' && !old.options.sort)
    const isSame = !response && answers && columnOf('', old).form === columnOf('', now).form
    return isSame && old.kind !== 'object' ? undefined : old
  }
  if (asks === 'filter' || (!Object.hasOwn(mapped, is) && !Object.hasOwn(shown, is))) return undefined
  if (keepsOrder(now.values ?? [], mapped[is] ?? {}, shown[is] ?? {})) return undefined
  return fieldBefore(is, now, change as Change, { resources: {}, concepts })
}

/** A field at a path, the first name of which is known. */
function inner(field: Field, path: string): Field | undefined {
  let at: Field | undefined = field
  for (const name of path.split('.').slice(1)) at = at?.fields?.[name]
  return at
}

type Told = Pick<Step, 'change' | 'own' | 'concepts'>

/** Whether a field of before has to be answered for by itself: lists ask it, or are in its order. */
function isAsked(step: Told, path: string, asks: Asks): boolean {
  const field = fieldIn(step, topOf(path), asks)
  if (!field) return false
  if (asks === 'filter' || inner(field, path)?.options.sort) return Boolean(inner(field, path)?.options[asks])
  const { order = [], sorts = {} } = step.own
  const { [topOf(path)]: is = topOf(path) } = step.change.renamed ?? {}
  const orders = [order, ...Object.values(sorts)].flat().map((term) => term.replace(/^-/, ''))
  return orders.includes(is + path.slice(topOf(path).length))
}

/** The column that answers for a field of before; null where it is asked of the fields of the newer version. */
export function ownColumn(step: Told & Pick<Step, 'place'>, path: string, asks: Asks): string | null {
  const says = (asks === 'filter' ? step.change.filters : step.change.sorts) ?? {}
  return isAsked(step, path, asks) && !Object.hasOwn(says, path) ? columnName(path, step) : null
}

interface Past {
  /** The steps to the oldest version, the newest first. */
  readonly steps: readonly Step[]
  /** The oldest version that is served and has the resource. */
  readonly served: string
  readonly settings: Settings
}

/** A resource with the columns that its older versions ask, as long as one of them is served. */
export function deriving(today: Resource, past: Past, elsewhere: Elsewhere): Resource {
  const { steps, served } = past
  const isServed = ({ change }: Step): boolean => majorOf(served) < majorOf(change.version as string)
  const spare: Column[] = []
  const wanted: Column[] = []
  for (const [i, step] of steps.entries()) {
    const { removed, retyped, mapped, shown } = step.change
    if (!removed && !retyped && !mapped && !shown) continue
    const old = resourceBefore(step, past)
    for (const column of old.collection.columns) {
      const asks = (['filter', 'sort'] as const).filter((one) => isAsked(step, column.field, one))
      if (asks.length === 0) continue
      const made = columnBy({ today, old, column, steps: steps.slice(0, i + 1) }, elsewhere)
      spare.push(made)
      if (isServed(step) && asks.some((one) => ownColumn(step, column.field, one) !== null)) wanted.push(made)
    }
  }
  if (spare.length === 0) return today
  const { collection } = today
  return { ...today, collection: { ...collection, columns: [...collection.columns, ...wanted], spare } }
}

/** The resource as the version before a step had it. */
function resourceBefore({ change, around }: Step, { settings }: Past): Resource {
  const made = before(around, change as Change)
  const name = change.was ?? (change.resource as string)
  const { resources, concepts = {} } = made
  return resource(name, resources[name] as NonNullable<(typeof resources)[string]>, { resources, concepts, settings })
}

interface Making {
  readonly today: Resource
  readonly old: Resource
  readonly column: Column
  /** The steps from today to the version that has the field, the newest first. */
  readonly steps: readonly Step[]
}

/** The column of an older field. What does not fit that field, or cannot be made, is null. */
function columnBy({ today, old, column, steps }: Making, elsewhere: Elsewhere): Column {
  const top = topOf(column.field)
  const member = old.byName.get(top) as Member
  const names = today.members.map(({ name }) => name)
  const told = conversion(
    steps.reduce((program, step) => back(program, step, elsewhere), plain(today.name, names)),
    [top],
  )
  const heard = audible(today, member)
  const of = (document: Readonly<Document>): unknown => {
    try {
      const value = told(heard(document))[0] ?? member.absent ?? null
      const faults: Violation[] = []
      const fitting = value === null ? null : member.check(value, '', faults)
      const found = faults.length > 0 ? null : valueAt(fitting, column.field)
      return typeof found === 'string' && !isText(found) ? null : found
    } catch {
      return null // `bylaw verify` finds it, and whoever writes today has nothing to do with it
    }
  }
  const step = steps.at(-1) as Step
  const path = columnName(column.field, step)
  const own: Column = { ...column, name: `by_${path}`, field: path, required: false, of }
  const [made, again] = [0, 1].map(() => digest(samples(today).map((one) => cellIn(own, one))))
  if (made !== again) throw new Error(unsteady(step, column.field))
  return { ...own, form: `${column.form} made ${made}` }
}

/** What no document of JSON that is taken has, and no database stores. */
const isText = (text: string): boolean => text.isWellFormed() && !text.includes('\u0000')

const unsteady = ({ change: { version, resource } }: Step, path: string): string =>
  `changes.${version}.${resource}.response: It makes another \`${path}\` of the same item each time, so that no list can be asked for it. Let it depend on the item alone, or leave \`filter\` and \`sort\` out of \`${path}\`.`

/** What an older version makes a field of: nothing that is never answered, or that not all who see the field see. R169. */
function audible({ members }: Resource, { read: scope }: Member): (document: Readonly<Document>) => Document {
  const shown = members.filter(({ hidden }) => !hidden)
  const veiled = new Set(shown.filter(({ read }) => read !== null && read !== scope).map(({ name }) => name))
  return (document) => Object.fromEntries(shown.map(({ name }) => [name, veiled.has(name) ? null : document[name]]))
}

function valueAt(value: unknown, path: string): unknown {
  let at = value
  for (const name of path.split('.').slice(1)) at = isObject(at) ? at[name] : null
  return at ?? null
}

/** Names what is made of the same documents: another function is another column, and functions have no names of their own. */
const digest = (cells: readonly Cell[]): string =>
  createHash('sha256')
    .update(JSON.stringify(cells.map((one) => (typeof one === 'bigint' ? String(one) : one))))
    .digest('hex')
    .slice(0, 12)
