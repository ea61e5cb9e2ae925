/** Handled states: refuses writes of handlers that the state of a row or of its owner does not allow. R50, R222. */
import type { Document } from '../flow/intent.ts'
import { listInWords } from '../formats/naming.ts'
import { stateProblem } from '../resources/machine.ts'
import type { Resource } from '../resources/resource.ts'

/** Refuses a write if the state is not one of those that allow it; null allows all. */
export function admitState(
  { machine, title }: Resource,
  document: Document | null,
  allowed: readonly string[] | null | undefined,
  what: string,
): void {
  const state = String(document?.[machine?.field ?? ''])
  if (document === null || !machine || allowed == null || allowed.includes(state)) return
  throw stateProblem(title, state, what, listInWords(allowed))
}
