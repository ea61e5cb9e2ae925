/** Proves that a reader of events misses none and sees each item in order, however writers commit. R206, R230. The store. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { counters, write } from '../help/event-node.ts'
import { eventReader, judgeEvents } from '../help/event-readers.ts'
import { type Node, nodeOn, type Place, places } from '../help/places.ts'
import { connected, freshPostgres, sql } from '../help/postgres.ts'

const asker =
  ({ ask }: Node) =>
  async (method: string, path: string, json: object) => {
    const answer = await ask(method, path, json)
    return { status: answer.status, id: answer.json.id as string }
  }

/** Opens nodes on a database. */
function opened<const Count extends number>(t: TestContext, place: Pick<Place, 'url'>, count: Count): readonly Node[] {
  const nodes = Array.from({ length: count }, () => nodeOn(place, counters))
  for (const { close } of nodes) t.after(close)
  return nodes
}

/** Makes commits slow: up to a time in milliseconds, for some of them. */
const slowCommits = (url: string, share: number, most: number) =>
  sql(
    url,
    `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       IF random() < ${share} THEN PERFORM pg_sleep(random() * ${most / 1000}); END IF;
       RETURN NULL;
     END $$;
     CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON bylaw_outbox DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()`,
  )

for (const [name, share, most, limit] of [
  ['some commits are slow', 0.3, 60, 3],
  ['most commits take a moment', 0.7, 6, 50],
] as const)
  test(`R230: readers miss nothing while ${name} and two nodes give positions (PostgreSQL)`, async (t) => {
    const { url, drop } = await freshPostgres()
    t.after(drop)
    const nodes = opened(t, { url }, 4)
    await nodes[0]?.ask('GET', '/events')
    await slowCommits(url, share, most)
    const acknowledged = new Map<string, number>()
    const keep = (id: string, revision: number) => void acknowledged.set(id, revision)
    let isOver = false
    const readers = nodes.slice(2).map((node) => eventReader(node, limit))
    const reading = readers.map(async ({ read }) => {
      for (; !isOver; await setImmediate()) await read()
    })
    const writing = [0, 1, 0, 1, 0, 1].map((i) => write(asker(nodes[i] as Node), { items: 6, changes: 4 }, keep))
    const ended = await Promise.allSettled(writing)
    isOver = true
    for (const one of [...ended, ...(await Promise.allSettled(reading))])
      if (one.status === 'rejected') throw one.reason
    assert.equal(acknowledged.size, 36)
    for (const { read, seen } of readers) {
      await read()
      judgeEvents(seen, acknowledged)
      assert.equal(seen.length, 36 * 4)
    }
    assert.deepEqual(readers[0]?.seen, readers[1]?.seen)
    const positions = await sql(url, 'SELECT position FROM bylaw_positions ORDER BY position')
    assert.deepEqual(
      positions.map(({ position }) => Number(position)),
      positions.map((_, i) => i + 1),
    )
  })

test('R230: a transaction of somebody else that lasts neither delays events nor loses its own (PostgreSQL)', async (t) => {
  const { url, drop } = await freshPostgres()
  t.after(drop)
  const [node] = opened(t, { url }, 1) as [Node]
  const { read, seen } = eventReader(node, 10)
  await read()
  const other = await connected(t, url)
  const { id } = (await node.ask('POST', '/counters', { value: 1 })).json
  await other.query('BEGIN')
  // It changes an item as a node does: the event has the mark of this transaction, and of a time before those of others.
  await other.query(`UPDATE counters SET revision = 2, doc = replace(doc, '"value":1', '"value":2') WHERE id = $1`, [
    id,
  ])
  await other.query(
    `INSERT INTO bylaw_outbox SELECT 'evt_00000000000000000000000000', type, resource, item, parent, account, 'updated', 2, shape, at - 1000, replace(payload, '"value":1', '"value":2'), txid_current() FROM bylaw_outbox WHERE item = $1`,
    [id],
  )
  const acknowledged = new Map<string, number>()
  for (let round = 0; round < 3; round++) {
    await write(asker(node), { items: 2, changes: 3 }, (one, revision) => void acknowledged.set(one, revision))
    await read()
    judgeEvents(seen, acknowledged)
    assert.equal(seen.length, 1 + 6 * (round + 1))
  }
  await other.query('COMMIT')
  await read()
  judgeEvents(seen, new Map([...acknowledged, [id, 2]]))
  assert.equal(seen.length, 20)
  const later = eventReader(node, 10)
  await later.read()
  assert.deepEqual(later.seen, seen, 'a reader that begins later sees the same order')
})

test('R230: many events at once get positions in the order of each item (PostgreSQL)', async (t) => {
  const { url, drop } = await freshPostgres()
  t.after(drop)
  const [node] = opened(t, { url }, 1) as [Node]
  const ids = [(await node.ask('POST', '/counters', { value: 1 })).json.id]
  const { read, seen } = eventReader(node, 100)
  await read()
  // One transaction with more events than get positions at once: clocks of several machines, and one time for many changes.
  await sql(
    url,
    `INSERT INTO bylaw_outbox SELECT 'evt_' || lpad(md5(n::text), 26, '0'), type, resource, item, parent, account, 'updated', n, shape, at + CASE WHEN n % 7 = 0 THEN -5000 ELSE n / 500 END, replace(payload, '"value":1', '"value":' || n), txid_current()
     FROM bylaw_outbox, generate_series(2, 3500) AS n`,
  )
  await read()
  judgeEvents(seen, new Map([[ids[0], 3500]]))
})

