/** `bylaw seed`: runs the function of seed.ts with a client of the service, so that a second run creates nothing again. */
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ApiError, client } from '../client/client.ts'
import type { Store } from '../flow/store.ts'
import { withoutPassword } from '../postgres/connection-url.ts'
import type { Service } from '../service.ts'
import { type Command, type CommandInput, declarationArgument } from '../terminal/command.ts'
import { commandError } from '../terminal/command-error.ts'
import { accountOf, databaseFlag, databaseOf } from '../terminal/flags.ts'
import { loadService } from '../terminal/load.ts'
import { openStoreFor } from '../terminal/start.ts'
import { operatorDoor } from './operator-door.ts'
import { type SeedCounts, seedFetch } from './seed-fetch.ts'

export const seedCommand: Command = {
  name: 'seed',
  about: 'Creates the rows of seed.ts, each of them once however often it runs.',
  details:
    'It calls the function that seed.ts exports with a client of the service, which works on the database itself: the service ' +
    'need not run, but may. The client may do everything.',
  arguments: [declarationArgument, { name: 'seed.ts', about: 'the file of the function', optional: true }],
  flags: {
    database: databaseFlag,
    account: { value: 'ID', about: 'The account whose items it creates; "development", as in dev, unless given.' },
  },
  examples: ['bylaw seed api.ts', 'bylaw seed api.ts fixtures.ts --account acc_1'],
  run,
}

type Seed = (app: unknown) => unknown

async function run(input: CommandInput): Promise<number> {
  const [declaration = '', file = join(dirname(declaration), 'seed.ts')] = input.arguments
  const service = await loadService(declaration)
  const seed = await loadSeed(file)
  const database = databaseOf(input, service)
  const mode = process.env.NODE_ENV === 'production' ? 'require' : 'apply'
  const store = await openStoreFor(service, database, mode)
  const counts = { created: 0, found: 0 }
  try {
    await seed(appOn(service, store, accountOf(input), counts))
  } catch (error) {
    throw error instanceof ApiError ? seedFailure(file, error) : error
  } finally {
    await store.close()
  }
  const { created, found } = counts
  console.log(`${withoutPassword(database)}: ${created} created by ${file}, ${found} there already.`)
  return 0
}

async function loadSeed(file: string): Promise<Seed> {
  const mend = 'It has to end in:  export default async function seed(app: Client<typeof api>) { … }'
  if (!existsSync(file)) throw commandError(`There is no file ${file}.`, `Write one. ${mend}`)
  const { default: seed } = await import(pathToFileURL(resolve(file)).href)
  if (typeof seed === 'function') return seed
  throw commandError(`The default export of ${file} is not a function.`, mend)
}

/** A client of the newest version that may do everything. */
function appOn(declared: Service, store: Store, account: string, counts: SeedCounts): unknown {
  const { door, url, version } = operatorDoor(declared, store, account, 'command:seed')
  const named = version === null ? {} : { version: version as never }
  return client({ url, ...named, fetch: seedFetch(door, counts) })
}

function seedFailure(file: string, { message, status, errors }: ApiError): Error {
  const parts = errors.map((one) => `  ${one.pointer ?? one.name ?? ''} ${one.message}`)
  const mend =
    status === 410
      ? `The row that an earlier run created was removed since. Change it in ${file} to create another one, or leave it out.`
      : ''
  return commandError([`${file} stopped, as a request was answered ${status}: ${message}`, ...parts].join('\n'), mend)
}
