/** States before: the states, transitions and other actions of a resource before a change of a version. Part 9, versions. */
// long because: states, transitions and operations had their older forms by the same rules
import type { Fields } from '../fields/field.ts'
import { isObject } from '../fields/value-check.ts'
import {
  type ParentDeclaration,
  parentDeclarationOf,
  type ResourceDeclaration,
  type VersionedDeclaration,
} from './declaration.ts'
import type { DeclaredOperations, OperationDeclaration } from './own-operations.ts'
import { oldValuesByNew, type ValueMap } from './repoint.ts'
import { stateField } from './service-fields.ts'
import { type StatesDeclaration, stateNames, type TransitionDeclaration } from './states.ts'

/** The parts of a change that states depend on. */
interface Change {
  readonly removed?: Fields
  readonly states?: FormerStates
  readonly renamed?: ValueMap
  readonly added?: readonly string[]
  readonly retyped?: Fields
  readonly mapped?: ValuesByField
  readonly shown?: ValuesByField
  readonly transitions?: ChangedTransitions
  readonly writable?: FormerWritable
}
type ValuesByField = Readonly<Record<string, ValueMap>>

/** The inputs or outputs of an action before a change, declared like the fields of a changed resource. */
interface ChangedMembers {
  /** Old names, each with the new name: `renamed: { carrier: 'forwarder' }`. */
  readonly renamed?: Readonly<Record<string, string>>
  /** Members that only the version before has: `removed: { weight: f.integer() }`. */
  readonly removed?: Fields
  /** Members that only the new version has: `added: ['speed']`. */
  readonly added?: readonly string[]
  /** The old members of which only the type or the bounds changed: `retyped: { carrier: f.text({ max: 20 }) }`. */
  readonly retyped?: Fields
  /** Old values of enums, each with the new one: `mapped: { speed: { idle: 'slow' } }`. */
  readonly mapped?: ValuesByField
}

/** The inputs of a transition or an operation before a change. */
interface ChangedInput extends ChangedMembers {
  /** Inputs that were optional before, with the value for requests without one: `required: { speed: 'slow' }`. */
  readonly required?: Readonly<Record<string, unknown>>
  /** The new inputs from the old ones: `request: ({ weight }) => ({ heavy: weight > 20 })`. */
  // biome-ignore lint/suspicious/noExplicitAny: types of older inputs are not inferred
  readonly request?: (old: any) => Readonly<Record<string, unknown>>
}

/** What becomes of requests for an action that only the version before has. */
export interface WithdrawnAction {
  /** The action that is carried out in its place: `by: 'cancellations'`. */
  readonly by?: string
  /** The status of the refusal: 409, or 410 if the action is gone for good: `refused: 410`. */
  readonly refused?: 409 | 410
}

/** How the transitions or the operations of the version before differ. */
export interface ChangedActions {
  readonly added?: readonly string[]
  readonly renamed?: ValueMap
  readonly withdrawn?: { readonly [name: string]: WithdrawnAction }
  readonly changed?: { readonly [name: string]: object }
}

/** What was different about a transition: `{ from: ['draft', 'placed'] }`, `{ after: 'P7D' }`. */
interface ChangedTransition extends Pick<TransitionDeclaration, 'after' | 'at'> {
  /** The states in which it was possible; in a state that the newest version does not allow, the answer is 409. */
  readonly from?: readonly string[]
  /** The old inputs: `input: { renamed: { carrier: 'forwarder' } }`. */
  readonly input?: ChangedInput
}

/**
 * A transition that only the version before has. Its requests carry out another one (`by`), or are refused.
 * @example returns: { from: ['shipped'], to: 'cancelled', by: 'cancellations' }
 */
export interface WithdrawnTransition
  extends WithdrawnAction,
    Pick<TransitionDeclaration, 'from' | 'to' | 'access' | 'input' | 'after' | 'at'> {}

/** How the transitions of the version before differ. Names are old ones unless a member is described with new ones. */
export interface ChangedTransitions {
  /** Transitions that only the new version has: `added: ['refunds']`. */
  readonly added?: readonly string[]
  /** Old names, each with the new name: `renamed: { voids: 'cancellations' }`. */
  readonly renamed?: Readonly<Record<string, string>>
  /** Transitions that only the version before has. */
  readonly withdrawn?: { readonly [name: string]: WithdrawnTransition }
  /** The parts of transitions that were different, by their new names: `changed: { expiries: { after: 'P7D' } }`. */
  readonly changed?: { readonly [name: string]: ChangedTransition }
  /** For a field that clients wrote before it was a state, the transition of each value: `written: { cancelled: 'cancellations' }`. */
  readonly written?: Readonly<Record<string, string>>
}

/** The states of the version before, if the new one has none; their transitions are all in `transitions.withdrawn`. */
export type FormerStates = Pick<StatesDeclaration, 'field' | 'initial'>

