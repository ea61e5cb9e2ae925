/** Open: opens the SQLite file of a URL, then migrates its schema or says what is missing. The store. */
import { mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { runSteps } from '../catalog/steps.ts'
import { realWorld } from '../flow/real-world.ts'
import type { Store, StoreOptions } from '../flow/store.ts'
import type { World } from '../flow/world.ts'
import { crossCheck } from '../rewrite/cross-check.ts'
import { inspectRows } from '../rewrite/inspect.ts'
import { findChangeHazards, findRemakeHazards } from '../rewrite/losses.ts'
import {
  admitDeclaration,
  emptyMisfitReport,
  findMisfits,
  rememberMisfits,
  withMisfitSurvey,
} from '../rewrite/misfits.ts'
import { type PreparedSchema, prepareStore, usableSchema } from '../rewrite/prepare-store.ts'
import type { Collection } from '../rows/collection.ts'
import { type Consent, reportSteps, requireNoHazards, startError } from '../schema/hazard.ts'
import { type Migration, otherTables, type SchemaMode } from '../schema/migration.ts'
import { readUnendedNodes } from '../schema/presence.ts'
import { recordOtherRestore } from '../schema/restored.ts'
import type { SchemaState } from '../schema/schema-change.ts'
import { layoutName, readAppliedPlans, type StoredParts } from '../schema/state.ts'
import { sqliteDialect } from '../sql/dialect.ts'
import { blankStatement } from '../sql/statements.ts'
import { sqliteClock } from './clock.ts'
import { mendOf } from './failure.ts'
import {
  applySqlitePlan,
  compareSqliteSchema,
  migrateSqlite,
  readSqliteSchemaState,
  type SqliteMigrationContext,
  undropSqlite,
} from './migrate.ts'
import { openFile, sqliteStore, statementRunner } from './sqlite.ts'

export function openSqlite(
  url: string,
  collections: readonly Collection[],
  mode: SchemaMode,
  { patience = 10_000, caches = true, world = realWorld, tables = [] }: StoreOptions = {},
  consent: Consent = {},
): Store {
  return withFile(url, world, (db, file) => {
    const run = statementRunner(db)
    const site = { db, run, collections, tables, consent, world }
    const schema = prepareSchema(site, mode)
    const isFull = (one: Collection, column: string) => !schema.isKept && run(blankStatement(one, column)).length === 0
    const due = () => sqliteClock(run, world).due()
    const prepared = runSteps(prepareStore(site, schema, sqliteDialect, isFull, due), run)
    return sqliteStore({ ...prepared, db, world, file: file === ':memory:' ? null : file, patience, caches })
  })
}

/** Migrates or checks the schema, and returns the layouts that the store works with. */
function prepareSchema(site: SqliteMigrationContext, mode: SchemaMode): PreparedSchema {
  const { run, collections, consent } = site
  const comparison = compareSqliteSchema(site)
  const usable = runSteps(usableSchema(comparison, consent, mode, sqliteDialect), run)
  if (usable) return usable
  const { change } = comparison
  const surveyed = { ...site, change, dialect: sqliteDialect }
  const sighting = runSteps(findMisfits(surveyed), run)
  if (mode === 'apply')
    reportSteps(
      comparison,
      collections,
      migrateSqlite({ ...site, consent: withMisfitSurvey(consent, sighting) }),
      consent,
    )
  const admission =
    mode === 'apply' ? rememberMisfits(sqliteDialect, sighting) : admitDeclaration(surveyed, consent, sighting)
  runSteps(admission, run)
  return { layouts: readSqliteSchemaState(run) as SchemaState, misfits: sighting.misfits }
}

// long because: each operation of the port is one entry
export function openSqliteMigration(
  url: string,
  stored: StoredParts,
  consent: Consent = {},
  world: World = realWorld,
): Migration {
  return withFile(url, world, (db) => {
    const run = statementRunner(db)
    const site = { ...stored, db, run, consent, world }
    const comparison = compareSqliteSchema(site)
    const { serves, change } = comparison
    const surveyed = { ...site, change, dialect: sqliteDialect }
    const misfitReport = () =>
      serves === 'former' && change.steps.length === 0 ? emptyMisfitReport : runSteps(findMisfits(surveyed), run)
    /** Runs `act` with a survey of the rows that do not fit the declaration, then stores what was found. */
    const withMisfits = <T>(act: (own: SqliteMigrationContext) => T): T =>
      explainErrors(url, () => {
        const misfits = misfitReport()
        const result = act({ ...site, consent: withMisfitSurvey(consent, misfits) })
        runSteps(rememberMisfits(sqliteDialect, misfits), run)
        return result
      })
    return {
      serves,
      others: otherTables(comparison, stored.collections),
      steps: change.steps,
      survey: () =>
        explainErrors(url, () => runSteps(findChangeHazards(surveyed, withMisfitSurvey(consent, misfitReport())), run)),
      admit: () => withMisfits((own) => runSteps(requireNoHazards(surveyed, own.consent.surveys ?? []), run)),
      apply: () => withMisfits(migrateSqlite),
      otherNodes: () => runSteps(readUnendedNodes(sqliteDialect, layoutName(change.after)), run),
      appliedPlans: () => runSteps(readAppliedPlans(readSqliteSchemaState(run)), run),
      applyPlan: (plan) => withMisfits((own) => applySqlitePlan(own, plan)),
      inspect: (see) => runSteps(inspectRows(change, stored.collections, sqliteDialect, see), run),
      unreadable: () => explainErrors(url, () => runSteps(findRemakeHazards(change), run)),
      crossCheck: () =>
        explainErrors(url, () =>
          runSteps(crossCheck(compareSqliteSchema(site), stored.collections, sqliteDialect), run),
        ),
      version: () => `SQLite ${run({ text: 'SELECT sqlite_version() AS version', values: [] })[0]?.version}`,
      undrop: () => explainErrors(url, () => undropSqlite(site)),
      recordRestore: () =>
        explainErrors(url, () => runSteps(recordOtherRestore(sqliteDialect, compareSqliteSchema(site)), run)),
      close: () => db.close(),
    }
  })
}

/** Opens the file of a URL and passes it to `open`; closes it if that fails. */
function withFile<T>(url: string, world: World, open: (db: DatabaseSync, file: string) => T): T {
  const file = fileOf(url)
  return explainErrors(url, () => {
    if (file !== ':memory:') mkdirSync(dirname(file), { recursive: true })
    const db = openFile(file, world)
    try {
      return open(db, file)
    } catch (error) {
      db.close()
      throw error
    }
  })
}

function explainErrors<T>(url: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    throw startError(url, error, mendOf(error))
  }
}

/** The file of a URL: `sqlite:` and a relative or absolute path, which two slashes may precede. */
export function fileOf(url: string): string {
  const path = /^sqlite:(?:\/\/(?=[./]))?(.+)$/s.exec(url)?.[1]
  if (path === ':memory:') return path
  if (path !== undefined && !path.startsWith('//') && !path.includes('\0')) return resolve(path)
  throw new Error(
    `The database ${JSON.stringify(url)} is not known. Give sqlite:./file.db, sqlite::memory: or postgres://user@host/database.`,
  )
}
