/** No command drops stored values without permission: not at a start, not on a file save, not with reviewed plans. */
import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { folder, launch, post, prepared, run, served } from '../help/command.ts'
import { rows } from '../help/file.ts'

const api = (fields: string): string => `import { f, service } from 'bylaw'

export default service({
  name: 'notes',
  resources: { notes: { prefix: 'not', fields: { text: f.text(), ${fields} }, access: 'public' } },
})
`
const before = api('other: f.text({ optional: true })')
const after = api('othr: f.text({ optional: true, filter: true })')
const kept = api("othr: f.text({ optional: true, filter: true, was: 'other' })")
const database = ['--database', 'sqlite:./notes.db']

interface Note {
  readonly other?: string | null
  readonly othr?: string | null
}
const notesAt = async (url: string) => ((await (await fetch(`${url}/notes`)).json()) as { data: Note[] }).data

/** A folder with a database that has one note. */
const stored = prepared({ 'api.ts': before }, async (cwd) => {
  const { url, stop } = await served(['api.ts', ...database], { cwd })
  assert.equal((await post(`${url}/notes`, { text: 'a', other: 'and me' })).status, 201)
  assert.equal(await stop(), 0)
})

describe('stored values', { concurrency: 3 }, () => {
  test('serve refuses to drop them, drops them with the flag and says so, and undrop restores them', async () => {
    const cwd = await stored()
    writeFileSync(join(cwd, 'api.ts'), after)
    const refused = await run(['serve', 'api.ts', ...database], { cwd })
    assert.equal(refused.code, 1)
    assert.equal(refused.stdout, '')
    assert.match(refused.stderr, /notes\.other is not declared any more, and 1 row holds a value in it \(not_/)
    assert.match(refused.stderr, /othr: f\.text\(\{ was: 'other' \}\)/)
    assert.match(refused.stderr, /--allow-loss notes\.other\n/)
    const { url, said, stop } = await served(['api.ts', ...database, '--allow-loss', 'notes.other'], { cwd })
    assert.equal((await notesAt(url))[0]?.othr, null)
    assert.equal(await stop(), 0)
    const [first, ...lines] = said.stdout.trimEnd().split('\n')
    assert.match(first as string, /^bylaw serves notes at /)
    const steps = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'The database was changed.')
    assert.ok(steps.some(({ step }) => step === 'add by_othr to notes'))
    assert.doesNotMatch(said.stdout + said.stderr + refused.stderr, /and me/)
    writeFileSync(join(cwd, 'api.ts'), kept)
    const { stdout } = await run(['migrate', 'undrop', 'api.ts', ...database], { cwd })
    assert.equal(stdout, 'restored: 1 value of notes.other\n')
    const again = await served(['api.ts', ...database], { cwd })
    assert.equal((await notesAt(again.url))[0]?.othr, 'and me')
    assert.equal(await again.stop(), 0)
  })

  test('are written into a new file of the owner alone with --keep-in', async () => {
    const cwd = await stored()
    writeFileSync(join(cwd, 'api.ts'), after)
    const drop = ['migrate', 'apply', 'api.ts', ...database, '--allow-loss', 'notes.other', '--keep-in']
    writeFileSync(join(cwd, 'old.ndjson'), 'old\n')
    const refused = await run([...drop, 'old.ndjson'], { cwd })
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /old\.ndjson: it exists already\. No value was dropped/)
    assert.equal(readFileSync(join(cwd, 'old.ndjson'), 'utf8'), 'old\n')
    assert.equal((await run([...drop, 'new.ndjson'], { cwd })).code, 0)
    assert.equal(statSync(join(cwd, 'new.ndjson')).mode & 0o777, 0o600)
    const { id, ...rest } = JSON.parse(readFileSync(join(cwd, 'new.ndjson'), 'utf8'))
    assert.match(id, /^not_/)
    assert.deepEqual(rest, { collection: 'notes', account: null, parent: null, field: 'other', value: 'and me' })
  })

  test('dev continues to serve the former declaration, with a locked contract too', async () => {
    const cwd = await stored()
    assert.equal((await run(['contract', 'lock', 'api.ts'], { cwd })).code, 0)
    const { said, hear, stop } = launch(['dev', 'api.ts', '--port', '0', ...database], { cwd })
    await hear(/Starts again when api\.ts/)
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(said.stdout)?.[0] as string
    let from = said.stdout.length
    writeFileSync(join(cwd, 'api.ts'), after)
    await hear(/Still serving the former declaration\./, from)
    assert.match(said.stderr, /--allow-loss notes\.other/)
    assert.equal((await notesAt(url))[0]?.other, 'and me')
    from = said.stdout.length
    writeFileSync(join(cwd, 'api.ts'), kept)
    await hear(/Database: .*\n/, from)
    assert.equal((await notesAt(url))[0]?.othr, 'and me')
    assert.equal(await stop(), 0)
    await assert.rejects(fetch(url), 'nothing is left running')
  })

  test('keys, versions and explain work while a declaration is refused, and change no table', async () => {
    const cwd = await stored()
    const bylaw = (...words: string[]) => run([...words, ...database], { cwd })
    const id =
      (await bylaw('doctor', 'api.ts')).code === 0 ? rows(join(cwd, 'notes.db'), 'SELECT id FROM notes')[0]?.id : ''
    const tables = () => rows(join(cwd, 'notes.db'), 'SELECT name, sql FROM sqlite_schema ORDER BY name')
    const meta = () =>
      rows(
        join(cwd, 'notes.db'),
        "SELECT name, value FROM bylaw_meta WHERE name IN ('layout', 'former', 'bounds', 'rights') ORDER BY name",
      )
    const was = [tables(), meta()]
    writeFileSync(
      join(cwd, 'api.ts'),
      `${after.replace('resources: {', 'resources: { pens: { prefix: "pen", fields: {}, access: "public" },')}`,
    )
    assert.equal((await bylaw('keys', 'create', 'api.ts', '--name', 'ci')).code, 0)
    assert.match((await bylaw('keys', 'list', 'api.ts')).stdout, /ci +key_\w+ +in force/)
    assert.equal((await bylaw('versions', 'api.ts')).code, 0)
    assert.match((await bylaw('explain', 'api.ts', 'GET', `/notes/${id}`)).stdout, /item +passes +not_\w+ exists/)
    const absent = await bylaw('explain', 'api.ts', 'GET', `/pens/${String(id).replace('not', 'pen')}`)
    assert.match(absent.stderr, /^bylaw: The database has no table for this resource yet/)
    assert.deepEqual([tables(), meta()], was)
    assert.match((await bylaw('serve', 'api.ts')).stderr, /--allow-loss notes\.other/)
  })

  test('plan names what would be lost, and apply refuses before the first plan', async () => {
    const cwd = folder({ 'api.ts': before })
    const env = { NODE_ENV: 'production' }
    const bylaw = (...words: string[]) => run(['migrate', ...words], { cwd, env })
    await bylaw('plan', 'api.ts', '--name', 'init')
    assert.equal((await bylaw('apply', 'api.ts', ...database)).code, 0)
    const { url, stop } = await served(['api.ts', ...database], { cwd, env })
    await post(`${url}/notes`, { text: 'a', other: 'and me' })
    assert.equal(await stop(), 0)
    writeFileSync(join(cwd, 'api.ts'), after)
    const shown = await bylaw('plan', 'api.ts', ...database)
    assert.match(shown.stdout, /^-- The declaration would be refused, because:\n-- {3}- notes\.other /)
    await bylaw('plan', 'api.ts', '--name', 'more')
    const refused = await bylaw('apply', 'api.ts', ...database)
    assert.equal(refused.code, 1)
    assert.equal(refused.stdout, '')
    assert.match(refused.stderr, /--allow-loss notes\.other/)
    const applied = await bylaw('apply', 'api.ts', ...database, '--allow-loss', 'other')
    assert.deepEqual([applied.code, applied.stderr], [0, ''])
    assert.match(applied.stdout, /^done: 0002 more\ndone: 0003 more-finish\n/)
    assert.match(
      (await bylaw('undrop', 'api.ts', ...database)).stdout,
      /^not restored: 1 value of notes\.other, as it is not declared \(not_/,
    )
  })
})
