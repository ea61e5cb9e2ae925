/** A dump is restored into another cluster, whose transaction ids are lower: consumers go on with exactly the events that they have not got. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { testing } from 'bylaw/testing'
import { type Cluster, cluster } from '../help/cluster.ts'
import { pathOf, without } from '../help/programs.ts'
import { allGot, followedApi, followedNode, followers } from './followed.ts'

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

test('R206, R213, R230: cursors, streams, webhooks and reactions go on after a dump is restored into a new cluster', {
  skip: without('pg_dump') || without('pg_restore'),
  timeout: 90_000,
}, async (t) => {
  const before = await cluster(settings)
  t.after(before.close)
  before.psql('DO $$ BEGIN FOR i IN 1..20000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$')
  const own = await followers(t)
  const node = await followedNode(t, before.url, own)
  const empty = await node.list('')
  await node.send('POST', '/webhook-endpoints', { url: own.url, eventTypes: ['order.*'] })
  const stream = await node.stream()
  const early = ['early 1', 'early 2', 'early 3']
  await node.create(...early)
  await allGot(early, own.delivered, own.reacted, stream.notes)
  stream.leave()
  const { cursor } = await node.list('')
  await node.create('late 1', 'late 2')
  await allGot([...early, 'late 1', 'late 2'], own.delivered, own.reacted)
  const idle = await node.list('')
  await node.close()
  const unnumbered = testing(followedApi, { database: before.url })
  await unnumbered.call('/orders', { method: 'POST', json: { note: 'unnumbered' } })
  await unnumbered.close()
  assert.equal(
    before.psql('SELECT count(*) FROM bylaw_outbox WHERE id NOT IN (SELECT event FROM bylaw_positions)'),
    '1',
  )

  const after = await restored(before)
  t.after(after.close)
  await before.close()
  assert.ok(Number(after.psql(nextId)) < Number(after.psql(greatestMark)), 'the new cluster has lower transaction ids')
  const next = await followedNode(t, after.url, own)
  const resumed = await next.stream(stream.ids.at(-1))
  const behind = ['late 1', 'late 2', 'unnumbered']
  await allGot(behind, resumed.notes)
  const rest = await next.list(idle.cursor)
  assert.deepEqual(rest.notes, ['unnumbered'])
  assert.deepEqual((await next.list(rest.cursor)).notes, [])
  const fresh = ['after 1', 'after 2', 'after 3']
  await next.create(...fresh)
  await allGot([...behind, ...fresh], resumed.notes)
  await allGot([...early, ...behind, ...fresh], own.delivered, own.reacted)
  assert.deepEqual(resumed.notes, [...behind, ...fresh])
  assert.deepEqual((await next.list(cursor)).notes, [...behind, ...fresh])
  assert.deepEqual((await next.list(rest.cursor)).notes, fresh)
  assert.deepEqual((await next.list(empty.cursor)).notes, [...early, ...behind, ...fresh])
})
