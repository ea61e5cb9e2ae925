/** States before: the states and transitions of a resource before a change of a version. Part 9, versions. */
import type { ParentDeclaration } from './declaration.ts'
import { oldValuesByNew, type ValueMap } from './old-values.ts'
import { type StatesDeclaration, stateNames } from './states.ts'

/** The parts of a change that states depend on. */
interface Change {
  readonly renamed?: Readonly<Record<string, string>>
  readonly added?: readonly string[]
  readonly mapped?: ValuesByField
  readonly shown?: ValuesByField
  readonly transitions?: ChangedTransitions
}
type ValuesByField = Readonly<Record<string, ValueMap>>

/** Transitions that only the new version has, and old names of others, each with the new name. */
export interface ChangedTransitions {
  readonly added?: readonly string[]
  readonly renamed?: Readonly<Record<string, string>>
}

/** The states under their old names; undefined if the field of the state is new. */
export function statesBefore(states: StatesDeclaration, change: Change): StatesDeclaration | undefined {
  const { renamed = {}, added = [], transitions = {} } = change
  if (added.includes(states.field)) return undefined
  const old = oldStates(states, change)
  const named = Object.entries(states.transitions)
    .filter(([name]) => !transitions.added?.includes(name))
    .map(([name, one]) => {
      const was = Object.keys(transitions.renamed ?? {}).find((before) => transitions.renamed?.[before] === name)
      return [was ?? name, { ...one, from: old(one.from), to: old([one.to])[0] as string }] as const
    })
  const { change: changed, remove } = states.writable ?? {}
  return {
    field: Object.keys(renamed).find((name) => renamed[name] === states.field) ?? states.field,
    initial: old([states.initial])[0] as string,
    transitions: Object.fromEntries(named),
    ...(states.writable && {
      writable: { ...(changed && { change: old(changed) }), ...(remove && { remove: old(remove) }) },
    }),
  }
}

/** The `parent` of a child with the old names of the parent's states. `change` is that of the parent. */
export function parentBefore(parent: ParentDeclaration, states: StatesDeclaration, change: Change): ParentDeclaration {
  if (parent.while === undefined) return parent
  if (change.added?.includes(states.field)) return { ...parent, while: undefined as never }
  return { ...parent, while: oldStates(states, change)(parent.while) }
}

/** Makes a function that returns the old names of states, without duplicates. */
function oldStates(states: StatesDeclaration, { mapped = {}, shown = {} }: Change) {
  const { field } = states
  const down = oldValuesByNew(stateNames(states), mapped[field] ?? {}, shown[field] ?? {})
  return (names: readonly string[]): string[] => [...new Set(names.map((one) => down.get(one) ?? one))]
}

/** The newest name of a transition of an older version; `steps` are the changes since then, the newest first. */
export const newestTransition = (
  steps: readonly { readonly change: Pick<Change, 'transitions'> }[],
  name: string,
): string => steps.reduceRight((at, { change }) => change.transitions?.renamed?.[at] ?? at, name)
