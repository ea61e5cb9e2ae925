/** `bylaw migrate`, which is the only command that changes a schema in production. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { folder, notes, post, run, served } from '../help/command.ts'
import { freshPostgres } from '../help/postgres.ts'

const cwd = folder({
  'api.ts': notes,
  'more.ts': notes.replace('max: 200', 'max: 200, filter: true'),
})
const database = ['--database', 'sqlite:./deep/notes.db']
const env = { NODE_ENV: 'production' }

describe('in production', () => {
  test('an empty database is refused with the command that mends it', async () => {
    mkdirSync(join(cwd, 'deep'))
    writeFileSync(join(cwd, 'deep/notes.db'), '')
    const { code, stdout, stderr } = await run(['serve', 'api.ts', ...database], { cwd, env })
    assert.equal(code, 1)
    assert.equal(stdout, '')
    assert.match(stderr, /The database sqlite:\.\/deep\/notes\.db is not as api\.ts declares it/)
    assert.match(stderr, /- create notes/)
    assert.match(stderr, /bylaw migrate apply api\.ts --database sqlite:\.\/deep\/notes\.db/)
  })
  test('plan shows the statements and changes nothing', async () => {
    for (let i = 0; i < 2; i++) {
      const { code, stdout } = await run(['migrate', 'plan', 'api.ts', ...database], { cwd, env })
      assert.equal(code, 0)
      assert.match(stdout, /-- create notes\nCREATE TABLE "notes" .*;\n/)
    }
  })
  test('status exits with 1 until apply was run', async () => {
    assert.equal((await run(['migrate', 'status', 'api.ts', ...database], { cwd, env })).code, 1)
    const applied = await run(['migrate', 'apply', 'api.ts', ...database], { cwd, env })
    assert.equal(applied.code, 0)
    assert.match(applied.stdout, /done: create notes\n.* is as declared\.\n$/)
    assert.equal((await run(['migrate', 'status', 'api.ts', ...database], { cwd, env })).code, 0)
    assert.match((await run(['migrate', 'plan', 'api.ts', ...database], { cwd, env })).stdout, /nothing to do/)
  })
  test('then it serves, and keeps its rows over a further step', async () => {
    const first = await served(['api.ts', ...database], { cwd, env })
    assert.equal((await post(`${first.url}/notes`, { text: 'kept' })).status, 201)
    assert.equal(await first.stop(), 0)
    const early = await run(['serve', 'more.ts', ...database], { cwd, env })
    assert.equal(early.code, 1)
    assert.match(early.stderr, /migrate apply more\.ts/)
    assert.equal(
      (await run(['migrate', 'apply', 'more.ts'], { cwd, env: { ...env, DATABASE_URL: 'sqlite:./deep/notes.db' } }))
        .code,
      0,
    )
    const second = await served(['more.ts', ...database], { cwd, env })
    const { data } = (await (await fetch(`${second.url}/notes?text=kept`)).json()) as { data: unknown[] }
    assert.equal(data.length, 1)
    assert.equal(await second.stop(), 0)
  })
  test('a database in memory is created as declared', async () => {
    const { stop } = await served(['api.ts', '--database', 'sqlite::memory:'], { cwd, env })
    assert.equal(await stop(), 0)
  })
  test('no output shows the password of a database', async (t) => {
    const { url, drop } = await freshPostgres()
    t.after(drop)
    const secret = url.replace('bylaw@', 'bylaw:hush@')
    const given = { cwd, env: { ...env, DATABASE_URL: secret } }
    const refused = await run(['serve', 'api.ts'], given)
    assert.match(refused.stderr, /The database postgres:\/\/bylaw:\*\*\*@.* is not as api\.ts declares it/)
    assert.match(refused.stderr, /Carry them out: {6}bylaw migrate apply api\.ts\n/)
    const named = await run(['serve', 'api.ts', '--database', secret], { cwd, env })
    assert.match(named.stderr, /bylaw migrate apply api\.ts --database postgres:\/\/bylaw:\*\*\*@/)
    const words = ['status', 'apply', 'apply', 'plan', 'status'].map((word) => ['migrate', word, 'api.ts'])
    const all = [refused, named]
    for (const one of words) all.push(await run(one, given))
    for (const { stdout, stderr } of all) assert.doesNotMatch(stdout + stderr, /hush/)
  })
})
