/** Functions: reports change functions that differ from the locked ones with the same revision. Part 9, versioning. */
import { hash } from 'node:crypto'
import { type Change, majorOf } from '../resources/change.ts'
import type { Mistake } from '../resources/declaration.ts'
import type { Contract, FunctionContract } from './contract.ts'
import type { Lock } from './lock.ts'

/** The functions of all changes after a version. */
export function functionsAfter(label: string, changes: readonly Change[]): Pick<Contract, 'functions'> {
  const all: Record<string, FunctionContract> = {}
  for (const [place, change] of changesWithFunctions(changes))
    if (majorOf(change.version) > majorOf(label)) all[place] = functionContract(change)
  return Object.keys(all).length === 0 ? {} : { functions: all }
}

/** Changes with functions, by place; several changes of a resource in one version are numbered from the oldest. */
function changesWithFunctions(changes: readonly Change[]): readonly (readonly [place: string, change: Change])[] {
  const seen = new Map<string, number>()
  return changes.toReversed().flatMap((change) => {
    const name = `${change.version}.${change.resource}`
    const nth = (seen.get(name) ?? 0) + 1
    seen.set(name, nth)
    return change.request || change.response ? [[nth === 1 ? name : `${name}.${nth}`, change] as const] : []
  })
}

function functionContract({ request, response, revision = 1 }: Change): FunctionContract {
  const texts = [request, response].map((one) => normalizeSource(String(one ?? '')))
  return { revision, text: hash('sha256', texts.join('\n'), 'hex').slice(0, 16) }
}

/** Removes what a formatter may change: comments, spaces, semicolons, trailing commas and the kind of quotes. */
const normalizeSource = (text: string): string =>
  text
    .replaceAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, '')
    .replaceAll(/[\s;]|,(?=\s*[)\]}])/g, '')
    .replaceAll(/["`]/g, "'")

/** Reports functions that differ from the locked ones and have the same revision. */
export function unrevisedFunctions(changes: readonly Change[], locks: Iterable<Lock>): Mistake[] {
  const mistakes = new Map<string, Mistake>()
  const now = new Map(changesWithFunctions(changes).map(([place, change]) => [place, functionContract(change)]))
  for (const { functions = {} } of locks)
    for (const [place, { revision, text }] of Object.entries(functions)) {
      const is = now.get(place)
      if (!is || is.text === text || is.revision !== revision) continue
      mistakes.set(place, {
        place: `changes.${place}`,
        reason: `Its functions differ from the locked ones, but their revision is still ${revision}.`,
        mend: `Write revision: ${revision + 1} beside them, so that clients do not keep answers of the former ones, and lock again with \`bylaw contract lock\`.`,
      })
    }
  return [...mistakes.values()]
}
