/** A dump is restored into another cluster, whose transaction ids are lower: consumers go on with exactly the events that they have not got. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Cluster, cluster } from '../help/cluster.ts'
import { pathOf, without } from '../help/programs.ts'
import { allGot, followedApi, followedNode, followers } from './followed.ts'
import { node } from './service-on-server.ts'

const settings = ['fsync=off', 'shared_buffers=16MB']
/** The id of the next transaction, and the greatest one that an event has. */
const nextId = 'SELECT pg_snapshot_xmax(pg_current_snapshot())'
const greatestMark = 'SELECT max(mark) FROM bylaw_outbox'

/** Dumps a database and restores it into a new cluster. */
async function restored(from: Cluster): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-dump-'))
  try {
    const file = join(folder, 'dump')
    execFileSync(pathOf('pg_dump') as string, ['--format=custom', `--file=${file}`, from.url])
    const to = await cluster(settings)
    execFileSync(pathOf('pg_restore') as string, ['--exit-on-error', '--no-owner', `--dbname=${to.url}`, file])
    return to
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Creates an item in a process that gives no positions to events. */
async function createUnnumbered(server: Cluster, note: string): Promise<void> {
  const { call, close } = await node(server.url, followedApi)
  assert.equal((await call('POST', '/orders', { note })).status, 201)
  await close()
  const unnumbered = 'SELECT count(*) FROM bylaw_outbox WHERE id NOT IN (SELECT event FROM bylaw_positions)'
  assert.notEqual(server.psql(unnumbered), '0')
}

test('R206, R213, R230: cursors, streams, webhooks and reactions go on after a dump is restored into a new cluster', {
  skip: without('pg_dump') || without('pg_restore'),
  timeout: 180_000,
}, async (t) => {
  const before = await cluster(settings)
  t.after(before.close)
  before.psql('DO $$ BEGIN FOR i IN 1..20000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$')
  const own = await followers(t)
  const first = await followedNode(t, before.url, own)
  const empty = await first.list('')
  await first.send('POST', '/webhook-endpoints', { url: own.url, eventTypes: ['order.*'] })
  const stream = await first.stream()
  const early = ['early 1', 'early 2', 'early 3']
  await first.create(...early)
  await allGot(early, own.delivered, own.reacted, stream.notes)
  stream.leave()
  const { cursor } = await first.list('')
  await first.create('late 1', 'late 2')
  await allGot([...early, 'late 1', 'late 2'], own.delivered, own.reacted)
  const idle = await first.list('')
  await first.close()
  await createUnnumbered(before, 'dumped')

  const after = await restored(before)
  t.after(after.close)
  await before.close()
  assert.ok(Number(after.psql(nextId)) < Number(after.psql(greatestMark)), 'the new cluster has lower transaction ids')
  await createUnnumbered(after, 'first')
  const next = await followedNode(t, after.url, own)
  const resumed = await next.stream(stream.ids.at(-1))
  const behind = ['dumped', 'first']
  const missed = ['late 1', 'late 2', ...behind]
  await allGot(missed, resumed.notes)
  const rest = await next.list(idle.cursor)
  assert.deepEqual(rest.notes.toSorted(), behind)
  assert.deepEqual((await next.list(rest.cursor)).notes, [])
  const fresh = ['after 1', 'after 2', 'after 3']
  await next.create(...fresh)
  await allGot([...missed, ...fresh], resumed.notes)
  await allGot([...early, ...missed, ...fresh], own.delivered, own.reacted)
  await allGot([...missed, ...fresh], (await next.list(cursor)).notes)
  await allGot([...early, ...missed, ...fresh], (await next.list(empty.cursor)).notes)
  assert.deepEqual((await next.list(rest.cursor)).notes, fresh)
})
