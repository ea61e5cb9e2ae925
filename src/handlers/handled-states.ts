/** Handled states: refuses writes of handlers that the state of a row or of its owner does not allow. R50, R222. */
import { Problem } from '../errors/problem.ts'
import type { RefusedState } from '../flow/decision.ts'
import type { Document } from '../flow/intent.ts'
import { listInWords } from '../formats/naming.ts'
import { stateProblem } from '../resources/machine.ts'
import type { Resource } from '../resources/resource.ts'

/** The refusal of a state, in the words of the newest version. */
export class StateRefusal extends Problem {
  readonly refused: RefusedState

  constructor(refused: RefusedState) {
    const { resource, document, allowed, transition, what } = refused
    const state = String(document[resource.machine?.field ?? ''])
    super('invalid-state', stateProblem(resource.title, state, what(transition), listInWords(allowed)).message)
    this.refused = refused
  }
}

type RefusedWrite = 'cannot be changed' | 'cannot be removed' | 'what belongs to it cannot be written'

/** Refuses a write if the state is not one of those that allow it; null allows all. */
export function admitState(
  resource: Resource,
  document: Document | null,
  allowed: readonly string[] | null | undefined,
  what: RefusedWrite | { readonly transition: string },
): void {
  const { machine } = resource
  if (document === null || !machine || allowed == null || allowed.includes(String(document[machine.field]))) return
  const refused = { resource, document, allowed }
  throw new StateRefusal(
    typeof what === 'string'
      ? { ...refused, what: () => what }
      : { ...refused, ...what, what: (name) => `${name} are not possible` },
  )
}
