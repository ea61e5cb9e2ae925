/** `bylaw serve --workers`: one address, one log, members that are replaced, and an end that loses nothing. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { folder, notes, post, run, served } from '../help/command.ts'
import { freshPostgres, sql } from '../help/postgres.ts'

const cwd = folder({ 'api.ts': notes })

/** The processes that serve, as they say it in the database. */
const nodesOf = (file: string): number[] => {
  const db = new DatabaseSync(join(cwd, file))
  const rows = db.prepare('SELECT node FROM bylaw_nodes').all() as { node: string }[]
  db.close()
  return rows.map(({ node }) => Number(node.split(':').at(-1)))
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 400; i++) {
    if (await holds()) return
    await pause(50)
  }
  assert.fail('it did not come about')
}

describe('bylaw serve --workers', { concurrency: 2 }, () => {
  test('serves one address with all, in one log of whole lines, and ends in order', async () => {
    const { url, said, stop } = await served(['api.ts', '--workers', '3', '--database', 'sqlite:./crew.db'], { cwd })
    await until(() => nodesOf('crew.db').length === 3)
    const made = await Promise.all(Array.from({ length: 60 }, (_, i) => post(`${url}/notes`, { text: `note ${i}` })))
    assert.ok(made.every(({ status }) => status === 201))
    const { pagination } = (await (await fetch(`${url}/notes`)).json()) as { pagination: { totalRecords: number } }
    assert.equal(pagination.totalRecords, 60)
    assert.equal(await stop(), 0)
    const [first, ...lines] = said.stdout.trimEnd().split('\n')
    assert.equal(first, `bylaw serves notes at ${url}`)
    assert.equal(lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'answered').length, 61)
    assert.deepEqual(nodesOf('crew.db'), [])
  })

  test('replaces a member that is killed, while the others serve', async () => {
    const { url, said, stop } = await served(['api.ts', '--workers', '2', '--database', 'sqlite:./killed.db'], { cwd })
    await until(() => nodesOf('killed.db').length === 2)
    const [one = 0] = nodesOf('killed.db')
    process.kill(one, 'SIGKILL')
    await until(() => nodesOf('killed.db').filter((pid) => pid !== one).length === 2)
    for (let i = 0; i < 20; i++) assert.equal((await post(`${url}/notes`, { text: 'a' })).status, 201)
    assert.match(said.stdout, new RegExp(`"worker":${one},.*"signal":"SIGKILL".*A worker has ended and is replaced`))
    assert.equal(await stop(), 0)
  })

  test('ends in order also while members still begin', async () => {
    const { stop } = await served(['api.ts', '--workers', '3', '--database', 'sqlite:./early.db'], { cwd })
    assert.equal(await stop(), 0)
  })

  test('shares one PostgreSQL database', async (t) => {
    const { url: database, drop } = await freshPostgres()
    t.after(drop)
    const { url, stop } = await served(['api.ts', '--workers', '2', '--database', database], { cwd })
    await until(async () => (await sql(database, 'SELECT node FROM bylaw_nodes')).length === 2)
    assert.equal((await post(`${url}/notes`, { text: 'a' })).status, 201)
    assert.equal(await stop(), 0)
    assert.deepEqual(await sql(database, 'SELECT node FROM bylaw_nodes'), [])
  })

  test('tells a failure at start once, and what cannot be', async () => {
    const taken = await served(['api.ts', '--database', 'sqlite::memory:'], { cwd })
    const port = new URL(taken.url).port
    const words = ['serve', 'api.ts', '--workers', '3', '--database', 'sqlite:./busy.db']
    const { code, stderr } = await run([...words, '--port', port], { cwd })
    assert.equal(code, 1)
    assert.equal(stderr.match(/is in use by another program/g)?.length, 1)
    await taken.stop()
    for (const [flags, message] of [
      [['--workers', '0'], /has to be a number of processes, not "0"/],
      [['--workers', 'many'], /not "many"/],
      [['--workers', '2', '--database', 'sqlite::memory:'], /A database in memory belongs to one process/],
    ] as const)
      assert.match((await run(['serve', 'api.ts', '--port', '0', ...flags], { cwd })).stderr, message)
  })
})
