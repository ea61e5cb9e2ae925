/** States of an evolving resource: their names and those of transitions in each version. */
import type { Dice } from './dice.ts'

/** The names of a version. States and transitions keep their places in all versions. */
export interface Machine {
  readonly field: string
  readonly states: readonly string[]
  readonly transitions: readonly string[]
}

/** The states that each transition leads from and to. */
export const ways = [
  [0, 1],
  [1, 2],
  [2, 0],
] as const

const fields = ['status', 'stage', 'phase']
const states = ['draft', 'sent', 'done', 'fresh', 'known', 'closed', 'early', 'late', 'over']
const transitions = ['submissions', 'closings', 'restarts', 'placements', 'endings', 'returns', 'sendings', 'finishes']

export const firstMachine: Machine = {
  field: 'status',
  states: states.slice(0, ways.length),
  transitions: transitions.slice(0, ways.length),
}

/** The machine with one other name, which neither it nor the one before has; null if that name has changed already. */
export function renamed(machine: Machine, before: Machine, dice: Dice): Machine | null {
  const part = dice.pick(['field', 'states', 'transitions'] as const)
  if (part === 'field') {
    const free = fields.filter((one) => one !== machine.field && one !== before.field)
    return machine.field === before.field ? { ...machine, field: dice.pick(free) } : null
  }
  const nth = dice.below(ways.length)
  if (machine[part][nth] !== before[part][nth]) return null
  const free = (part === 'states' ? states : transitions).filter(
    (one) => !machine[part].includes(one) && !before[part].includes(one),
  )
  return { ...machine, [part]: machine[part].with(nth, dice.pick(free)) }
}

export const statesOf = ({ field, states, transitions }: Machine): object => ({
  field,
  initial: states[0],
  transitions: Object.fromEntries(
    ways.map(([from, to], i) => [transitions[i], { from: [states[from]], to: states[to] }]),
  ),
})

/** The parts of a change from one version to the next. */
export function machineChange(old: Machine, now: Machine) {
  const between = (part: 'states' | 'transitions') =>
    Object.fromEntries(
      old[part].map((name, i) => [name, now[part][i] as string] as const).filter(([was, is]) => was !== is),
    )
  return { states: between('states'), transitions: between('transitions') }
}
