/** Answers of a Citus coordinator that one server does not give: late workers, schemas on workers. Part 8. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { f, service } from 'bylaw'
import { shardKeyOf } from '../../src/flow/shard-key.ts'
import { openMigration } from '../../src/terminal/open.ts'
import { draftPlans } from '../../src/terminal/start.ts'
import { freshPostgres, sql } from '../help/postgres.ts'
import { freshCitus, parted, planned, timesSent, watched } from '../help/spread.ts'
import { type Between, type Node, node, proxy } from './service-on-server.ts'

const api = service({
  name: 'shop',
  resources: { notes: { prefix: 'nte', fields: { text: f.text() }, access: 'public' } },
})

/** A database with the layout for Citus, and a node whose coordinator stops waiting after the message with a word. */
async function lateWorker(
  t: TestContext,
): Promise<Node & { url: string; between: Between; giveUp: (word: string) => void }> {
  const { url, drop } = await freshCitus()
  await planned(api, url)
  const judged = watched(url)
  const between: Between = await proxy(t, Number(new URL(url).port))
  const own = await node(url.replace(/:\d+\//, `:${between.port}/`), api)
  t.after(async () => {
    await own.close()
    const complaints = await judged()
    await drop()
    assert.deepEqual(complaints, [])
  })
  const giveUp = (word: string): void => {
    between.judge = (bytes) => {
      if (!bytes.includes(word)) return 'pass'
      between.judge = () => 'pass'
      return 'give up'
    }
  }
  return { ...own, url, between, giveUp }
}

const texts = (url: string) => sql(url, `/* beside */ SELECT doc::json ->> 'text' AS text FROM notes`)
const unknown = /not known whether this was done.*only with its idempotency key, or with If-Match/

test('R161: on Citus a write whose worker answers too late is reported as unknown, and not repeated', async (t) => {
  const { call, giveUp, url } = await lateWorker(t)
  giveUp('late creation')
  const made = await call('POST', '/notes', { text: 'late creation' })
  assert.deepEqual([made.status, made.json.type], [503, 'dependency-unavailable'])
  assert.match(made.json.message, unknown)
  assert.deepEqual(await texts(url), [{ text: 'late creation' }])
  const { json, etag } = await call('POST', '/notes', { text: 'first' })
  giveUp('late change')
  const changed = await call('PATCH', `/notes/${json.id}`, { text: 'late change' }, { 'if-match': etag })
  assert.equal(changed.status, 503)
  assert.match(changed.json.message, unknown)
  assert.equal((await call('GET', `/notes/${json.id}`)).json.text, 'late change')
  assert.equal((await call('PATCH', `/notes/${json.id}`, { text: 'again' }, { 'if-match': etag })).status, 412)
})

test('R97: on Citus a key shows whether a write was done whose worker answered too late', async (t) => {
  const { call, giveUp, url } = await lateWorker(t)
  giveUp('COMMIT')
  const made = await call('POST', '/notes', { text: 'keyed' }, { 'idempotency-key': 'k1' })
  assert.equal(made.status, 201, JSON.stringify(made.json))
  const again = await call('POST', '/notes', { text: 'keyed' }, { 'idempotency-key': 'k1' })
  assert.deepEqual([again.status, again.json.old_id], [409, made.json.id])
  assert.deepEqual(await texts(url), [{ text: 'keyed' }])
})

test('R180: on Citus a read whose worker answers too late is 503 and changes nothing', async (t) => {
  const { call, giveUp } = await lateWorker(t)
  const { json } = await call('POST', '/notes', { text: 'x' })
  giveUp(json.id)
  const read = await call('GET', `/notes/${json.id}`)
  assert.deepEqual([read.status, read.json.type], [503, 'timeout'])
})

/** The ids of two rows of two workers that share no connection: with ten connections, the first and the last of four do. */
async function onTwoWorkers({ call }: Node): Promise<readonly [hanging: string, healthy: string]> {
  const ids: string[] = []
  while (ids[0] === undefined || ids[1] === undefined) {
    const { json } = await call('POST', '/notes', { text: 'a' })
    ids[shardKeyOf(json.id) % 4] = json.id
  }
  return [ids[0], ids[1]]
}

test('R161: a worker that hangs holds up its own rows only', { timeout: 180_000 }, async (t) => {
  const { call, ready, between } = await lateWorker(t)
  const [hanging, healthy] = await onTwoWorkers({ call } as Node)
  between.judge = (bytes) => (/ORDER BY/.test(`${bytes}`) || bytes.includes(hanging) ? 'hold' : 'pass')
  const waiting = Array.from({ length: 100 }, () => [
    call('GET', `/notes/${hanging}`),
    call('PUT', `/notes/${hanging}`, { text: 'x' }),
    call('GET', '/notes?limit=2'),
  ]).flat()
  const settled = Promise.all(waiting)
  for (let i = 0; i < 40; i++) {
    assert.equal((await call('GET', `/notes/${healthy}`)).status, 200)
    assert.equal((await call('PATCH', `/notes/${healthy}`, { text: `${i}` })).status, 200)
  }
  assert.equal(await ready(), null)
  between.judge = () => 'pass'
  between.thaw()
  const statuses = new Set((await settled).map(({ status }) => status))
  assert.deepEqual(
    [...statuses].filter((one) => one !== 200 && one !== 503),
    [],
  )
  assert.equal((await call('GET', `/notes/${hanging}`)).status, 200)
})

test('R53: a list reads keys before documents, and a row that is deleted between leaves no gap', async (t) => {
  const { call, between, url } = await lateWorker(t)
  const direct = await node(url, api)
  t.after(direct.close)
  const ids: string[] = []
  for (let i = 0; i < 12; i++) ids.push((await call('POST', '/notes', { text: `${i}` })).json.id)
  const sorted = ids.toSorted()
  for (const query of ['limit=5&cursor=', 'limit=5']) {
    const held = Promise.withResolvers<void>()
    between.judge = (bytes) => {
      const text = bytes.toString('latin1')
      // Each worker has a snapshot of its own, from when it is first asked.
      bytes.write(text.replace('REPEATABLE READ', 'READ COMMITTED '), 'latin1')
      if (!text.includes('{"nte_')) return 'pass'
      between.judge = () => 'pass'
      held.resolve()
      return 'hold'
    }
    const list = call('GET', `/notes?${query}`)
    await held.promise
    for (const id of sorted.splice(1, 2)) assert.equal((await direct.call('DELETE', `/notes/${id}`)).status, 204)
    between.thaw()
    const { json } = await list
    assert.deepEqual(
      json.data.map(({ id }: { id: string }) => id),
      sorted.slice(0, 5),
    )
    if (!json.pagination.nextCursor) continue
    const rest = await call('GET', `/notes?limit=50&cursor=${json.pagination.nextCursor}`)
    assert.deepEqual(
      rest.json.data.map(({ id }: { id: string }) => id),
      sorted.slice(5),
    )
  }
  assert.equal(
    timesSent('ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL citus.max_adaptive_executor_pool_size = 1'),
    1,
  )
  assert.equal(timesSent('SELECT count(*) AS total FROM "notes"'), 1)
  assert.equal(timesSent('SELECT doc, shape FROM'), 0)
})

/** Citus cuts `unique__articles__by_aValue…` for the names of shards, and adds a digest. */
const cutName = 'unique__articles__by_aValueWhoseNameIsTooLongFo_0a1b2c3d'

/**
 * SQL that makes a table answer like one of a schema that Citus has put on a worker: no plan is made without values, and a
 * duplicate is reported by the message of the worker alone.
 */
const onWorker = (table: string, indexes: Readonly<Record<string, string>>): string => `
CREATE TABLE pg_dist_partition ();
CREATE FUNCTION as_worker() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF current_setting('plan_cache_mode') = 'force_generic_plan' THEN
    RAISE EXCEPTION 'could not create distributed plan' USING DETAIL =
      'Possibly this is caused by the use of parameters in SQL functions, which is not supported in Citus.';
  END IF;
  ${Object.entries(indexes)
    .map(
      ([field, index]) => `
  IF EXISTS (SELECT FROM ${table} WHERE "by_${field}" = NEW."by_${field}" AND id <> NEW.id) THEN
    RAISE EXCEPTION 'duplicate key value violates unique constraint "${index}_102045"' USING ERRCODE = '23505';
  END IF;`,
    )
    .join('')}
  RETURN NEW;
END $$;
CREATE TRIGGER as_worker BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION as_worker()`

const long = 'aValueWhoseNameIsTooLongForTheNameOfAShard'
const stock = service({
  name: 'stock',
  resources: {
    articles: {
      prefix: 'art',
      fields: { code: f.text({ unique: true }), [long]: f.text({ optional: true, unique: true }) },
      access: 'public',
    },
  },
})

test('R152: a schema that Citus has put on a worker is served, and duplicates are 409 with their field', async (t) => {
  const { url, drop } = await freshPostgres()
  t.after(drop)
  const first = await node(url, stock)
  await first.close()
  await sql(url, onWorker('articles', { code: 'unique__articles__by_code', [long]: cutName }))
  const own = await node(url, stock)
  t.after(own.close)
  const create = (json: object, headers = {}) => own.call('POST', '/articles', json, headers)
  const made = await create({ code: 'a', [long]: 'b' }, { 'idempotency-key': 'k1' })
  assert.equal(made.status, 201, JSON.stringify(made.json))
  for (const [field, value] of [
    ['code', 'a'],
    [long, 'b'],
  ] as const) {
    const taken = await create({ code: 'c', [field]: value })
    assert.deepEqual(
      [taken.status, taken.json.type, taken.json.errors?.[0]?.pointer],
      [409, 'already-exists', `/${field}`],
      JSON.stringify(taken.json),
    )
  }
  assert.equal((await create({ code: 'd' }, { 'idempotency-key': 'k1' })).json.old_id, made.json.id)
  assert.equal((await own.call('GET', '/articles?limit=5')).json.data.length, 1)
  assert.equal((await own.call('PATCH', `/articles/${made.json.id}`, { code: 'e' })).status, 200)
})

/** Applies a first plan, or the steps themselves, to a database that refuses them before anything was created. */
async function refused(url: string, target: 'citus' | 'postgres' | null, reason: RegExp): Promise<void> {
  const migration = await openMigration(api, url)
  try {
    const [plan] = target === null ? [] : await draftPlans(api, target, [])
    const apply = plan ? migration.applyPlan({ ...plan, name: 'init', checksum: 'x' }) : migration.apply()
    await assert.rejects(Promise.resolve(apply), reason)
  } finally {
    migration.close()
  }
  assert.deepEqual(await sql(url, `SELECT to_regclass('bylaw_meta') AS made`), [{ made: null }])
}

test('a plan for Citus is refused where there is no Citus, or where it replicates shards itself', async (t) => {
  const { url, drop } = await freshPostgres()
  t.after(drop)
  await refused(url, 'citus', /does not have the extension citus\. Run `CREATE EXTENSION citus`.*--target postgres/)
  await parted(url)
  const replicated = url.replace('search_path', 'citus.shard_replication_factor%3D2%20-c%20search_path')
  await refused(replicated, 'citus', /citus\.shard_replication_factor is 2 here, and only 1 is allowed.*Run `ALTER/)
})

test('on a coordinator nothing is created without a plan for Citus, unless its schema is on a worker', async (t) => {
  const { url, drop } = await freshPostgres()
  t.after(drop)
  await parted(url)
  const reason = /every row would stay on the coordinator.*--target citus.*citus_schema_distribute\('t\w+'\)/
  await refused(url, null, reason)
  await refused(url, 'postgres', reason)
  await assert.rejects(node(url, api), reason)
  await sql(url, 'CREATE TABLE pg_dist_schema (schemaid regnamespace)')
  await refused(url, null, reason)
  await sql(url, 'INSERT INTO pg_dist_schema SELECT current_schema()::regnamespace')
  const own = await node(url, api)
  t.after(own.close)
  assert.equal((await own.call('POST', '/notes', { text: 'a' })).status, 201)
})
