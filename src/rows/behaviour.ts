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

interface BehavingCollection {
  readonly fields: readonly ShapedField[]
  readonly behaviour?: Behaviour
}

/** The stored part of a table's layout: its behaviour, and the names of its shapes. */
interface RememberedBehaviour {
  readonly behaviour?: Behaviour
  readonly shapes: readonly string[]
  readonly shape: number
}

/** The parts that the former declaration does not have or has differently; null if there are no such parts. */
export function waitingParts(
  { fields, behaviour = {} }: BehavingCollection,
  { behaviour: was = {}, shapes, shape }: RememberedBehaviour,
): Waiting | null {
  const text = shapes[shape - 1] as string
  const isKnown = ({ name, formerNames }: DerivedValue) =>
    [name, ...formerNames].some((one) => text.includes(JSON.stringify(one)))
  const fresh = fields.filter(({ derived }) => derived && !isKnown(derived))
  const totals = fresh.filter(({ derived }) => derived?.of === null)
  const waiting: Waiting = {
    states: new Set(behaviour.states?.filter((one) => !was.states?.includes(one))),
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
