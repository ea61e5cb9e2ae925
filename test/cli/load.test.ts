/** The files that can be served, and the messages for others. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { isCommandError } from '../../src/terminal/command-error.ts'
import { loadService } from '../../src/terminal/load.ts'
import { checkout } from '../help/built.ts'
import { folder, notes, run } from '../help/command.ts'

const cwd = folder({ 'api.ts': notes })

async function complaintOf(file: string): Promise<string> {
  try {
    await loadService(file)
  } catch (error) {
    assert.ok(isCommandError(error), String(error))
    return `${error.message}\n${error.mend}`
  }
  return assert.fail(`${file} was loaded.`)
}

const bad: Readonly<Record<string, readonly [text: string, ...says: readonly RegExp[]]>> = {
  'empty.ts': ['', /has no default export/, /export default service\(/],
  'named.ts': [notes.replace('export default', 'export const api ='), /exports its service as "api"/],
  'plain.ts': ["export default { name: 'a', resources: {} }", /a declaration that was not given to service\(\)/],
  'number.ts': ['export default 7', /is 7, not a service/],
  'enum.ts': [`enum A { B }\n${notes}`, /enum\.ts:1\nenum A/, /leaving the types out/],
  'broken.ts': ['export default service(', /broken\.ts:1/],
  'kind.ts': [notes.replace('f.text', 'f.txt'), /f\.txt is not a function/, /kind\.ts:6/, /Did you mean f\.text\?/],
  'odd.ts': [notes.replace('f.text', 'f.xyzzyx'), /The kinds of fields are text, email, /],
  'lost.ts': [`import './gone.ts'\n${notes}`, /Cannot find module .*gone\.ts/, /with its ending/],
  'package.ts': [`import 'no-such-package'\n${notes}`, /Cannot find package 'no-such-package'/, /Install/],
  'throws.ts': [
    'const go = () => {\n  throw new RangeError("too far")\n}\ngo()',
    /RangeError: too far/,
    /throws\.ts:2/,
  ],
  'text.ts': ['throw "just text"', /it throws "just text"/],
  'rows.json': ['{}', /Name a file that ends in \.ts, \.mts, \.js or \.mjs/],
}

for (const [name, [text, ...says]] of Object.entries(bad)) {
  test(`${name} is refused in words`, async () => {
    writeFileSync(join(cwd, name), text)
    const reported = await complaintOf(join(cwd, name))
    for (const pattern of [new RegExp(name.replace('.', '\\.')), ...says]) assert.match(reported, pattern)
    assert.doesNotMatch(reported, /node:internal|src\/cli/)
  })
}

test('a missing file is reported, with the one that may be meant', async () => {
  const reported = await complaintOf(join(cwd, 'apy.ts'))
  assert.match(reported, /^There is no file \S+apy\.ts\.\nDid you mean \S+\/api\.ts\?$/)
})

test('a folder is not a file', async () => {
  assert.match(await complaintOf(cwd), /is not a file that can hold a declaration/)
})

describe('the file of a declaration', { concurrency: 3 }, () => {
  for (const [ending, type] of [
    ['ts', 'commonjs'],
    ['ts', undefined],
    ['mts', 'commonjs'],
    ['js', 'module'],
    ['mjs', undefined],
  ] as const) {
    test(`may end in .${ending} in a package of type ${type}, where bylaw is not installed`, async () => {
      const api = `import { kinds } from './kinds.${ending}'\n${notes.replace('f.text({ max: 200 })', 'kinds')}`
      const kinds = "import { f } from 'bylaw'\nexport const kinds = f.text()\n"
      const home = folder({
        [`api.${ending}`]: api,
        [`kinds.${ending}`]: kinds,
        'package.json': JSON.stringify({ type }),
      })
      const { code, stdout, stderr } = await run(['check', `api.${ending}`], { cwd: home })
      assert.equal(stderr, '')
      assert.equal(code, 0, stdout)
    })
  }
  test('is reported without a stack if it is refused', async () => {
    writeFileSync(join(cwd, 'wrong.ts'), 'export default service(')
    const { code, stdout, stderr } = await run(['serve', './wrong.ts'], { cwd })
    assert.equal(code, 1)
    assert.equal(stdout, '')
    assert.match(stderr, /^bylaw: \.\/wrong\.ts cannot be loaded: /)
    assert.doesNotMatch(stderr, /\n +at /)
  })
  test('is named relative to the working directory, by `npm run bylaw` too', async () => {
    const below = join(cwd, 'below')
    mkdirSync(below)
    writeFileSync(join(below, 'mine.ts'), notes)
    const words = ['--prefix', checkout, 'run', 'bylaw', '--', 'check', './mine.ts']
    assert.match((await promisify(execFile)('npm', words, { cwd: below })).stdout, /mine\.ts is in order/)
  })
})
