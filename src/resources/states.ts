/** States: the states of an item and the transitions between them, as a resource declares them. Part 3, states. */
import type { Fields } from '../fields/field.ts'

/**
 * A value that is known only when a transition takes place. `now`, `caller` and `input('name')` are markers.
 * @example set: { shippedAt: now, shippedBy: caller, carrier: input('carrier') }
 */
export interface Marker<Is extends string = string, Name extends string = string> {
  readonly marker: Is
  readonly name: Name
}

/** The time of the transition, for a timestamp: `set: { placedAt: now }`. */
export const now: Marker<'now', ''> = Object.freeze({ marker: 'now', name: '' })
/** The id of the caller, for an optional text; null for callers without credentials: `set: { placedBy: caller }`. */
export const caller: Marker<'caller', ''> = Object.freeze({ marker: 'caller', name: '' })
/** The value that the request gives for an input of the transition: `set: { carrier: input('carrier') }`. */
export const input = <const Name extends string>(name: Name): Marker<'input', Name> =>
  Object.freeze({ marker: 'input', name })

/**
 * A transition from some states to one. Its name is a plural noun, the last part of its URL.
 * @example shipments: { from: ['placed'], to: 'shipped', input: { carrier: f.text() }, set: { carrier: input('carrier') } }
 */
export interface TransitionDeclaration {
  /** The states in which it is possible: `from: ['draft', 'placed']`. */
  readonly from: readonly string[]
  /** The state that it leads to: `to: 'cancelled'`. */
  readonly to: string
  /** The access rule; by default that of `change`: `access: 'orders:ship'`. */
  readonly access?: string
  /** The fields of the request body; by default it has none: `input: { carrier: f.text({ max: 50 }) }`. */
  readonly input?: Fields
  /**
   * Carries out the transition by the clock, this long after the item entered one of the states; it has no URL.
   * @example expiries: { from: ['draft'], to: 'cancelled', after: 'P7D' }
   */
  readonly after?: string
  /** A timestamp field with the time at which the transition takes place, in place of `after`: `at: 'dueAt'`. */
  readonly at?: string
  /** Items that were in the state before the timer was declared count from their last change: `catchUp: true`. */
  readonly catchUp?: true
  /** What it is called in the API's description: `title: 'Ship an order'`. */
  readonly title?: string
  /** What it means, for the API's description: `description: 'The goods leave the warehouse.'`. */
  readonly description?: string
  /** A body that fits `input`, for the API's description: `example: { carrier: 'DHL' }`. */
  readonly example?: { readonly [input: string]: unknown }
  /** Fields of the item that it sets, to constants or markers: `set: { placedAt: now, urgent: false }`. */
  readonly set?: { readonly [field: string]: unknown }
}

/**
 * The states of a resource: a field that only transitions write, and these transitions.
 * @example
 * states: {
 *   field: 'status',
 *   initial: 'draft',
 *   transitions: {
 *     placements: { from: ['draft'], to: 'placed', set: { placedAt: now } },
 *     cancellations: { from: ['draft', 'placed'], to: 'cancelled' },
 *   },
 *   writable: { change: ['draft'] },
 * }
 */
export interface StatesDeclaration {
  /** The name of the field with the state, which is added to the fields: `field: 'status'`. */
  readonly field: string
  /** The state of a new item: `initial: 'draft'`. */
  readonly initial: string
  /** The transitions by name. `POST /orders/{id}/placements` carries one out. */
  readonly transitions: { readonly [name: string]: TransitionDeclaration }
  /** The states in which items can be changed (PUT, PATCH) and removed (DELETE); by default all of them. */
  readonly writable?: WritableStates
  /** What states are called in the API's description: `titles: { draft: 'In preparation' }`. */
  readonly titles?: { readonly [state: string]: string }
  /** What states mean, for the API's description: `descriptions: { draft: 'Not placed yet.' }`. */
  readonly descriptions?: { readonly [state: string]: string }
  /** States that only the engine enters; a declaration cannot have them. */
  readonly entered?: readonly string[]
}

/** The states that allow writes: `writable: { change: ['draft'], remove: ['draft', 'cancelled'] }`. */
interface WritableStates {
  /** The states in which PUT and PATCH are possible: `change: ['draft']`. */
  readonly change?: readonly string[]
  /** The states in which DELETE is possible: `remove: ['draft', 'cancelled']`. */
  readonly remove?: readonly string[]
}

export const statesKeys = [
  'field',
  'initial',
  'transitions',
  'writable',
  'titles',
  'descriptions',
] as const satisfies readonly (keyof StatesDeclaration)[]
export const transitionKeys = [
  'from',
  'to',
  'access',
  'input',
  'set',
  'after',
  'at',
  'catchUp',
  'title',
  'description',
  'example',
] as const satisfies readonly (keyof TransitionDeclaration)[]

/** All states, the initial one first, then as transitions name them. */
export const stateNames = ({ initial, transitions, entered = [] }: StatesDeclaration): readonly string[] => [
  ...new Set([initial, ...entered, ...Object.values(transitions).flatMap(({ from, to }) => [...from, to])]),
]
