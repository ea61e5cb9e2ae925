/** Migration: what a store's schema is, what it should be, and the steps between. The cellar. */
import type { Step } from './schema.ts'

export interface Migration {
  readonly steps: readonly Step[]
  /** Runs the steps, all or none. */
  readonly apply: () => void | Promise<void>
  readonly close: () => void
}

/** `apply` brings the schema up to date at start; `require` refuses where it is not. */
export type SchemaMode = 'apply' | 'require'

/** Told where a schema is not as declared and may not be changed. */
export function unlike(steps: readonly Step[]): Error {
  const list = steps.map(({ about }) => `  - ${about}`).join('\n')
  return new Error(
    `It is not as the declaration asks:\n${list}\nRun \`bylaw migrate plan\` to see the statements and \`bylaw migrate apply\` to carry them out.`,
  )
}
