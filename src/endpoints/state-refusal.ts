/** State refusal: refuses writes that the state of an item or of its owner does not allow. Part 3, states. */
import { otherRowsRefusal } from '../auth/allow.ts'
import { Problem } from '../errors/problem.ts'
import { permits } from '../flow/caller.ts'
import type { RefusedState } from '../flow/decision.ts'
import type { Document, Intent, RequestContext } from '../flow/intent.ts'
import type { RowGuard } from '../flow/plan.ts'
import type { Route } from '../flow/route.ts'
import { listInWords, titleInSentence } from '../formats/naming.ts'
import { absentInput, type ServedTransition, stateProblem } from '../resources/machine.ts'
import type { Resource } from '../resources/resource.ts'
import { isSameJson } from '../rows/collection.ts'
import type { EndpointContext } from './item.ts'

/** The refused write, for messages such as `cannot be changed`. */
type RefusedWrite = 'changed' | 'removed' | 'written below'

/** Refuses a transition until nodes that do not know its state have stopped. */
export function admitOpen(
  { representation }: EndpointContext,
  to: string,
  { world }: Pick<RequestContext, 'world'>,
): void {
  const { name, title } = representation.today
  if (world.waiting(name)?.states.has(to))
    throw new Problem(
      'maintenance',
      `Transitions of ${titleInSentence(title)} to this state open when the change of the database is finished; nodes of the former declaration may still run. Try again later.`,
    )
}

/** Refuses a transition that is not possible in the state of the item, or that a later version withdrew. R50. */
export function admitTransition(
  context: EndpointContext,
  { own: { name }, today: { from }, refused }: ServedTransition,
  document: Document,
): void {
  const { today: stored } = context.representation
  const { title, state, is, words } = stateWords(context, stored, document)
  if (refused) {
    const now = stored.machine === null ? 'has no states' : `is ${words([state])}`
    throw new Problem(
      refused.status === 410 ? 'gone' : 'invalid-state',
      `${title} ${now}; ${name} are not possible any more since ${refused.version}.`,
    )
  }
  if (!from.includes(state))
    throw new Problem('invalid-state', `${title} is ${is(from)}; ${name} are possible while it is ${words(from)}.`)
}

/** A write of an existing item. */
interface OwnWrite {
  readonly operation: 'change' | 'remove'
  readonly document: Document
}

/** Refuses a change or a removal that the state of the item does not allow. R222. */
function admitWritable(context: EndpointContext, today: Resource, { operation, document }: OwnWrite): void {
  const allowed = today.machine?.writable[operation] ?? null
  if (allowed !== null)
    admitState(context, today, document, { allowed, refused: operation === 'change' ? 'changed' : 'removed' })
}

/**
 * Refuses a write that the state of the item does not allow, and returns a guard that checks the state of its owner. A rule that
 * old nodes do not have refuses nothing yet, unless the second phase begins before the write is committed.
 */
export function stateGuard(
  context: EndpointContext,
  today: Resource,
  { own, owner }: { readonly own?: OwnWrite; readonly owner: unknown },
  intent: Pick<Intent, 'caller' | 'time' | 'world'>,
): RowGuard | undefined {
  const guard = ownerGuard(context, today, owner, intent)
  const waiting = intent.world.waiting(today.name)?.guards
  if (!waiting?.size) {
    if (own) admitWritable(context, today, own)
    return guard
  }
  return {
    reads: [{ do: 'waiting', collection: today.name }, ...(guard?.reads ?? [])],
    admit: ([first, ...results]) => {
      const waits = (first?.is === 'waiting' && first.parts?.guards) || new Set()
      if (own && !waits.has(own.operation)) admitWritable(context, today, own)
      if (!waits.has('while')) guard?.admit(results)
    },
  }
}

/** Judges a write of an existing item for an explanation. */
export const judgeWrite =
  (context: EndpointContext, operation: OwnWrite['operation']): NonNullable<Route['judgeState']> =>
  (document, request) => {
    const { today } = context.representation
    const owner = document[today.parent?.field ?? '']
    return stateGuard(context, today, { own: { operation, document }, owner }, timed(request))
  }

export const timed = <A extends RequestContext>(request: A): A & Pick<Intent, 'time'> => ({
  ...request,
  time: request.world.now(),
})

/** Checks, under a lock, that the state of the owner allows a write of its child; undefined if all states do. */
function ownerGuard(
  context: EndpointContext,
  { name, parent }: Resource,
  id: unknown,
  { caller, time }: Pick<Intent, 'caller' | 'time'>,
): RowGuard | undefined {
  const allowed = parent?.while ?? null
  if (parent === null || allowed === null || typeof id !== 'string') return undefined
  const owner = context.stored.get(parent.resource) as Resource
  const key = { id, parent: null, account: caller.account }
  const isTotalled = owner.collection.aggregates.some(({ collection }) => collection === name)
  // If the write also changes the owner, a shared lock would have to be upgraded to an exclusive one.
  const lock = isTotalled ? 'update' : 'share'
  return {
    reads: [{ do: 'read', collection: parent.resource, key, time, lock }],
    admit: ([current]) => {
      if (current?.is === 'found')
        admitState(context, owner, JSON.parse(current.doc), { allowed, refused: 'written below' })
    },
  }
}

