/** Migrate: brings the tables of a database from what they are to what is declared, step by step, while others work. The cellar. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Collection } from '../resources/collection.ts'
import { type Dropping, dropping, dropsSome } from '../schema/drop.ts'
import { type Consent, survey } from '../schema/hazard.ts'
import { losses } from '../schema/losses.ts'
import { type Refilling, refill } from '../schema/refill.ts'
import { reserve } from '../schema/reserve.ts'
import type { Change, State } from '../schema/schema.ts'
import { shared } from '../schema/shared.ts'
import {
  type Applied,
  after,
  bare,
  besideEarlier,
  type Carried,
  changeOf,
  fitting,
  formerOf,
  nameOf,
  others,
  type Plan,
  phaseOf,
  readiness,
  readProgress,
  readState,
  record,
  type Standing,
  standing,
  writeProgress,
  writeState,
} from '../schema/state.ts'
import type { Fill, Step } from '../schema/step.ts'
import { cellar, finishLater, type Steps, shelf } from '../store/cellar.ts'
import { leases, meta } from '../store/compile.ts'
import { citus, type Dialect, postgres, quoted } from '../store/dialect.ts'
import { droppedTable, findDropped } from '../store/dropped.ts'
import type { Layout } from '../store/layout.ts'
import { besides } from './build.ts'
import type { Connection } from './connect.ts'
import { drift } from './drift.ts'
import { type Lease, leased, type Pace } from './lease.ts'

type Ask = Connection['ask']
const told = (text: string) => ({ text, values: [] })

/** How a database is spoken to, by what is remembered of it: a plan for Citus says that its rows are spread. */
export const dialectOf = (layout: Layout | null): Dialect => (layout?.spread ? citus : postgres)

/** What is remembered in a database; null for an empty one. */
export async function stateOf(ask: Ask): Promise<State | null> {
  const [found] = await ask({ text: 'SELECT to_regclass($1) IS NOT NULL AS found', values: [meta] })
  return found?.found ? finishLater(readState(), ask) : null
}

/** Where a declaration is what was made, it is looked whether that is still there. */
export async function standingOf(ask: Ask, collections: readonly Collection[]): Promise<Standing> {
  const before = await stateOf(ask)
  const found = standing(before, collections, dialectOf(before?.layout ?? null))
  const { state, change, serves } = found
  if (state === null || state.layout.open || serves !== 'now') return found
  const steps = await drift(ask, state.layout)
  return steps.length === 0 ? found : { state, change: { ...change, after: state.layout, steps }, serves: null }
}

/** What changes of a schema are made with: one connection for the steps, and one that tells that their maker lives. */
export interface Site {
  readonly connection: Connection
  readonly beating: Connection
  readonly collections: readonly Collection[]
  readonly pace: Pace
  readonly consent: Consent
}

interface Work extends Site {
  readonly ask: Ask
  readonly lease: Lease
}

/** Carries out steps that may drop values. */
interface Dropper extends Work {
  readonly drops: Dropping
}

/** Another node that starts at the same time waits and then finds nothing left to do. */
export function migrate(site: Site): Promise<Applied> {
  return alone(site, async (work) => {
    const { ask, collections } = work
    const { change, state } = await standingOf(ask, collections)
    const { steps } = change
    const drops = await admitted(work, change)
    if (steps.length === 0) return { done: [], left: [], waitsFor: [] }
    const [first, last] = [phaseOf(steps, 'expand'), phaseOf(steps, 'contract')]
    const seen = async () => (state === null ? [] : await finishLater(others(postgres, nameOf(change.after)), ask))
    const beside = (await seen()).length > 0 ? change : bare(change)
    if (state?.layout.open !== true)
      await phase({ ...work, drops }, { ...beside, steps: first }, 'expand', function* () {
        if (change.after !== state?.layout) yield* writeState(postgres, after(change, 'expand', last.length > 0))
      })
    if (last.length === 0) return { done: first, left: [], waitsFor: [] }
    const waitsFor = await seen()
    if (waitsFor.length > 0) return { done: first, left: last, waitsFor }
    await phase({ ...work, drops }, { ...change, steps: last }, 'contract', function* () {
      yield* writeState(postgres, after(change, 'contract', false))
    })
    return { done: steps, left: [], waitsFor: [] }
  })
}

/** One plan; its steps are carried out and remembered one by one, so that it goes on where it was stopped. */
export function carry(site: Site, plan: Plan): Promise<Carried> {
  return alone(site, async (work) => {
    const { ask, collections } = work
    const before = await stateOf(ask)
    const is = readiness(plan, before)
    if (is === 'ready' && plan.phase === 'contract') {
      const waitsFor = await finishLater(others(postgres, nameOf(plan.to)), ask)
      if (waitsFor.length > 0) return { is: 'waiting', waitsFor }
    }
    const change = changeOf(plan, before, collections)
    const drops = await admitted(work, change)
    await phase(
      { ...work, drops },
      { ...change, steps: is === 'ready' ? plan.steps : [] },
      String(plan.number),
      function* () {
        if (is === 'ready') yield* writeState(postgres, after(change, plan.phase, plan.to.open))
        yield* record(postgres, plan)
      },
    )
    return { is: is === 'ready' ? 'done' : 'adopted' }
  })
}

/** Refuses a change before its first step, or says what it may drop. */
async function admitted({ ask, collections, consent }: Work, change: Change): Promise<Dropping> {
  const { allowLoss = [], surveys = [] } = consent
  const dialect = dialectOf(change.after)
  const surveyed = { change, collections, dialect }
  await finishLater(survey(surveyed, [losses(allowLoss), besideEarlier, ...surveys]), ask)
  const found = await finishLater(
    dropping(surveyed, consent, () => null),
    ask,
  )
  const isUsed = await finishLater(dropsSome(found, surveyed), ask)
  const missing = isUsed && (await ask(findDropped(dialect))).length === 0
  if (missing) for (const text of droppedTable(dialect)) await ask(told(text))
  return found
}

