/** Command error: a refusal of the command, with its reason and remedy, which is printed without a stack. */
import { styleText } from 'node:util'

export interface CommandError extends Error {
  readonly mend: string
}

export const commandError = (reason: string, mend: string): CommandError => Object.assign(new Error(reason), { mend })

export const isCommandError = (thrown: unknown): thrown is CommandError =>
  thrown instanceof Error && typeof (thrown as Partial<CommandError>).mend === 'string'

/** Whether an error reports mistakes of a declaration. */
const hasMistakes = (error: unknown): error is Error => error instanceof Error && 'mistakes' in error

/** Prints an error and returns the exit code. Only unexpected errors are printed with a stack. */
export function printError(error: unknown): number {
  const bylaw = styleText('red', 'bylaw:', { stream: process.stderr })
  if (isCommandError(error)) console.error(`${bylaw} ${error.message}\n${indented(error.mend)}`.trimEnd())
  else console.error(bylaw, hasMistakes(error) ? error.message.trimEnd() : error)
  return 1
}

export const indented = (text: string, by = '       '): string => text.replaceAll(/^(?=.)/gm, by)
