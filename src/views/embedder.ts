/** Embedder: plans the rows that an answer embeds, and writes them as its version and its caller see them. R232. */
import { allowAccount, otherRowsRefusal, restrictedFieldRefusal } from '../auth/allow.ts'
import { ConversionError } from '../changes/conversion-error.ts'
import { Problem } from '../errors/problem.ts'
import { type Caller, permits } from '../flow/caller.ts'
import type { EmbeddedRows, StoredRows } from '../flow/found-row.ts'
import type { EmbedTree, RequestContext } from '../flow/intent.ts'
import type { ListRows, RowEmbed } from '../flow/plan.ts'
import { Prepared } from '../flow/prepared.ts'
import { toCase } from '../formats/naming.ts'
import { embeddableNames } from '../lists/embed-names.ts'
import { readSort } from '../lists/sort.ts'
import { type AccessRule, ruleFor } from '../resources/declaration.ts'
import { type Relation, relationsOf } from '../resources/references.ts'
import type { Resource } from '../resources/resource.ts'
import { type Pairing, pairingFrom, pairMembers, withPair } from './paired.ts'
import { convertedRows, type ShownResource, shownRows, viewNow } from './shown-rows.ts'
import { listRulesOf, restrictedColumns } from './version-lists.ts'

/** A resource that embeds others, and the resources of its version, which are complete when the first request arrives. */
export interface EmbeddingResource extends ShownResource {
  readonly contexts: ReadonlyMap<string, ShownResource>
  /** The challenge (WWW-Authenticate) for callers without the rights. R169. */
  readonly challenge: string
}

type Viewer = Pick<RequestContext, 'caller' | 'carried' | 'world'>

/** The resources that are embedded by the names of `embed`. */
type EmbedLevel = (name: string) => Embedded

interface Embedded {
  readonly relation: Relation
  readonly shown: ShownResource
  readonly rule: AccessRule | undefined
  /** The scopes that are needed for the field through which it is found, and for those that its list is sorted by. */
  readonly scopes: readonly string[]
  /** The first page of a list; null for single rows. */
  readonly list: ListRows | null
  /** The pairs of a list of paired items; null for others. */
  readonly pairing: Pairing | null
  readonly below: EmbedLevel
}

export interface Embedder {
  /** The names that `embed` can have. */
  readonly names: readonly string[]
  /** The rules and scopes that names can require. */
  readonly rules: readonly (AccessRule | undefined)[]
  /** The collections that are read for all names. */
  readonly collections: () => readonly string[]
  /** Refuses a caller that may not read one of the named resources or fields. R169. */
  readonly admit: (tree: EmbedTree, caller: Caller) => void
  readonly plan: (tree: EmbedTree, request: Viewer) => readonly RowEmbed[]
  /** The members of `_embedded` for each of the rows of an answer. */
  readonly texts: (tree: EmbedTree, request: Viewer, rows: readonly EmbeddedRows[], count: number) => readonly string[]
  /** The resources that are embedded, and whether callers may see them differently. */
  readonly reach: (tree: EmbedTree) => { readonly resources: readonly string[]; readonly isPersonal: boolean }
}

export function embedderOf(context: EmbeddingResource): Embedder {
  const names = embeddableNames(context.resource, context.resources)
  const level = levelOf(context, context)
  const all = () => names.map((name) => embeddedAt(level, name))
  return {
    names,
    rules: names.flatMap((name) => rulesAt(context.resource, name.split('.'), context.resources)),
    collections: () => [...new Set(all().flatMap(collectionsOf))],
    admit: (tree, caller) => admitNames(level, tree, '', { caller, context }),
    plan: (tree, request) => planLevel(level, context, tree, request),
    texts: (tree, request, rows, count) => embeddedTexts(level, tree, request, rows, count),
    reach: (tree) => {
      const own = embeddedIn(level, tree)
      return { resources: own.map(({ shown }) => shown.resource.name), isPersonal: own.some(isPersonal) }
    },
  }
}

/** Makes the embedded resources of names, each when a request first uses it. */
function levelOf(from: ShownResource, root: EmbeddingResource): EmbedLevel {
  const embedded = new Map<string, Embedded>()
  return (name) => {
    const existing = embedded.get(name) ?? embeddedOf(from, root, name)
    embedded.set(name, existing)
    return existing
  }
}

