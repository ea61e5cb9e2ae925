/** Opens the store a URL names and brings its schema to what is declared, or says what is missing. The cellar. */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { Store } from '../flow/store.ts'
import type { Misfits } from '../resources/bounds.ts'
import type { Collection } from '../resources/collection.ts'
import { copiesIn, expiring } from '../schema/copies.ts'
import { type Consent, isRefusal, refused, reported, survey } from '../schema/hazard.ts'
import { inspected } from '../schema/inspect.ts'
import { lagging } from '../schema/lag.ts'
import { hazardsOf } from '../schema/losses.ts'
import { admitted, minding, remember, sighted, unseen } from '../schema/misfits.ts'
import type { State } from '../schema/schema.ts'
import { groundAsItIs, type Migration, nameOf, readLedger, type SchemaMode, unlike } from '../schema/state.ts'
import { cellar, finish, type Ground, type Run } from '../store/cellar.ts'
import { blankStatement, meta } from '../store/compile.ts'
import { sqlite } from '../store/dialect.ts'
import type { Layout } from '../store/layout.ts'
import { clock } from './clock.ts'
import { carry, migrate, standingOf, stateOf, undrop } from './migrate.ts'
import { openFile, runner, sqliteStore } from './sqlite.ts'

export function openStore(
  url: string,
  collections: readonly Collection[],
  mode: SchemaMode,
  patience = 10_000,
  consent: Consent = {},
): Store {
  return opened(url, (db, file) => {
    const run = runner(db)
    const { ground, misfits, isKept } = groundOf(db, run, collections, mode, consent)
    const isFull = (one: Collection, column: string) => !isKept && run(blankStatement(one, column)).length === 0
    const shelves = cellar(collections, ground, sqlite, isFull)
    const copies = isKept
      ? {}
      : finish(
          copiesIn(shelves, consent, () => clock(run).due()),
          run,
        )
    return sqliteStore({
      db,
      cellar: { ...lagging(shelves, ground, sqlite), ...copies },
      expire: expiring(sqlite, copies, consent),
      secret: secretOf(run),
      misfits,
      file: file === ':memory:' ? null : file,
      patience,
      name: nameOf(ground.layout),
    })
  })
}

interface Grounds {
  readonly ground: Ground
  readonly misfits: Misfits
  /** Whether the database was opened as it is. */
  readonly isKept?: true
}

/** What the store is laid out for, once it is as this declaration needs it. */
function groundOf(
  db: DatabaseSync,
  run: Run,
  collections: readonly Collection[],
  mode: SchemaMode,
  consent: Consent,
): Grounds {
  const standing = standingOf(run, collections)
  const { serves, change, state } = standing
  const kept = consent.asItIs ? groundAsItIs(standing) : null
  if (kept) return { ground: kept, misfits: {}, isKept: true }
  if (serves === null && mode === 'require') throw unlike(change.steps)
  if (serves === 'former') return { ground: { layout: state?.former as Layout, former: null }, misfits: {} }
  const surveyed = { change, collections, dialect: sqlite }
  const sighting = finish(sighted(surveyed, elapsed), run)
  if (mode === 'apply') reported(state, collections, migrate(db, collections, minding(consent, sighting)), consent)
  finish(mode === 'apply' ? remember(sqlite, sighting) : admitted(surveyed, consent, sighting), run)
  return { ground: stateOf(run) as State, misfits: sighting.misfits }
}

const elapsed = () => performance.now()

export function openMigration(url: string, collections: readonly Collection[], consent: Consent = {}): Migration {
  return opened(url, (db) => {
    const run = runner(db)
    const { serves, change } = standingOf(run, collections)
    const surveyed = { change, collections, dialect: sqlite }
    /** Does something with what is known of rows that do not fit, and remembers that afterwards. */
    const minded = <T>(act: (own: Consent) => T): T =>
      guarded(url, () => {
        const sighting = serves === 'former' ? unseen : finish(sighted(surveyed, elapsed), run)
        const made = act(minding(consent, sighting))
        finish(remember(sqlite, sighting), run)
        return made
      })
    return {
      serves,
      steps: change.steps,
      survey: () =>
        guarded(url, () => {
          const sighting = serves === 'former' ? unseen : finish(sighted(surveyed, elapsed), run)
          return finish(hazardsOf(surveyed, minding(consent, sighting)), run)
        }),
      admit: () => minded(({ surveys = [] }) => finish(survey(surveyed, surveys), run)),
      apply: () => minded((own) => migrate(db, collections, own)),
      ledger: () => finish(readLedger(stateOf(runner(db))), runner(db)),
      carry: (plan) => minded((own) => carry(db, collections, plan, own)),
      inspect: (see) => finish(inspected(change, collections, sqlite, see), runner(db)),
      undrop: () => guarded(url, () => undrop(db, collections)),
      close: () => db.close(),
    }
  })
}

/** Opens a file for something that is made with it; closes it where that fails. */
function opened<T>(url: string, made: (db: DatabaseSync, file: string) => T): T {
  const file = fileOf(url)
  return guarded(url, () => {
    if (file !== ':memory:') mkdirSync(dirname(file), { recursive: true })
    const db = openFile(file)
    try {
      return made(db, file)
    } catch (error) {
      db.close()
      throw error
    }
  })
}

/** What to do about the failures of the database that are met at start, by their code. */
const mends: Readonly<Record<number, string>> = {
  5: 'Another process has kept it locked for too long; wait for that one or end it.',
  8: 'Give this user the right to write the file and its folder.',
  11: 'Part of the file is lost; restore it from a backup.',
  13: 'Make room on the disk.',
  14: 'Give this user the right to write the file and its folder.',
  26: 'Choose the right file, or restore it from a backup.',
}

function guarded<T>(url: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    if (isRefusal(error)) throw refused(url, error)
    const { message, errcode } = error as Error & { errcode?: number }
    const mend = errcode === undefined ? '' : (mends[errcode & 0xff] ?? '')
    throw new Error(`The database ${url} cannot be used. ${[sentence(message), mend].filter(Boolean).join(' ')}`, {
      cause: error,
    })
  }
}

const sentence = (text: string): string =>
  text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?\n)]$/.test(text) ? '' : '.')

/** The file that a URL names: `sqlite:` and a path, relative or absolute; two slashes may stand before it. */
export function fileOf(url: string): string {
  const path = /^sqlite:(?:\/\/(?=[./]))?(.+)$/s.exec(url)?.[1]
  if (path === ':memory:') return path
  if (path !== undefined && !path.startsWith('//') && !path.includes('\0')) return resolve(path)
  throw new Error(`The database ${JSON.stringify(url)} is not known. Give sqlite:./file.db or sqlite::memory:.`)
}

/** The secret of this store, made by whoever opens it first. */
function secretOf(run: Run): string {
  run({
    text: `INSERT INTO ${meta} (name, value) VALUES ('secret', ?1) ON CONFLICT (name) DO NOTHING`,
    values: [randomBytes(32).toString('base64url')],
  })
  return run({ text: `SELECT value FROM ${meta} WHERE name = 'secret'`, values: [] })[0]?.value as string
}
