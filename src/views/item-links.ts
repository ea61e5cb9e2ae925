/** Item links: the URLs of an item, of its related items, and of the actions that a caller can use on it now. R49, R224. */
import type { CarriedVersion } from '../flow/call.ts'
import { toCase } from '../formats/naming.ts'
import type { AccessRule, RowAlternatives } from '../resources/declaration.ts'
import type { ItemAddress } from '../resources/document.ts'
import type { ServedOperation, ServedTransition } from '../resources/machine.ts'
import type { Resource } from '../resources/resource.ts'
import { type LinkedRelations, linkedRelations, type PathOf, relationForm, relationLinks } from './related-links.ts'
import type { View } from './view.ts'

/** An action on an item of a version: the rule for its callers, and the stored states that allow it; null if all do. */
interface ItemAction {
  readonly name: string
  readonly rule: AccessRule
  /** The items that the rule allows it on; undefined if it is the same for all. */
  readonly rowRule?: RowAlternatives | undefined
  readonly from: readonly string[] | null
  /** The stored state that it leads to; null for other actions. */
  readonly to: string | null
}

/** The actions of a resource in one version, and the rules of its links. */
export interface LinkRules {
  readonly actions: readonly ItemAction[]
  /** The other resources that are linked; null if only actions are. */
  readonly relations: LinkedRelations | null
  /** The rules that decide which links a caller sees. */
  readonly rules: readonly AccessRule[]
}

type Document = Readonly<Record<string, unknown>>

/** The link rules of a resource; null if it has no links. */
export function linkRulesOf(
  own: Resource,
  { transitions, operations }: { transitions: readonly ServedTransition[]; operations: readonly ServedOperation[] },
  resources: ReadonlyMap<string, Resource>,
): LinkRules | null {
  const mode = own.settings.resource.links
  const actions = [
    ...transitions.flatMap(({ own: { name, rule }, today: { from, to, rowRule }, refused }) =>
      refused ? [] : [{ name, rule, rowRule, from, to }],
    ),
    ...operations.flatMap(({ own: { name, at, rule }, today: { rowRule }, refused }) =>
      refused || at !== 'item' ? [] : [{ name, rule, rowRule, from: null, to: null }],
    ),
  ]
  // Refused actions are not linked, but the version describes the links of its items.
  const all = [...transitions, ...operations.filter(({ own: { at } }) => at === 'item')]
  if (mode === 'none' || (mode === 'actions' && all.length === 0)) return null
  const relations = mode === 'all' ? linkedRelations(own, resources) : null
  const { owner = null, references = [], lists = [] } = relations ?? {}
  const linked = [...actions, ...(owner ? [owner] : []), ...references, ...lists]
  const rules = [...linked.map(({ rule }) => rule), ...lists.flatMap(({ also }) => also ?? [])]
  return { actions, relations, rules: [...new Set(rules)] }
}

/** Identifies the rules for the links of an item, besides the item and the caller. If they change, tags change. R121. */
export const linkForm = ({ actions, relations }: Pick<LinkRules, 'actions' | 'relations'>): object => ({
  actions: actions.map(({ name, rule, rowRule, from, to }) => [name, rule, rowRule, from, to]),
  relations: relations && relationForm(relations),
})

/** Adds links to a document: `stored` is the document as it is stored, `shown` as the version shows it. */
export type ItemLinker = (view: View, carried: CarriedVersion, stored: string, shown: string) => string

/** The parts of an item that its links depend on. */
interface LinkedItem {
  readonly key: ItemAddress
  readonly state: string
  /** The document as it is stored, and as the version shows it. */
  readonly stored: string
  readonly shown: string
}

interface LinkPlan {
  readonly own: Resource
  readonly today: Resource
  readonly actions: readonly (ItemAction & { readonly key: string })[]
  readonly relations: LinkedRelations | null
  readonly pathOf: PathOf
  /** The text before the state in a stored document, and the length of that after it; null without states. */
  readonly stateSpan: { readonly before: string; readonly after: number } | null
}

