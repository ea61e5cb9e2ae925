/**
 * Opens a service for a session: on a database of its own, behind one door, with the keys of its callers. Apart
 * from record.ts, which reads descriptions, only this file of the corpus uses internals of `src`.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Service } from 'bylaw'
import { issueKey } from '../../src/auth/key-table.ts'
import { newApiKey, sealKey } from '../../src/auth/keys.ts'
import { callerGate, type ServerContext } from '../../src/corridor/server-context.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import { listen } from '../../src/http/listening.ts'
import { openStore } from '../../src/terminal/open.ts'
import { previewVersions } from '../../src/versions/version-choice.ts'
import { freshPostgres, sql } from '../help/postgres.ts'
import type { Setting } from './exchange.ts'
import { present } from './preload.ts'
import type { Holder } from './services.ts'

/** The database of a session, and statements that make it fail. */
export interface Database {
  readonly url: string
  readonly run: (text: string) => Promise<unknown>
  /** Names of the tables that hold rows of resources. */
  readonly tables: () => Promise<string[]>
  /** The statement that makes all inserts into a table fail, or work again. */
  readonly failing: (table: string, fails: boolean) => string
  readonly drop: () => Promise<void>
}

/** The secret of every database, so that seals, signatures and keys are the same in each run. */
const secret = 'c2VjcmV0LW9mLXRoZS1jb3JwdXMtYW5kLW5vdGhpbmctZWxzZQ'

export async function databaseOf(store: Setting['store']): Promise<Database> {
  return store === 'SQLite' ? inFile() : onServer()
}

export function inFile(file?: string): Database & { readonly file: string } {
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-corpus-'))
  const path = file ?? join(folder, 'store.db')
  const run = (text: string): Record<string, unknown>[] => {
    const db = new DatabaseSync(path, { timeout: 5000 })
    try {
      return db.prepare(text).all()
    } finally {
      db.close()
    }
  }
  return {
    file: path,
    url: `sqlite:${path}`,
    run: async (text) => run(text),
    tables: async () =>
      run(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'bylaw_*' AND name NOT GLOB 'sqlite_*' AND name NOT GLOB 'search__*'",
      )
        .map(({ name }) => String(name))
        .sort(),
    failing: (table, fails) =>
      fails
        ? `CREATE TRIGGER "failing ${table}" AFTER INSERT ON "${table}" BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`
        : `DROP TRIGGER "failing ${table}"`,
    drop: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** A function that comes before the server's own one in the search path, so that the database has the time of the fixed clock. */
const clockOf = (schema: string): string =>
  `CREATE FUNCTION ${schema}.clock_timestamp() RETURNS timestamptz LANGUAGE sql IMMUTABLE AS 'SELECT to_timestamp(${present() / 1000})'`

async function onServer(): Promise<Database> {
  const { url, drop } = await freshPostgres()
  const [schema = ''] = /(?<=search_path(?:=|%3D))\w+/i.exec(url) ?? []
  const own = url.replace(/(search_path(?:=|%3D)\w+)/i, '$1,pg_catalog')
  await sql(url, clockOf(schema))
  return {
    url: own,
    run: (text) => sql(url, text),
    tables: async () => {
      const rows = await sql(url, `SELECT tablename AS name FROM pg_tables WHERE schemaname = '${schema}'`)
      return rows
        .map(({ name }) => String(name))
        .filter((name) => !name.startsWith('bylaw_'))
        .sort()
    },
    failing: (table, fails) =>
      fails
        ? `CREATE OR REPLACE FUNCTION failing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'the disk is full' USING ERRCODE = '53100'; END $$;
           CREATE TRIGGER failing AFTER INSERT ON "${table}" FOR EACH ROW EXECUTE FUNCTION failing()`
        : `DROP TRIGGER failing ON "${table}"`,
    drop,
  }
}

export interface OpenedService {
  /** Answers a request of the Fetch standard. */
  readonly fetch: (request: Request) => Promise<Response>
  /** The port that it listens on; 0 if it is called through `fetch`. */
  readonly port: number
  /** The API key of a holder. */
  readonly keyOf: (holder: string) => string | undefined
  /** Closes the store while the service goes on. */
  readonly closeStore: () => Promise<void>
  readonly close: () => Promise<void>
}

/** The API key of a holder, which is the same in each run. */
const keyOf = (name: string): string => newApiKey(Buffer.from(name.padEnd(32, '.').slice(0, 32)))

export async function openService(
  service: Service,
  { url, run }: Pick<Database, 'url' | 'run'>,
  {
    door,
    holders,
    fresh = true,
  }: { door: Setting['door']; holders: Readonly<Record<string, Holder>>; fresh?: boolean },
): Promise<OpenedService> {
  if (fresh) {
    await (await openStore(service, url, 'apply')).close()
    await run(`UPDATE bylaw_meta SET value = '${secret}' WHERE name = 'secret'`)
  }
  const store = await openStore(service, url, 'apply')
  const world = serviceWorld(realWorld, store)
  if (fresh)
    for (const [name, { account = null, scopes = [], tier = null }] of Object.entries(holders)) {
      const hash = sealKey(keyOf(name), store.secret)
      const rest = { account, scopes, tier, features: [], created: world.now(), expires: null, revoked: null }
      await issueKey(store, { id: `key_${name}`, name, hash, ...rest }, 100)
    }
  const log = { error: () => {}, warn: () => {}, info: () => {} }
  const shown = { ...service, choice: previewVersions(service.choice, 'all') }
  const context: ServerContext = {
    service: shown,
    store,
    world,
    authenticate: callerGate(shown, store, world),
    log,
    open: () => true,
  }
  const listening = door === 'node' ? await listen(context, { port: 0, host: '127.0.0.1' }) : null
  let closed = false
  const closeStore = async (): Promise<void> => {
    if (closed) return
    closed = true
    await store.close()
  }
  return {
    fetch: fetchDoor(context),
    port: Number(listening ? new URL(listening.url).port : 0),
    keyOf: (holder) => (holder in holders ? keyOf(holder) : undefined),
    closeStore,
    close: async () => {
      await listening?.stop(100)
      await closeStore()
    },
  }
}
