/** Aside: what a row keeps for nodes of another declaration during a rolling upgrade, and how the writes of both are merged. Part 2, resources. */

import { isObject } from '../fields/value-check.ts'
import {
  completeDocument,
  type DocumentJoin,
  formerDocument,
  isCompleteView,
  keptForOthersKey,
  type Members,
  type MovedValue,
  membersToKeep,
  mergeThreeWay,
  narrowDocument,
  type ShapedField,
} from './shape.ts'

export const hasKeptForOthers = (hidden: string | null): boolean => hidden?.includes(`"${keptForOthersKey}":`) === true

/** The texts of a row: what is answered, and what never is. */
export interface DocumentTexts {
  readonly doc: string
  readonly hidden: string | null
}

/** A row as it is stored. */
export interface StoredDocument extends DocumentTexts {
  readonly shape: number
}

/** How documents of other shapes follow from each other, by the number of the shape, where versions changed them. */
export interface ShapeConversions {
  readonly toToday?: (shape: number, document: Members) => Members
  /** Null where no version lies between the two shapes. */
  readonly toOlder?: (shape: number, document: Members, rows: readonly (Members | null)[]) => Members | null
  readonly joined?: (shape: number) => readonly DocumentJoin[]
  /** What rows of former versions give to rows of other collections. */
  readonly movedValues?: (shape: number, document: Members) => readonly MovedValue[]
  /** The version that made a shape. */
  readonly versionAt?: (shape: number) => string
}

interface WithFields {
  readonly fields: readonly ShapedField[]
}

/** A stored row as the nodes of one shape see it. */
export interface RowView {
  readonly document: Record<string, unknown>
  /** What it holds for nodes of other shapes, by their number. */
  readonly others: Readonly<Record<number, Members>>
  /**
   * The documents that nodes of this shape saw before they wrote over a row of a newer shape, the first one first. A node of
   * the newer shape compares them with the document that is there now. Empty where none wrote so, and where an earlier release
   * wrote that row: it does not compare.
   */
  readonly views: readonly Members[]
}

/** The members of a hidden text that are kept for nodes of other shapes. */
export const keptForOthers = (hidden: string | null): Readonly<Record<string, Members | readonly Members[]>> =>
  hasKeptForOthers(hidden) ? (JSON.parse(hidden as string)[keptForOthersKey] ?? {}) : {}

/** The documents of `Brought.views` as a hidden text keeps them for a row of a shape. */
export function olderViews(hidden: string | null, shape: number): readonly Members[] {
  const views = keptForOthers(hidden)[shape]
  return Array.isArray(views) ? views : []
}

/** The document of a row of any shape, older or newer, brought to the one with a number. */
export function viewRow(
  { fields, toToday }: WithFields & Pick<ShapeConversions, 'toToday'>,
  own: number,
  { doc, hidden, shape }: StoredDocument,
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
  const raise = (one: Members, kept?: Members) => completeDocument(fields, toToday?.(shape, one) ?? one, kept)
  if (views.length === 0) return { document: raise(whole, mine), others, views: [] }
  // What nodes of the older shape did not change stays as nodes of this one wrote it.
  const all = [...views, whole].map((one) => raise(one))
  const document = all.reduce((now, is, i) => (i === 0 ? now : mergeAllMembers(now, all[i - 1] as Members, is)), mine)
  return { document: inFieldOrder(fields, document), others, views: [] }
}

/** Members that are not kept are what the change makes of them. */
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

/** The declaration that is still served beside today's: the number of its shape, and the paths that it knows. */
export interface FormerShape {
  readonly shape: number
  readonly knows: (path: string) => boolean
}

type WritingCollection = WithFields & Pick<ShapeConversions, 'toOlder'>

/** A hidden text that also keeps what nodes of the former and of newer shapes need of a row. */
export function withKeptForOthers(
  collection: WritingCollection,
  { own, former }: { readonly own: number; readonly former: FormerShape | null },
  seen: RowView | null,
  written: DocumentTexts,
  rows: readonly (Members | null)[] = [],
): string | null {
  const now = { ...JSON.parse(written.hidden ?? '{}'), ...JSON.parse(written.doc) } as Members
  const kept: Record<number, Members | readonly Members[]> = {}
  if (seen)
    for (const [text, document] of Object.entries(seen.others)) {
      const shape = Number(text)
      if (shape > own)
        kept[shape] = seen.views.length > 0 ? document : membersToKeep(collection.fields, document, seen.document, now)
    }
  if (seen && seen.views.length > 0 && Object.keys(kept).length > 0) kept[own] = withView(seen, now)
  if (former) kept[former.shape] = formerView(collection, former, { seen, now, rows })
  const some = Object.entries(kept).filter(([, members]) => Object.keys(members).length > 0)
  if (some.length === 0) return written.hidden
  return JSON.stringify({ ...JSON.parse(written.hidden ?? '{}'), [keptForOthersKey]: Object.fromEntries(some) })
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** The views with one more where a field is again what it was at first, and was not in between: a change back is a change. */
function withView({ document, views }: RowView, now: Members): readonly Members[] {
  const [first = {}] = views
  const isReturned = (name: string) =>
    isSame(now[name], first[name]) &&
    !isSame(document[name], first[name]) &&
    views.every((one) => isSame(one[name], first[name]))
  return Object.keys(now).some(isReturned) ? [...views, document] : views
}

interface RowChange {
  readonly seen: RowView | null
  readonly now: Members
  readonly rows: readonly (Members | null)[]
}

/** What nodes of the former shape show of a row, as far as it differs from the document: what a write did not change stays as they wrote it. */
function formerView(collection: WritingCollection, former: FormerShape, { seen, now, rows }: RowChange): Members {
  const { fields } = collection
  const told = (document: Members, beside: RowChange['rows']): Members =>
    collection.toOlder?.(former.shape, document, beside) ?? formerDocument(fields, document, former.knows)
  const next = told(now, rows)
  const known = seen?.others[former.shape]
  const all = seen && known ? mergeFormerView(known, { seen: seen.document, was: told(seen.document, []), next }) : next
  const differing = Object.entries(all).filter(
    ([name, value]) => !Object.hasOwn(now, name) || !isSame(now[name], value),
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
    // A release that kept no views left former values in objects.
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
