/** Kept for others: during a rolling upgrade a row keeps values for nodes of the other declaration. Part 2, resources. */

import { isObject } from '../fields/value-check.ts'
import {
  completeDocument,
  type DocumentJoin,
  formerDocument,
  isCompleteView,
  isSameJson,
  keptForOthersKey,
  type Members,
  type MovedValue,
  membersToKeep,
  mergeThreeWay,
  narrowDocument,
  type ShapedField,
  writeOnlyNamesIn,
} from './shape.ts'

export const hasKeptForOthers = (hidden: string | null): boolean => hidden?.includes(`"${keptForOthersKey}":`) === true

/** The texts of a row: `doc` is answered; `hidden` never is: write-only fields, and values for other nodes. */
export interface DocumentTexts {
  readonly doc: string
  readonly hidden: string | null
}

/** A row as it is stored. */
export interface StoredDocument extends DocumentTexts {
  readonly shape: number
  /** Set for the row of an event, a revision or a kept answer, which has no write-only values. */
  readonly recorded?: boolean
}

/** Converts documents between shapes (by their number), if versions changed documents. */
export interface ShapeConversions {
  readonly toToday?: (shape: number, document: Members, recorded?: boolean) => Members
  /** Null if no version lies between the two shapes. */
  readonly toOlder?: (shape: number, document: Members, rows: readonly (Members | null)[]) => Members | null
  readonly joined?: (shape: number) => readonly DocumentJoin[]
  /** The values that a row of a former version passes to rows of other collections. */
  readonly movedValues?: (shape: number, document: Members, recorded?: boolean) => readonly MovedValue[]
  /** The version that introduced a shape. */
  readonly versionAt?: (shape: number) => string
  /** Makes the members of a record of a shape those that the declared version of it has now, by their present names; null if they are. */
  readonly record?: (shape: number) => ((document: Members) => Members) | null
}

interface WithFields {
  readonly fields: readonly ShapedField[]
}

/** A stored row as nodes of one shape see it. */
export interface RowView {
  readonly document: Record<string, unknown>
  /** The values that it keeps for nodes of other shapes, by the number of the shape. */
  readonly others: Readonly<Record<number, Members>>
  /**
   * If nodes of this shape wrote over a row of a newer shape: the documents that they saw before, oldest first. A node of
   * the newer shape compares them with the current document to find the changes. Empty if there was no such write, or if
   * the row was written by an earlier release, which does not compare.
   */
  readonly views: readonly Members[]
}

/** The values that a hidden text keeps for nodes of other shapes, by the number of the shape. */
export const keptForOthers = (hidden: string | null): Readonly<Record<string, Members | readonly Members[]>> =>
  hasKeptForOthers(hidden) ? (JSON.parse(hidden as string)[keptForOthersKey] ?? {}) : {}

/** The documents of `RowView.views`, as the hidden text of a row of this shape keeps them. */
export function olderViews(hidden: string | null, shape: number): readonly Members[] {
  const views = keptForOthers(hidden)[shape]
  return Array.isArray(views) ? views : []
}

/** Converts a row of any shape, older or newer, to the shape `own`. */
export function viewRow(
  { fields, toToday }: WithFields & Pick<ShapeConversions, 'toToday'>,
  own: number,
  { doc, hidden, shape, recorded }: StoredDocument,
): RowView {
  const { [keptForOthersKey]: kept = {}, ...more } = JSON.parse(hidden ?? '{}') as Record<string, never>
  const { [own]: mine = {}, ...rest } = kept as Record<number, Members>
  const whole = { ...more, ...(JSON.parse(doc) as Members) }
  const views = olderViews(hidden, shape)
  if (shape === own) return { document: whole, others: rest, views }
  if (shape > own) {
    const document = narrowDocument(fields, whole, mine)
    return { document, others: { ...rest, [shape]: whole }, views: isCompleteView(mine) ? [document] : [] }
  }
  const others = { ...rest, [shape]: { [keptForOthersKey]: true, ...whole } }
  const convert = (one: Members, kept?: Members) =>
    completeDocument(fields, toToday?.(shape, one, recorded) ?? one, kept, recorded)
  if (views.length === 0) return { document: convert(whole, mine), others, views: [] }
  // Only the changes that nodes of the older shape made are applied to the document that nodes of this shape wrote.
  const all = [...views, whole].map((one) => convert(one))
  const document = all.reduce((now, is, i) => (i === 0 ? now : mergeAllMembers(now, all[i - 1] as Members, is)), mine)
  return { document: inFieldOrder(fields, document), others, views: [] }
}

/** Applies the changes from `was` to `is`; a member that `now` lacks is taken from `is`. */
function mergeAllMembers(now: Members, was: Members, is: Members): Members {
  return Object.fromEntries(
    Object.keys(is).map((name) => [
      name,
      Object.hasOwn(now, name) ? mergeThreeWay(now[name], was[name], is[name]) : is[name],
    ]),
  )
}

