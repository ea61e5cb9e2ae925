/** State differences: how the states and transitions of a resource differ between two contracts. Part 9, versioning. */
import { compareMembers, type Difference, makeDifference } from './difference.ts'
import { fieldDifferences } from './field-differences.ts'
import type { AllowingStates, StatesOfContract, TransitionContract } from './state-contract.ts'

/** A narrower choice of states refuses requests that were accepted. */
export function stateDifferences(place: string, before: StatesOfContract, after: StatesOfContract): Difference[] {
  const [was, is] = [before.states, after.states]
  const at = `${place}.states`
  const writable = (['change', 'remove'] as const).flatMap((key) =>
    allowanceDifferences(
      `${at}.writable.${key}`,
      `An item can be ${key}d`,
      was?.writable[key] ?? null,
      is?.writable[key] ?? null,
    ),
  )
  const below = allowanceDifferences(
    `${place}.parent.while`,
    'An item can be written below its owner',
    before.while ?? null,
    after.while ?? null,
  )
  const transitions = compareMembers(
    was?.transitions ?? {},
    is?.transitions ?? {},
    (name, had, has) => (had && has ? transitionDifferences(`${at}.transitions.${name}`, name, had, has) : []), // others differ in their paths
  )
  return [...writable, ...below, ...transitions]
}

const stateList = (states: AllowingStates): string =>
  states === null ? 'in every state' : states.length === 0 ? 'in no state' : `while it is ${states.join(' or ')}`

function allowanceDifferences(place: string, says: string, was: AllowingStates, is: AllowingStates): Difference[] {
  if (was?.join() === is?.join() && (was === null) === (is === null)) return []
  const wider = is === null || was?.every((one) => is.includes(one)) === true
  const text = `${says} ${stateList(is)}, before ${stateList(was)}.`
  return [makeDifference(place, wider ? 'additive' : 'breaking', text, 'Leave the states as they were.', 'fixed')]
}

const sentOnly = { whole: true, changes: true, sends: true, answers: false, lists: false } as const

function transitionDifferences(
  place: string,
  name: string,
  had: TransitionContract,
  has: TransitionContract,
): Difference[] {
  const to =
    had.to === has.to
      ? []
      : [
          makeDifference(
            `${place}.to`,
            'breaking',
            `\`${name}\` leads to ${has.to} instead of ${had.to}.`,
            'Keep it, and declare the new one under a name of its own.',
            'fixed',
          ),
        ]
  return [
    ...allowanceDifferences(`${place}.from`, `\`${name}\` is possible`, had.from, has.from),
    ...to,
    ...fieldDifferences(`${place}.input`, had.input, has.input, sentOnly).map((one) => ({
      ...one,
      what: 'fixed' as const,
    })),
  ]
}
