/** View: how a version shows a resource to a caller, prepared at start. Part 2, shape of a response. */
import { createHash } from 'node:crypto'
import { isScope } from '../auth/allow.ts'
import { type Caller, nobody, permits } from '../flow/caller.ts'
import type { JoinedRow } from '../flow/found-row.ts'
import type { FieldSelection, FieldTree } from '../flow/intent.ts'
import { Memo } from '../flow/memo.ts'
import type { RowTest } from '../flow/plan.ts'
import type { AccessRule, RowAlternatives } from '../resources/declaration.ts'
import type { Resource } from '../resources/resource.ts'
import type { Waiting } from '../rows/collection.ts'
import { rowTest } from '../rules/row-rules.ts'

export interface View {
  readonly major: number
  /** A hash of everything that determines the bytes besides the revision: shape, visible fields, later changes. R121. */
  readonly hash: string
  readonly mode: 'strong' | 'weak' | 'off'
  /** Whether writes need a precondition. R129. */
  readonly required: boolean
  /** The rules for links that permit the caller. */
  readonly permitted: ReadonlySet<AccessRule>
  /** The states that no transition leads to until nodes of the former declaration have stopped. */
  readonly closed: ReadonlySet<string>
  /** The fields that the caller may not read. */
  readonly unreadable: ReadonlySet<string>
  /** The stored fields that the caller may not read: no shown field is converted from them. */
  readonly masked: ReadonlySet<string>
  /** The joined resources, each with its masked fields. */
  readonly joined: readonly { readonly resource: Resource; readonly masked: ReadonlySet<string> }[]
  /** The fields that a request selects; null if it selects all. */
  readonly selected: FieldSelection | null
  /** Whether a rule of a link that depends on the item, given as it is stored, permits the caller. */
  readonly permitsOn: (rule: RowAlternatives, doc: string) => boolean
  /** The account whose rows are shown, or the caller if links depend on both; null if rows do not belong to accounts. */
  readonly account: string | null
  /** The cached digest of the account in tags. R121. */
  readonly seal: AccountSeal
}

/** Everything that a view is made from: the version's resource, the stored resource, and the changes between them. */
export interface ViewSource {
  readonly resource: Resource
  readonly today: Resource
  readonly major: number
  readonly changes: readonly object[]
  /** The stored resources of joined rows. */
  readonly joined: readonly Resource[]
  /** The rules that decide which links a caller sees. */
  readonly rules: readonly AccessRule[]
  /** The rules that decide the links of an item, besides the item and the caller; null if it has no links. */
  readonly links?: object | null
  /** Whether links of an item depend on the item and the caller. */
  readonly hasRowLinks?: boolean
}

/** The last digest, with the secret and the account that it was made for. */
interface AccountSeal {
  secret: string
  account: string | null
  text: string
}

const noSeal: AccountSeal = { secret: '', account: null, text: '' }
/** How many views of different callers are cached. */
const mostKnown = 1000

/** The parts of a caller that a view depends on. */
export type ViewingCaller = Pick<Caller, 'id' | 'scopes' | 'account' | 'unrestricted'>

/** Makes the function that returns a caller's view; views differ by scopes and account. */
export function viewsOf(showing: ViewSource): (caller: ViewingCaller) => View {
  const byScopes = viewsByScopes(showing)
  const { today, hasRowLinks = false } = showing
  if (today.collection.account === null && !hasRowLinks) return byScopes
  const views = new Memo<object, View>(mostKnown)
  return (caller) => {
    const account = hasRowLinks ? JSON.stringify([caller.account, caller.id]) : caller.account
    const own = hasRowLinks && { permitsOn: rowPermission(today, caller) }
    return views.get(caller) ?? views.set(caller, { ...byScopes(caller), ...own, account, seal: { ...noSeal } })
  }
}

/** Tests are made once for each rule. */
function rowPermission(resource: Resource, caller: ViewingCaller): View['permitsOn'] {
  const tests = new Map<RowAlternatives, RowTest | null>()
  return (alternatives, doc) => {
    const existing = tests.get(alternatives)
    const test = existing === undefined ? rowTest({ resource, alternatives }, caller) : existing
    tests.set(alternatives, test)
    return test?.matches(doc) ?? true
  }
}

const nothingClosed: ReadonlySet<string> = new Set()

/** A view whose links, and so whose tags, lack the transitions that wait for a change of the database. */
export function viewWhile(view: View, waiting: Waiting | null): View {
  if (waiting === null || waiting.states.size === 0) return view
  return { ...view, hash: hashOf([view.hash, ...waiting.states]), closed: waiting.states }
}

