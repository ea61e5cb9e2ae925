/** `bylaw export`: writes all items of a resource, as lines of JSON or CSV, from one state of the database. R238. */
import { createWriteStream } from 'node:fs'
import { rename } from 'node:fs/promises'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Command, type CommandInput, declarationArgument } from '../terminal/command.ts'
import { commandError } from '../terminal/command-error.ts'
import { databaseFlag, databaseOf } from '../terminal/flags.ts'
import { loadService } from '../terminal/load.ts'
import { openStoreFor } from '../terminal/start.ts'
import { type AnsweredError, noteAccount, refusedBy, requireDeclared } from './declared-resource.ts'
import { operatorDoor } from './operator-door.ts'

export const exportCommand: Command = {
  name: 'export',
  about: 'Writes all items of a resource, as lines of JSON or as CSV.',
  details:
    'It reads one state of the database; the service need not run, but may. The resource declares `exports: true`. Without a ' +
    'file it writes lines of JSON to the standard output; the ending .csv of a file makes it CSV.',
  arguments: [
    declarationArgument,
    { name: 'resource', about: 'the name of the resource' },
    { name: 'file', about: 'the file to write, .ndjson or .csv', optional: true },
  ],
  flags: {
    database: databaseFlag,
    account: { value: 'ID', about: 'The account whose items it writes; "development", as in dev, unless given.' },
    query: { value: 'TEXT', about: 'Filters, order and fields, as in the URL of the list.' },
  },
  examples: [
    'bylaw export api.ts orders',
    "bylaw export api.ts orders paid.csv --query 'status=paid&sort=total'",
    'bylaw export api.ts orders orders.ndjson --account acc_1',
  ],
  run,
}

async function run(input: CommandInput): Promise<number> {
  const [declaration = '', resource = '', file] = input.arguments
  const service = await loadService(declaration)
  requireDeclared('exports', service, resource, declaration)
  const type = file === undefined || file.endsWith('.ndjson') ? 'application/x-ndjson' : 'text/csv'
  if (file !== undefined && !/\.(?:ndjson|csv)$/.test(file))
    throw commandError(
      `"${file}" ends neither in .ndjson nor in .csv.`,
      `As in:  bylaw export ${declaration} ${resource} ${resource}.csv`,
    )
  const store = await openStoreFor(service, databaseOf(input, service), 'require')
  try {
    const account = noteAccount(input, service, resource)
    const { door, url, version } = operatorDoor(service, store, account, 'command:export')
    const query = input.flagValue('query')?.text ?? ''
    const headers = { accept: type, ...(version !== null && { version }) }
    const answer = await door(new Request(`${url}/${resource}${query === '' ? '' : `?${query}`}`, { headers }))
    if (!answer.ok) throw refusedBy('export', (await answer.json()) as AnsweredError)
    await write(answer, file)
  } finally {
    await store.close()
  }
  return 0
}

/** Writes an answer, and on a terminal how much of it is written. */
async function write({ body }: Response, file: string | undefined): Promise<void> {
  let bytes = 0
  const shows = file !== undefined && process.stderr.isTTY
  const show = (end: string) => process.stderr.write(`\r${file}: ${(bytes / 1e6).toFixed(1)} MB${end}`)
  const timer = shows ? setInterval(show, 200, '') : null
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const piece of Readable.fromWeb(body as never)) {
      bytes += piece.length
      yield piece
    }
  }
  try {
    // Written under another name first, so that a file with the final name is complete.
    const target: Writable = file === undefined ? process.stdout : createWriteStream(`${file}.part`)
    await pipeline(counted, target, { end: file !== undefined })
    if (file !== undefined) await rename(`${file}.part`, file)
  } finally {
    if (timer) clearInterval(timer)
    if (shows) show('\n')
  }
}
