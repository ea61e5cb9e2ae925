/** `bylaw import`: creates an item of each line of a file, of JSON or CSV. R238. */
import { createHash } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import type { LineReport } from '../imports/import-progress.ts'
import type { Service } from '../service.ts'
import { type Command, type CommandInput, declarationArgument } from '../terminal/command.ts'
import { commandError } from '../terminal/command-error.ts'
import { databaseFlag, databaseOf } from '../terminal/flags.ts'
import { loadService } from '../terminal/load.ts'
import { openStoreFor } from '../terminal/start.ts'
import { type AnsweredError, noteAccount, refusedBy, requireDeclared } from './declared-resource.ts'
import { operatorDoor } from './operator-door.ts'

export const importCommand: Command = {
  name: 'import',
  about: 'Creates an item of each line of a file, of JSON or of CSV.',
  details:
    'It works on the database; the service need not run, but may. The resource declares `imports: true`. Each line is checked as ' +
    'a request is; those that are refused are listed, and the others are created. A file that was imported in part goes on where ' +
    'it ended, and one that was imported whole is not imported again, unless it gets another key.',
  arguments: [
    declarationArgument,
    { name: 'resource', about: 'the name of the resource' },
    { name: 'file', about: 'the file to read, .ndjson or .csv' },
  ],
  flags: {
    database: databaseFlag,
    account: { value: 'ID', about: 'The account that gets the items; "development", as in dev, unless given.' },
    parent: { value: 'ID', about: 'The id of the item that the items belong to, if they have a parent.' },
    key: { value: 'TEXT', about: 'The idempotency key of the import; a digest of the file unless given.' },
  },
  examples: ['bylaw import api.ts orders orders.ndjson', 'bylaw import api.ts orders orders.csv --account acc_1'],
  run,
}

async function run(input: CommandInput): Promise<number> {
  const [declaration = '', resource = '', file = ''] = input.arguments
  const service = await loadService(declaration)
  requireDeclared('imports', service, resource, declaration)
  const type = typeOf(file, declaration, resource)
  const size = statSync(file, { throwIfNoEntry: false })?.size
  if (size === undefined) throw commandError(`There is no file "${file}".`, 'Name a file that exists.')
  const path = pathOf(service, resource, input.flagValue('parent')?.text)
  const key = input.flagValue('key')?.text ?? (await digestOf(file))
  const store = await openStoreFor(service, databaseOf(input, service), 'require')
  try {
    const account = noteAccount(input, service, resource)
    const { door, url, version } = operatorDoor(service, store, account, 'command:import')
    const headers = {
      ...{ 'content-type': type, 'idempotency-key': key },
      ...(version !== null && { version }),
    }
    const { body, done } = readBody(file, size)
    const request = new Request(`${url}${path}/imports`, {
      method: 'POST',
      headers,
      body,
      duplex: 'half',
    } as RequestInit)
    const answer = await door(request).finally(done)
    const report = (await answer.json()) as LineReport & AnsweredError
    if (!answer.ok && report.failed === undefined) throw refusedBy('import', report)
    return printReport(file, report, answer.headers.get('idempotency-replayed') !== null)
  } finally {
    await store.close()
  }
}

function typeOf(file: string, declaration: string, resource: string): string {
  if (file.endsWith('.csv')) return 'text/csv'
  if (file.endsWith('.ndjson')) return 'application/x-ndjson'
  throw commandError(
    `"${file}" ends neither in .ndjson nor in .csv.`,
    `As in:  bylaw import ${declaration} ${resource} ${resource}.csv`,
  )
}

/** The path of the collection, below the parent if it has one. */
function pathOf({ resources }: Service, name: string, owner: string | undefined): string {
  const parent = resources.get(name)?.parent ?? null
  if (parent === null && owner !== undefined) throw commandError(`${name} have no parent.`, 'Leave --parent out.')
  if (parent !== null && owner === undefined)
    throw commandError(`${name} belong to items of ${parent.resource}.`, 'Name one:  --parent ID')
  return parent === null ? `/${name}` : `/${parent.resource}/${encodeURIComponent(owner as string)}/${name}`
}

/** A digest of the content of a file, so that the same content has the same key. */
async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return `file-${hash.digest('hex').slice(0, 40)}`
}

/** The content of a file; on a terminal it shows how much is read. */
function readBody(file: string, size: number): { body: ReadableStream; done: () => void } {
  const stream = createReadStream(file)
  const shows = process.stderr.isTTY
  const show = (end: string) => {
    const share = size === 0 ? 1 : stream.bytesRead / size
    const bar = '#'.repeat(Math.round(share * 30)).padEnd(30, '.')
    process.stderr.write(`\r${file}: [${bar}] ${Math.floor(share * 100)} %${end}`)
  }
  const timer = shows ? setInterval(show, 200, '') : null
  return {
    body: ReadableStream.from(stream) as unknown as ReadableStream,
    done: () => {
      stream.destroy()
      if (!timer) return
      clearInterval(timer)
      show('\n')
    },
  }
}

/** For values that are unique together, the message of the line is used: its errors name only one field each. */
const mistakesText = ({ message, type, errors }: LineReport['errors'][number]): string => {
  const mistakes = (errors as readonly AnsweredError[] | undefined)?.map((one) => one.message)
  return mistakes === undefined || type === 'already-exists' ? String(message) : mistakes.join(' ')
}

function printReport(file: string, { created, existing, failed, errors }: LineReport, isRepeat: boolean): number {
  for (const one of errors) console.error(`${file}:${one.line}  ${mistakesText(one)}`)
  if (failed > errors.length) console.error(`… and ${failed - errors.length} more lines.`)
  const counts = `${created} created, ${existing} existing, ${failed} refused.`
  const before = `${file} was imported before with this key, so nothing was imported now. The report of that import:`
  const mend = 'To import it again, give another key, as in:  --key again-1'
  console.log(isRepeat ? `${before}\n${counts}\n${mend}` : counts)
  return failed > 0 ? 1 : 0
}