const inFieldOrder = (fields: readonly ShapedField[], document: Members): Record<string, unknown> =>
  Object.fromEntries(fields.map(({ name }) => [name, document[name]]))

/** The former declaration, which old nodes still serve: the number of its shape, and whether it has a field at a path. */
export interface FormerShape {
  readonly shape: number
  readonly knows: (path: string) => boolean
}

type WritingCollection = WithFields & Pick<ShapeConversions, 'toOlder'>

/** The hidden text of a row that is written, with the values for nodes of the former shape and of newer shapes. */
export function withKeptForOthers(
  collection: WritingCollection,
  { own, former }: { readonly own: number; readonly former: FormerShape | null },
  view: RowView | null,
  written: DocumentTexts,
  rows: readonly (Members | null)[] = [],
): string | null {
  const now = { ...JSON.parse(written.hidden ?? '{}'), ...JSON.parse(written.doc) } as Members
  const kept: Record<number, Members | readonly Members[]> = {}
  if (view)
    for (const [text, document] of Object.entries(view.others)) {
      const shape = Number(text)
      if (shape > own)
        kept[shape] = view.views.length > 0 ? document : membersToKeep(collection.fields, document, view.document, now)
    }
  if (view && view.views.length > 0 && Object.keys(kept).length > 0) kept[own] = withView(view, now)
  if (former) kept[former.shape] = formerView(collection, former, { view, now, rows })
  const some = Object.entries(kept).filter(([, members]) => Object.keys(members).length > 0)
  if (some.length === 0) return written.hidden
  return JSON.stringify({ ...JSON.parse(written.hidden ?? '{}'), [keptForOthersKey]: Object.fromEntries(some) })
}

/** The views, and one more if a field returns to its first value, so that changing it back counts as a change. */
function withView({ document, views }: RowView, now: Members): readonly Members[] {
  const [first = {}] = views
  const isReturned = (name: string) =>
    isSameJson(now[name], first[name]) &&
    !isSameJson(document[name], first[name]) &&
    views.every((one) => isSameJson(one[name], first[name]))
  return Object.keys(now).some(isReturned) ? [...views, document] : views
}

/** The values that a hidden text keeps for others, without write-only ones; `structures` are the names of all shapes in order. */
export function keptWithoutWriteOnly(hidden: string | null, structures: readonly string[]): string {
  const kept = Object.entries(keptForOthers(hidden)).map(([shape, members]) => {
    const names = writeOnlyNamesIn(structures[Number(shape) - 1] ?? '[]')
    const rest = (all: Members): Members => Object.fromEntries(Object.entries(all).filter(([name]) => !names.has(name)))
    return [shape, Array.isArray(members) ? members.map(rest) : rest(members as Members)]
  })
  return JSON.stringify({ [keptForOthersKey]: Object.fromEntries(kept) })
}

interface RowChange {
  readonly view: RowView | null
  readonly now: Members
  readonly rows: readonly (Members | null)[]
}

/** The values for old nodes that differ from the document; values that a write did not change stay as old nodes wrote them. */
function formerView(collection: WritingCollection, former: FormerShape, { view, now, rows }: RowChange): Members {
  const { fields } = collection
  const viewOf = (document: Members, joined: RowChange['rows']): Members =>
    collection.toOlder?.(former.shape, document, joined) ?? formerDocument(fields, document, former.knows)
  const next = viewOf(now, rows)
  const known = view?.others[former.shape]
  const all =
    view && known ? mergeFormerView(known, { seen: view.document, was: viewOf(view.document, []), next }) : next
  const differing = Object.entries(all).filter(
    ([name, value]) => !Object.hasOwn(now, name) || !isSameJson(now[name], value),
  )
  return { [keptForOthersKey]: true, ...Object.fromEntries(differing) }
}

interface ThreeViews {
  readonly seen: Members
  readonly was: Members
  readonly next: Members
}

function mergeFormerView(given: Members, { seen, was, next }: ThreeViews): Members {
  const { [keptForOthersKey]: _, ...known } = given
  const own = (name: string): unknown => {
    if (!Object.hasOwn(known, name)) return seen[name]
    const [is, view] = [known[name], was[name]]
    // In objects that an earlier release kept, only the members that the document lacks are current.
    return !isCompleteView(given) && isObject(is) && isObject(view) ? { ...is, ...view } : is
  }
  const names = [...new Set([...Object.keys(known), ...Object.keys(next)])]
  return Object.fromEntries(
    names.map((name) => [
      name,
      Object.hasOwn(next, name) ? mergeThreeWay(own(name), was[name], next[name]) : known[name],
    ]),
  )
}
