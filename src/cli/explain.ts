/** `bylaw explain`: says step by step why a request is refused or allowed. Part 5, authentication. */
import { styleText } from 'node:util'
import { isKey, isWhole, sealed } from '../auth/keys.ts'
import { dueTime } from '../flow/call.ts'
import { type Caller, nobody } from '../flow/caller.ts'
import { callerOf } from '../flow/credential.ts'
import { realWorld } from '../http/world.ts'
import { nearest, oneOf } from '../resources/naming.ts'
import type { Service } from '../service.ts'
import { type Command, declarationFile, type Given, table } from '../terminal/command.ts'
import { complaint } from '../terminal/complaint.ts'
import { load } from '../terminal/load.ts'
import { databaseFlag, databaseOf } from '../terminal/place.ts'
import { peppersOf, secretsOf } from '../terminal/secrets.ts'
import { storeAsItIs } from '../terminal/start.ts'
import { type Explanation, type Ground, type Question, reasons } from './reasons.ts'

export const explain: Command = {
  name: 'explain',
  about: 'Says step by step why a request is refused or allowed.',
  details:
    'Nothing is carried out. It tells what no caller is told, as that an item belongs to another account: it is for those who run the service.',
  arguments: [
    declarationFile,
    { name: 'METHOD', about: 'the method of a request, as GET' },
    { name: 'PATH', about: 'the path of a request, as /orders' },
  ],
  flags: {
    as: { value: 'KEY|A,B', env: 'BYLAW_AS', about: 'Who asks: an API key, or scopes; nobody unless given.' },
    account: { value: 'ID', about: 'The account of who asks with scopes.' },
    tier: { value: 'TIER', about: 'The set of quotas of who asks with scopes.' },
    database: databaseFlag,
    json: { about: 'Prints JSON.' },
  },
  examples: [
    'bylaw explain api.ts GET /orders/ord_01kb3q8w6ve8s9m3k2v7q0c5ta --as orders:read --account acc_1',
    'bylaw explain api.ts DELETE /orders/ord_01kb3q8w6ve8s9m3k2v7q0c5ta --as bylaw_…',
  ],
  run,
}

async function run(given: Given): Promise<number> {
  const [file = '', method = '', target = ''] = given.arguments
  if (!target.startsWith('/'))
    throw complaint(`"${target}" is no path; it begins with a slash.`, `As in:  ${explain.examples[0]}`)
  const service = await load(file)
  const store = await storeAsItIs(service, databaseOf(given, service))
  try {
    const ground = { service, store, world: realWorld(secretsOf(store), store.clock) }
    const question = { method: method.toUpperCase(), target, ...(await whoAsks(given, ground)) }
    const explanation = await reasons(question, ground).catch(notMade)
    console.log(given.on('json') ? JSON.stringify(explanation, null, 2) : shown(question, explanation))
    return 0
  } finally {
    await store.close()
  }
}

/** The database is looked at as it is, so that a resource may have no table yet. */
function notMade(error: Error & { readonly code?: string }): never {
  if (error.code !== '42P01' && !error.message.startsWith('no such table')) throw error
  throw complaint(
    'The database has no table for that resource yet, so that none of its items is there.',
    'Make the tables with `bylaw migrate apply`, or start the service.',
  )
}

type Asking = Pick<Question, 'caller' | 'invalid'>

async function whoAsks(given: Given, ground: Ground): Promise<Asking> {
  const as = given.worth('as')?.text
  const [account, tier] = [given.worth('account')?.text ?? null, given.worth('tier')?.text ?? null]
  if (as !== undefined && isKey(as)) return holderOf(as, ground)
  if (as === undefined && account === null && tier === null) return { caller: null, invalid: null }
  const scopes = (as ?? '').split(/[,\s]+/).filter((one) => one !== '')
  for (const one of scopes) admitScope(one, ground.service)
  return { caller: callerOf('explained', { account, scopes, tier, features: [] }), invalid: null }
}

function admitScope(scope: string, { declaration }: Service): void {
  const names = Object.keys(declaration.scopes ?? {})
  if (names.includes(scope)) return
  const guess = nearest(scope, names)
  const there = names.length === 0 ? 'The service declares none.' : `There are ${oneOf(names, 'and')}.`
  throw complaint(`--as: there is no scope "${scope}".`, guess ? `Did you mean ${guess}?` : there)
}

/** Whose key it is, or what is wrong with it, which no caller is told. R172. */
async function holderOf(key: string, { service, store, world }: Ground): Promise<Asking> {
  const refused = (invalid: string): Asking => ({ caller: nobody, invalid })
  if (!isWhole(key)) return refused('The key is not whole: its checksum does not fit. It was cut or mistyped.')
  const hashes = peppersOf(service, store, true).map((pepper) => sealed(key, pepper))
  const found = await store.execute({ do: 'identify', hashes })
  const [one] = found.is === 'credentials' ? found.credentials : []
  const time = (value: number) => new Date(value).toISOString()
  if (!one) return refused('There is no such key here: it is of another database, or was sealed with another pepper.')
  if (one.revoked !== null) return refused(`The key ${one.name} (${one.id}) was revoked at ${time(one.revoked)}.`)
  if (one.expires !== null && one.expires <= dueTime(world))
    return refused(`The key ${one.name} (${one.id}) expired at ${time(one.expires)}.`)
  const caller: Caller = callerOf(`key:${one.name}`, one)
  return { caller, invalid: null }
}

function shown({ method, target }: Question, { steps, refusal }: Explanation): string {
  const rows = steps.map(({ step, passes, says }) => [
    step,
    passes === null ? '-' : passes ? 'passes' : 'refuses',
    says,
  ])
  const end = refusal
    ? `The answer is ${refusal.status} ${refusal.type}.`
    : 'Nothing that is known without its content refuses it.'
  return `${styleText('bold', `${method} ${target}`)}\n\n${table(rows)}\n\n${end}`
}
