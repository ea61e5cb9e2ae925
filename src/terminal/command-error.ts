/** Complaint: what the command refuses, with its reason and the mend; it is told without a stack. */
import { styleText } from 'node:util'

export interface CommandError extends Error {
  readonly mend: string
}

export const commandError = (reason: string, mend: string): CommandError => Object.assign(new Error(reason), { mend })

export const isCommandError = (thrown: unknown): thrown is CommandError =>
  thrown instanceof Error && typeof (thrown as Partial<CommandError>).mend === 'string'

/** Tells what went wrong, in words where it was foreseen and with a stack where it was not, and gives the exit code. */
export function printError(error: unknown): number {
  const bylaw = styleText('red', 'bylaw:', { stream: process.stderr })
  if (isCommandError(error)) console.error(`${bylaw} ${error.message}\n${indented(error.mend)}`.trimEnd())
  else console.error(bylaw, error)
  return 1
}

const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, '       ')
