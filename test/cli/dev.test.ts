/** `bylaw dev`: serves the file again after each change. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
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
  await hear(/Starts again when api\.ts changes/)
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
  await hear(/limits\.ts changed\.\n[\s\S]*Waiting for a change\./, from)
  assert.match(said.stderr, /api\.ts has 1 mistake\.\n\n1\. /)

  from = said.stdout.length
  writeFileSync(join(cwd, 'limits.ts'), 'export const longest = 8\n')
  await hear(/limits\.ts changed\.\n[\s\S]*Starts again when/, from)
  const [, again = ''] = /\n {2}(curl .*)\n/.exec(said.stdout.slice(from)) ?? []
  const url = /http:\S+/.exec(again)?.[0] as string
  const kept = (await (await fetch(url)).json()) as { data: unknown[] }
  assert.equal(kept.data.length, 1, 'what was stored stays')
  const long = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{"text":"long text"}',
  })
  assert.equal(long.status, 400)
  assert.equal((await pasted(again)).status, 201)

  assert.equal(await stop(), 0)
  await assert.rejects(fetch(url), 'nothing is left running')
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
