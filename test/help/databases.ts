/** The databases of `doors`: one of each kind. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Service } from '../../src/service.ts'
import { freshPostgres } from './postgres.ts'
import { freshCitus, planned, watched } from './spread.ts'

type Kind = 'SQLite' | 'PostgreSQL' | 'Citus'

/** A new database; after the tests, `left` removes it, and on Citus reports statements that it would refuse. */
export interface TestDatabase {
  readonly url: string
  readonly remove: () => Promise<void>
}

const testDatabases: Readonly<Record<Kind, (service: Service) => Promise<TestDatabase>>> = {
  SQLite: async () => ({ url: 'sqlite::memory:', remove: async () => {} }),
  PostgreSQL: async () => {
    const { url, drop } = await freshPostgres()
    return { url, remove: drop }
  },
  Citus: async (service) => {
    const { url, drop } = await freshCitus()
    await planned(service, url)
    const judged = watched(url)
    const remove = async () => {
      const complaints = await judged()
      await drop()
      assert.deepEqual(complaints, [])
    }
    return { url, remove }
  },
}

function databaseFile(): TestDatabase {
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-'))
  return { url: `sqlite:${join(folder, 'store.db')}`, remove: async () => rmSync(folder, { recursive: true }) }
}

export async function openDatabase(
  kind: Kind,
  service: Service,
  { database, onFile }: { readonly database?: string; readonly onFile?: boolean },
): Promise<TestDatabase> {
  if (database !== undefined) return { url: database, remove: async () => {} }
  return kind === 'SQLite' && onFile ? databaseFile() : testDatabases[kind](service)
}
