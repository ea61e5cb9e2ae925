/** `bylaw backup`: copies the database of a service into a file, while the service writes. Part 8. */
import { existsSync, realpathSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { isPostgresUrl, withoutPassword } from '../postgres/connection-url.ts'
import type { SchemaStep } from '../schema/step.ts'
import type { Service } from '../service.ts'
import { copySqlite, logOf, moveInto } from '../sqlite/copy.ts'
import { fileOf } from '../sqlite/open.ts'
import { type Argument, type Command, type CommandInput, declarationArgument } from '../terminal/command.ts'
import { type CommandError, commandError } from '../terminal/command-error.ts'
import { databaseFlag, databaseOf } from '../terminal/flags.ts'
import { loadService } from '../terminal/load.ts'
import { collectionsOf, tablesOf } from '../terminal/open.ts'
import { asCommandError, requireDatabaseFile } from '../terminal/start.ts'

export const backupArgument: Argument = { name: 'backup.db', about: 'the file of the backup' }

export const backupCommand: Command = {
  name: 'backup',
  about: 'Copies the SQLite database of a service into a file; the service may run and write.',
  details: 'The copy is of one moment. It is opened and checked before the command reports success.',
  arguments: [declarationArgument, backupArgument],
  flags: {
    database: databaseFlag,
    replace: { about: 'Replaces the file of the backup if it is there.' },
  },
  examples: ['bylaw backup api.ts backup.db', 'bylaw backup api.ts backup.db --database sqlite:./data/orders.db'],
  run,
}

async function run(input: CommandInput): Promise<number> {
  const [declaration = '', name = ''] = input.arguments
  const service = await loadService(declaration)
  const database = databaseOf(input, service)
  const [from, file] = [await sqliteFileOf(database, declaration), resolve(name)]
  requireDatabaseFile(from)
  refuseSameFile(from, file, name)
  const isThere = existsSync(file)
  if (isThere && !input.isOn('replace'))
    throw commandError(`${name} is there already.`, 'Choose another file, or replace it with --replace.')
  refuseLog(file)
  const steps = await copyOf(service, from, file, false)
  moveInto(partOf(file), file, null)
  const size = `${(statSync(file).size / 1_000_000).toFixed(1)} MB`
  console.log(`${name} is a copy of ${database} (${size}). It was opened and checked.${formText(steps, declaration)}`)
  return 0
}

/** The name of a file until it is complete. */
export const partOf = (file: string): string => `${file}.part-${process.pid}`

/** Copies a database into the part of a file. */
export const copyOf = (
  service: Service,
  from: string,
  file: string,
  isRestore: boolean,
): Promise<readonly SchemaStep[]> => {
  const stored = { collections: collectionsOf(service), tables: tablesOf(service) }
  return asCommandError(() => copySqlite({ from, to: partOf(file), stored, isRestore }))
}

/** A note if the declaration has changed since the database was migrated. */
export const formText = (steps: readonly SchemaStep[], declaration: string): string =>
  steps.length === 0
    ? ''
    : `\nIts tables are not as ${declaration} declares them; \`bylaw migrate apply\` changes them after a restore.`

/** The file of a database; refuses a database that is not a file. */
export async function sqliteFileOf(database: string, declaration: string): Promise<string> {
  if (isPostgresUrl(database)) throw postgresRefusal(database, declaration)
  const file = await asCommandError(() => fileOf(database))
  if (file === ':memory:')
    throw commandError('A database in memory has no file.', 'Name one as sqlite:./data/orders.db.')
  return file
}

const postgresRefusal = (database: string, declaration: string): CommandError =>
  commandError(
    `${withoutPassword(database)} is a PostgreSQL database, which has its own tools for backups.`,
    [
      'Back it up with:    pg_dump --format=custom --file=backup.dump "$DATABASE_URL"',
      'or, to be able to restore any moment, with pg_basebackup and an archive of its write-ahead log.',
      'Restore it with:    pg_restore --exit-on-error --no-owner --dbname="$DATABASE_URL" backup.dump',
      `After the restore, before the service starts:    bylaw restored ${declaration}`,
    ].join('\n'),
  )

export function refuseSameFile(one: string, other: string, name: string): void {
  if (existsSync(one) && existsSync(other) && realpathSync(one) === realpathSync(other))
    throw commandError(`${name} is the database itself.`, 'Name another file for the backup.')
}

/** SQLite would read the log of another database as that of the new file. */
export function refuseLog(file: string): void {
  const log = logOf(file)
  if (!existsSync(log)) return
  throw commandError(
    `${log} is the log of another database: ${existsSync(file) ? 'a process has it open, or did not close it' : 'it was moved or removed'}.`,
    'Close that database, or move the log to it.',
  )
}
