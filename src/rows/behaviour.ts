/**
 * Behaviour: what nodes of a declaration do at a write, such as events and timers, and nodes of another declaration may not
 * do. Part 3, states.
 */
import { type DerivedValue, isSameJson, type ShapedField } from './shape.ts'

type Guard = 'change' | 'remove' | 'while'

/** The behaviour of a resource, as the database remembers it. Derived fields are remembered in the shape. */
export interface Behaviour {
  /** The states that its transitions lead to. */
  readonly states?: readonly string[]
  /** The transitions by the clock. */
  readonly timers?: string
  /** The writes that need a state: of the item (`change`, `remove`), or of its owner (`while`). */
  readonly guards?: readonly Guard[]
  /** Whether writes are recorded as events. */
  readonly events?: true
  /** Whether the revisions of rows are kept. */
  readonly history?: true
}

/** The parts of a behaviour that wait for the second phase of a change, as old nodes would bypass them. */
export interface Waiting {
  /** The states that no transition may lead to yet. */
  readonly states: ReadonlySet<string>
  readonly timers: boolean
  /** The writes that need no state yet. If a declaration only changes the states for a write, the new states apply at once. */
  readonly guards: ReadonlySet<Guard>
  /** Whether writes are not recorded as events yet. */
  readonly events: boolean
  /** Whether revisions are not kept yet. */
  readonly history: boolean
  /** The totals of other rows, which are null until they are filled. */
  readonly totals: ReadonlySet<string>
  /** These totals, and the functions that may follow from them. */
  readonly derived: ReadonlySet<string>
}

/** The names that states had in former versions, by their names now; only of states that were renamed. */
export type FormerStateNames = ReadonlyMap<string, readonly string[]>

interface BehavingCollection {
  readonly fields: readonly ShapedField[]
  readonly behaviour?: Behaviour
  readonly formerStates?: FormerStateNames
}

/** The stored part of a table's layout: its behaviour, and the names of its shapes. */
interface RememberedBehaviour {
  readonly behaviour?: Behaviour
  readonly shapes: readonly string[]
  readonly shape: number
}

/**
 * The states that the former declaration has under another name, each with that name. A name that another state has now is
 * none of them, as events with it would have two meanings.
 */
export function renamedStates(
  { behaviour = {}, formerStates }: Pick<BehavingCollection, 'behaviour' | 'formerStates'>,
  { behaviour: was = {} }: Pick<RememberedBehaviour, 'behaviour'>,
): ReadonlyMap<string, string> {
  const [today, former] = [new Set(behaviour.states), new Set(was.states)]
  const pairs = [...today].flatMap((state) => {
    const name = formerStates?.get(state)?.find((one) => former.has(one) && !today.has(one))
    return former.has(state) || name === undefined ? [] : [[state, name] as const]
  })
  return new Map(pairs)
}

/** The parts that the former declaration does not have or has differently; null if there are no such parts. */
export function waitingParts(collection: BehavingCollection, remembered: RememberedBehaviour): Waiting | null {
  const { fields, behaviour = {} } = collection
  const { behaviour: was = {}, shapes, shape } = remembered
  const renamed = renamedStates(collection, remembered)
  const text = shapes[shape - 1] as string
  const isKnown = ({ name, formerNames }: DerivedValue) =>
    [name, ...formerNames].some((one) => text.includes(JSON.stringify(one)))
  const fresh = fields.filter(({ derived }) => derived && !isKnown(derived))
  const totals = fresh.filter(({ derived }) => derived?.of === null)
  const waiting: Waiting = {
    states: new Set(behaviour.states?.filter((one) => !was.states?.includes(one) && !renamed.has(one))),
    timers: behaviour.timers !== undefined && behaviour.timers !== was.timers,
    guards: new Set(behaviour.guards?.filter((one) => !was.guards?.includes(one))),
    events: behaviour.events === true && was.events !== true,
    history: behaviour.history === true && was.history !== true,
    totals: new Set(totals.map(({ name }) => name)),
    derived: new Set(totals.length === 0 ? [] : fresh.map(({ name }) => name)),
  }
  const { states, timers, guards, events, history } = waiting
  return states.size > 0 || timers || guards.size > 0 || events || history || totals.length > 0 ? waiting : null
}

export const isSameBehaviour = (one: Behaviour = {}, other: Behaviour = {}): boolean => isSameJson(one, other)

/** The fields, with null for totals that documents of older shapes cannot know. */
export const withUnknownTotals = (fields: readonly ShapedField[], totals: Waiting['totals']): readonly ShapedField[] =>
  fields.map((one) =>
    one.derived && totals.has(one.name) ? { ...one, derived: { ...one.derived, unknown: true } } : one,
  )
