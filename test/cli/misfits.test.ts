/** Commands if rows do not fit a narrower declaration: their messages, and the ways to continue. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { folder, notes, post, run, served } from '../help/command.ts'

const place = ['--database', 'sqlite:./notes.db']

test('plan, apply and starts count rows that do not fit, and continue with --allow-misfits; a start logs the count', async () => {
  const cwd = folder({ 'api.ts': notes, 'short.ts': notes.replace('max: 200', 'max: 3') })
  const first = await served(['api.ts', ...place], { cwd })
  const { json } = await post(`${first.url}/notes`, { text: 'long' })
  await first.stop()
  for (const words of [['migrate', 'plan'], ['migrate', 'apply'], ['serve']]) {
    const refused = await run([...words, 'short.ts', ...place], { cwd })
    assert.equal(refused.code, 1, words.join(' '))
    const said = refused.stdout + refused.stderr
    assert.match(said, /1 row of notes would not fit `text` as it is declared now: text must be at most 3 characters/)
    assert.ok(said.includes(String(json.id)) && said.includes('--allow-misfits'), said)
  }
  const applied = await run(['migrate', 'apply', 'short.ts', ...place, '--allow-misfits'], { cwd })
  assert.equal(applied.code, 0, applied.stderr)
  const own = await served(['short.ts', ...place], { cwd, env: { NODE_ENV: 'production' } })
  await own.hear(/Rows do not fit what is declared: notes\.text of 1\./)
  await own.hear(/No contract is locked/)
  await own.stop()
})

test('the way to continue is written as its kind of field is', async () => {
  const levels = notes.replace('f.text({ max: 200 })', "f.enum(['low', 'high'])")
  const cwd = folder({ 'api.ts': levels, 'less.ts': levels.replace("'low', ", '') })
  const first = await served(['api.ts', ...place], { cwd })
  await post(`${first.url}/notes`, { text: 'low' })
  await first.stop()
  const { stdout } = await run(['migrate', 'plan', 'less.ts', ...place], { cwd })
  assert.match(stdout, /text: f\.enum\(\[…\], \{ …, fill: a value that fits \}\)/)
  assert.match(stdout, /text: f\.enum\(\[…\], \{ …, was: 'the former name' \}\)/)
})