/** The states that allowed writes before a change; null if all did. Where the newest version refuses the write, the answer is 409. */
export interface FormerWritable {
  readonly change?: readonly string[] | null
  readonly remove?: readonly string[] | null
}

/** Whether a change began the states: the field is new, or clients wrote it before. */
export const beginsStates = ({ field }: StatesDeclaration, { added = [], retyped = {} }: Change): boolean =>
  added.includes(field) || Object.hasOwn(retyped, field)

/** The states before a change that ended them; undefined if it ended none. */
export const formerStates = ({ states, transitions = {} }: Change): StatesDeclaration | undefined =>
  states && { ...states, transitions: actionsBefore<TransitionDeclaration>({}, transitions, (_, one) => one) }

/**
 * Adds the former field of states to `retyped`, for a change that ended states and kept their field as an ordinary one. The
 * change may have mistakes.
 */
export function withFormerStateField<C extends Change>(change: C): C {
  const { states, removed, retyped, renamed, transitions } = change
  const ways = Object.values(isObject(transitions?.withdrawn) ? transitions.withdrawn : {})
  const isWhole = ways.every((one) => isObject(one) && Array.isArray(one.from))
  if (!isFormerStates(states) || !isWhole || (removed && Object.hasOwn(removed, states.field))) return change
  const field = stateField(formerStates(change) as StatesDeclaration)
  return { ...change, retyped: { [renamed?.[states.field] ?? states.field]: field, ...retyped } }
}

export const isFormerStates = (one: unknown): one is FormerStates =>
  isObject(one) && typeof one.field === 'string' && typeof one.initial === 'string'

/** Returns the fields before a change. */
type FieldsBefore = (fields: Fields, change: ChangedInput) => Fields

const formerName = (names: ValueMap, name: string): string =>
  Object.keys(names).find((was) => names[was] === name) ?? name

/** The actions under their old names, with those that only the version before has. `before` converts an action to its older form. */
function actionsBefore<T extends object>(
  all: { readonly [name: string]: T },
  { added = [], renamed = {}, withdrawn = {} }: ChangedActions,
  before: (name: string, one: T) => T,
): Record<string, T> {
  const kept = Object.entries(all).filter(([name]) => !added.includes(name))
  const gone = Object.entries(withdrawn).map(([name, { by: _, refused: __, ...one }]) => [name, one as T] as const)
  return Object.fromEntries([
    ...kept.map(([name, one]) => [formerName(renamed, name), before(name, one)] as const),
    ...gone,
  ])
}

/** The states under their old names; undefined if there were none. `set` concerns only the newest version. */
export function statesBefore(
  states: StatesDeclaration,
  change: Change,
  fieldsBefore: FieldsBefore,
): StatesDeclaration | undefined {
  const { renamed = {}, transitions = {} } = change
  if (beginsStates(states, change)) return undefined
  const old = oldStates(states, change)
  const before = (name: string, { set: _, ...one }: TransitionDeclaration): TransitionDeclaration => {
    const { input, ...changed } = transitions.changed?.[name] ?? {}
    const { after, at, catchUp, ...untimed } = one
    const timing = { ...(after && { after }), ...(at && { at: formerName(renamed, at) }), ...(catchUp && { catchUp }) }
    return {
      ...untimed,
      ...(changed.after || changed.at ? {} : timing),
      ...{ from: old(one.from), to: old([one.to])[0] as string },
      ...changed,
      ...(input && { input: fieldsBefore(one.input ?? {}, input) }),
    }
  }
  const writable = writableBefore(states, change, old)
  return {
    field: formerName(renamed, states.field),
    initial: old([states.initial])[0] as string,
    transitions: actionsBefore(states.transitions, transitions, before),
    ...(writable && { writable }),
  }
}

function writableBefore(
  { writable }: StatesDeclaration,
  change: Change,
  old: ReturnType<typeof oldStates>,
): StatesDeclaration['writable'] {
  if (!writable) return undefined
  const was = (['change', 'remove'] as const).flatMap((key) => {
    const former = change.writable?.[key]
    const listed = former === undefined ? writable[key] && old(writable[key]) : former
    return listed ? [[key, listed]] : []
  })
  return Object.fromEntries(was)
}

/** The `parent` of a child with the old names of the parent's states. `change` is that of the parent. */
function parentBefore(parent: ParentDeclaration, states: StatesDeclaration, change: Change): ParentDeclaration {
  if (parent.while === undefined) return parent
  if (beginsStates(states, change)) return withFormerWhile(parent, null)
  return { ...parent, while: oldStates(states, change)(parent.while) }
}

/** Gives the children of a resource the old names of its states in `while`. */
export function childrenBefore(
  resources: VersionedDeclaration['resources'],
  { states }: ResourceDeclaration,
  change: Change & { readonly resource: string },
): VersionedDeclaration['resources'] {
  if (!states) return resources
  const repointed = Object.entries(resources).map(([name, one]) => {
    const parent = parentDeclarationOf(one)
    return [name, parent?.resource === change.resource ? { ...one, parent: parentBefore(parent, states, change) } : one]
  })
  return Object.fromEntries(repointed)
}

