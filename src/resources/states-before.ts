/** States before: the states and transitions of a resource before a change of a version. Part 9, versions. */
import type { Fields } from '../fields/field.ts'
import type { ParentDeclaration } from './declaration.ts'
import { oldValuesByNew, type ValueMap } from './old-values.ts'
import { type StatesDeclaration, stateNames, type TransitionDeclaration } from './states.ts'

/** The parts of a change that states depend on. */
interface Change {
  readonly renamed?: ValueMap
  readonly added?: readonly string[]
  readonly retyped?: Fields
  readonly mapped?: ValuesByField
  readonly shown?: ValuesByField
  readonly transitions?: ChangedTransitions
  readonly writable?: FormerWritable
}
type ValuesByField = Readonly<Record<string, ValueMap>>

/** The inputs of a transition before a change, in the form in which the change of a resource declares fields. */
interface ChangedInput {
  /** Old names of inputs, each with the new name: `renamed: { carrier: 'forwarder' }`. */
  readonly renamed?: Readonly<Record<string, string>>
  /** Inputs that only the version before has: `removed: { weight: f.integer() }`. */
  readonly removed?: Fields
  /** Inputs that only the new version has: `added: ['speed']`. */
  readonly added?: readonly string[]
  /** The old inputs of which only the type or the bounds changed: `retyped: { carrier: f.text({ max: 20 }) }`. */
  readonly retyped?: Fields
  /** Inputs that were optional before, with the value for requests without one: `required: { speed: 'slow' }`. */
  readonly required?: Readonly<Record<string, unknown>>
  /** Old values of enums, each with the new one: `mapped: { speed: { idle: 'slow' } }`. */
  readonly mapped?: ValuesByField
  /** The new inputs from the old ones: `request: ({ weight }) => ({ heavy: weight > 20 })`. */
  // biome-ignore lint/suspicious/noExplicitAny: types of older inputs are not inferred
  readonly request?: (old: any) => Readonly<Record<string, unknown>>
}

/** The parts of a transition that were different: `{ from: ['draft', 'placed'] }`, `{ after: 'P7D' }`. */
interface ChangedTransition extends Pick<TransitionDeclaration, 'after' | 'at'> {
  /** The states in which it was possible; requests in other states than today's are refused with 409. */
  readonly from?: readonly string[]
  /** The old inputs: `input: { renamed: { carrier: 'forwarder' } }`. */
  readonly input?: ChangedInput
}

/**
 * A transition that only the version before has. Its requests carry out another one (`by`), or are refused.
 * @example returns: { from: ['shipped'], to: 'cancelled', by: 'cancellations' }
 */
export interface WithdrawnTransition
  extends Pick<TransitionDeclaration, 'from' | 'to' | 'access' | 'input' | 'after' | 'at'> {
  /** The transition that is carried out in its place: `by: 'cancellations'`. */
  readonly by?: string
  /** The status of the refusal: 409, or 410 to say that it is gone: `refused: 410`. */
  readonly refused?: 409 | 410
}

/** How the transitions of the version before differ. Names are old ones, except where a member asks for new ones. */
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

/** The states that allowed writes before a change; null if all did. If the newest version refuses the write, the answer is 409. */
export interface FormerWritable {
  readonly change?: readonly string[] | null
  readonly remove?: readonly string[] | null
}

/** Whether a change began the states: the field is new, or clients wrote it before. */
export const beginsStates = ({ field }: StatesDeclaration, { added = [], retyped = {} }: Change): boolean =>
  added.includes(field) || Object.hasOwn(retyped, field)

/** Returns the fields before a change. */
type FieldsBefore = (fields: Fields, change: ChangedInput) => Fields

/** The states under their old names; undefined if the old version had no states. `set` concerns only the newest version. */
export function statesBefore(
  states: StatesDeclaration,
  change: Change,
  fieldsBefore: FieldsBefore,
): StatesDeclaration | undefined {
  const { renamed = {}, transitions = {} } = change
  if (beginsStates(states, change)) return undefined
  const old = oldStates(states, change)
  const formerName = (names: ValueMap, name: string) => Object.keys(names).find((was) => names[was] === name) ?? name
  const kept = Object.entries(states.transitions).flatMap(([name, { set: _, ...one }]) => {
    if (transitions.added?.includes(name)) return []
    const { input, ...changed } = transitions.changed?.[name] ?? {}
    const { after, at, catchUp, ...untimed } = one
    const timing = { ...(after && { after }), ...(at && { at: formerName(renamed, at) }), ...(catchUp && { catchUp }) }
    const was = {
      ...untimed,
      ...(changed.after || changed.at ? {} : timing),
      ...{ from: old(one.from), to: old([one.to])[0] as string },
      ...changed,
      ...(input && { input: fieldsBefore(one.input ?? {}, input) }),
    }
    return [[formerName(transitions.renamed ?? {}, name), was] as const]
  })
  const gone = Object.entries(transitions.withdrawn ?? {}).map(([name, { by: _, refused: __, ...one }]) => [name, one])
  const writable = writableBefore(states, change, old)
  return {
    field: formerName(renamed, states.field),
    initial: old([states.initial])[0] as string,
    transitions: Object.fromEntries([...kept, ...gone]),
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
export function parentBefore(parent: ParentDeclaration, states: StatesDeclaration, change: Change): ParentDeclaration {
  if (parent.while === undefined) return parent
  if (beginsStates(states, change)) return withFormerWhile(parent, null)
  return { ...parent, while: oldStates(states, change)(parent.while) }
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

/** The newest form of a transition of an older version. */
export interface NewestTransition<S> {
  readonly name: string
  /** The changes of its inputs, the oldest first. */
  readonly inputs: readonly (S & { readonly change: ChangedInput })[]
  /** The status of its refusal and the version that withdrew it; null if it is carried out. */
  readonly refused: { readonly status: 409 | 410; readonly version: string } | null
}

/** Follows a transition of an older version to the newest one; `steps` are the changes since then, the newest first. */
export function newestTransition<S extends { readonly change: Partial<Change> & { readonly version?: string } }>(
  steps: readonly S[],
  first: string,
): NewestTransition<S> {
  let name = first
  const inputs: (S & { change: ChangedInput })[] = []
  for (const step of steps.toReversed()) {
    const { transitions = {}, version = '' } = step.change
    const gone = transitions.withdrawn?.[name]
    if (gone?.refused) return { name, inputs, refused: { status: gone.refused, version } }
    name = gone?.by ?? transitions.renamed?.[name] ?? name
    const change = gone ? undefined : transitions.changed?.[name]?.input
    if (change) inputs.push({ ...step, change })
  }
  return { name, inputs, refused: null }
}

/** The newest names of the transitions that older versions carry out by writing the state. */
export const writtenTransitions = (steps: readonly { readonly change: Partial<Change> }[]): ReadonlySet<string> =>
  new Set(
    steps.flatMap(({ change }, i) =>
      Object.values(change.transitions?.written ?? {}).map((name) => newestTransition(steps.slice(0, i), name).name),
    ),
  )
