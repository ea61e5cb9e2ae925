/** Opens the PostgreSQL store that a URL names and brings its schema to what is declared, or says what is missing. The cellar. */
import { randomBytes } from 'node:crypto'
import type { Store } from '../flow/store.ts'
import type { Misfits } from '../resources/bounds.ts'
import type { Collection } from '../resources/collection.ts'
import { copiesIn, type Expire, expiring } from '../schema/copies.ts'
import { type Consent, isRefusal, refused, reported, survey } from '../schema/hazard.ts'
import { inspected } from '../schema/inspect.ts'
import { lagging } from '../schema/lag.ts'
import { hazardsOf } from '../schema/losses.ts'
import { admitted, minding, remember, sighted, unseen } from '../schema/misfits.ts'
import type { State } from '../schema/schema.ts'
import { groundAsItIs, type Migration, nameOf, readLedger, type SchemaMode, unlike } from '../schema/state.ts'
import { type Cellar, cellar, finishLater, type Ground } from '../store/cellar.ts'
import { blankStatement, meta } from '../store/compile.ts'
import { postgres } from '../store/dialect.ts'
import { type Layout, placed } from '../store/layout.ts'
import { type Address, addressOf, withoutPassword } from './address.ts'
import { clock, type Followed } from './clock.ts'
import { type Connection, connect, connectShort, type Times } from './connect.ts'
import { type Pace, pace as usual } from './lease.ts'
import { carry, dialectOf, migrate, type Site, standingOf, stateOf } from './migrate.ts'
import { pool } from './pool.ts'
import { postgresStore } from './postgres.ts'
import { tellsState } from './state.ts'
import { undrop } from './undrop.ts'

const times: Times = { connect: 2000, statement: 5000, lock: 1000, idle: 10_000, silence: 6000 }
/** Who waits for a lock on a shared connection keeps all others there waiting, so that none does; it comes again. */
const sharing: Times = { ...times, lock: 20 }
/** Steps of a schema may take long. */
const migrating: Times = { connect: 10_000, statement: 0, lock: 0, idle: 0, silence: 2 ** 30 }
/** How long a request waits for a connection, in milliseconds. */
const mostWait = 2000

export async function openPostgres(
  url: string,
  collections: readonly Collection[],
  mode: SchemaMode,
  patience = 10_000,
  consent: Consent = {},
): Promise<Store> {
  return guarded(url, async (address) => {
    const { shelves, secret, misfits, name, tells, time, expire } = await prepared(address, collections, mode, consent)
    // What is spread over machines is planned for its values, as these say which of them are asked.
    const short = shelves.dialect.spread ? connect : connectShort
    const connections = pool(
      { own: () => connect(address, times), shared: () => short(address, sharing) },
      { connections: address.connections, patience: mostWait, joins: shelves.dialect.gathers && !address.pooled },
    )
    return postgresStore({
      pool: connections,
      cellar: shelves,
      secret,
      misfits,
      patience,
      name,
      tells,
      clock: time,
      expire,
      times: address.pooled ? times : null,
    })
  })
}

export async function openPostgresMigration(
  url: string,
  collections: readonly Collection[],
  pace: Pace = usual,
  consent: Consent = {},
): Promise<Migration> {
  return guarded(url, async (address) => {
    const site = await sited(address, collections, pace, consent)
    const { ask } = site.connection
    try {
      const { serves, change } = await standingOf(ask, collections)
      const surveyed = { change, collections, dialect: dialectOf(change.after) }
      const looked = async () => (serves === 'former' ? unseen : finishLater(sighted(surveyed, elapsed), ask))
      /** Does something with what is known of rows that do not fit, and remembers that afterwards. */
      const minded = <T>(act: (own: Site) => Promise<T>): Promise<T> =>
        guarded(url, async () => {
          const sighting = await looked()
          const made = await act({ ...site, consent: minding(consent, sighting) })
          await finishLater(remember(postgres, sighting), ask)
          return made
        })
      return {
        serves,
        steps: change.steps,
        survey: () => guarded(url, async () => finishLater(hazardsOf(surveyed, minding(consent, await looked())), ask)),
        admit: () => minded((own) => finishLater(survey(surveyed, own.consent.surveys ?? []), ask)),
        apply: () => minded(migrate),
        ledger: () => guarded(url, async () => finishLater(readLedger(await stateOf(ask)), ask)),
        carry: (plan) => minded((own) => carry(own, plan)),
        inspect: (see) =>
          guarded(url, () => finishLater(inspected(change, collections, dialectOf(change.after), see), ask)),
        undrop: () => guarded(url, () => undrop(site)),
        close: () => leave(site),
      }
    } catch (error) {
      leave(site)
      throw error
    }
  })
}

