/** Migrate: brings the tables of a file from what they are to what is declared, the steps of a phase all or none. The cellar. */

import type { DatabaseSync } from 'node:sqlite'
import type { Collection } from '../resources/collection.ts'
import { type Dropping, dropping, dropsSome } from '../schema/drop.ts'
import { type Consent, type Surveyed, survey } from '../schema/hazard.ts'
import { losses } from '../schema/losses.ts'
import { type Refilling, refill } from '../schema/refill.ts'
import type { Change, State } from '../schema/schema.ts'
import {
  type Applied,
  after,
  attendance,
  bare,
  besideEarlier,
  type Carried,
  changeOf,
  doubtful,
  type Fate,
  fitting,
  forget,
  formerOf,
  insistence,
  nameOf,
  others,
  type Plan,
  phaseOf,
  readiness,
  readState,
  record,
  type Standing,
  standing,
  writeState,
} from '../schema/state.ts'
import type { Fill, Step } from '../schema/step.ts'
import { admitUndrop, undropSome } from '../schema/undrop.ts'
import { cellar, finish, type Run, shelf } from '../store/cellar.ts'
import { meta } from '../store/compile.ts'
import { quoted, sqlite } from '../store/dialect.ts'
import { droppedTable } from '../store/dropped.ts'
import { clock } from './clock.ts'
import { runner } from './sqlite.ts'

/** What is remembered in a file; null for an empty one. */
export function stateOf(run: Run): State | null {
  const [table] = run({ text: `SELECT 1 AS found FROM sqlite_schema WHERE name = ?1`, values: [meta] })
  return table ? finish(readState(), run) : null
}

export const standingOf = (run: Run, collections: readonly Collection[]): Standing =>
  standing(stateOf(run), collections, sqlite)

/** Another process that starts at the same time waits and then finds nothing left to do. */
export function migrate(db: DatabaseSync, collections: readonly Collection[], consent: Consent = {}): Applied {
  const run = runner(db)
  const { state, change } = standingOf(run, collections)
  if (state !== null && change.steps.length > 0) hear(run, nameOf(change.after))
  ahead(db, run, collections, consent)
  return together(db, () => carriedOut(db, run, collections, consent))
}

/**
 * Waits until each node that seems to be gone has said that it runs, or would have. A clock that was set makes running nodes seem to
 * be gone, but they go on saying so at the same pace. It holds no lock meanwhile. Those that said nothing are forgotten.
 */
function hear(run: Run, name: string): void {
  const before = finish(doubtful(sqlite, name), run)
  const until = performance.now() + attendance + 2 * insistence
  const silent = () => {
    const now = new Map(finish(doubtful(sqlite, name), run).map(({ node, seen }) => [node, seen]))
    return before.filter(({ node, seen }) => now.get(node) === seen)
  }
  let rest = before
  for (; rest.length > 0 && performance.now() < until; rest = silent()) Atomics.wait(pausing, 0, 0, 100)
  for (const sign of rest) finish(forget(sqlite, sign), run)
}

const pausing = new Int32Array(new SharedArrayBuffer(4))

/** Refuses a change before its first step, or says what it may drop. */
function admitted(run: Run, surveyed: Surveyed, consent: Consent): Dropping {
  const { allowLoss = [], surveys = [] } = consent
  finish(survey(surveyed, [losses(allowLoss), besideEarlier, ...surveys]), run)
  const found = finish(
    dropping(surveyed, consent, () => clock(run).now()),
    run,
  )
  if (finish(dropsSome(found, surveyed), run)) for (const text of droppedTable(sqlite)) run({ text, values: [] })
  return found
}

function carriedOut(db: DatabaseSync, run: Run, collections: readonly Collection[], consent: Consent): Applied {
  const { state, change } = standingOf(run, collections)
  const { steps } = change
  const drops = admitted(run, { change, collections, dialect: sqlite }, consent)
  if (steps.length === 0) return { done: [], left: [], waitsFor: [] }
  const [first, last] = [phaseOf(steps, 'expand'), phaseOf(steps, 'contract')]
  const waitsFor = last.length === 0 || state === null ? [] : finish(others(sqlite, nameOf(change.after)), run)
  const beside = waitsFor.length > 0 || state?.layout.open === true ? change : bare(change)
  for (const step of first) carryOut(db, run, step, refilling(beside, collections, drops))
  const done = waitsFor.length > 0 ? first : steps
  if (done === steps) for (const step of last) carryOut(db, run, step, refilling(change, collections, drops))
  const finished = last.length > 0 && done === steps
  finish(writeState(sqlite, after(change, finished ? 'contract' : 'expand', last.length > 0)), run)
  return { done, left: done === first ? last : [], waitsFor }
}

