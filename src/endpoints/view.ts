/** View: how a version shows a resource to a caller, prepared at start. Part 2, shape of a response. */
import { createHash } from 'node:crypto'
import type { Caller } from '../flow/caller.ts'
import type { Other } from '../flow/plan.ts'
import type { Resource } from '../resources/resource.ts'

export interface View {
  readonly major: number
  /** Names what decides the bytes besides the revision: shape, visible fields and what stands for missing ones, links. R121. */
  readonly hash: string
  readonly mode: 'strong' | 'weak' | 'off'
  /** Whether writes need a condition. R129. */
  readonly required: boolean
  /** The fields that are not shown. */
  readonly veiled: ReadonlySet<string>
  /** The fields of today that nothing is made from for this caller. */
  readonly muted: ReadonlySet<string>
  /** The other rows that an answer is completed from, with the same for each. */
  readonly beside: readonly { readonly resource: Resource; readonly muted: ReadonlySet<string> }[]
  /** Whose rows are shown; null where rows belong to nobody. */
  readonly account: string | null
}

/** What a version shows: the resource as it has it, the one of today that it is made from, and how it is made. */
export interface Showing {
  readonly resource: Resource
  readonly today: Resource
  readonly major: number
  readonly made: readonly object[]
  /** The resources, as they are stored, of the other rows that an answer is completed from. */
  readonly beside: readonly Resource[]
}

/** How callers see a resource: all of them alike, unless fields need a scope. */
export function views(showing: Showing): (caller: Pick<Caller, 'scopes' | 'account'>) => View {
  const byScopes = seenWith(showing)
  if (showing.today.collection.account === null) return byScopes
  const known = new WeakMap<object, View>()
  return (caller) => {
    const before = known.get(caller)
    if (before) return before
    const own = { ...byScopes(caller), account: caller.account }
    known.set(caller, own)
    return own
  }
}

function seenWith(showing: Showing): (caller: Pick<Caller, 'scopes'>) => View {
  const members = [showing.resource, showing.today, ...showing.beside].flatMap(({ members }) => members)
  const scopes = [...new Set(members.flatMap(({ read }) => read ?? []))]
  const open = view(showing, () => new Set())
  if (scopes.length === 0) return () => open
  const known = new Map<string, View>()
  return ({ scopes: held }) => {
    const seen = scopes.filter((one) => held.has(one)).join(' ')
    const before = known.get(seen)
    if (before) return before
    const closed = ({ members }: Resource) =>
      new Set(members.filter(({ read }) => read !== null && !held.has(read)).map(({ name }) => name))
    const fresh = view(showing, closed)
    known.set(seen, fresh)
    return fresh
  }
}

function view(showing: Showing, closed: (resource: Resource) => ReadonlySet<string>): View {
  const { resource, major, made } = showing
  const { collection, settings } = resource
  const [veiled, muted] = [closed(resource), closed(showing.today)]
  const beside = showing.beside.map((resource) => ({ resource, muted: closed(resource) }))
  const visible = collection.fields.filter(({ name, hidden }) => !hidden && !veiled.has(name)).map(({ name }) => name)
  const apart = beside.map(({ resource, muted }) => [resource.collection.shape, [...muted]])
  const more = made.length > 0 ? [made, [...muted], apart] : []
  const hash = createHash('sha256')
    .update(text([major, collection.shape, visible, ...more]))
    .digest('hex')
    .slice(0, 6)
  return {
    major,
    hash,
    mode: settings.etag.mode,
    required: settings.concurrency.required,
    veiled,
    muted,
    beside,
    account: null,
  }
}

/** Documents that an older version is made from: what the caller does not see is null, so that nothing is made from it. */
export function audible({ muted }: Pick<View, 'muted'>, docs: string): string {
  if (muted.size === 0 || docs === '') return docs
  const documents = JSON.parse(`[${docs}]`) as Record<string, unknown>[]
  for (const one of documents) for (const name of muted) one[name] = null
  return JSON.stringify(documents).slice(1, -1)
}

/** The same of the other rows that an answer is completed from, by their places. */
export const audibleBeside = (view: View, rows: readonly (Other | null)[] = []): readonly (string | null)[] =>
  rows.map((row, i) => row && audible({ muted: view.beside[i]?.muted ?? new Set() }, row.doc))

/** The same of those that a page is completed from, by their ids. */
export const audiblePages = (view: View, rows: readonly ReadonlyMap<string, string>[]): typeof rows =>
  rows.map((all, i) => {
    const muted = view.beside[i]?.muted ?? new Set()
    return muted.size === 0 ? all : new Map([...all].map(([id, row]) => [id, audible({ muted }, row)]))
  })

/** Documents, joined by commas, as they are shown: the stored text as it is where nothing is veiled. */
export function shown({ veiled }: View, docs: string): string {
  if (veiled.size === 0 || docs === '') return docs
  const documents = JSON.parse(`[${docs}]`) as Record<string, unknown>[]
  const visible = documents.map((one) => Object.fromEntries(Object.entries(one).filter(([name]) => !veiled.has(name))))
  return JSON.stringify(visible).slice(1, -1)
}

const text = (parts: unknown): string =>
  JSON.stringify(parts, (_, value) => (typeof value === 'function' ? String(value) : value))