function embeddedOf({ resource, resources }: ShownResource, root: EmbeddingResource, name: string): Embedded {
  const relation = relationAt(resource, name, resources)
  const shown = root.contexts.get(relation.resource) as ShownResource
  const pairing = relation.pair ? pairingFrom(resource, root.contexts.get(relation.pair) as ShownResource) : null
  const list = relation.by === 'list' ? firstPage(shown, resource, pairing) : null
  const restricted = restrictedColumns(shown.representation)
  const sorted = list?.order.flatMap(({ column }) => restricted.get(column)?.[1] ?? []) ?? []
  const read = relation.by === 'field' ? resource.byName.get(relation.field)?.read : null
  const rule = ruleFor(shown.resource.access, list ? 'list' : 'read')
  return { relation, shown, rule, scopes: read == null ? sorted : [read], list, pairing, below: levelOf(shown, root) }
}

const relationAt = (own: Resource, name: string, resources: ReadonlyMap<string, Resource>): Relation =>
  relationsOf(own.name, resources, own.settings.naming).find((one) => one.name === name) as Relation

/** The first page of the children of an owner, or of the items that are paired with it, in their default order. */
function firstPage(shown: ShownResource, owner: Resource, pairing: Pairing | null): ListRows {
  const { list } = shown.resource.settings
  return {
    do: 'list',
    collection: shown.resource.collection.name,
    parent: { collection: owner.collection.name, id: '', ...(pairing && { pairs: pairing.rows }) },
    account: null,
    time: 0,
    where: [],
    order: readSort(new Map(), listRulesOf(shown), []),
    prepared: new Prepared(),
    window: { from: 'offset', offset: 0, limit: Math.min(list.pageSize, list.maxPageSize) },
    countTo: null,
    withPositions: false,
  }
}

const embeddedAt = (level: EmbedLevel, path: string): Embedded => {
  const [first = '', rest] = path.split('.')
  return rest === undefined ? level(first) : embeddedAt(level(first).below, rest)
}

const embeddedIn = (level: EmbedLevel, tree: EmbedTree): readonly Embedded[] =>
  [...tree].flatMap(([name, below]) => [level(name), ...embeddedIn(level(name).below, below)])

const collectionsOf = ({ shown: { resource, representation }, pairing }: Embedded): readonly string[] => [
  resource.collection.name,
  ...(pairing ? [pairing.rows.collection] : []),
  ...representation.joined.map(({ collection }) => collection),
]

const isPersonal = ({ rule, scopes, shown, pairing }: Embedded): boolean =>
  rule !== 'public' ||
  scopes.length > 0 ||
  (pairing !== null && pairing.rule !== 'public') ||
  [shown, ...(pairing ? [pairing.shown] : [])].some(
    ({ isPersonal, resource: { collection } }) => isPersonal || collection.account !== null,
  )

/** The rules of a name. If rows belong to accounts, callers need credentials too, because only those have an account. */
function rulesAt(
  own: Resource,
  [name = '', ...rest]: readonly string[],
  resources: ReadonlyMap<string, Resource>,
): readonly (AccessRule | undefined)[] {
  const { by, field, resource, pair } = relationAt(own, name, resources)
  const there = resources.get(resource) as Resource
  const paired = pair === undefined ? undefined : (resources.get(pair) as Resource)
  const rule = ruleFor(there.access, by === 'list' ? 'list' : 'read')
  const read = by === 'field' ? own.byName.get(field)?.read : null
  const account = there.collection.account ?? paired?.collection.account ?? null
  const needsAccount = account !== null && own.collection.account === null
  const further = rest.length === 0 ? [] : rulesAt(there, rest, resources)
  return [
    rule,
    ...(paired ? [ruleFor(paired.access, 'read')] : []),
    ...(read == null ? [] : [read]),
    ...(needsAccount ? [undefined] : []),
    ...further,
  ]
}

const inEmbed = { in: 'query', name: 'embed' } as const

function admitNames(
  level: EmbedLevel,
  tree: EmbedTree,
  before: string,
  { caller, context }: { readonly caller: Caller; readonly context: EmbeddingResource },
): void {
  const asking = { caller, challenge: context.challenge, auth: context.resource.settings.auth }
  for (const [name, below] of tree) {
    const path = before + name
    const { rule, scopes, shown, pairing, below: next } = level(name)
    const lacks = scopes.filter((one) => !caller.scopes.has(one))
    if (lacks.length > 0) throw restrictedFieldRefusal(path, 'embed', lacks, asking, inEmbed)
    const refused = [rule, ...(pairing ? [pairing.rule] : [])].filter((one) => !permits(caller, one))
    if (refused.length > 0) throw otherRowsRefusal(`embed ${path}`, refused[0], asking)
    for (const one of pairing ? [shown, pairing.shown] : [shown]) allowAccount(caller, one.resource)
    admitNames(next, below, `${path}.`, { caller, context })
  }
}

