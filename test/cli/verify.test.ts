/** `bylaw verify`: tests the promises, and replays recorded answers. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { folder, notes, run } from '../help/command.ts'

describe('bylaw verify', { concurrency: 3 }, () => {
  test('reports what was tried', async () => {
    const cwd = folder({ 'api.ts': notes })
    const { code, stdout } = await run(['verify', 'api.ts', '--seed', '7', '--runs', '20'], { cwd })
    assert.equal(code, 0)
    assert.equal(stdout, 'api.ts keeps its promises: 20 items of 1 resource (seed 7).\n')
  })
  test('reports what it could not try', async () => {
    const cwd = folder({ 'api.ts': notes.replace('max: 200', () => "pattern: '^(?=a)b$'") })
    const { code, stdout } = await run(['verify', 'api.ts', '--runs', '5'], { cwd })
    assert.equal(code, 0)
    assert.match(stdout, /0 items of 0 resources.*\nNo item of notes could be generated/)
  })
  test('sends recorded requests again', async () => {
    const cwd = folder({ 'api.ts': notes })
    await run(['contract', 'lock'], { cwd })
    const path = join(cwd, 'contract/v1.answers.json')
    assert.equal((await run(['verify', 'api.ts', '--runs', '5'], { cwd })).code, 0)
    writeFileSync(path, readFileSync(path, 'utf8').replace('"status":410', '"status":404'))
    const { code, stdout } = await run(['verify', 'api.ts', '--runs', '5'], { cwd })
    assert.equal(code, 1)
    assert.match(
      stdout,
      /v1 no longer gives a recorded answer: the status 404 was recorded, and 410 came\.\n\nRecorded:\n {2}v1 {2}GET \/notes\/not_.*\n.*404.*\n\nNow:\n.*\n.*410/,
    )
    const locking = await run(['contract', 'lock'], { cwd })
    assert.equal(locking.code, 1)
    assert.match(locking.stderr, /no longer gives a recorded answer.*\n.*GET \/notes\/not_/)
    assert.equal((await run(['contract', 'lock', '--anew'], { cwd })).code, 0)
    assert.equal((await run(['verify', 'api.ts', '--runs', '5'], { cwd })).code, 0)
  })
  test('names the first failure on stderr before it reduces the example', async () => {
    const cwd = folder({
      'api.ts': `import { f, service } from 'bylaw'

export default service({
  name: 'notes',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  resources: { notes: { fields: { text: f.text() }, access: 'public' } },
}).change('v2', 'notes', {
  about: '\`text\` has another name.',
  removed: { body: f.text({ max: 5 }) },
  added: ['text'],
  request: ({ body }) => ({ text: body }),
  response: ({ text }) => ({ body: text + ' and more' }),
})
`,
    })
    const { code, stdout, stderr } = await run(['verify', 'api.ts', '--seed', '7', '--runs', '20'], { cwd })
    assert.equal(code, 1)
    const [, says = ''] = /^Found: (.*)\nThe example is being reduced, for 10 seconds at most\.\n\n$/.exec(stderr) ?? []
    assert.match(says, /body must be at most 5 characters long/, stderr)
    assert.match(stdout, /api\.ts does not keep its promises\.\n[\s\S]*Again: {2}bylaw verify api\.ts --seed 7/)
  })
  test('refuses invalid numbers', async () => {
    const cwd = folder({ 'api.ts': notes })
    for (const words of [
      ['--runs', '0'],
      ['--seed', 'x'],
    ]) {
      const { code, stderr } = await run(['verify', 'api.ts', ...words], { cwd })
      assert.equal(code, 1)
      assert.match(stderr, /has to be a whole number from 1/)
    }
  })
})
