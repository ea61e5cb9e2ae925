/** `bylaw dev`: serves the file again after each change. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder, launch, notes, run } from '../help/command.ts'
import { pasted } from '../help/paste.ts'

test('serves, reports mistakes, serves again, and ends', async () => {
  const cwd = folder({
    'api.ts': `import { longest } from './limits.ts'\n${notes.replace('200', 'longest')}`,
    'limits.ts': 'export const longest = 100\n',
  })
  const { said, hear, stop } = launch(['dev', 'api.ts', '--port', '0'], { cwd })
  await hear(/Starts again when api\.ts/)
  assert.match(said.stdout, /^bylaw serves notes at http:\/\/127\.0\.0\.1:\d+\n/)
  assert.match(said.stdout, /\nThe reference page: http:\/\/127\.0\.0\.1:\d+\/docs\n/)
  assert.match(
    said.stdout,
    /\n {2}GET POST +http:\/\/127\.0\.0\.1:\d+\/notes\n {2}GET PUT PATCH DELETE +\S+\/notes\/\{id\}\n/,
  )
  const [, line = ''] = /\n {2}(curl .*)\n/.exec(said.stdout) ?? []
  assert.equal((await pasted(line)).status, 201)
  await hear(/\d\d:\d\d:\d\d 201 POST {3}\/notes \S+ ms\n/)

  let from = said.stdout.length
  writeFileSync(join(cwd, 'limits.ts'), 'export const longest = -1\n') // imported files are watched too
  await hear(/Still serving the former declaration\. Waiting for a change\./, from)
  assert.match(
    said.stderr,
    /api\.ts has 1 mistake\.\n\n1\. resources\.notes\.fields\.text\n.*\n.*\n\n.*api\.ts:7:\d+\n/,
  )
  assert.match(said.stderr, /\n +> 7 \| .*text: f\.text\({ max: longest }\).*\n +\| +\^\n/)
  assert.equal((await pasted(line)).status, 201, 'the former declaration is served')

  from = said.stdout.length
  writeFileSync(join(cwd, 'limits.ts'), 'export const longest = 8\n')
  await hear(/limits\.ts changed, restarted in \d+ ms\. notes: text \(max\)\n/, from)
  const url = /http:\S+/.exec(line)?.[0] as string
  const kept = (await (await fetch(url)).json()) as { data: unknown[] }
  assert.equal(kept.data.length, 2, 'what was stored stays, at the same port')
  const long = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{"text":"long text"}',
  })
  assert.equal(long.status, 400)
  await hear(/ 400 POST +\/notes \S+ ms validation-failed: \/text too-long\n/, from)
  assert.ok(!said.stdout.includes('long text'), 'values are not logged')

  assert.equal(await stop(), 0)
  await assert.rejects(fetch(url), 'nothing is left running')
})

test('saving while requests arrive refuses none of them, and each restart says what changed', async () => {
  const cwd = folder({ 'api.ts': notes })
  const { said, hear, stop } = launch(['dev', 'api.ts', '--port', '0'], { cwd })
  await hear(/Starts again when api\.ts/)
  const url = `${/http:\/\/[\d.]+:\d+/.exec(said.stdout)?.[0]}/notes`
  let isOver = false
  let count = 0
  const ask = async (headers: Record<string, string>): Promise<void> => {
    while (!isOver) {
      const { status } = await fetch(url, { headers })
      assert.equal(status, 200)
      count++
    }
  }
  const asked = Promise.all([ask({ connection: 'close' }), ask({ connection: 'close' })])
  const save = async (field: string, shown: string): Promise<void> => {
    const [from, before] = [said.stdout.length, count]
    writeFileSync(join(cwd, 'api.ts'), notes.replace('fields: {', `fields: { ${field},`))
    await hear(new RegExp(`api\\.ts changed, restarted in \\d+ ms\\. ${shown}\\n`), from)
    assert.ok(count > before)
  }
  await save('coupon: f.text({ max: 9, optional: true })', 'notes: \\+ coupon')
  const filtered = 'coupon: f.text({ max: 9, optional: true, filter: true, sort: true })'
  await save(filtered, 'notes: filter on coupon, sort by coupon')
  await save(`${filtered} /* the same */`, 'clients notice nothing')
  const from = said.stdout.length
  for (const max of [11, 12, 13, 14, 15, 16, 17, 18, 19, 20])
    writeFileSync(join(cwd, 'api.ts'), notes.replace('fields: {', `fields: { ${filtered.replace('9', String(max))},`))
  await hear(/notes: coupon \(max\)\n/, from)
  isOver = true
  await asked
  const described = (await (await fetch(url.replace('/notes', '/openapi.json'))).text()).includes('"maxLength":20')
  assert.ok(described, 'the last save is served')
  assert.equal(await stop(), 0)
})

test('a declaration or an import that is gone leaves the former one in service', async () => {
  const cwd = folder({
    'api.ts': `import { longest } from './limits.ts'\n${notes.replace('200', 'longest')}`,
    'limits.ts': 'export const longest = 9\n',
  })
  const { said, hear, stop } = launch(['dev', 'api.ts', '--port', '0'], { cwd })
  await hear(/Starts again when api\.ts/)
  const url = `${/http:\/\/[\d.]+:\d+/.exec(said.stdout)?.[0]}/notes`
  for (const [file, shown] of [
    ['limits.ts', /cannot be loaded: .*\n\n.*api\.ts:1:\d+\n {2}> 1 \| import { longest } from '\.\/limits\.ts'\n/],
    ['api.ts', /There is no file api\.ts/],
  ] as const) {
    const text = readFileSync(join(cwd, file))
    let from = said.stdout.length
    rmSync(join(cwd, file))
    await hear(/Still serving the former declaration/, from)
    assert.match(said.stderr, shown)
    assert.equal((await fetch(url)).status, 200)
    from = said.stdout.length
    writeFileSync(join(cwd, file), text)
    await hear(/restarted in \d+ ms\. clients notice nothing\n/, from)
  }
  assert.equal(await stop(), 0)
})

test('a fault that no change of the file can fix ends it', async () => {
  const cwd = folder({ 'api.ts': notes })
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as { port: number }
  const busy = await run(['dev', 'api.ts', '--port', String(port), '--database', 'sqlite::memory:'], { cwd })
  taken.close()
  assert.equal(busy.code, 1)
  assert.match(busy.stderr, /is in use by another program/)
  const missing = await run(['dev', 'none.ts'], { cwd })
  assert.equal(missing.code, 1)
  assert.match(missing.stderr, /There is no file none\.ts/)
})
