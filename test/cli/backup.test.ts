/** `bylaw backup`, `bylaw restore` and `bylaw restored`, as operators use them. */
import assert from 'node:assert/strict'
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { folder, notes, post, run, served } from '../help/command.ts'
import { rows } from '../help/file.ts'
import { freshPostgres } from '../help/postgres.ts'

const keyed = notes.replace("access: 'public'", "access: 'authenticated'")

async function done(words: readonly string[], cwd: string, env = {}): Promise<string> {
  const { code, stdout, stderr } = await run(words, { cwd, env })
  assert.equal(code, 0, stderr + stdout)
  return stdout
}

async function refused(words: readonly string[], cwd: string, ...says: readonly RegExp[]): Promise<void> {
  const { code, stdout, stderr } = await run(words, { cwd })
  assert.equal(code, 1, stdout)
  for (const one of says) assert.match(stderr, one)
  assert.doesNotMatch(stderr, /\n +at |node:internal/)
}

const textsIn = (file: string): string[] =>
  rows(file, 'SELECT doc FROM notes').map(({ doc }) => JSON.parse(String(doc)).text as string)

/** A folder with a database that has one note. */
async function withNote(): Promise<string> {
  const cwd = folder({ 'api.ts': notes })
  const { url, stop } = await served(['api.ts'], { cwd })
  assert.equal((await post(`${url}/notes`, { text: 'first' })).status, 201)
  assert.equal(await stop(), 0)
  return cwd
}

const leftovers = (cwd: string): string[] =>
  [...readdirSync(cwd), ...readdirSync(join(cwd, 'data'))].filter((name) => /part|-wal|-shm|-journal/.test(name))

describe('backup', { concurrency: 2 }, () => {
  test('a backup under writes has a prefix of the acknowledged ones, and is restored', async () => {
    const cwd = folder({ 'api.ts': notes })
    const first = await served(['api.ts'], { cwd })
    const writing = { on: true }
    const acknowledged: string[] = []
    const writer = (async () => {
      for (let n = 0; writing.on; n++) {
        const { status } = await post(`${first.url}/notes`, { text: String(n) })
        assert.equal(status, 201)
        acknowledged.push(String(n))
      }
    })()
    while (acknowledged.length < 20) await new Promise(setImmediate)
    const before = acknowledged.length
    const said = await done(['backup', 'api.ts', 'copies/a.db'], cwd)
    assert.match(
      said,
      /^copies\/a\.db is a copy of sqlite:\.\/data\/notes\.db \(\d+\.\d MB\)\. It was opened and checked\.\n$/,
    )
    writing.on = false
    await writer
    const copied = textsIn(join(cwd, 'copies/a.db'))
      .map(Number)
      .toSorted((a, b) => a - b)
    assert.ok(copied.length >= before)
    assert.deepEqual(
      copied,
      Array.from({ length: copied.length }, (_, n) => n),
    )
    assert.equal(statSync(join(cwd, 'copies/a.db')).mode & 0o777, 0o600)
    assert.deepEqual(readdirSync(join(cwd, 'copies')), ['a.db'])

    await refused(['restore', 'api.ts', 'copies/a.db', '--replace'], cwd, /A process has it open\. Stop the service/)
    await refused(['restored', 'api.ts'], cwd, /These nodes use it: \S+:\d+\. Stop them/)
    const { id, tag } = await noteOf(first.url)
    assert.equal(await first.stop(), 0)
    await refused(['restore', 'api.ts', 'copies/a.db'], cwd, /is there already/, /--replace, which keeps it/)
    const restored = await done(['restore', 'api.ts', 'copies/a.db', '--replace'], cwd)
    assert.match(
      restored,
      /^sqlite:\.\/data\/notes\.db is as in copies\/a\.db\. ETags and cursors from before are refused\.\n/,
    )
    const [, aside = ''] = /The former database is (\S+)\.\n/.exec(restored) ?? []
    assert.equal(textsIn(aside).length, acknowledged.length)
    assert.match(restored, /No key that was revoked is valid again\.\n$/)
    assert.deepEqual(leftovers(cwd), [])
    const second = await served(['api.ts'], { cwd })
    const found = await fetch(`${second.url}/notes/${id}`, { headers: { 'if-none-match': tag } })
    assert.equal(found.status, 200)
    assert.notEqual(found.headers.get('etag'), tag)
    assert.equal((await post(`${second.url}/notes`, { text: 'after' })).status, 201)
    assert.equal(await second.stop(), 0)
    assert.equal(textsIn(join(cwd, 'data/notes.db')).length, copied.length + 1)
  })

  test('a backup is refused where it would overwrite a file or has nothing to copy', async () => {
    const cwd = await withNote()
    await done(['backup', 'api.ts', 'a.db'], cwd)
    const bytes = readFileSync(join(cwd, 'a.db'))
    await refused(['backup', 'api.ts', 'a.db'], cwd, /^bylaw: a\.db is there already\.\n/, /--replace/)
    assert.deepEqual(readFileSync(join(cwd, 'a.db')), bytes)
    await done(['backup', 'api.ts', 'a.db', '--replace'], cwd)
    for (const flags of [[], ['--replace']])
      await refused(['backup', 'api.ts', 'data/notes.db', ...flags], cwd, /is the database itself/, /another file/)
    await refused(['backup', 'api.ts', 'b.db', '--database', 'sqlite:./none.db'], cwd, /no database .*none\.db/)
    await refused(['backup', 'api.ts', 'b.db', '--database', 'sqlite::memory:'], cwd, /in memory has no file/)
    await refused(['backup', 'api.ts'], cwd, /needs the file of the backup/)
    assert.equal(existsSync(join(cwd, 'none.db')), false)
    writeFileSync(join(cwd, 'a.db-wal'), '')
    await refused(['backup', 'api.ts', 'a.db', '--replace'], cwd, /a\.db-wal is the log .* a process has it open/)
    rmSync(join(cwd, 'a.db-wal'))
    assert.deepEqual(leftovers(cwd), [])
  })

  test('for PostgreSQL it says which tools to use', async () => {
    const cwd = folder({ 'api.ts': notes })
    const database = ['--database', 'postgres://me:secret@localhost/notes']
    for (const words of [
      ['backup', 'api.ts', 'a.db'],
      ['restore', 'api.ts', 'api.ts'],
    ]) {
      const says = [/pg_dump --format=custom/, /pg_basebackup/, /pg_restore/, /bylaw restored api\.ts/]
      await refused([...words, ...database], cwd, ...says)
      assert.doesNotMatch((await run([...words, ...database], { cwd })).stderr, /secret/)
    }
  })
})

