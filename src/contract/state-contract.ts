/** State contract: the promises to consumers about the states of a resource. Part 9, versioning. */
import type { FieldTerms } from '../fields/kind.ts'
import { promisedTerms, sortMembers, termsOf } from '../fields/value-terms.ts'
import type { Resource } from '../resources/resource.ts'

export interface TransitionContract {
  readonly from: readonly string[]
  readonly to: string
  readonly input: { readonly [name: string]: FieldTerms }
}

/** A transition by the clock: after an ISO 8601 duration, or at the time in a field. */
export interface TimedContract {
  readonly from: readonly string[]
  readonly to: string
  readonly after?: string
  readonly at?: string
}

/** The states that allow a write; null if all states do. */
export type AllowingStates = readonly string[] | null

export interface StateContract {
  readonly field: string
  readonly initial: string
  readonly timed: { readonly [name: string]: TimedContract }
  readonly transitions: { readonly [name: string]: TransitionContract }
  readonly writable: { readonly change: AllowingStates; readonly remove: AllowingStates }
}

/** The states of a resource, and those of its parent that allow writes; missing if none are declared. */
export interface StatesOfContract {
  readonly states?: StateContract
  readonly while?: readonly string[]
}

export function stateContract({ machine, parent, rules, declaration }: Resource): StatesOfContract {
  const declared = declaration.states?.transitions ?? {}
  const below = parent?.while ?? null
  return {
    ...(machine && {
      states: {
        field: machine.field,
        initial: machine.states[0] as string,
        timed: sortMembers(
          machine.timed.map(({ name, from, to }) => {
            const { after, at } = declared[name] ?? {}
            return [name, { from: from.toSorted(), to, ...(after && { after }), ...(at && { at }) }]
          }),
        ),
        transitions: sortMembers(
          machine.transitions.map(({ name, from, to, input }) => {
            const terms = input.map(
              (one) => [one.name, promisedTerms(termsOf(one.field, rules, undefined, one.name))] as const,
            )
            return [name, { from: from.toSorted(), to, input: sortMembers(terms) }]
          }),
        ),
        writable: {
          change: machine.writable.change?.toSorted() ?? null,
          remove: machine.writable.remove?.toSorted() ?? null,
        },
      },
    }),
    ...(below && { while: below.toSorted() }),
  }
}
