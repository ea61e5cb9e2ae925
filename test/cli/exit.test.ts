/** The end of a process: V8 compiles nothing in the background while Node.js exits, as both can wait for each other. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const command = fileURLToPath(new URL('../../src/terminal/command.ts', import.meta.url))

/** Functions that are called so often that V8 compiles them, before the exit begins and until the process has ended. */
const program = `
import { writeSync } from 'node:fs'
import { exitProcess } from ${JSON.stringify(command)}
const callMany = (first) => {
  for (let i = first; i < first + 100; i++) {
    const add = new Function('a', 'let s = ' + i + '; for (let i = 0; i < 50; i++) s = (s * 31 + a[i % 3]) | 0; return s')
    for (let times = 0; times < 600; times++) add([1, 2, 3])
  }
}
callMany(0)
writeSync(1, '\\nthe exit begins\\n')
exitProcess(3)
callMany(1000)
writeSync(1, '\\nthe process still runs\\n')
`

test('an exit begins no compilation in the background, and keeps the code', () => {
  const words = ['--trace-opt', '--conditions=bylaw-source', '--input-type=module', '--eval', program]
  const { status, stdout } = spawnSync(process.execPath, words, { encoding: 'utf8', timeout: 60_000 })
  const [before = '', after = ''] = stdout.split('the exit begins')
  assert.match(before, /compiling method/)
  assert.match(after, /the process still runs/)
  assert.doesNotMatch(after, /compiling method/)
  assert.equal(status, 3)
})
