/** Served actions: the transitions of a version, each with the newest one, and its statuses of operations. Part 9, versions. */

import type { ChangeStep } from '../changes/conversion.ts'
import { inputNamesOf, olderInput, olderStatuses, type ShownOperation } from '../changes/older-inputs.ts'
import type { EndpointContext } from '../endpoints/item.ts'
import type { ServedTimer, ServedTransition, Transition } from '../resources/machine.ts'
import type { Resource } from '../resources/resource.ts'
import { newestAction, writtenTransitions } from '../resources/states-before.ts'

/** The transitions of a version, each with the one that is carried out. A refused transition is paired with itself. */
export const servedTransitions = (own: Resource, today: Resource, steps: readonly ChangeStep[]): ServedTransition[] =>
  (own.machine?.transitions ?? []).flatMap((one): ServedTransition[] => {
    const { name, changes, refused } = newestAction(steps, 'transitions', one.name)
    if (refused) return [{ own: one, today: one, older: null, refused }]
    return (today.machine?.transitions ?? [])
      .filter((stored) => stored.name === name)
      .map((stored) => ({ own: one, today: stored, older: olderInput(one, stored, changes), refused }))
  })

/** The transitions by the clock of a version, each with the newest one; without those that a later version withdrew. */
export const servedTimers = (own: Resource, today: Resource, steps: readonly ChangeStep[]): ServedTimer[] =>
  (own.machine?.timed ?? []).flatMap((one): ServedTimer[] => {
    const { name, refused } = newestAction(steps, 'transitions', one.name)
    if (refused) return []
    const { timed = [], transitions = [] } = today.machine ?? {}
    return [...timed, ...transitions]
      .filter((stored) => stored.name === name)
      .map((stored) => ({ own: one, today: stored }))
  })

/** The transitions that a version carries out for callers that write the state; null if the version has states itself. */
export function transitionsByValue(
  own: Resource,
  today: Resource,
  steps: readonly ChangeStep[],
): readonly Transition[] | null {
  const { machine } = today
  if (machine === null || own.machine !== null) return null
  const written = writtenTransitions(steps)
  return machine.transitions.filter(({ name }) => written.has(name))
}

type ServedResource = Pick<EndpointContext, 'resource' | 'representation' | 'operations'>

/** The representation of the statuses, if the version has other names or results of asynchronous operations; else null. */
export function statusForm(
  statuses: ServedResource,
  resources: readonly ServedResource[],
  errors: ReadonlyMap<string, string>,
): EndpointContext['representation'] | null {
  const all = new Map<string, ShownOperation>()
  const changed = new Set<string>()
  for (const { resource, representation, operations } of resources)
    for (const one of operations) {
      const name = `${representation.today.name}.${one.today.name}`
      if (one.older !== null) changed.add(name)
      const shown = { name: `${resource.name}.${one.own.name}`, answer: one.answer, namesOf: inputNamesOf(one) }
      if (!one.refused && !all.has(name)) all.set(name, shown)
    }
  const isSame = [...all].every(([name, one]) => name === one.name && one.answer === null && !changed.has(name))
  if (isSame && [...errors].every(([name, old]) => name === old)) return null
  return olderStatuses(statuses.representation, all, errors)
}