/** Nobody else changes the schema meanwhile. */
export async function alone<T>(site: Site, act: (work: Work) => Promise<T>): Promise<T> {
  const { connection, beating, pace } = site
  const { ask } = connection
  const tables = shared(postgres)
  for (const text of [...(tables[meta] ?? []), ...(tables[leases] ?? [])])
    await insistently(() => ask(told(text)), twice)
  const lease = await leased(connection, beating, pace)
  try {
    return await act({ ...site, ask, lease })
  } finally {
    await lease.release()
  }
}

/** The steps of a phase behind those that somebody has done before, and what is remembered at their end. */
async function phase(work: Dropper, change: Change, is: string, end: () => Steps<void>): Promise<void> {
  const key = `${is}:${nameOf(change.after)}`
  const begun = await finishLater(readProgress(postgres, key), work.ask)
  const made = refilling(change, work.collections, work.drops)
  for (const [i, step] of change.steps.entries()) if (i >= begun) await carryOut(work, step, made, { key, done: i + 1 })
  await fenced(work, () =>
    finishLater(
      (function* () {
        yield* end()
        yield* writeProgress(postgres, '-', 0)
      })(),
      work.ask,
    ),
  )
}

type Made = (fill: Fill) => Refilling

function refilling({ before, after: layout }: Change, collections: readonly Collection[], dropping: Dropping): Made {
  const dialect = dialectOf(layout)
  const known = fitting(collections, layout, dialect)
  const shelves = cellar(known, { layout, former: formerOf(before) }, dialect, () => false)
  return (fill) => ({
    shelf: shelf(shelves, fill.collection),
    table: layout.tables[fill.collection],
    fill,
    dialect,
    cellar: shelves,
    dropping,
  })
}

/** Rows that are written one behind the other cost one way there and back, not one each. */
async function inOneGo<T>(steps: Steps<T>, ask: Connection['ask']): Promise<T> {
  const sent: Promise<unknown>[] = []
  const made = await finishLater(steps, async (statement) => {
    const rows = ask(statement)
    if (!statement.ahead) return rows
    sent.push(rows)
    rows.catch(() => {}) // told below
    return []
  })
  await Promise.all(sent)
  return made
}

async function carryOut(work: Work, step: Step, made: Made, mark: { key: string; done: number }): Promise<void> {
  const { ask, lease } = work
  const { about, empty, sql, fill, apart, still } = step
  const remember = () => finishLater(writeProgress(postgres, mark.key, mark.done), ask)
  try {
    if (still) await refuseNodes(ask)
    if (empty) await refuseRows(ask, empty)
    const write = fill?.reserves ? reserve : refill
    let key: readonly string[] | null = null
    if (fill)
      do key = await fenced(work, () => inOneGo(write(made(fill), key), ask))
      while (key)
    if (apart)
      for (const text of sql) {
        await lease.insist()
        await besides(ask, text)
      }
    await fenced(work, async () => {
      if (empty) await refuseRows(ask, empty)
      if (!apart) for (const text of sql) await ask(told(text))
      await remember()
    })
  } catch (error) {
    throw new Error(`The step "${about}" cannot be done: ${reasonOf(error as Error & { detail?: string })}`, {
      cause: error,
    })
  }
}

/** A transaction that only who holds the lease can end, and whose locks nobody waits long for. */
export function fenced<T>({ ask, lease }: Work, act: () => Promise<T>): Promise<T> {
  return insistently(async () => {
    await ask(told('BEGIN'))
    try {
      await ask(told(`SET LOCAL lock_timeout = '500ms'`))
      await lease.insist()
      const made = await act()
      await ask(told('COMMIT'))
      return made
    } catch (error) {
      await ask(told('ROLLBACK')).catch(() => {})
      throw error
    }
  })
}

/** What others hold is waited for outside of their queue: a statement that waits for its lock would stop all readers behind it. */
const passing = ['55P03', '40P01', '40001']
/** Two nodes made one table at once. */
const twice = ['42P07', '42710', '23505']
const mostTries = 40

async function insistently<T>(act: () => Promise<T>, also = passing): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await act()
    } catch (error) {
      const { code = '' } = error as { code?: string }
      if (!also.includes(code) || tries === mostTries) throw error
    }
    await pause(100 + Math.random() * 400)
  }
}

function reasonOf({ message, detail }: Error & { readonly detail?: string }): string {
  const clash = /^Key \((.*?)\)=\(/.exec(detail ?? '')?.[1] // a column as it is, or what is made of it
  const fields = [...(clash ?? '').matchAll(/\bby_([\w.]+)/g)].map(([, field]) => field)
  if (fields.length === 0) return message
  return `several rows have the same ${fields.join(' and ')}. Make them differ first.`
}

async function refuseNodes(ask: Ask): Promise<void> {
  const running = await finishLater(others(postgres, ''), ask)
  if (running.length > 0)
    throw new Error(
      `no node may run meanwhile, and these do: ${running.join(', ')}. Stop them, wait half a minute where one was not stopped but lost, and run this command again.`,
    )
}

async function refuseRows(ask: Ask, table: string): Promise<void> {
  if ((await ask(told(`SELECT 1 AS found FROM ${quoted(table)} LIMIT 1`))).length === 0) return
  throw new Error(
    'it has rows, which would be lost. Declare it beside the old one under a name of its own and move what is stored; in development a new database will do.',
  )
}