function admitState(
  context: EndpointContext,
  today: Resource,
  document: Document,
  { allowed, refused }: { readonly allowed: readonly string[]; readonly refused: RefusedWrite },
): void {
  const { title, state, is, words } = stateWords(context, today, document)
  if (allowed.includes(state)) return
  const what = refused === 'written below' ? `what belongs to it cannot be written` : `cannot be ${refused}`
  throw stateProblem(title, is(allowed), what, words(allowed))
}

/** The refusal of a write of a handler, in the words of a version. */
export function handledStateProblem(version: Version, refused: RefusedState): Problem {
  const { resource, document, allowed, transition, what } = refused
  const { title, is, words } = stateWords(version, resource, document)
  const served = ownContext(version, resource)?.transitions.find(({ today }) => today.name === transition)
  return stateProblem(title, is(allowed), what(served?.own.name ?? transition), words(allowed))
}

/** The stored state of an item, and its words in a version. */
interface StateWords {
  readonly title: string
  readonly state: string
  /** The refused state in words. `allowed` are the states that allow the request. */
  readonly is: (allowed: readonly string[]) => string
  readonly words: (states: readonly string[]) => string
}

/** A version with the contexts of its resources. */
type Version = Pick<EndpointContext, 'version' | 'contexts'>

const ownContext = ({ contexts }: Version, { name }: Resource): EndpointContext | undefined =>
  [...contexts.values()].find(({ representation }) => representation.today.name === name)

function stateWords(context: Version, today: Resource, document: Document): StateWords {
  const field = today.machine?.field ?? ''
  const own = ownContext(context, today)
  const nameOf = (state: string) => stateInVersion(own, { ...document, [field]: state }, field)
  const state = String(document[field])
  return {
    title: (own?.resource ?? today).title,
    state,
    is: (allowed) => {
      const name = nameOf(state)
      const isOther = allowed.some((one) => nameOf(one) === name)
      return isOther ? `only shown as ${name} (${context.version} does not have its state)` : name
    },
    words: (states) => listInWords([...new Set(states.map(nameOf))]),
  }
}

/** The name of a state in a version; its stored name if the version does not have the resource. */
function stateInVersion(context: EndpointContext | undefined, document: Document, field: string): string {
  const stored = String(document[field])
  if (!context?.representation.answer) return stored
  try {
    const shown = JSON.parse(context.representation.answer(JSON.stringify(document), [])) as Document
    return String(shown[context.representation.names(field)[0] ?? field] ?? stored)
  } catch {
    return stored // a change function may fail for an item in this state
  }
}

/**
 * A body of an older version may write the state. Carries out the transition to that state, and returns its name; null if the
 * state stays. Refuses a state without a transition to it. `before` is null for a new item. R220, R222.
 */
export function enterWrittenState(
  context: EndpointContext,
  { caller, time, world }: Pick<Intent, 'caller' | 'time' | 'world'>,
  before: Document | null,
  document: Document,
): string | null {
  const { representation, byValue, challenge, resource } = context
  const { machine } = representation.today
  if (byValue === null || machine === null) return null
  const [first, wanted] = [machine.states[0] as string, String(document[machine.field])]
  const { state, words } = stateWords(context, representation.today, before ?? { ...document, [machine.field]: first })
  if (state === wanted) return null
  const possible = byValue.filter(({ from }) => from.includes(state))
  const move = possible.find(({ to }) => to === wanted)
  if (move === undefined) {
    const is = before === null ? 'A new item is' : `${resource.title} is`
    const others = possible.length === 0 ? 'no other state' : words(possible.map(({ to }) => to))
    throw new Problem(
      'invalid-state',
      `${is} ${words([state])} and cannot be set to ${words([wanted])}; it can be set to ${others}.`,
    )
  }
  if (!permits(caller, move.rule)) {
    const field = representation.names(machine.field)[0] ?? machine.field
    const doing = `set ${field} to ${words([wanted])}`
    throw otherRowsRefusal(doing, move.rule, { caller, challenge, auth: resource.settings.auth })
  }
  admitOpen(context, move.to, { world })
  const values = move.values({ time, caller: caller.id === '' ? null : caller.id, input: absentInput(move) })
  Object.assign(document, values)
  return move.name
}

/** The operations of a creation: a body of an older version may also carry out a transition. */
export function operationsOfCreation(
  { byValue, representation: { today } }: EndpointContext,
  document: Document,
): readonly string[] {
  const state = document[today.machine?.field ?? '']
  const entered = state === today.machine?.states[0] ? undefined : byValue?.find(({ to }) => to === state)
  return ['create', ...(entered ? [entered.name] : [])]
}

/** Whether a write changes fields besides the state. */
export const changesOthers = ({ members, machine }: Resource, before: Document, after: Document): boolean =>
  members.some(({ name }) => name !== machine?.field && !isSameJson(before[name], after[name]))
