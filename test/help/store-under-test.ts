/** A SQLite store on a connection that tests can disturb, and plans for it. */

import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { f } from 'bylaw'
import { storeContext } from '../../src/catalog/context.ts'
import { callerGate } from '../../src/corridor/server-context.ts'
import type { ReadResult } from '../../src/flow/found-row.ts'
import type { Outcome } from '../../src/flow/outcome.ts'
import type { Create, Decide, RowWrite } from '../../src/flow/plan.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import type { Store } from '../../src/flow/store.ts'
import { serviceWorld, type World } from '../../src/flow/world.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import { encodeRow } from '../../src/resources/document.ts'
import type { Resource } from '../../src/resources/resource.ts'
import { changeBetween } from '../../src/schema/schema-change.ts'
import { sqliteDialect } from '../../src/sql/dialect.ts'
import { openSqlite } from '../../src/sqlite/open.ts'
import { openFile, sqliteStore } from '../../src/sqlite/sqlite.ts'
import { freshFile, things } from './file.ts'

export const api = things({ name: f.text({ unique: true }), text: f.text({ default: '' }) })
const resource = api.resources.get('things') as Resource
export const collections = [resource.collection]

export interface StoreUnderTest {
  readonly file: string
  /** The connection of the store. */
  readonly db: DatabaseSync
  readonly store: Store
  readonly call: (path: string, init?: RequestInit) => Promise<Response>
  /** The entries that were logged as errors. */
  readonly errors: { readonly err?: unknown }[]
}

/** Opens a store on a new file and closes it after the test. */
export async function openStoreUnderTest(t: TestContext, world: World = realWorld): Promise<StoreUnderTest> {
  const file = freshFile(t)
  await openSqlite(`sqlite:${file}`, collections, 'apply').close()
  const db = openFile(file, world)
  const shelves = storeContext(
    collections,
    { layout: changeBetween(null, collections, sqliteDialect).after, former: null },
    sqliteDialect,
  )
  const store = sqliteStore({
    db,
    world,
    file,
    context: shelves,
    secret: 'a secret',
    misfits: {},
    expire: null,
    caches: true,
    patience: 10_000,
    name: 'a name',
  })
  const errors: { err?: unknown }[] = []
  const log = { error: (about: object) => errors.push(about), warn: () => {}, info: () => {} }
  const own = serviceWorld(world, store)
  const door = fetchDoor({
    service: api,
    store,
    world: own,
    authenticate: callerGate(api, store, own),
    log,
    open: () => true,
  })
  t.after(() => db.isOpen && store.close())
  return { file, db, store, errors, call: (path, init) => door(new Request(`http://localhost${path}`, init)) }
}

export const idOf = (n: number): string => `thg_${String(n).padStart(26, '0')}`
const time = Date.UTC(2026, 0, 1)

/** A plan that creates a thing. */
export function creation(n: number, name = `thing ${n}`, text = ''): Create {
  const now = new Date(time).toISOString()
  const row = encodeRow(resource, { id: idOf(n), name, text, createdAt: now, updatedAt: now })
  const key = { id: idOf(n), parent: null, account: null }
  return { do: 'create', collection: 'things', key, parent: null, row, time, id: 'fresh', references: [], claim: null }
}

/** A plan that reads a thing and writes the result of `decide`. */
export function decision(n: number, decide: (seen: ReadResult) => RowWrite): Decide {
  return {
    do: 'decide',
    read: { do: 'read', collection: 'things', key: { id: idOf(n), parent: null, account: null }, time },
    decide,
  }
}

export async function isThere({ execute }: Store, n: number): Promise<boolean> {
  const read = { do: 'read', collection: 'things', key: { id: idOf(n), parent: null, account: null }, time } as const
  return (await execute(read)).is === 'found'
}

/** Holds the write lock on another connection until `letGo`. */
export function holdsWrites(file: string): { letGo: () => void } {
  const db = new DatabaseSync(file, { timeout: 5000 })
  db.exec('BEGIN IMMEDIATE')
  return {
    letGo: () => {
      db.exec('COMMIT')
      db.close()
    },
  }
}

/** Waits for some turns of the event loop. */
export async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await pause(1)
}

/** The state of a promise: pending, the outcome, or the error. */
export async function stateOf(outcome: Outcome | Promise<Outcome>): Promise<string> {
  const pending = Symbol('pending')
  return Promise.race([outcome, pending]).then(
    (value) => (typeof value === 'symbol' ? 'pending' : value.is),
    (error) => String(error),
  )
}
