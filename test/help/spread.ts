/**
 * A substitute for Citus on plain PostgreSQL. `create_distributed_table` partitions a table by a column, so that the
 * server refuses unique indexes without it. Statements are checked: one that writes or locks must use one partition. A
 * schema change that Citus refuses because of what its transaction did before is refused too.
 */
import type { TestContext } from 'node:test'
import pg from 'pg'
import type { Service } from '../../src/service.ts'
import { openMigration } from '../../src/terminal/open.ts'
import { draftPlans } from '../../src/terminal/start.ts'
import type { Place } from './places.ts'
import { freshPostgres, sql } from './postgres.ts'

/** Citus numbers the shards of tables from here. */
const first = 102_000
const parts = 3

/**
 * Makes a database look like one with Citus, with a function that replaces a table by a partitioned one with the same
 * columns, NOT NULL constraints and primary key.
 */
const standIn = `
CREATE TABLE pg_dist_partition ();
CREATE FUNCTION create_distributed_table(name regclass, "column" text, colocate_with text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  own text := (SELECT relname FROM pg_class WHERE oid = name);
  key text := (SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = name AND contype = 'p');
BEGIN
  IF colocate_with <> 'none' AND NOT EXISTS (SELECT FROM pg_partitioned_table WHERE partrelid = to_regclass(colocate_with)) THEN
    RAISE EXCEPTION 'relation % is not distributed', colocate_with;
  END IF;
  IF EXISTS (SELECT FROM pg_index WHERE indrelid = name AND NOT indisprimary) THEN
    RAISE EXCEPTION 'the stand-in takes a table before its indexes';
  END IF;
  EXECUTE format('ALTER TABLE %I RENAME TO %I', own, 'was');
  EXECUTE format('CREATE TABLE %I (LIKE was) PARTITION BY HASH (%I)', own, "column");
  DROP TABLE was;
  EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I %s', own, left(own, 58) || '_pkey', key);
  FOR part IN 0 .. ${parts - 1} LOOP
    EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS ${parts}, REMAINDER %s)', left(own, 56) || '_' || (${first} + part), own, part);
  END LOOP;
END $$;
CREATE FUNCTION get_shard_id_for_distribution_column(name regclass, value anyelement) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT shard FROM pg_inherits JOIN pg_class ON oid = inhrelid, CAST(right(relname, 6) AS bigint) AS shard
  WHERE inhparent = name AND satisfies_hash_partition(name, ${parts}, CAST(shard - ${first} AS integer), value)
$$`

/** Renames the indexes of partitions to the names that Citus would use. */
const renamed = `
DO $$ DECLARE it record; BEGIN
  FOR it IN
    SELECT of.relname AS own, part.relname AS part, right(held.relname, 6) AS number
    FROM pg_inherits JOIN pg_class of ON of.oid = inhparent JOIN pg_class part ON part.oid = inhrelid
    JOIN pg_index ON indexrelid = part.oid JOIN pg_class held ON held.oid = indrelid
    WHERE of.relkind = 'I' AND of.relnamespace = current_schema()::regnamespace
  LOOP
    IF it.part <> left(it.own, 56) || '_' || it.number THEN
      EXECUTE format('ALTER INDEX %I RENAME TO %I', it.part, left(it.own, 56) || '_' || it.number);
    END IF;
  END LOOP;
END $$`

/** Creates an empty schema to which plans for Citus can be applied. */
export async function freshCitus(): ReturnType<typeof freshPostgres> {
  const fresh = await freshPostgres()
  await parted(fresh.url)
  return fresh
}

/** Creates `create_distributed_table` in a database. */
export const parted = (url: string): Promise<unknown> => sql(url, standIn)

/** Drafts the plans for Citus and applies them, as an operator does. */
export async function planned(service: Service, url: string): Promise<void> {
  watch()
  const migration = await openMigration(service, url)
  try {
    for (const plan of await draftPlans(service, 'citus', []))
      await migration.applyPlan({ ...plan, name: 'init', checksum: `${plan.number}` })
  } finally {
    migration.close()
  }
  await sql(url, renamed)
}

