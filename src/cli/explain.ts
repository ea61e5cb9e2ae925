/** `bylaw explain`: shows step by step why a request is refused or allowed. Part 5, authentication. */
import { styleText } from 'node:util'
import { findKeys } from '../auth/key-table.ts'
import { hasValidChecksum, isApiKey, sealKey } from '../auth/keys.ts'
import { type Caller, nobody } from '../flow/caller.ts'
import { callerOf } from '../flow/credential.ts'
import { realWorld } from '../flow/real-world.ts'
import { serviceWorld } from '../flow/world.ts'
import { listInWords, nearestName } from '../formats/naming.ts'
import type { Service } from '../service.ts'
import { type Command, type CommandInput, declarationArgument, formatTable } from '../terminal/command.ts'
import { commandError } from '../terminal/command-error.ts'
import { databaseFlag, databaseOf } from '../terminal/flags.ts'
import { loadService } from '../terminal/load.ts'
import { cursorSecretsOf, peppersOf } from '../terminal/secrets.ts'
import { openStoreUnchanged } from '../terminal/start.ts'
import { type ExplainContext, type ExplainedRequest, type Explanation, explainRequest } from './explanation.ts'

export const explainCommand: Command = {
  name: 'explain',
  about: 'Explains step by step why a request is refused or allowed.',
  details:
    'The request is not carried out. The output is for operators: it shows what callers must not see, as that an item belongs to another account.',
  arguments: [
    declarationArgument,
    { name: 'METHOD', about: 'the method of a request, as GET' },
    { name: 'PATH', about: 'the path of a request, as /orders' },
  ],
  flags: {
    as: { value: 'KEY|A,B', env: 'BYLAW_AS', about: 'The caller: an API key, or scopes; no credentials unless given.' },
    id: { value: 'ID', about: 'The id of the caller, for rules that depend on it.' },
    account: { value: 'ID', about: 'The account of a caller given by scopes.' },
    tier: { value: 'TIER', about: 'The tier of a caller given by scopes.' },
    database: databaseFlag,
    json: { about: 'Prints JSON.' },
  },
  examples: [
    'bylaw explain api.ts GET /orders/ord_01kb3q8w6ve8s9m3k2v7q0c5ta --as orders:read --account acc_1',
    'bylaw explain api.ts DELETE /orders/ord_01kb3q8w6ve8s9m3k2v7q0c5ta --as bylaw_…',
  ],
  run,
}

async function run(input: CommandInput): Promise<number> {
  const [file = '', method = '', target = ''] = input.arguments
  if (!target.startsWith('/'))
    throw commandError(
      `"${target}" is not a path: a path begins with a slash.`,
      `As in:  ${explainCommand.examples[0]}`,
    )
  const service = await loadService(file)
  const store = await openStoreUnchanged(service, databaseOf(input, service))
  try {
    const context = { service, store, world: serviceWorld(realWorld, store, cursorSecretsOf(store)) }
    const question = { method: method.toUpperCase(), target, ...(await callerToExplain(input, context)) }
    const explanation = await explainRequest(question, context).catch(refuseMissingTable)
    console.log(input.isOn('json') ? JSON.stringify(explanation, null, 2) : explanationText(question, explanation))
    return 0
  } finally {
    await store.close()
  }
}

/** The database is not migrated first, so the table of a resource may be missing. */
function refuseMissingTable(error: Error & { readonly code?: string }): never {
  if (error.code !== '42P01' && !error.message.startsWith('no such table')) throw error
  throw commandError(
    'The database has no table for this resource yet, so it has no items.',
    'Make the tables with `bylaw migrate apply`, or start the service.',
  )
}

/** A JWT; the command does not print it. */
const accessTokenPattern = /^eyJ[\w-]+\.[\w-]+\.[\w-]*$/

type ExplainedCaller = Pick<ExplainedRequest, 'caller' | 'invalid'>

async function callerToExplain(input: CommandInput, context: ExplainContext): Promise<ExplainedCaller> {
  const as = input.flagValue('as')?.text
  const [account, tier] = [input.flagValue('account')?.text ?? null, input.flagValue('tier')?.text ?? null]
  const own = input.flagValue('id')?.text
  if (as !== undefined && isApiKey(as)) return callerOfKey(as, context)
  if (as === undefined && own === undefined && account === null && tier === null) return { caller: null, invalid: null }
  if (as !== undefined && accessTokenPattern.test(as))
    throw commandError(
      '--as is an access token, which this command does not verify.',
      'Name its caller:  --as SCOPES --account ID --id SUBJECT',
    )
  const scopes = (as ?? '').split(/[,\s]+/).filter((one) => one !== '')
  for (const one of scopes) requireScope(one, context.service)
  return { caller: callerOf(own ?? 'explained', { account, scopes, tier, features: [] }), invalid: null }
}

function requireScope(scope: string, { declaration }: Service): void {
  const names = Object.keys(declaration.scopes ?? {})
  if (names.includes(scope)) return
  const guess = nearestName(scope, names)
  const there = names.length === 0 ? 'The service declares none.' : `There are ${listInWords(names, 'and')}.`
  throw commandError(`--as: there is no scope "${scope}".`, guess ? `Did you mean ${guess}?` : there)
}

/** The caller of an API key, or why the key is invalid, which is secret to clients. R172. */
async function callerOfKey(key: string, { service, store, world }: ExplainContext): Promise<ExplainedCaller> {
  const refused = (invalid: string): ExplainedCaller => ({ caller: nobody, invalid })
  if (!hasValidChecksum(key)) return refused('The checksum of the key is wrong: it was truncated or mistyped.')
  const hashes = peppersOf(service, store, true).map((pepper) => sealKey(key, pepper))
  const [one] = await findKeys(store, hashes)
  const time = (value: number) => new Date(value).toISOString()
  if (!one) return refused('There is no such key: it belongs to another database, or was made with another pepper.')
  if (one.revoked !== null) return refused(`The key ${one.name} (${one.id}) was revoked at ${time(one.revoked)}.`)
  if (one.expires !== null && one.expires <= world.due())
    return refused(`The key ${one.name} (${one.id}) expired at ${time(one.expires)}.`)
  const caller: Caller = callerOf(`key:${one.name}`, one)
  return { caller, invalid: null }
}

function explanationText({ method, target }: ExplainedRequest, { steps, refusal }: Explanation): string {
  const rows = steps.map(({ step, passes, says }) => [
    step,
    passes === null ? '-' : passes ? 'passes' : 'refuses',
    says,
  ])
  const end = refusal ? `The answer is ${refusal.status} ${refusal.type}.` : 'All checks that need no content pass.'
  return `${styleText('bold', `${method} ${target}`)}\n\n${formatTable(rows)}\n\n${end}`
}