/** A view of the selected fields alone, with tags of its own. R233. */
export const viewOfFields = (view: View, selected: FieldSelection | null): View =>
  selected === null ? view : { ...view, hash: hashOf([view.hash, 'fields', selected.names]), selected }

const hashOf = (parts: unknown): string => createHash('sha256').update(stringify(parts)).digest('hex').slice(0, 6)

function viewsByScopes(showing: ViewSource): (caller: ViewingCaller) => View {
  const members = [showing.resource, showing.today, ...showing.joined].flatMap(({ members }) => members)
  const { rules } = showing
  const scopes = [...new Set([...members.flatMap(({ read }) => read ?? []), ...rules.filter(isScope)])]
  const open = makeView(showing, () => new Set(), new Set(rules))
  if (scopes.length === 0 && !rules.includes('authenticated')) return () => open
  const views = new Memo<string, View>(mostKnown)
  return (caller) => {
    const held = caller.scopes
    const seen = [caller.id === nobody.id, ...scopes.filter((one) => held.has(one))].join(' ')
    const before = views.get(seen)
    if (before) return before
    const closed = ({ members }: Resource) =>
      new Set(members.filter(({ read }) => read !== null && !held.has(read)).map(({ name }) => name))
    return views.set(seen, makeView(showing, closed, new Set(rules.filter((rule) => permits(caller, rule)))))
  }
}

function makeView(
  showing: ViewSource,
  closed: (resource: Resource) => ReadonlySet<string>,
  permitted: ReadonlySet<AccessRule>,
): View {
  const { resource, major, changes } = showing
  const { collection, settings } = resource
  const [unreadable, masked] = [closed(resource), closed(showing.today)]
  const joined = showing.joined.map((resource) => ({ resource, masked: closed(resource) }))
  const visible = collection.fields
    .filter(({ name, writeOnly }) => !writeOnly && !unreadable.has(name))
    .map(({ name }) => name)
  const joinedShapes = joined.map(({ resource, masked }) => [resource.collection.shape, [...masked]])
  const more = changes.length > 0 ? [changes, [...masked], joinedShapes] : []
  const linked = showing.links ? [showing.links, [...permitted]] : []
  return {
    major,
    hash: hashOf([major, collection.shape, visible, ...more, ...linked]),
    mode: settings.etag.mode,
    required: settings.concurrency.required,
    permitted,
    closed: nothingClosed,
    unreadable,
    masked,
    joined,
    selected: null,
    permitsOn: () => true,
    account: null,
    seal: { ...noSeal },
  }
}

/** Sets the fields that the caller may not read to null, before documents are converted to an older version. */
export function maskDocuments({ masked }: Pick<View, 'masked'>, docs: string): string {
  if (masked.size === 0 || docs === '') return docs
  const documents = JSON.parse(`[${docs}]`) as Record<string, unknown>[]
  for (const one of documents) for (const name of masked) one[name] = null
  return JSON.stringify(documents).slice(1, -1)
}

/** The same for the joined rows of an item, in their order. */
export const maskJoined = (view: View, rows: readonly (JoinedRow | null)[] = []): readonly (string | null)[] =>
  rows.map((row, i) => row && maskDocuments({ masked: view.joined[i]?.masked ?? new Set() }, row.doc))

/** The same for the joined rows of a page, by id. */
export const maskJoinedPages = (view: View, rows: readonly ReadonlyMap<string, string>[]): typeof rows =>
  rows.map((all, i) => {
    const masked = view.joined[i]?.masked ?? new Set()
    return masked.size === 0 ? all : new Map([...all].map(([id, row]) => [id, maskDocuments({ masked }, row)]))
  })

/** Removes the fields that the caller may not read or did not select from documents that are joined by commas. */
export function omitUnseen({ unreadable, selected }: View, docs: string): string {
  if ((unreadable.size === 0 && selected === null) || docs === '') return docs
  const documents = JSON.parse(`[${docs}]`) as Record<string, unknown>[]
  const visible = documents.map((one) =>
    Object.fromEntries(Object.entries(one).filter(([name]) => !unreadable.has(name))),
  )
  return JSON.stringify(selected === null ? visible : membersIn(visible, selected.tree)).slice(1, -1)
}

/** The members of a value that a tree names; of a list, those of its items. */
function membersIn(value: unknown, tree: FieldTree | null): unknown {
  if (tree === null || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((one) => membersIn(one, tree))
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) =>
      tree.has(name) ? [[name, membersIn(one, tree.get(name) ?? null)]] : [],
    ),
  )
}

const stringify = (parts: unknown): string =>
  JSON.stringify(parts, (_, value) => (typeof value === 'function' ? String(value) : value))
