/** Aside: what a row keeps for nodes of another declaration during a rolling upgrade, and how the writes of both are merged. Part 2, resources. */
import {
  aside,
  type Besides,
  carried,
  completed,
  formerly,
  type Given,
  isWhole,
  type Members,
  merged,
  narrowed,
  type Shaped,
} from './shape.ts'
import { isObject } from './values.ts'

export const hasAside = (hidden: string | null): boolean => hidden?.includes(`"${aside}":`) === true

/** The texts of a row: what is answered, and what never is. */
export interface Texts {
  readonly doc: string
  readonly hidden: string | null
}

/** A row as it is stored. */
export interface Stored extends Texts {
  readonly shape: number
}

/** How documents of other shapes follow from each other, by the number of the shape, where versions changed them. */
export interface Ladder {
  readonly raised?: (shape: number, document: Members) => Members
  /** Null where no version lies between the two shapes. */
  readonly lowered?: (shape: number, document: Members, rows: readonly (Members | null)[]) => Members | null
  readonly besides?: (shape: number) => readonly Besides[]
  /** What rows of former versions give to rows of other collections. */
  readonly gives?: (shape: number, document: Members) => readonly Given[]
  /** The version that made a shape. */
  readonly epochAt?: (shape: number) => string
}

interface Fielded {
  readonly fields: readonly Shaped[]
}

/** A stored row as the nodes of one shape see it. */
export interface Brought {
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
export const keptIn = (hidden: string | null): Readonly<Record<string, Members | readonly Members[]>> =>
  hasAside(hidden) ? (JSON.parse(hidden as string)[aside] ?? {}) : {}

/** The documents of `Brought.views` as a hidden text keeps them for a row of a shape. */
export function viewsIn(hidden: string | null, shape: number): readonly Members[] {
  const views = keptIn(hidden)[shape]
  return Array.isArray(views) ? views : []
}

/** The document of a row of any shape, older or newer, brought to the one with a number. */
export function brought(
  { fields, raised }: Fielded & Pick<Ladder, 'raised'>,
  own: number,
  { doc, hidden, shape }: Stored,
): Brought {
  const { [aside]: kept = {}, ...more } = JSON.parse(hidden ?? '{}') as Record<string, never>
  const { [own]: mine = {}, ...rest } = kept as Record<number, Members>
  const whole = { ...more, ...(JSON.parse(doc) as Members) }
  const views = viewsIn(hidden, shape)
  if (shape === own) return { document: whole, others: rest, views }
  if (shape > own) {
    const document = narrowed(fields, whole, mine)
    return { document, others: { ...rest, [shape]: whole }, views: isWhole(mine) ? [document] : [] }
  }
  const others = { ...rest, [shape]: { [aside]: true, ...whole } }
  const raise = (one: Members, kept?: Members) => completed(fields, raised?.(shape, one) ?? one, kept)
  if (views.length === 0) return { document: raise(whole, mine), others, views: [] }
  // What nodes of the older shape did not change stays as nodes of this one wrote it.
  const all = [...views, whole].map((one) => raise(one))
  const document = all.reduce((now, is, i) => (i === 0 ? now : whollyMerged(now, all[i - 1] as Members, is)), mine)
  return { document: ordered(fields, document), others, views: [] }
}

/** Members that are not kept are what the change makes of them. */
function whollyMerged(now: Members, was: Members, is: Members): Members {
  return Object.fromEntries(
    Object.keys(is).map((name) => [name, Object.hasOwn(now, name) ? merged(now[name], was[name], is[name]) : is[name]]),
  )
}

const ordered = (fields: readonly Shaped[], document: Members): Record<string, unknown> =>
  Object.fromEntries(fields.map(({ name }) => [name, document[name]]))

/** The declaration that is still served beside today's: the number of its shape, and the paths that it knows. */
export interface Former {
  readonly shape: number
  readonly knows: (path: string) => boolean
}

type Writer = Fielded & Pick<Ladder, 'lowered'>

/** A hidden text that also keeps what nodes of the former and of newer shapes need of a row. */
export function withAside(
  collection: Writer,
  { own, former }: { readonly own: number; readonly former: Former | null },
  seen: Brought | null,
  written: Texts,
  rows: readonly (Members | null)[] = [],
): string | null {
  const now = { ...JSON.parse(written.hidden ?? '{}'), ...JSON.parse(written.doc) } as Members
  const kept: Record<number, Members | readonly Members[]> = {}
  if (seen)
    for (const [text, document] of Object.entries(seen.others)) {
      const shape = Number(text)
      if (shape > own)
        kept[shape] = seen.views.length > 0 ? document : carried(collection.fields, document, seen.document, now)
    }
  if (seen && seen.views.length > 0 && Object.keys(kept).length > 0) kept[own] = viewed(seen, now)
  if (former) kept[former.shape] = lowered(collection, former, { seen, now, rows })
  const some = Object.entries(kept).filter(([, members]) => Object.keys(members).length > 0)
  if (some.length === 0) return written.hidden
  return JSON.stringify({ ...JSON.parse(written.hidden ?? '{}'), [aside]: Object.fromEntries(some) })
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** The views with one more where a field is again what it was at first, and was not in between: a change back is a change. */
function viewed({ document, views }: Brought, now: Members): readonly Members[] {
  const [first = {}] = views
  const isReturned = (name: string) =>
    isSame(now[name], first[name]) &&
    !isSame(document[name], first[name]) &&
    views.every((one) => isSame(one[name], first[name]))
  return Object.keys(now).some(isReturned) ? [...views, document] : views
}

interface Writing {
  readonly seen: Brought | null
  readonly now: Members
  readonly rows: readonly (Members | null)[]
}

/** What nodes of the former shape show of a row, as far as it differs from the document: what a write did not change stays as they wrote it. */
function lowered(collection: Writer, former: Former, { seen, now, rows }: Writing): Members {
  const { fields } = collection
  const told = (document: Members, beside: Writing['rows']): Members =>
    collection.lowered?.(former.shape, document, beside) ?? formerly(fields, document, former.knows)
  const next = told(now, rows)
  const known = seen?.others[former.shape]
  const all = seen && known ? asKnown(known, { seen: seen.document, was: told(seen.document, []), next }) : next
  const differing = Object.entries(all).filter(
    ([name, value]) => !Object.hasOwn(now, name) || !isSame(now[name], value),
  )
  return { [aside]: true, ...Object.fromEntries(differing) }
}

interface Views {
  readonly seen: Members
  readonly was: Members
  readonly next: Members
}

function asKnown(given: Members, { seen, was, next }: Views): Members {
  const { [aside]: _, ...known } = given
  const own = (name: string): unknown => {
    if (!Object.hasOwn(known, name)) return seen[name]
    const [is, view] = [known[name], was[name]]
    // A release that kept no views left former values in objects.
    return !isWhole(given) && isObject(is) && isObject(view) ? { ...is, ...view } : is
  }
  const names = [...new Set([...Object.keys(known), ...Object.keys(next)])]
  return Object.fromEntries(
    names.map((name) => [name, Object.hasOwn(next, name) ? merged(own(name), was[name], next[name]) : known[name]]),
  )
}
