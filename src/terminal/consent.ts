/** Consent: what an operator allows a change of the tables to do, by a flag or by an answer on a terminal. */
import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { withoutPassword } from '../postgres/connection-url.ts'
import {
  type ChangeRefusal,
  type Consent,
  changeRefusal,
  isChangeRefusal,
  refusalOfDatabase,
} from '../schema/hazard.ts'
import type { Service } from '../service.ts'
import type { CommandInput, Flag } from './command.ts'
import { commandError } from './command-error.ts'
import { droppedValuesWriter } from './dropped-values.ts'
import { openMigrationFor } from './start.ts'

export const allowLossFlag: Flag = {
  value: 'A,B',
  about: 'The fields whose stored values may be dropped, as notes.text; they are kept in bylaw_dropped for a while.',
}

export const consentOf = (given: CommandInput): Consent => ({
  allowLoss: (given.flagValue('allow-loss')?.text ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== ''),
  allowMisfits: given.isOn('allow-misfits'),
  ...keepOption(given.flagValue('keep-in')?.text),
})

const keepOption = (file: string | undefined): Pick<Consent, 'keep'> =>
  file ? { keep: droppedValuesWriter(file) } : {}

/** Refuses a declaration that the database cannot be changed for without loss, and changes nothing; gives what it was asked with. */
export async function refuseHazards(service: Service, database: string, consent: Consent): Promise<Consent> {
  if (database === 'sqlite::memory:') return consent
  const migration = await openMigrationFor(service, database, consent)
  try {
    const hazards = await migration.survey()
    if (hazards.length === 0) return consent
    const { message } = refusalOfDatabase(withoutPassword(database), changeRefusal(hazards))
    throw Object.assign(commandError(message, ''), { hazards })
  } finally {
    migration.close()
  }
}

/** The fields whose loss alone a change is refused for; none where it has other reasons too. */
function lossyFields({ hazards }: ChangeRefusal): readonly string[] {
  const fields = hazards.map(({ loss }) => loss)
  return fields.every((field) => field !== undefined) ? fields : []
}

/** Where an operator is asked; nobody is, unless both ends are a terminal. */
interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly output: NodeJS.WritableStream & { readonly isTTY?: boolean }
}

/** Acts on the consent given; where values would be lost and somebody sits at a terminal, asks, and acts again if the answer is yes. */
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
    if (!(await confirmDrop(fields, terminal))) throw commandError('The database was left as it is.', '')
    return act({ ...consent, allowLoss: [...(consent.allowLoss ?? []), ...fields] })
  }
}

/** The end of the input, as by Ctrl-D, is no answer: without it nobody would ever be waited for. */
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
