/** Proves the behaviour with files that are missing, not permitted, damaged or of another release. The store. */
import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { type Declaration, f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { asked, freshFile, powerless, rows, things } from '../help/file.ts'

const api = things({ name: f.text({ filter: true }) })
const post = (name: string) => ['POST', '/things', { name }] as const
const list = ['GET', '/things?limit=100'] as const

/** Asserts that the error at start names the file, the reason and the fix. */
async function refused(file: string, reason: RegExp, of = api): Promise<void> {
  await assert.rejects(asked(file, of), (error: Error) => {
    assert.ok(error.message.startsWith(`The database sqlite:${file} cannot be used. `), error.message)
    assert.match(error.message, reason)
    return true
  })
}

describe('a file', () => {
  test('is created with its folders, with any names', async (t) => {
    const file = join(dirname(freshFile(t)), 'a new folder', 'é %20 #?', 'my file.db')
    const [made] = await asked(file, api, post('a'))
    assert.equal(made?.status, 201)
    assert.ok(existsSync(file))
    const [read] = await asked(file, api, list)
    assert.equal(read?.json.data[0].id, made?.json.id)
  })

  test('that is not a database is refused and unchanged', async (t) => {
    const file = freshFile(t)
    const text = 'This is not a database.\n'.repeat(500)
    writeFileSync(file, text)
    await refused(file, /File is not a database\. Choose the right file, or restore it from a backup\.$/)
    assert.equal(readFileSync(file, 'utf8'), text)
  })

  test('that is a folder, or below a file, is refused', async (t) => {
    const file = freshFile(t)
    mkdirSync(file)
    await refused(file, /Unable to open database file\. Give this user the right/)
    const below = join(dirname(file), 'text', 'store.db')
    writeFileSync(dirname(below), '')
    await refused(below, /EEXIST|ENOTDIR/)
  })

  test('that may not be written is refused', async (t) => {
    const file = freshFile(t)
    await asked(file, api, post('a'))
    const opens = (path: string) => () => testing(api, { database: `sqlite:${path}` })
    chmodSync(file, 0o444)
    chmodSync(dirname(file), 0o777)
    powerless(() => assert.throws(opens(file), /Attempt to write a readonly database\. Give this user the right/))
    chmodSync(dirname(file), 0o555)
    try {
      powerless(() => assert.throws(opens(file), /(readonly|unable to open) database.*\. Give this user the right/i))
      const other = join(dirname(file), 'other.db')
      powerless(() => assert.throws(opens(other), /Unable to open database file\. Give this user the right/))
    } finally {
      chmodSync(dirname(file), 0o755)
      // SQLite gives the files beside the database the permissions of the database.
      for (const one of [file, `${file}-wal`, `${file}-shm`]) if (existsSync(one)) chmodSync(one, 0o644)
    }
    const [kept] = await asked(file, api, list)
    assert.equal(kept?.json.data.length, 1)
  })

  test('of a newer release is refused and unchanged', async (t) => {
    const file = freshFile(t)
    await asked(file, api, post('a'))
    rows(file, `UPDATE bylaw_meta SET value = replace(value, '"layout":2', '"layout":3') WHERE name = 'layout'`)
    await refused(file, /It was written by a newer release of bylaw\. Run that release, or a newer one\.$/)
    await refused(file, /newer release/, things({ other: f.text() }))
    assert.equal(rows(file, 'SELECT * FROM things').length, 1)
  })

  test('with a foreign table of that name is refused and unchanged', async (t) => {
    const file = freshFile(t)
    rows(file, 'CREATE TABLE things (a)')
    await refused(
      file,
      /The step "create things" cannot be done: it has a table, view or index things that is not of this service\. Rename that one, or name another/,
    )
    assert.deepEqual(
      rows(file, 'SELECT name FROM sqlite_schema').map(({ name }) => name),
      ['things'],
    )
  })

  test('is not shared by stores in memory', async () => {
    const [one, two] = [testing(api), testing(api)]
    await one.call('/things', { method: 'POST', json: { name: 'a' } })
    const answer = (await (await two.call('/things')).json()) as { data: unknown[] }
    assert.deepEqual(answer.data, [])
    await Promise.all([one.close(), two.close()])
  })
})

describe('a damaged file', () => {
  /** A file with three hundred things of some size. */
  async function filled(t: Parameters<typeof freshFile>[0]): Promise<string> {
    const file = freshFile(t)
    const { call, close } = testing(api, { database: `sqlite:${file}` })
    const names = Array.from({ length: 300 }, (_, i) => `${i} `.repeat(50))
    await Promise.all(names.map((name) => call('/things', { method: 'POST', json: { name } })))
    await close()
    assert.equal(existsSync(`${file}-wal`), false)
    return file
  }

  /** The number of the root page of a table or an index. */
  const pageOf = (file: string, name: string): number =>
    (Number(rows(file, `SELECT rootpage FROM sqlite_schema WHERE name = '${name}'`)[0]?.rootpage) - 1) * 4096

  test('of which half is lost is refused, or answers 500, never with fewer rows', async (t) => {
    const file = await filled(t)
    truncateSync(file, readFileSync(file).length >> 1)
    const errors: object[] = []
    try {
      const { call, close } = testing(api, {
        database: `sqlite:${file}`,
        log: { error: (about) => errors.push(about), warn: () => {}, info: () => {} },
      })
      const answer = await call('/things?limit=100')
      assert.equal(answer.status, 503)
      assert.match(String((errors[0] as { err: unknown }).err), /malformed/)
      await close()
    } catch (error) {
      assert.match((error as Error).message, /malformed\. Part of the file is lost; restore it from a backup\.$/)
    }
  })

  test('answers 503 for a damaged page without details, and logs the cause', async (t) => {
    const file = await filled(t)
    const at = pageOf(file, 'things')
    const [thing] = rows(file, 'SELECT id FROM things LIMIT 1')
    writeSync(openSync(file, 'r+'), Buffer.alloc(4096, 0xaa), 0, 4096, at)
    const errors: object[] = []
    const { call, close } = testing(api, {
      database: `sqlite:${file}`,
      log: { error: (about) => errors.push(about), warn: () => {}, info: () => {} },
    })
    t.after(close)
    const requests = [
      () => call('/things'),
      () => call(`/things/${thing?.id}`),
      () => call('/things', { method: 'POST', json: { name: 'x' } }),
    ]
    for (const request of requests) {
      const answer = await request()
      const body = (await answer.json()) as Record<string, unknown>
      assert.equal(answer.status, 503)
      assert.equal(answer.headers.get('retry-after'), '5')
      assert.equal(body.type, 'dependency-unavailable')
      assert.doesNotMatch(JSON.stringify(body), /malformed|sqlite|\.db/i)
    }
    assert.ok(errors.length > 0)
    for (const one of errors) assert.match(String((one as { err: unknown }).err), /malformed/)
  })
})

test('names that the database keeps for itself can be resources', async (t) => {
  const file = freshFile(t)
  const fields = { name: f.text({ filter: true, sort: true }) }
  const resources = Object.fromEntries(
    ['tables', 'indexes', 'selects', 'groups', 'values', 'orders', 'rows'].map((name) => [
      name,
      { fields, access: 'public', path: undefined },
    ]),
  )
  const odd = service({ name: 'tests', resources } as unknown as Declaration) as typeof api
  for (const name of Object.keys(resources)) {
    const [made, found] = await asked(
      file,
      odd,
      ['POST', `/${name}`, { name: 'a' }],
      ['GET', `/${name}?name=a&sort=name`],
    )
    assert.deepEqual([made?.status, found?.status], [201, 200], name)
  }
})