/** The tables of events as earlier releases made them in a file. */
const earlierTables = [
  'DROP VIEW bylaw_positions',
  'DROP TABLE bylaw_outbox',
  'CREATE TABLE bylaw_outbox (id TEXT PRIMARY KEY, type TEXT NOT NULL, resource TEXT NOT NULL, item TEXT NOT NULL, parent TEXT, account TEXT, action TEXT NOT NULL, sequence INTEGER NOT NULL, shape INTEGER NOT NULL, at INTEGER NOT NULL, payload TEXT NOT NULL, mark INTEGER NOT NULL) STRICT',
  'CREATE INDEX bylaw_outbox_mark ON bylaw_outbox (mark)',
  'CREATE TABLE bylaw_positions (position INTEGER PRIMARY KEY, event TEXT NOT NULL) STRICT',
  'CREATE UNIQUE INDEX bylaw_positions_event ON bylaw_positions (event)',
]

for (const [layout, texts] of [
  ['of this release', []],
  ['of an earlier release', earlierTables],
] as const)
  test(`R230: a file ${layout} gives positions without gaps in the order of the writes (SQLite)`, async (t) => {
    const [, place] = places.find(([name]) => name === 'SQLite') as (typeof places)[number]
    const at = await place(t)
    await opened(t, at, 1)[0]?.ask('GET', '/events')
    for (const text of texts) await at.rows(text)
    const [one, other] = opened(t, at, 2) as [Node, Node]
    const { read, seen } = eventReader(one, 5)
    const acknowledged = new Map<string, number>()
    for (let round = 0; round < 3; round++) {
      await Promise.all(
        [one, other].map((node) =>
          write(asker(node), { items: 3, changes: 3 }, (id, revision) => void acknowledged.set(id, revision)),
        ),
      )
      await read()
      judgeEvents(seen, acknowledged)
    }
    const rows = await at.rows('SELECT position, mark FROM bylaw_positions JOIN bylaw_outbox ON id = event ORDER BY 1')
    assert.deepEqual(
      rows.map(({ position, mark }) => [position, mark]),
      rows.map((_, i) => [i + 1, i + 1]),
    )
    assert.equal(seen.length, rows.length)
  })

for (const [name, place] of places) {
  test(`R206: a change whose event cannot be recorded does not take place (${name})`, async (t) => {
    const at = await place(t)
    const [node] = opened(t, at, 1) as [Node]
    const { id } = (await node.ask('POST', '/counters', { value: 1 })).json
    const block =
      name === 'SQLite'
        ? `CREATE TRIGGER no BEFORE INSERT ON bylaw_outbox BEGIN SELECT RAISE(ABORT, 'no'); END`
        : `CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$; CREATE TRIGGER no BEFORE INSERT ON bylaw_outbox FOR EACH ROW EXECUTE FUNCTION no()`
    await at.rows(block)
    for (const [method, path, json] of [
      ['POST', '/counters', { value: 1 }],
      ['PATCH', `/counters/${id}`, { value: 2 }],
      ['PUT', `/counters/${id}`, { value: 2 }],
      ['DELETE', `/counters/${id}`],
    ] as const)
      assert.ok((await node.ask(method, path, json)).status >= 500, method)
    await at.rows(name === 'SQLite' ? 'DROP TRIGGER no' : 'DROP TRIGGER no ON bylaw_outbox')
    const left = await at.rows('SELECT id, revision FROM counters')
    assert.deepEqual(
      left.map((row) => [row.id, Number(row.revision)]),
      [[id, 1]],
    )
    const { read, seen } = eventReader(node, 10)
    await read()
    assert.equal(seen.length, 1)
  })

  test(`R230: readers go on where they left off after the database is restored elsewhere (${name})`, async (t) => {
    const at = await place(t)
    const [node] = opened(t, at, 1) as [Node]
    const { read, seen } = eventReader(node, 10)
    const acknowledged = new Map<string, number>()
    const more = () =>
      write(asker(node), { items: 2, changes: 2 }, (one, revision) => void acknowledged.set(one, revision))
    await more()
    await read()
    // One event had no position when the database was copied, and the numbers of transactions begin anew in the copy.
    await more()
    for (const text of [
      'UPDATE bylaw_outbox SET mark = mark + 1000000',
      'UPDATE bylaw_relay SET horizon = horizon + 1000000',
    ])
      if (name === 'PostgreSQL') await at.rows(text)
    await more()
    await read()
    judgeEvents(seen, acknowledged)
    assert.equal(seen.length, 12)
    if (name === 'PostgreSQL') {
      const [relay] = await at.rows('SELECT horizon FROM bylaw_relay')
      assert.ok(Number(relay?.horizon) < 1_000_000)
    }
  })

  test(`R230: a cursor of events that were lost with their database is refused (${name})`, async (t) => {
    const at = await place(t)
    const [node] = opened(t, at, 1) as [Node]
    await write(asker(node), { items: 2, changes: 2 }, () => {})
    const { json } = await node.ask('GET', '/events?cursor=')
    // An older copy of the database does not have the last events.
    await at.rows('DELETE FROM bylaw_outbox WHERE id IN (SELECT event FROM bylaw_positions WHERE position > 2)')
    await at.rows('DELETE FROM bylaw_positions WHERE event NOT IN (SELECT id FROM bylaw_outbox)')
    await at.rows('UPDATE bylaw_relay SET position = 2')
    const lost = await node.ask('GET', `/events?cursor=${json.pagination.nextCursor}`)
    assert.deepEqual([lost.status, lost.json.type], [400, 'cursor-expired'])
  })
}
