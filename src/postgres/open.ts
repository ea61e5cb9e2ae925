/** Opens the PostgreSQL store that a URL names and brings its schema to what is declared, or says what is missing. The cellar. */
import { randomBytes } from 'node:crypto'
import type { Store } from '../flow/store.ts'
import type { Collection } from '../resources/collection.ts'
import { type Cellar, cellar } from '../store/cellar.ts'
import { blankStatement, meta } from '../store/compile.ts'
import { postgres } from '../store/dialect.ts'
import { type Migration, type SchemaMode, unlike } from '../store/migration.ts'
import { type Address, addressOf, withoutPassword } from './address.ts'
import { type Connection, connect, type Times } from './connect.ts'
import { migrate, missingSteps, stored } from './migrate.ts'
import { pool } from './pool.ts'
import { postgresStore } from './postgres.ts'

const times: Times = { connect: 2000, statement: 5000, lock: 1000, idle: 10_000, silence: 6000 }
/** Steps of a schema may take long. */
const migrating: Times = { connect: 10_000, statement: 0, lock: 5000, idle: 0, silence: 2 ** 30 }
/** How long a request waits for a connection, in milliseconds. */
const mostWait = 2000

export async function openPostgres(
  url: string,
  collections: readonly Collection[],
  mode: SchemaMode,
  patience = 10_000,
): Promise<Store> {
  return guarded(url, async (address) => {
    const { shelves, secret } = await prepared(address, collections, mode)
    const connections = pool(() => connect(address, times), address.connections, mostWait)
    return postgresStore({ pool: connections, cellar: shelves, secret, patience, times: address.pooled ? times : null })
  })
}

export async function openPostgresMigration(url: string, collections: readonly Collection[]): Promise<Migration> {
  return guarded(url, async (address) => {
    const connection = await connect(address, migrating)
    try {
      return {
        steps: missingSteps(await stored(connection.ask), collections),
        apply: () => guarded(url, () => migrate(connection, collections)),
        close: connection.close,
      }
    } catch (error) {
      connection.close()
      throw error
    }
  })
}

async function prepared(
  address: Address,
  collections: readonly Collection[],
  mode: SchemaMode,
): Promise<{ shelves: Cellar; secret: string }> {
  const connection = await connect(address, migrating)
  try {
    const { ask } = connection
    const steps = missingSteps(await stored(ask), collections)
    if (steps.length > 0 && mode === 'require') throw unlike(steps)
    if (steps.length > 0) await migrate(connection, collections)
    const tables = (await stored(ask))?.tables ?? {}
    const shapes = Object.fromEntries(collections.map(({ name }) => [name, tables[name]?.shape ?? 1]))
    const blank = await blanks(connection, collections)
    const shelves = cellar(collections, shapes, postgres, (one, column) => !blank.has(`${one.name} ${column}`))
    return { shelves, secret: await secretOf(connection) }
  } finally {
    connection.close()
  }
}

/** The columns in which some row has no value. */
async function blanks({ ask }: Connection, collections: readonly Collection[]): Promise<ReadonlySet<string>> {
  const all = collections.flatMap((one) =>
    one.columns.filter(({ required }) => required).map(({ name }) => ({ one, name })),
  )
  const rows = await Promise.all(all.map(({ one, name }) => ask(blankStatement(one, name))))
  return new Set(all.flatMap(({ one, name }, i) => (rows[i]?.length ? [`${one.name} ${name}`] : [])))
}

/** The secret of this store, made by whoever opens it first. */
async function secretOf({ ask }: Connection): Promise<string> {
  const text = `INSERT INTO ${meta} (name, value) VALUES ('secret', $1) ON CONFLICT (name) DO NOTHING`
  await ask({ text, values: [randomBytes(32).toString('base64url')] })
  return (await ask({ text: `SELECT value FROM ${meta} WHERE name = 'secret'`, values: [] }))[0]?.value as string
}

async function guarded<T>(url: string, act: (address: Address) => Promise<T>): Promise<T> {
  try {
    return await act(addressOf(url, process.env))
  } catch (error) {
    throw new Error(`The database ${withoutPassword(url)} cannot be used. ${sentence((error as Error).message)}`, {
      cause: error,
    })
  }
}

const sentence = (text: string): string =>
  text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?\n)]$/.test(text) ? '' : '.')