/** A database with the tables of a service, as those of the other stores (`places.ts`). Statements by `rows` are not checked. */
export async function spreadPlace(t: TestContext, service: Parameters<typeof planned>[0]): Promise<Place> {
  const { url, drop } = await freshCitus()
  t.after(drop)
  await planned(service, url)
  const now = 'extract(epoch FROM now()) * 1000'
  return { url, rows: (text) => sql(url, `/* beside */ ${text}`), now }
}

interface Sent {
  readonly text: string
  readonly values: readonly unknown[]
}

/** The number of executions of one statement text that are checked. */
const looked = 3
const sent = new Map<string, Sent[]>()
let watching = false

/** The methods by which the driver sends. */
interface Wire {
  parse: (statement: { text: string; name?: string }, more?: boolean) => void
  bind: (bound: { statement?: string; values?: readonly unknown[] }, more?: boolean) => void
  query: (text: string) => void
}

/** How the transaction of a connection has used the workers so far. */
interface WorkerUse {
  sequential: boolean
  parallel: boolean
}

/** Changes of a distributed table, and reads of all its rows. */
const parallelCommand = /^(?:(?:CREATE (?:UNIQUE )?|DROP )INDEX|ALTER TABLE|SELECT 1 AS found FROM(?! bylaw_)) /
/** Refused on the stand-in only: other tests of this process use databases without it. */
const refusedViewCommand = (view: string, text: string): string => `DO $$ BEGIN
  IF to_regclass('pg_dist_partition') IS NOT NULL AND to_regclass('${view}') IS NOT NULL THEN
    RAISE EXCEPTION 'cannot run view command because there was a parallel operation on a distributed table in the transaction';
  END IF;
  EXECUTE $view$ ${text} $view$;
END $$`

/**
 * Returns a statement without values as the server is to run it. Citus refuses DROP VIEW after a command that it ran on all
 * shards in parallel, as views are dropped on one connection for each node.
 */
function asOnCitus(use: WorkerUse, text: string): string {
  if (/^(?:BEGIN|COMMIT|ROLLBACK)\b/.test(text)) Object.assign(use, { sequential: false, parallel: false })
  else if (/^SET LOCAL citus\.multi_shard_modify_mode TO 'sequential'/.test(text)) use.sequential = true
  else if (parallelCommand.test(text)) use.parallel ||= !use.sequential
  const [, view] = /^DROP VIEW IF EXISTS (\S+)/.exec(text) ?? []
  if (view !== undefined && use.parallel) return refusedViewCommand(view, text)
  return text.replace(/\bINDEX CONCURRENTLY\b/, 'INDEX')
}

/**
 * Records the statements that all connections of this process send from now on. Removes CONCURRENTLY, as PostgreSQL
 * cannot create indexes of partitioned tables concurrently.
 */
function watch(): void {
  if (watching) return
  watching = true
  const wire = (pg as unknown as { Connection: { prototype: Wire } }).Connection.prototype
  const { parse, bind, query } = wire
  const texts = new WeakMap<object, Map<string, string>>()
  const uses = new WeakMap<object, WorkerUse>()
  wire.parse = function (statement, more) {
    const own = texts.get(this) ?? new Map<string, string>()
    texts.set(this, own.set(statement.name ?? '', statement.text))
    return parse.call(this, statement, more)
  }
  wire.query = function (text) {
    if (!sent.has(text)) sent.set(text, [{ text, values: [] }])
    const use = uses.get(this) ?? { sequential: false, parallel: false }
    uses.set(this, use)
    return query.call(this, asOnCitus(use, text))
  }
  wire.bind = function (bound, more) {
    const text = texts.get(this)?.get(bound.statement ?? '')
    const same = text === undefined ? undefined : (sent.get(text) ?? [])
    if (text !== undefined && same && same.length < looked)
      sent.set(text, [...same, { text, values: bound.values ?? [] }])
    return bind.call(this, bound, more)
  }
}