/** The `parent` of a child with the states that allowed writes before; null if all did. */
export function withFormerWhile(
  { while: _, ...parent }: ParentDeclaration,
  former: readonly string[] | null,
): ParentDeclaration {
  return former === null ? parent : { ...parent, while: former }
}

/** Makes a function that returns the old names of states, without duplicates. */
export function oldStates(states: StatesDeclaration, { mapped = {}, shown = {} }: Pick<Change, 'mapped' | 'shown'>) {
  const { field } = states
  const down = oldValuesByNew(stateNames(states), mapped[field] ?? {}, shown[field] ?? {})
  return (names: readonly string[]): string[] => [...new Set(names.map((one) => down.get(one) ?? one))]
}

/** A change of a version, with the parts that actions depend on. */
interface ActionChange {
  readonly version?: string
  readonly transitions?: ChangedActions
  readonly operations?: ChangedActions
}

/** The newest form of an older version's transition or operation. */
export interface NewestAction<S> {
  readonly name: string
  /** The steps that changed it, the oldest first, each with its name after the step and what was different before. */
  readonly changes: readonly { readonly step: S; readonly name: string; readonly was: ChangedForm }[]
  /** The status of its refusal and the version that withdrew it; null if it is carried out. */
  readonly refused: { readonly status: 409 | 410; readonly version: string } | null
}

/** The fields of an action before a change. */
interface ChangedForm {
  readonly input?: ChangedInput
  readonly output?: object
}

/** Follows an action of an older version to the newest one; `steps` are the changes since then, the newest first. */
export function newestAction<S extends { readonly change: ActionChange }>(
  steps: readonly S[],
  kind: 'transitions' | 'operations',
  first: string,
): NewestAction<S> {
  let name = first
  const changes: { step: S; name: string; was: ChangedForm }[] = []
  for (const step of steps.toReversed()) {
    const { version = '', [kind]: { withdrawn = {}, renamed = {}, changed = {} } = {} } = step.change
    const gone = Object.hasOwn(withdrawn, name) ? withdrawn[name] : undefined
    if (gone?.refused) return { name, changes, refused: { status: gone.refused, version } }
    name = gone?.by ?? (Object.hasOwn(renamed, name) ? (renamed[name] as string) : name)
    const was = gone || !Object.hasOwn(changed, name) ? undefined : changed[name]
    if (was) changes.push({ step, name, was })
  }
  return { name, changes, refused: null }
}

/** The newest names of the transitions that older versions carry out by writing the state. */
export const writtenTransitions = (steps: readonly { readonly change: Partial<Change> }[]): ReadonlySet<string> =>
  new Set(
    steps.flatMap(({ change }, i) =>
      Object.values(change.transitions?.written ?? {}).map(
        (name) => newestAction(steps.slice(0, i), 'transitions', name).name,
      ),
    ),
  )

/** The output of an operation before a change. */
interface ChangedOutput extends ChangedMembers {
  /** New values of enums, each with the old one that old clients see: `shown: { kind: { free: 'flat' } }`. */
  readonly shown?: ValuesByField
  /** The old members from the new ones: `response: ({ tax }) => ({ vat: tax })`. */
  // biome-ignore lint/suspicious/noExplicitAny: types of older outputs are not inferred
  readonly response?: (now: any) => Readonly<Record<string, unknown>>
}

/**
 * An operation that only the version before has. Its requests carry out another one (`by`), or are refused.
 * @example audits: { at: 'item', output: { ok: f.boolean() }, refused: 410 }
 */
export interface WithdrawnOperation extends WithdrawnAction, OperationDeclaration {}

/** How the operations of the version before differ. Names are old ones unless a member is described with new ones. */
export interface ChangedOperations {
  /** Operations that only the new version has: `added: ['quotes']`. */
  readonly added?: readonly string[]
  /** Old names, each with the new name: `renamed: { prices: 'quotes' }`. */
  readonly renamed?: Readonly<Record<string, string>>
  /** Operations that only the version before has. */
  readonly withdrawn?: { readonly [name: string]: WithdrawnOperation }
  /** The old inputs and outputs, by the new names: `changed: { quotes: { output: { renamed: { sum: 'total' } } } }`. */
  readonly changed?: { readonly [name: string]: { readonly input?: ChangedInput; readonly output?: ChangedOutput } }
}

/** The operations under their old names, with their old inputs and outputs. */
export const operationsBefore = (
  all: DeclaredOperations,
  changes: ChangedOperations,
  fieldsBefore: (fields: Fields, change: ChangedInput & ChangedOutput) => Fields,
): DeclaredOperations =>
  actionsBefore(all, changes, (name, { input: sent = {}, output: answered = {}, ...one }) => {
    const { input = {}, output = {} } = changes.changed?.[name] ?? {}
    return { ...one, input: fieldsBefore(sent, input), output: fieldsBefore(answered, output) }
  })
