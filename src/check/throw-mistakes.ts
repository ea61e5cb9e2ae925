/** Throw mistakes: the error that `service` throws, with all mistakes of a declaration. R219. */
import type { Mistake } from '../resources/declaration.ts'

/** Throws one error with all mistakes of a declaration, in its message and as `mistakes`. */
export function throwMistakes(declaration: unknown, mistakes: readonly Mistake[]): void {
  if (mistakes.length === 0) return
  const name = (declaration as { readonly name?: unknown } | null)?.name
  const lines = mistakes.map(({ place, reason, mend }, i) => `${i + 1}. ${place}: ${reason}\n   ${mend}`)
  const count = mistakes.length === 1 ? '1 mistake' : `${mistakes.length} mistakes`
  const whose = typeof name === 'string' ? `The declaration of "${name}"` : 'The declaration'
  throw Object.assign(new Error(`${whose} has ${count}.\n\n${lines.join('\n\n')}\n`), { mistakes })
}
