/** State differences: how the states and transitions of a resource differ between two contracts. Part 9, versioning. */
import { durationMilliseconds } from '../formats/time-texts.ts'
import { isSameValue } from './contract.ts'
import { compareMembers, type Difference, makeDifference } from './difference.ts'
import { fieldDifferences } from './field-differences.ts'
import type {
  AllowingStates,
  StateContract,
  StatesOfContract,
  TimedContract,
  TransitionContract,
} from './state-contract.ts'

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
  const timed = compareMembers(was?.timed ?? {}, is?.timed ?? {}, (name, had, has) =>
    timerDifferences(`${at}.transitions.${name}`, name, had, has),
  )
  const initial = was && is ? initialDifferences(`${at}.initial`, was, is) : []
  return [...initial, ...writable, ...below, ...transitions, ...timed]
}

/** Old clients expect new items in the state that they know; no conversion of a request can create them in another one. */
function initialDifferences(place: string, was: StateContract, is: StateContract): Difference[] {
  if (was.initial === is.initial) return []
  const ways = [...Object.values(was.transitions), ...Object.values(was.timed)]
  const isKnown = ways.some(({ from, to }) => to === is.initial || from.includes(is.initial))
  const says = `A new item is ${is.initial} instead of ${was.initial}.`
  const mend = `Leave it at ${was.initial}, or begin in a new state that older versions see as ${was.initial} (\`shown\`).`
  const one = makeDifference(place, 'breaking', says, mend, isKnown ? 'fixed' : 'actions-changed')
  return [{ ...one, part: 'states.initial' }]
}

const timerMend = 'Leave the timer as it was.'

/**
 * Items leave a state without a request. An earlier time or no time breaks consumers, which have less time to act or wait in
 * vain. A later time does not, as a timer may always be late.
 */
function timerDifferences(place: string, name: string, had?: TimedContract, has?: TimedContract): Difference[] {
  if (isSameValue(had, has)) return []
  const says = had
    ? has
      ? `\`${name}\` takes place ${timerText(has)}, before ${timerText(had)}.`
      : `\`${name}\` does not take place by the clock any more. Consumers wait for it.`
    : `\`${name}\` takes place ${timerText(has as TimedContract)}. Items leave the state without a request.`
  const delay = ({ after }: TimedContract) => durationMilliseconds(after ?? '') ?? 0
  const [same, other] = [had, has].map((one) => one && { ...one, after: undefined })
  const later = had?.after && has?.after && isSameValue(same, other) && delay(has) >= delay(had)
  return [makeDifference(place, later ? 'additive' : 'breaking', says, timerMend, 'actions-changed')]
}

function timerText({ from, to, after, at }: TimedContract): string {
  const states = from.join(' or ')
  const when = after ? `${after} after the item became ${states}` : `at the time in \`${at}\` while it is ${states}`
  return `${when}, and makes it ${to}`
}

const stateList = (states: AllowingStates): string =>
  states === null ? 'in every state' : states.length === 0 ? 'in no state' : `while it is ${states.join(' or ')}`

function allowanceDifferences(place: string, says: string, was: AllowingStates, is: AllowingStates): Difference[] {
  if (was?.join() === is?.join() && (was === null) === (is === null)) return []
  const wider = is === null || was?.every((one) => is.includes(one)) === true
  const text = `${says} ${stateList(is)}, before ${stateList(was)}.`
  return [
    makeDifference(place, wider ? 'additive' : 'breaking', text, 'Leave the states as they were.', 'actions-changed'),
  ]
}

const sentOnly = { whole: true, changes: true, sends: true, answers: false, lists: false } as const

function transitionDifferences(
  place: string,
  name: string,
  had: TransitionContract,
  has: TransitionContract,
): Difference[] {
  const says = `\`${name}\` leads to ${has.to} instead of ${had.to}.`
  const mend = 'Keep it, and declare the new one under a name of its own.'
  const to = had.to === has.to ? [] : [makeDifference(`${place}.to`, 'breaking', says, mend, 'actions-changed')]
  return [
    ...allowanceDifferences(`${place}.from`, `\`${name}\` is possible`, had.from, has.from),
    ...to,
    ...fieldDifferences(`${place}.input`, had.input, has.input, sentOnly),
  ]
}