/** One plan, whole or not at all. */
export function carry(db: DatabaseSync, collections: readonly Collection[], plan: Plan, consent: Consent): Carried {
  const run = runner(db)
  if (stateOf(run) !== null) hear(run, nameOf(plan.to))
  return together(db, () => {
    const before = stateOf(run)
    const is = readiness(plan, before)
    if (is === 'ready' && plan.phase === 'contract') {
      const waitsFor = finish(others(sqlite, nameOf(plan.to)), run)
      if (waitsFor.length > 0) return { is: 'waiting', waitsFor }
    }
    if (is === 'ready') {
      const change = changeOf(plan, before, collections)
      const drops = admitted(run, { change, collections, dialect: sqlite }, consent)
      for (const step of plan.steps) carryOut(db, run, step, refilling(change, collections, drops))
      finish(writeState(sqlite, after(change, plan.phase, plan.to.open)), run)
    }
    finish(record(sqlite, plan), run)
    return { is: is === 'ready' ? 'done' : 'adopted' }
  })
}

/** Puts dropped values back, some in a transaction. */
export function undrop(db: DatabaseSync, collections: readonly Collection[]): Fate[] {
  const run = runner(db)
  const shelves = cellar(collections, admitUndrop(standingOf(run, collections)), sqlite, () => false)
  const all: Fate[] = []
  const some = (after: readonly string[] | null) => together(db, () => finish(undropSome(shelves, after), run))
  for (let batch = some(null); ; batch = some(batch.after)) {
    all.push(...batch.fates)
    if (batch.after === null) return all
  }
}

/** Rows are written again in small transactions where others are at work, so that they do not wait long. */
function ahead(db: DatabaseSync, run: Run, collections: readonly Collection[], consent: Consent): void {
  const { state, change } = standingOf(run, collections)
  if (state?.layout.open !== true || finish(others(sqlite, nameOf(change.after)), run).length > 0) return
  const drops = together(db, () => admitted(run, { change, collections, dialect: sqlite }, consent))
  const made = refilling(change, collections, drops)
  for (const { guards, sql, fill } of change.steps) {
    if (guards) together(db, () => db.exec(sql.join(';')))
    let key: readonly string[] | null = null
    if (fill)
      do key = together(db, () => finish(refill(made(fill), key), run))
      while (key)
  }
}

function together<T>(db: DatabaseSync, act: () => T): T {
  db.exec('BEGIN IMMEDIATE')
  try {
    const made = act()
    db.exec('COMMIT')
    return made
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

type Made = (fill: Fill) => Refilling

function refilling({ before, after: layout }: Change, collections: readonly Collection[], dropping: Dropping): Made {
  const known = fitting(collections, layout, sqlite)
  const shelves = cellar(known, { layout, former: formerOf(before) }, sqlite, () => false)
  return (fill) => ({
    shelf: shelf(shelves, fill.collection),
    table: layout.tables[fill.collection],
    fill,
    dialect: sqlite,
    cellar: shelves,
    dropping,
  })
}

function carryOut(db: DatabaseSync, run: Run, { about, empty, sql, fill }: Step, made: Made): void {
  try {
    if (empty) refuseRows(run, empty)
    for (const text of sql) db.exec(text)
    let key: readonly string[] | null = null
    if (fill)
      do key = finish(refill(made(fill), key), run)
      while (key)
  } catch (error) {
    throw new Error(`The step "${about}" cannot be done: ${reasonOf(error as Error)}`, { cause: error })
  }
}

function reasonOf({ message }: Error): string {
  const clash = /^UNIQUE constraint failed: (.*)$/.exec(message)?.[1]
  if (clash === undefined) return message
  const fields = clash.split(', ').map((column) => column.replace(/^.*?\.(by_)?/, ''))
  return `several rows have the same ${fields.join(' and ')}. Make them differ first.`
}

function refuseRows(run: Run, table: string): void {
  if (run({ text: `SELECT 1 AS found FROM ${quoted(table)} LIMIT 1`, values: [] }).length === 0) return
  throw new Error(
    'it has rows, which would be lost. Declare it beside the old one under a name of its own and move what is stored; in development a new file will do.',
  )
}