/**
 * Records statements; the returned function reports those that Citus would refuse, or would send to several nodes although
 * they are not of a kind that may use all of them.
 */
export function watched(url: string, usual = many): () => Promise<string[]> {
  watch()
  sent.clear()
  return async () => {
    const all = [...sent.values()].flat()
    sent.clear()
    const client = new pg.Client(url)
    await client.connect()
    try {
      const complaints: string[] = []
      for (const one of all) complaints.push(...(await judged(client, one, usual)))
      return complaints
    } finally {
      await client.end()
    }
  }
}

/** How often statements with a part were sent since `watched`; each text counts at most three times. */
export const timesSent = (part: string): number =>
  [...sent].reduce((sum, [text, all]) => sum + (text.includes(part) ? all.length : 0), 0)

interface Node {
  readonly 'Relation Name'?: string
  readonly Plans?: readonly Node[]
}

const relationsIn = (node: Node): string[] => [
  ...(node['Relation Name'] === undefined ? [] : [node['Relation Name']]),
  ...(node.Plans ?? []).flatMap(relationsIn),
]

/** Reads that may use all partitions: lists, counts, summaries, checks whether rows exist, leases, and rows that are to be rewritten. */
const many = /^SELECT (?:doc, shape|count\(\*\)|CAST\(|1 AS found|home, |name, holder, until|CASE WHEN change)/
const holds = /\bFOR (?:NO KEY |KEY )?(?:UPDATE|SHARE)\b/

/** Searches for rows that a change of the schema rewrites, and their updates. */
const rewrites = / AS own (?:SET |WHERE .*\bshape < )/s

/** Records statements; the returned function reports those that rewrite rows and do not stay on one shard each. */
export function watchedRewrites(url: string): () => Promise<string[]> {
  const judge = watched(url, /^$/)
  return async () => (await judge()).filter((complaint) => rewrites.test(complaint))
}

async function judged(client: pg.Client, { text, values }: Sent, usual: RegExp): Promise<string[]> {
  if (!/^\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b/.test(text) || /\bpg_|information_schema/.test(text)) return []
  const { rows } = await client.query({ text: `EXPLAIN (FORMAT JSON) ${text}`, values: [...values] })
  const relations = relationsIn(rows[0]?.['QUERY PLAN'][0].Plan as Node)
  const spread = await spreadTables(client)
  const touched = relations.filter((name) => spread.has(name) || /_102\d{3}$/.test(name))
  if (touched.length === 0) return []
  const homes = new Set(touched.flatMap((name) => /_(102\d{3})$/.exec(name)?.[1] ?? []))
  const writes = !/^\s*SELECT/.test(text)
  const wrong = [
    ...(homes.size > 1 && (writes || holds.test(text) || !usual.test(text)) ? [`goes to ${homes.size} parts`] : []),
    ...(/^\s*SELECT (?:(?! FROM ).)*\(SELECT\b/s.test(text) ? ['asks in what it tells'] : []),
    ...(/^\s*WITH\b/.test(text) ? ['has a part that is a statement of its own'] : []),
    ...(/clock_timestamp|\bnow\(|random\(/.test(text) ? ['asks for what changes meanwhile'] : []),
    ...(/^\s*INSERT/.test(text) && (!/\bhome\b/.test(text) || /\bSELECT\b/.test(text))
      ? ['makes rows of no one home']
      : []),
    ...(writes && relations.some((name) => !touched.includes(name)) ? ['joins what lies on one machine'] : []),
  ]
  return wrong.map((why) => `${why}: ${text}`)
}

async function spreadTables(client: pg.Client): Promise<ReadonlySet<string>> {
  const { rows } = await client.query(
    'SELECT relname FROM pg_class JOIN pg_partitioned_table ON partrelid = pg_class.oid WHERE relnamespace = current_schema()::regnamespace',
  )
  return new Set(rows.map(({ relname }) => relname as string))
}
