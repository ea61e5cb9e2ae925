/** The code frame of an error. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { codeFrame } from './code-frame.ts'

test('the first frame in a file of the user is shown with the lines around it', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-frame-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'handlers.ts')
  writeFileSync(file, 'const a = 1\n  throw new Error()\nconst b = 2\n')
  const own = new URL('../handlers/handled-run.ts', import.meta.url).href
  const stack = `Error: no\n    at run (${own}:3:4)\n    at create (${pathToFileURL(file).href}:2:9)\n    at x (node:internal:1:1)`
  assert.equal(
    codeFrame(stack),
    `${file}:2:9\n    1 | const a = 1\n  > 2 |   throw new Error()\n      |         ^\n    3 | const b = 2`,
  )
  assert.equal(codeFrame('Error: no\n    at node:internal/x:1:1'), '')
  assert.equal(codeFrame(`Error: no\n    at ${pathToFileURL(join(folder, 'gone.ts')).href}:2:9`), '')
})
