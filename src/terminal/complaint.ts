/** Complaint: what the command refuses, with its reason and the mend; it is told without a stack. */
import { styleText } from 'node:util'

export interface Complaint extends Error {
  readonly mend: string
}

export const complaint = (reason: string, mend: string): Complaint => Object.assign(new Error(reason), { mend })

export const isComplaint = (thrown: unknown): thrown is Complaint =>
  thrown instanceof Error && typeof (thrown as Partial<Complaint>).mend === 'string'

/** Tells what went wrong, in words where it was foreseen and with a stack where it was not, and gives the exit code. */
export function tell(error: unknown): number {
  const bylaw = styleText('red', 'bylaw:', { stream: process.stderr })
  if (isComplaint(error)) console.error(`${bylaw} ${error.message}\n${indented(error.mend)}`.trimEnd())
  else console.error(bylaw, error)
  return 1
}

const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, '       ')
