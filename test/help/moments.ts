/** Reads several tables in one snapshot, on a connection of its own. */

import { DatabaseSync } from 'node:sqlite'
import { setImmediate as turn } from 'node:timers/promises'
import pg from 'pg'

type Documents = Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>

interface Reader {
  readonly read: (tables: readonly string[]) => Promise<Documents>
  readonly close: () => Promise<void>
}

const statement = (table: string) => `/* beside */ SELECT CAST(doc AS text) AS doc FROM "${table}" ORDER BY id`
const parsed = (rows: readonly unknown[]) => rows.map((row) => JSON.parse((row as { doc: string }).doc))

async function readerOf(url: string): Promise<Reader> {
  if (url.startsWith('sqlite:')) {
    const db = new DatabaseSync(url.slice('sqlite:'.length), { readOnly: true })
    const read = async (tables: readonly string[]) => {
      db.exec('BEGIN')
      const found = tables.map((table) => [table, parsed(db.prepare(statement(table)).all())] as const)
      db.exec('COMMIT')
      return Object.fromEntries(found)
    }
    return { read, close: async () => db.close() }
  }
  const client = new pg.Client(url)
  await client.connect()
  const read = async (tables: readonly string[]) => {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    const found: [string, Documents[string]][] = []
    for (const table of tables) found.push([table, parsed((await client.query(statement(table))).rows)])
    await client.query('COMMIT')
    return Object.fromEntries(found)
  }
  return { read, close: () => client.end() }
}

/** Judges snapshots one after the other while `act` runs, and one afterwards; returns their number. */
export async function judgeMoments(
  url: string,
  tables: readonly string[],
  judge: (moment: Documents, before: Documents) => void,
  act: () => Promise<void>,
): Promise<number> {
  const reader = await readerOf(url)
  let [over, count] = [false, 0]
  let before: Documents = {}
  const watch = async () => {
    for (let last = false; !last; count++) {
      last = over
      const moment = await reader.read(tables)
      judge(moment, before)
      before = moment
      await turn()
    }
  }
  try {
    const acted = act().finally(() => {
      over = true
    })
    const ended = await Promise.allSettled([watch(), acted]) // `act` must end before its server is stopped
    for (const one of ended) if (one.status === 'rejected') throw one.reason
    return count
  } finally {
    await reader.close()
  }
}
