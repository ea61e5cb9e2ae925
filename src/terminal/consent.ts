/** Consent: the consent of an operator to a hazardous schema change, by flags or by an answer at the terminal. */
import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import type { Store } from '../flow/store.ts'
import type { Log } from '../flow/world.ts'
import { withoutPassword } from '../postgres/connection-url.ts'
import { type ChangeRefusal, type Consent, changeRefusal, isChangeRefusal, startError } from '../schema/hazard.ts'
import type { Service } from '../service.ts'
import type { CommandInput, Flag } from './command.ts'
import { commandError } from './command-error.ts'
import { droppedValuesWriter } from './dropped-values.ts'
import { openMigrationFor } from './start.ts'

export const allowLossFlag: Flag = {
  value: 'A,B',
  isList: true,
  about: 'The fields whose stored values may be dropped, as notes.text; they are kept in bylaw_dropped for a while.',
}

export const consentOf = (input: CommandInput): Consent => ({
  allowLoss: (input.flagValue('allow-loss')?.text ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== ''),
  allowMisfits: input.isOn('allow-misfits'),
  ...keepOption(input.flagValue('keep-in')?.text),
})

const keepOption = (file: string | undefined): Pick<Consent, 'keep'> =>
  file ? { keep: droppedValuesWriter(file) } : {}

/** Refuses a change that is hazardous even with this consent; changes nothing, and returns the consent otherwise. */
export async function refuseHazards(service: Service, database: string, consent: Consent): Promise<Consent> {
  if (database === 'sqlite::memory:') return consent
  const migration = await openMigrationFor(service, database, 'apply', consent)
  try {
    const hazards = await migration.survey()
    if (hazards.length === 0) return consent
    const { message } = startError(withoutPassword(database), changeRefusal(hazards))
    throw Object.assign(commandError(message, ''), { hazards })
  } finally {
    migration.close()
  }
}

/** The fields whose loss is the only reason for a refusal; empty if there are other reasons. */
function lossyFields({ hazards }: ChangeRefusal): readonly string[] {
  const fields = hazards.map(({ loss }) => loss)
  return fields.every((field) => field !== undefined) ? fields : []
}

/** The terminal of an operator, who is asked only if input and output are both a terminal. */
interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly output: NodeJS.WritableStream & { readonly isTTY?: boolean }
}

/**
 * Runs an action. If it is refused only because values would be lost, asks at the terminal, and runs it again after a yes.
 */
export async function withConsent<T>(
  consent: Consent,
  act: (consent: Consent) => Promise<T>,
  terminal: Terminal = { input: process.stdin, output: process.stderr },
): Promise<T> {
  try {
    return await act(consent)
  } catch (error) {
    const fields = isChangeRefusal(error) ? lossyFields(error) : []
    if (fields.length === 0 || !terminal.input.isTTY || !terminal.output.isTTY) throw error
    terminal.output.write(`${(error as Error).message}\n`)
    if (!(await confirmDrop(fields, terminal))) throw commandError('The database was not changed.', '')
    return act({ ...consent, allowLoss: [...(consent.allowLoss ?? []), ...fields] })
  }
}

/** The end of the input (Ctrl-D) counts as a no, as `question` would never settle. */
async function confirmDrop(fields: readonly string[], terminal: Terminal): Promise<boolean> {
  const asking = createInterface(terminal)
  const closed = once(asking, 'close').then(() => '')
  try {
    const question = `Drop the values of ${fields.join(', ')}? Type yes to drop them: `
    const answer = await Promise.race([asking.question(question), closed])
    return answer.trim().toLowerCase() === 'yes'
  } finally {
    asking.close()
  }
}

export const allowMisfitsFlag: Flag = {
  about: 'Keeps rows that do not fit a declaration that became narrower, and describes their values in OpenAPI too.',
}

/** Logs one line for all recorded misfits. */
export function warnOfMisfits({ misfits = {} }: Store, log: Log): void {
  const all = Object.entries(misfits).flatMap(([collection, fields]) =>
    Object.entries(fields).map(([field, { rows, more }]) => ({ name: `${collection}.${field}`, rows, more })),
  )
  if (all.length === 0) return
  const counts = all.map(({ name, rows, more }) => `${name} of ${more ? 'at least ' : ''}${rows}`)
  log.warn(
    { misfits },
    `Rows do not fit what is declared: ${counts.join(', ')}. They are answered as they are; \`bylaw doctor\` names them.`,
  )
}