/** `pathOf` makes the paths of items, as the version names them. */
export function itemLinker(
  { own, today }: { own: Resource; today: Resource },
  { actions, relations }: LinkRules,
  pathOf: PathOf,
): ItemLinker {
  const { machine, created, updated } = today
  const after = `","${created}":"","${updated}":""}`.length + 2 * timeLength
  const plan: LinkPlan = {
    own,
    today,
    actions: actions.map((one) => ({ ...one, key: toCase(one.name, own.settings.naming) })),
    relations,
    pathOf,
    stateSpan: machine && { before: `"${machine.field}":"`, after },
  }
  return (view, carried, stored, shown) =>
    `${shown.slice(0, -1)},${linksText(plan, view, carried, itemIn(plan, stored, shown))}}`
}

function linksText(plan: LinkPlan, view: View, carried: CarriedVersion, item: LinkedItem): string {
  const { own, actions, relations, pathOf } = plan
  const self = pathOf(own, item.key, carried)
  const end = self.length - (carried.query === '' ? 0 : carried.query.length + 1)
  const [base, query] = [self.slice(0, end), self.slice(end)]
  let text = `"_links":{"self":"${self}"`
  if (relations) {
    const stored = JSON.parse(item.stored) as Document
    const shown = item.shown === item.stored ? stored : (JSON.parse(item.shown) as Document)
    text += relationLinks(relations, { view, carried, base, query, pathOf }, shown, stored)
  }
  const isPermitted = ({ rule, rowRule }: ItemAction) =>
    view.permitted.has(rule) && (rowRule === undefined || view.permitsOn(rowRule, item.stored))
  for (const action of actions) {
    const { key, name, from, to } = action
    if ((from === null || from.includes(item.state)) && isPermitted(action) && !view.closed.has(to ?? ''))
      text += `,"${key}":"${base}/${name}${query}"`
  }
  return `${text}}`
}

/** Reads the parts from the text of an item, which is only parsed if necessary. */
function itemIn(plan: LinkPlan, stored: string, shown: string): LinkedItem {
  const { own, today } = plan
  const plain = own.key === null && !own.collection.composite
  return {
    key: plain ? { id: stored.slice(7, stored.indexOf('"', 7)), parent: null } : keyOf(own, JSON.parse(stored)),
    state: stateAtEnd(plan, stored) ?? stateOf(today, JSON.parse(stored)),
    stored,
    shown,
  }
}

const stateOf = ({ machine }: Resource, document: Document): string =>
  machine === null ? '' : String(document[machine.field])

const keyOf = ({ collection, parent }: Resource, document: Document): ItemAddress => ({
  id: String(document.id),
  parent: collection.composite ? String(document[parent?.field ?? '']) : null,
})

const timeLength = 24

/** The state in a stored text if it is directly before the two times; otherwise undefined. */
function stateAtEnd({ stateSpan }: LinkPlan, doc: string): string | undefined {
  if (stateSpan === null) return ''
  const end = doc.length - stateSpan.after
  const start = doc.lastIndexOf('"', end - 1) + 1
  return doc.startsWith(stateSpan.before, start - stateSpan.before.length) ? doc.slice(start, end) : undefined
}

/** The names of the links that items can have besides `self`; null if they have none. */
export function linkNames(own: Resource, resources: ReadonlyMap<string, Resource>): readonly string[] | null {
  const mode = own.settings.resource.links
  const named = [...(own.machine?.transitions ?? []), ...own.operations.filter(({ at }) => at === 'item')]
  const actions = named.map(({ name }) => toCase(name, own.settings.naming))
  if (mode === 'none' || (mode === 'actions' && actions.length === 0)) return null
  if (mode === 'actions') return actions
  const { owner, references, lists } = linkedRelations(own, resources)
  return [...(owner ? [owner.name] : []), ...[...references, ...lists].map(({ name }) => name), ...actions]
}
