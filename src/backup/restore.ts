/** `bylaw restore` and `bylaw restored`: put a backup in the place of a database, and record a restore by other means. Part 8. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { listKeys } from '../auth/key-table.ts'
import { isInForce } from '../auth/keys.ts'
import type { Credential } from '../flow/credential.ts'
import { withoutPassword } from '../postgres/connection-url.ts'
import type { Service } from '../service.ts'
import { moveInto, requireUnused } from '../sqlite/copy.ts'
import { type Command, type CommandInput, declarationArgument } from '../terminal/command.ts'
import { commandError } from '../terminal/command-error.ts'
import { databaseFlag, databaseOf } from '../terminal/flags.ts'
import { loadService } from '../terminal/load.ts'
import { asCommandError, openMigrationFor, openStoreFor } from '../terminal/start.ts'
import { backupArgument, copyOf, formText, partOf, refuseLog, refuseSameFile, sqliteFileOf } from './backup.ts'

export const restoreCommand: Command = {
  name: 'restore',
  about: 'Puts a backup in the place of the SQLite database of a service, which must not run.',
  details:
    'ETags and cursors from before are refused from then on, and events get higher numbers than any before. It names the keys ' +
    'that are valid again.',
  arguments: [declarationArgument, backupArgument],
  flags: {
    database: databaseFlag,
    replace: { about: 'Replaces a database that is there; it is kept under another name.' },
  },
  examples: ['bylaw restore api.ts backup.db', 'bylaw restore api.ts backup.db --replace'],
  run: restore,
}

export const restoredCommand: Command = {
  name: 'restored',
  about: 'Records that a database was restored by other means, as by pg_restore.',
  details:
    'Run it before the service starts. ETags and cursors from before are refused from then on, and events get higher numbers ' +
    'than any before.',
  arguments: [declarationArgument],
  flags: { database: databaseFlag },
  examples: ['bylaw restored api.ts --database postgres://bylaw@localhost/orders'],
  run: restored,
}

async function restore(input: CommandInput): Promise<number> {
  const [declaration = '', name = ''] = input.arguments
  const service = await loadService(declaration)
  const database = databaseOf(input, service)
  const [from, file] = [resolve(name), await sqliteFileOf(database, declaration)]
  if (!existsSync(from))
    throw commandError(`There is no file ${name}.`, 'Name a backup, as in:  bylaw restore api.ts backup.db')
  refuseSameFile(from, file, name)
  const isThere = existsSync(file)
  if (isThere && !input.isOn('replace'))
    throw commandError(
      `The database ${database} is there already.`,
      'Replace it with --replace, which keeps it under another name, or restore into another file with --database.',
    )
  const requireFree = () => asCommandError(() => isThere && requireUnused(file))
  await requireFree()
  if (!isThere) refuseLog(file)
  const steps = await copyOf(service, from, file, true)
  await requireFree()
  const aside = isThere ? `${file}.replaced-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}` : null
  moveInto(partOf(file), file, aside)
  const lines = [
    `${database} is as in ${name}. ETags and cursors from before are refused.${formText(steps, declaration)}`,
    ...(aside === null ? [] : [`The former database is ${aside}.`]),
    await keysText(service, { database, named: namedAs(input, declaration), aside }),
  ]
  console.log(lines.join('\n'))
  return 0
}

async function restored(input: CommandInput): Promise<number> {
  const [declaration = ''] = input.arguments
  const service = await loadService(declaration)
  const database = databaseOf(input, service)
  const migration = await openMigrationFor(service, database, 'require')
  try {
    await migration.recordRestore()
  } finally {
    migration.close()
  }
  const begun = `${withoutPassword(database)} is recorded as restored. ETags and cursors from before are refused.`
  console.log(
    [begun, await keysText(service, { database, named: namedAs(input, declaration), aside: null })].join('\n'),
  )
  return 0
}

interface RestoredDatabase {
  readonly database: string
  /** How commands name the declaration and the database. */
  readonly named: string
  /** The file of the replaced database; null if there is none. */
  readonly aside: string | null
}

function namedAs(input: CommandInput, declaration: string): string {
  const flag = input.flagValue('database')
  return flag?.from === '--database' ? `${declaration} --database ${withoutPassword(flag.text)}` : declaration
}

/** Lists the valid keys that the replaced database had revoked; all valid keys if there is no replaced database. */
async function keysText(service: Service, { database, named, aside }: RestoredDatabase): Promise<string> {
  const valid = await validKeys(service, database)
  if (valid === null)
    return `Keys that were revoked after the backup are valid again. After \`bylaw migrate apply\`, see them with:  bylaw keys list ${named}`
  const ended = aside === null ? null : await revokedKeys(service, `sqlite:${aside}`)
  const again = ended === null ? valid : valid.filter(({ id }) => ended.has(id))
  if (again.length === 0) return ended === null ? 'It has no valid keys.' : 'No key that was revoked is valid again.'
  const head =
    ended === null
      ? 'Keys that were revoked after the backup are valid again. Look through the valid ones, and revoke those that were:'
      : 'These keys were revoked after the backup, and are valid again. Revoke them:'
  return [head, ...again.map(({ id, name }) => `  bylaw keys revoke ${named} --id ${id}    # ${name}`)].join('\n')
}

const validKeys = (service: Service, database: string): Promise<readonly Credential[] | null> =>
  keysIn(service, database, (all, now) => all.filter((one) => isInForce(one, now)))

const revokedKeys = (service: Service, database: string): Promise<ReadonlySet<string> | null> =>
  keysIn(service, database, (all) => new Set(all.flatMap(({ id, revoked }) => (revoked === null ? [] : [id]))))

/** Null if the database cannot be opened, as its tables are not as declared or it is damaged. */
async function keysIn<T>(
  service: Service,
  database: string,
  pick: (all: readonly Credential[], now: number) => T,
): Promise<T | null> {
  try {
    const store = await openStoreFor(service, database, 'require', { asItIs: true })
    try {
      return pick(await listKeys(store, null), store.clock.due())
    } finally {
      await store.close()
    }
  } catch {
    return null
  }
}
