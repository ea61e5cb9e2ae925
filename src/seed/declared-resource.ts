/** Declared resource: the resource that a command exports or imports, and the refusal of the service as an error of the command. R238. */
import { listInWords, nearestName } from '../formats/naming.ts'
import type { Service } from '../service.ts'
import type { CommandInput } from '../terminal/command.ts'
import { commandError } from '../terminal/command-error.ts'
import { accountOf } from '../terminal/flags.ts'

/** Throws unless a resource declares that its items are exported or imported. */
export function requireDeclared(
  what: 'exports' | 'imports',
  { resources }: Service,
  name: string,
  declaration: string,
): void {
  const able = [...resources].filter(([, one]) => one[what]).map(([one]) => one)
  if (able.includes(name)) return
  if (resources.has(name))
    throw commandError(`${name} declares no ${what}.`, `Write ${what}: true in resources.${name} of ${declaration}.`)
  const guess = nearestName(name, able)
  const all = able.length === 0 ? `No resource declares ${what}.` : `There are ${listInWords(able, 'and')}.`
  throw commandError(`There is no resource "${name}".`, guess ? `Did you mean ${guess}?` : all)
}

/** The account of the items. If it is not named although items belong to accounts, a line on stderr says which one it is. */
export function noteAccount(input: CommandInput, { resources }: Service, name: string): string {
  const account = accountOf(input)
  if (input.flagValue('account') === undefined && resources.get(name)?.collection.account !== null)
    console.error(`The items are those of the account "${account}"; name another one with --account ID.`)
  return account
}

export interface AnsweredError {
  readonly message: string
  readonly errors?: readonly AnsweredError[]
}

export const refusedBy = (command: string, { message, errors = [] }: AnsweredError): Error =>
  commandError([`The ${command} was refused: ${message}`, ...errors.map((one) => `  ${one.message}`)].join('\n'), '')
