/** Shared tables: the tables that all collections share, the shard keys of sharded databases, and the secret of a store. The cellar. */
import type { World } from '../flow/world.ts'
import {
  claimTable,
  credentialTable,
  leaseTable,
  linkTable,
  metaTable,
  nodeTable,
  planTable,
  quotaTable,
  reservationTable,
  tombstoneTable,
  useTable,
} from '../sql/compile.ts'
import { type Dialect, literal } from '../sql/dialect.ts'
import type { TableLayout } from '../sql/layout.ts'
import type { Steps } from '../store/steps.ts'

/** For dialects whose steps may run twice. */
export const ifNotExists = ({ online }: Dialect): string => (online ? 'IF NOT EXISTS ' : '')

export const ifExists = ({ online }: Dialect): string => (online ? 'IF EXISTS ' : '')

/** The statements of the shared tables. Sharded ones have the shard key of the rows that their entries belong to. */
// long because: one entry for each table
export function sharedTables(dialect: Dialect): Readonly<Record<string, readonly string[]>> {
  const [text, integer] = [dialect.type('text'), dialect.type('integer')]
  const table = (name: string, columns: string) =>
    `CREATE TABLE ${ifNotExists(dialect)}${name} (${columns})${dialect.tableOptions}`
  const spread = (name: string, key: string, columns: string): string[] => [
    table(name, `${shardKeyColumn(dialect)}${columns}, PRIMARY KEY (${shardKeyPrefix(dialect)}${key})`),
    ...(dialect.distribute?.(name) ?? []),
  ]
  const byTime = (name: string) => `CREATE INDEX ${ifNotExists(dialect)}${name}_time ON ${name} (collection, time)`
  const used = `hash ${text} NOT NULL, collection ${text} NOT NULL, parent ${text}, id ${text} NOT NULL`
  const stones = `collection ${text}, id ${text}, time ${integer} NOT NULL, revision ${integer} NOT NULL, owner ${text}`
  const spent = `name ${text} NOT NULL, used ${integer} NOT NULL, until ${integer} NOT NULL`
  const lives = `holder ${text} NOT NULL, created ${integer} NOT NULL, expires ${integer}, revoked ${integer}, place ${text} NOT NULL`
  const apart = {
    [reservationTable]: spread(
      reservationTable,
      'name, value',
      `name ${text} NOT NULL, value ${text} NOT NULL, holder ${text} NOT NULL`,
    ),
    [linkTable]: spread(
      linkTable,
      'target, collection, holder',
      `target ${text} NOT NULL, collection ${text} NOT NULL, holder ${text} NOT NULL, time ${integer} NOT NULL`,
    ),
  }
  return {
    [metaTable]: [table(metaTable, `name ${text} PRIMARY KEY, value ${text} NOT NULL`)],
    [tombstoneTable]: [...spread(tombstoneTable, 'collection, id', stones), byTime(tombstoneTable)],
    [claimTable]: [
      ...spread(claimTable, 'hash', `${used}, fingerprint ${text} NOT NULL, time ${integer} NOT NULL, answer ${text}`),
      byTime(claimTable),
    ],
    [quotaTable]: [
      ...spread(quotaTable, 'name', spent),
      `CREATE INDEX ${ifNotExists(dialect)}${quotaTable}_until ON ${quotaTable} (until)`,
    ],
    ...(dialect.distribute && apart),
    [useTable]: [
      table(
        useTable,
        `version ${text}, caller ${text}, requests ${integer} NOT NULL, last ${integer} NOT NULL, PRIMARY KEY (version, caller)`,
      ),
    ],
    [credentialTable]: [
      table(credentialTable, `hash ${text} PRIMARY KEY, id ${text} NOT NULL, name ${text} NOT NULL, ${lives}`),
      `CREATE UNIQUE INDEX ${ifNotExists(dialect)}${credentialTable}_place ON ${credentialTable} (name, place)`,
    ],
    [nodeTable]: [table(nodeTable, `node ${text} PRIMARY KEY, name ${text} NOT NULL, seen ${integer} NOT NULL`)],
    [planTable]: [
      table(
        planTable,
        `number ${integer} PRIMARY KEY, name ${text} NOT NULL, checksum ${text} NOT NULL, time ${integer} NOT NULL`,
      ),
    ],
    [leaseTable]: [
      table(
        leaseTable,
        `name ${text} PRIMARY KEY, holder ${text} NOT NULL, fence ${integer} NOT NULL, until ${integer} NOT NULL`,
      ),
    ],
  }
}

/** The first column of a sharded table, and of its primary key. */
export const shardKeyColumn = ({ distribute }: Dialect): string => (distribute ? 'home integer NOT NULL, ' : '')
export const shardKeyPrefix = ({ distribute }: Dialect): string => (distribute ? 'home, ' : '')

interface ReservationChange {
  readonly name: string
  readonly was: TableLayout
  readonly is: TableLayout
  /** Whether a version change converts the stored values. */
  readonly converted: boolean
}

/**
 * On a sharded database, reserves the values of fields that become unique or are converted, for all rows. No node may run
 * meanwhile: its writes would miss reservations, or keep reservations of values that no row has.
 */
export function reservationSteps({ name, was, is, converted }: ReservationChange) {
  const [before, after] = [was.reserved ?? [], is.reserved ?? []]
  const gone = before.filter((one) => !after.includes(one))
  const fresh = after.some((one) => !before.includes(one))
  const fill = { collection: name, again: false, reserves: true }
  const made = {
    about: `reserve what is unique in ${name}, and what it refers to`,
    phase: 'expand' as const,
    sql: [],
    note: 'Reads the whole table, in batches. It fails where rows are alike: make them differ first.',
    still: true,
    fill,
  }
  const freed = {
    about: `let ${name} be alike in what was unique`,
    phase: 'contract' as const,
    sql: gone.map((one) => `DELETE FROM ${reservationTable} WHERE name = ${literal(one)}`),
    note: 'Until then nodes of the former declaration keep it unique among what they write.',
  }
  return [...(is.reserved && (fresh || converted) ? [made] : []), ...(gone.length > 0 ? [freed] : [])]
}

/** The secret of a store, made when its database is first opened. */
export function* storeSecret({ mark }: Dialect, { fillRandom }: World): Steps<string> {
  yield {
    text: `INSERT INTO ${metaTable} (name, value) VALUES ('secret', ${mark(1)}) ON CONFLICT (name) DO NOTHING`,
    values: [Buffer.from(fillRandom(new Uint8Array(32))).toString('base64url')],
  }
  const [row] = yield { text: `SELECT value FROM ${metaTable} WHERE name = 'secret'`, values: [] }
  return row?.value as string
}