async function sited(
  address: Address,
  collections: readonly Collection[],
  pace: Pace,
  consent: Consent,
): Promise<Site> {
  const connection = await connect(address, migrating)
  try {
    return { connection, beating: await connect(address, migrating), collections, pace, consent }
  } catch (error) {
    connection.close()
    throw error
  }
}

function leave({ connection, beating }: Site): void {
  connection.close()
  beating.close()
}

/** The shelves of a store whose database is as this declaration needs it, and what names the declaration to other nodes. */
// long because: all of it is read on one connection
async function prepared(
  address: Address,
  collections: readonly Collection[],
  mode: SchemaMode,
  consent: Consent,
): Promise<{
  shelves: Cellar
  secret: string
  misfits: Misfits
  name: string
  tells: boolean
  time: Followed
  expire: Expire
}> {
  const site = await sited(address, collections, usual, consent)
  try {
    const { ask } = site.connection
    const { ground, misfits, isKept } = await groundOf(site, mode)
    const columns = placed(collections, ground.layout).map(({ collection }) => collection)
    const blank = isKept ? null : await blanks(site.connection, columns)
    const shelves = cellar(
      collections,
      ground,
      dialectOf(ground.layout),
      (one, column) => blank?.has(`${one.name} ${column}`) === false,
    )
    const tells = await tellsState({ ask }, columns)
    const copies = isKept
      ? {}
      : await finishLater(
          copiesIn(shelves, consent, () => null),
          ask,
        )
    return {
      shelves: { ...lagging(shelves, ground, shelves.dialect), ...copies },
      expire: expiring(shelves.dialect, copies, consent),
      secret: await secretOf({ ask }),
      misfits,
      name: nameOf(ground.layout),
      tells,
      time: await clock({ ask }),
    }
  } finally {
    leave(site)
  }
}

async function groundOf(site: Site, mode: SchemaMode): Promise<{ ground: Ground; misfits: Misfits; isKept?: true }> {
  const { collections, consent } = site
  const { ask } = site.connection
  const standing = await standingOf(ask, collections)
  const { serves, change, state } = standing
  const kept = consent.asItIs ? groundAsItIs(standing) : null
  if (kept) return { ground: kept, misfits: {}, isKept: true }
  if (serves === null && mode === 'require') throw unlike(change.steps)
  if (serves === 'former') return { ground: { layout: state?.former as Layout, former: null }, misfits: {} }
  const surveyed = { change, collections, dialect: dialectOf(change.after) }
  const sighting = await finishLater(sighted(surveyed, elapsed), ask)
  if (mode === 'apply' && change.steps.length > 0) {
    reported(state, collections, await migrate({ ...site, consent: minding(consent, sighting) }), consent)
    await finishLater(remember(postgres, sighting), ask)
  } else await finishLater(admitted(surveyed, consent, sighting), ask)
  return { ground: (await stateOf(ask)) as State, misfits: sighting.misfits }
}

const elapsed = () => performance.now()

/** The columns in which some row has no value. */
async function blanks({ ask }: Connection, collections: readonly Collection[]): Promise<ReadonlySet<string>> {
  const all = collections.flatMap((one) =>
    one.columns.filter(({ required }) => required).map(({ name }) => ({ one, name })),
  )
  const rows = await Promise.all(all.map(({ one, name }) => ask(blankStatement(one, name))))
  return new Set(all.flatMap(({ one, name }, i) => (rows[i]?.length ? [`${one.name} ${name}`] : [])))
}

/** The secret of this store, made by whoever opens it first. */
async function secretOf({ ask }: Pick<Connection, 'ask'>): Promise<string> {
  const text = `INSERT INTO ${meta} (name, value) VALUES ('secret', $1) ON CONFLICT (name) DO NOTHING`
  await ask({ text, values: [randomBytes(32).toString('base64url')] })
  return (await ask({ text: `SELECT value FROM ${meta} WHERE name = 'secret'`, values: [] }))[0]?.value as string
}

async function guarded<T>(url: string, act: (address: Address) => Promise<T>): Promise<T> {
  try {
    return await act(addressOf(url, process.env))
  } catch (error) {
    if (isRefusal(error)) throw refused(withoutPassword(url), error)
    throw new Error(`The database ${withoutPassword(url)} cannot be used. ${sentence((error as Error).message)}`, {
      cause: error,
    })
  }
}

const sentence = (text: string): string =>
  text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?\n)]$/.test(text) ? '' : '.')