function planLevel(level: EmbedLevel, from: ShownResource, tree: EmbedTree, request: Viewer): readonly RowEmbed[] {
  const read = documentReader(from, request)
  return [...tree].map(([name, below]) => {
    const { relation, shown, list, pairing, below: next } = level(name)
    const { collection } = shown.resource
    const field = relation.by === 'list' ? 'id' : relation.field
    const owner = collection.account ?? pairing?.shown.resource.collection.account ?? null
    const account = owner === null ? null : request.caller.account
    return {
      collection: collection.name,
      account,
      joined: shown.representation.joined,
      ids: (rows) => read(rows).map((document) => (document[field] ?? null) as string | null),
      ...(list && { list: { ...list, account, time: request.world.now() } }),
      embeds: [...planLevel(next, shown, below, request), ...(pairing ? pairEmbeds(pairing, shown, request) : [])],
    }
  })
}

/** The pairs of the rows of a list, if they have fields. */
export function pairEmbeds(
  { shown, rows, fields }: Pairing,
  listed: ShownResource,
  request: Viewer,
): readonly RowEmbed[] {
  if (fields.length === 0) return []
  const read = documentReader(listed, request)
  const account = shown.resource.collection.account === null ? null : request.caller.account
  const ids = (listedRows: StoredRows) => read(listedRows).map(({ id }) => id as string)
  return [{ collection: rows.collection, account, joined: [], ids, pairsOf: rows.from, embeds: [] }]
}

/** The items of a list with the fields of their pairs, which are the last of its embedded rows. */
export function withPairs(items: readonly string[], pairing: Pairing, request: Viewer, rows: EmbeddedRows): string[] {
  const members = pairMembers(pairing, request, rows)
  return items.map((item, row) => withPair(item, members[rows.parts[row]?.from ?? -1] ?? ''))
}

type Documents = readonly Readonly<Record<string, unknown>>[]

/** The documents of rows in the version, converted once for all names. */
function documentReader(shown: ShownResource, { caller, world }: Viewer): (rows: StoredRows) => Documents {
  let last: { readonly rows: StoredRows; readonly documents: Documents } | null = null
  return (rows) => {
    if (last?.rows !== rows) last = { rows, documents: documentsIn(shown, { caller, world }, rows) }
    return last.documents
  }
}

function documentsIn(shown: ShownResource, { caller, world }: Omit<Viewer, 'carried'>, rows: StoredRows): Documents {
  try {
    return JSON.parse(`[${convertedRows(shown, viewNow(shown, caller, world), rows)}]`)
  } catch (error) {
    if (error instanceof ConversionError) return [] // reported when the rows themselves are shown
    throw error
  }
}

function embeddedTexts(
  level: EmbedLevel,
  tree: EmbedTree,
  request: Viewer,
  embeddedRows: readonly EmbeddedRows[],
  count: number,
): readonly string[] {
  const members = [...tree].map(([name, below], i) => {
    const { list, shown, pairing, below: next } = level(name)
    const { parts, embedded, ...rows } = embeddedRows[i] as EmbeddedRows
    const texts = orConversionProblem(shown, () =>
      shownRows(shown, viewNow(shown, request.caller, request.world), request.carried, rows),
    )
    const inner = below.size === 0 ? null : embeddedTexts(next, below, request, embedded, texts.length)
    const nested = inner ? texts.map((text, at) => withEmbedded(text, inner[at] as string)) : texts
    const pairs = pairing && embedded[below.size]
    const items = pairs ? withPairs(nested, pairing, request, pairs) : nested
    const more = list && JSON.stringify(toCase('has-more', shown.resource.settings.naming))
    return (row: number) => `${JSON.stringify(name)}:${memberText(items, parts[row], more)}`
  })
  return Array.from({ length: count }, (_, row) => members.map((member) => member(row)).join(','))
}

/** An item, null, or a page of a list, whose member `hasMore` has the given name. */
function memberText(
  items: readonly string[],
  part: EmbeddedRows['parts'][number] | undefined,
  more: string | null,
): string {
  const { from, count, hasMore } = part ?? { from: 0, count: 0, hasMore: false }
  if (more === null) return count === 0 ? 'null' : (items[from] as string)
  return `{"data":[${items.slice(from, from + count).join(',')}],${more}:${hasMore}}`
}

/** An item with the members of `_embedded`. */
export const withEmbedded = (item: string, members: string): string => `${item.slice(0, -1)},"_embedded":{${members}}}`

function orConversionProblem<T>({ resource }: ShownResource, make: () => T): T {
  try {
    return make()
  } catch (cause) {
    if (!(cause instanceof ConversionError)) throw cause
    const message = `One embedded item of ${resource.name} cannot be shown in this version. Leave it out of embed.`
    throw new Problem('version-conversion-failed', message, { cause })
  }
}
