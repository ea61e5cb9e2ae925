/** State diagram: the states of a resource and the transitions between them, as Mermaid draws them. Part 3, states. */
import type { Machine } from '../resources/machine.ts'
import type { Resource } from '../resources/resource.ts'

/** A transition by the clock is drawn with its time. */
const timeOf = ({ after, at }: Machine['timed'][number]): string =>
  at === null ? ` (after ${durationText(after ?? 0)})` : ` (at ${at})`

/** The longest units that leave no rest: `7 days`, `90 minutes`. */
function durationText(milliseconds: number): string {
  const units = [
    [86_400_000, 'day'],
    [3_600_000, 'hour'],
    [60_000, 'minute'],
    [1000, 'second'],
  ] as const
  const [size, word] = units.find(([one]) => milliseconds % one === 0) ?? [1, 'millisecond']
  const count = milliseconds / size
  return `${count} ${word}${count === 1 ? '' : 's'}`
}

/** The states of a resource and the arrows between them, one for each pair of states; null if it has no states. */
export function stateArrows({ machine, declaration: { states } }: Resource): StateArrows | null {
  if (machine === null || !states) return null
  const called = machine.transitions.map((one) => ({ ...one, label: one.name }))
  const timed = machine.timed.map((one) => ({ ...one, label: one.name + timeOf(one) }))
  const arrows = [...called, ...timed].flatMap(({ from, to, label }) =>
    from.map((state) => ({ from: state, to, label })),
  )
  return { states: machine.states, initial: states.initial, arrows }
}

export interface StateArrows {
  readonly states: readonly string[]
  readonly initial: string
  readonly arrows: readonly { readonly from: string; readonly to: string; readonly label: string }[]
}

/** The diagram of a resource; null if it has no states. */
export function stateDiagram(resource: Resource): string | null {
  const diagram = stateArrows(resource)
  if (diagram === null) return null
  // Mermaid reads a dash in a name as an arrow.
  const id = (state: string) => state.replaceAll('-', '_')
  const named = diagram.states
    .filter((state) => id(state) !== state)
    .map((state) => `  state "${state}" as ${id(state)}`)
  const arrows = diagram.arrows.map(({ from, to, label }) => `  ${id(from)} --> ${id(to)}: ${label}`)
  return ['stateDiagram-v2', ...named, `  [*] --> ${id(diagram.initial)}`, ...arrows].join('\n')
}
