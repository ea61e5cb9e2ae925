/** `bylaw dev handlers.ts` and `bylaw check handlers.ts`: errors of handlers at their source line, reloads, and nothing started. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder, launch, notes, post, run } from '../help/command.ts'

const texts = (say: string) => `export function judge(text: string): string {
  if (text === 'bad') throw new Error('the cause')
  return text + '${say}'
}
`
const files = {
  'api.ts': notes,
  'handlers.ts': `import { writeFileSync } from 'node:fs'
import api from './api.ts'
import { judge } from './texts.ts'

export default api.handlers(
  { notes: { create: ({ next, set }) => set({ text: judge(next.text) }) } },
  { use: () => writeFileSync('used', '') },
)
`,
  'texts.ts': texts('!'),
}

test('R226: dev shows an error of a handler at its line, never to the client, and loads changed files', async () => {
  const cwd = folder(files)
  const { said, hear, stop } = launch(['dev', 'handlers.ts', '--port', '0'], { cwd })
  await hear(/Starts again when handlers\.ts/)
  const url = `${/http:\/\/[\d.]+:\d+/.exec(said.stdout)?.[0]}/notes`
  const made = await post(url, { text: 'a' })
  assert.equal(made.json.text, 'a!')

  const failed = await post(url, { text: 'bad' })
  const told = JSON.stringify(failed.json)
  assert.equal(failed.status, 500)
  assert.ok(!told.includes('the cause') && !told.includes('texts.ts'), told)
  await hear(/texts\.ts:2:29\n {4}1 \| .*\n {2}> 2 \| {3}if \(text === 'bad'\) throw new Error\('the cause'\)\n/)
  assert.match(said.stdout, /The handler notes\.create failed: Error: the cause/)

  let from = said.stdout.length
  writeFileSync(join(cwd, 'texts.ts'), 'export const judge = (\n')
  await hear(/Still serving the former declaration/, from)
  assert.match(said.stderr, /texts\.ts:\d+/)
  assert.equal((await post(url, { text: 'b' })).status, 201)

  from = said.stdout.length
  writeFileSync(join(cwd, 'texts.ts'), texts('?'))
  await hear(/texts\.ts changed, restarted in \d+ ms\. clients notice nothing\n/, from)
  const again = await post(url, { text: 'c' })
  assert.equal(again.json.text, 'c?')

  const own = files['handlers.ts']
  for (const [text, shown] of [
    [
      own.replace("writeFileSync('used', '')", "{ throw new Error('not connected') }"),
      /`use` of the handlers failed: Error: not connected\n\nhandlers\.ts:7:\d+\n/,
    ],
    [own.replace('create:', 'creation:'), /1\. handlers\.notes\.creation\n.*\n.*\n\n {3}handlers\.ts:6:\d+\n/],
  ] as const) {
    from = said.stdout.length
    writeFileSync(join(cwd, 'handlers.ts'), text)
    await hear(/Still serving/, from)
    assert.match(said.stderr, shown)
    assert.equal((await post(url, { text: 'd' })).json.text, 'd?')
  }
  assert.equal(await stop(), 0)
})

test('check loads handlers, and starts nothing', async () => {
  const cwd = folder(files)
  assert.equal((await run(['check', 'handlers.ts'], { cwd })).code, 0)
  assert.deepEqual(readdirSync(cwd).sort(), Object.keys(files).sort())
  writeFileSync(join(cwd, 'handlers.ts'), files['handlers.ts'].replace('create:', 'creation:'))
  const wrong = await run(['check', 'handlers.ts'], { cwd })
  assert.equal(wrong.code, 1)
  assert.match(wrong.stdout, /handlers\.notes\.creation\n.*\n.*write, create, replace/)
  assert.ok(!existsSync(join(cwd, 'used')))
})