async function noteOf(url: string): Promise<{ readonly id: string; readonly tag: string }> {
  const { data } = (await (await fetch(`${url}/notes?limit=1`)).json()) as { data: { id: string }[] }
  const id = data[0]?.id as string
  return { id, tag: (await fetch(`${url}/notes/${id}`)).headers.get('etag') as string }
}

describe('restore', { concurrency: 2 }, () => {
  test('a file that is no backup of the service is refused, and the database stays', async () => {
    const cwd = await withNote()
    await done(['backup', 'api.ts', 'a.db'], cwd)
    const bytes = readFileSync(join(cwd, 'data/notes.db'))
    const replaced = async (file: string, ...says: readonly RegExp[]) =>
      refused(['restore', 'api.ts', file, '--replace'], cwd, ...says)
    writeFileSync(join(cwd, 'text.db'), 'no database at all, but a text of some length'.repeat(50))
    await replaced('text.db', /text\.db cannot be used\. File is not a database/)
    await replaced('none.db', /There is no file none\.db/)
    await replaced('data/notes.db', /is the database itself/)
    const torn = readFileSync(join(cwd, 'a.db'))
    writeFileSync(join(cwd, 'torn.db'), torn.fill(7, torn.length / 2))
    await replaced('torn.db', /torn\.db cannot be used\. .*(malformed|damaged)/i)
    rows(join(cwd, 'blank.db'), 'CREATE TABLE people (name TEXT)')
    await replaced('blank.db', /no tables of this service, but others: people/)
    writeFileSync(join(cwd, 'other.ts'), notes.replaceAll('notes', 'cards'))
    await done(['migrate', 'apply', 'other.ts'], cwd)
    await done(['backup', 'other.ts', 'cards.db'], cwd)
    await replaced('cards.db', /no tables of this service, but others: cards/)
    assert.deepEqual(readFileSync(join(cwd, 'data/notes.db')), bytes)
    assert.deepEqual(leftovers(cwd), [])
    copyFileSync(join(cwd, 'a.db'), join(cwd, 'gone.db-wal'))
    const gone = ['--database', 'sqlite:./gone.db']
    await refused(
      ['restore', 'api.ts', 'a.db', ...gone],
      cwd,
      /gone\.db-wal is the log of another database: it was moved or removed/,
    )
  })

  test('a damaged database is replaced, and one of an older form is restored and migrated', async () => {
    const cwd = await withNote()
    await done(['backup', 'api.ts', 'a.db'], cwd)
    writeFileSync(join(cwd, 'data/notes.db'), 'lost')
    writeFileSync(join(cwd, 'api.ts'), notes.replace('fields: {', 'fields: { place: f.text({ default: "here" }),'))
    const said = await done(['restore', 'api.ts', 'a.db', '--replace'], cwd)
    assert.match(said, /Its tables are not as api\.ts declares them; `bylaw migrate apply` changes them/)
    await done(['migrate', 'apply', 'api.ts'], cwd)
    const { url, stop } = await served(['api.ts'], { cwd })
    const { data } = (await (await fetch(`${url}/notes`)).json()) as { data: object[] }
    assert.partialDeepStrictEqual(data, [{ text: 'first', place: 'here' }])
    assert.equal(await stop(), 0)
  })

  test('keys that were revoked after the backup are named', async () => {
    const cwd = folder({ 'api.ts': keyed })
    for (const name of ['kept', 'ended', 'early']) await done(['keys', 'create', 'api.ts', '--name', name], cwd)
    await done(['keys', 'revoke', 'api.ts', '--name', 'early'], cwd)
    await done(['backup', 'api.ts', 'a.db'], cwd)
    await done(['keys', 'revoke', 'api.ts', '--name', 'ended'], cwd)
    const told = await done(['restore', 'api.ts', 'a.db', '--replace'], cwd)
    assert.match(
      told,
      /revoked after the backup, and are valid again\. Revoke them:\n {2}bylaw keys revoke api\.ts --id key_\w+ {4}# ended\n$/,
    )
    const apart = ['--database', 'sqlite:./apart.db']
    const all = await done(['restore', 'api.ts', 'a.db', ...apart], cwd)
    assert.match(all, /Look through the valid ones.*\n.* --database sqlite:\.\/apart\.db --id .*# ended\n.*# kept\n$/)
    const again = await done(['restored', 'api.ts'], cwd)
    assert.match(
      again,
      /^sqlite:\.\/data\/notes\.db is recorded as restored\. ETags and cursors from before are refused\.\n.*Look through/,
    )
    const [, words = ''] = /bylaw (keys revoke \S+ --id \S+)/.exec(told) ?? []
    await done(words.split(' '), cwd)
    assert.match(await done(['keys', 'list', 'api.ts', '--name', 'ended'], cwd), /revoked/)
  })

  test('restored records a restore of PostgreSQL', async (t) => {
    const cwd = folder({ 'api.ts': notes })
    const { url: database, drop } = await freshPostgres()
    t.after(drop)
    const env = { DATABASE_URL: database }
    await refused(['restored', 'api.ts', '--database', database], cwd, /no tables of a service/)
    const first = await served(['api.ts'], { cwd, env })
    await post(`${first.url}/notes`, { text: 'first' })
    const { id, tag } = await noteOf(first.url)
    assert.equal(await first.stop(), 0)
    assert.match(await done(['restored', 'api.ts'], cwd, env), /is recorded as restored\..*\nIt has no valid keys\.\n$/)
    const second = await served(['api.ts'], { cwd, env })
    assert.equal((await fetch(`${second.url}/notes/${id}`, { headers: { 'if-none-match': tag } })).status, 200)
    assert.equal((await fetch(`${second.url}/notes/${id}`, { headers: { 'if-match': tag } })).status, 412)
    assert.equal(await second.stop(), 0)
  })
})
