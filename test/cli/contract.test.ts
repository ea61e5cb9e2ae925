/** `bylaw contract`, and the reports of `check`, `serve` and `dev` about locked versions. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { folder, launch, notes, prepared, run, served } from '../help/command.ts'

const longer = notes.replace('max: 200', 'max: 300')
const lengthened = longer.replace(
  "name: 'notes',",
  "name: 'notes', versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-11-01' } },",
)
const added = notes.replace('fields: {', "fields: { colour: f.text({ default: 'red' }),")

const locked = prepared({ 'api.ts': notes }, async (cwd) => {
  const { code, stdout, stderr } = await run(['contract', 'lock'], { cwd })
  assert.equal(code, 0, stderr)
  assert.equal(stdout, `${join('contract', 'v1.json')}  1.0.0  locked\n`)
})
const write = (cwd: string, text: string, name = 'api.ts') => writeFileSync(join(cwd, name), text)
const lockIn = (cwd: string, label = 'v1') => JSON.parse(readFileSync(join(cwd, 'contract', `${label}.json`), 'utf8'))

describe('bylaw contract lock', { concurrency: 3 }, () => {
  test('writes the same text each time', async () => {
    const cwd = await locked()
    const text = readFileSync(join(cwd, 'contract/v1.json'), 'utf8')
    assert.match(text, /"text": \{ "kind": "text", "max": 200, "required": true \}/)
    const again = await run(['contract', 'lock', 'api.ts'], { cwd })
    assert.match(again.stdout, /1\.0\.0 {2}unchanged/)
    assert.equal(readFileSync(join(cwd, 'contract/v1.json'), 'utf8'), text)
  })
  test('R187: raises the number by the weight of the differences, and refuses breaking ones', async () => {
    const cwd = await locked()
    write(cwd, added)
    assert.match((await run(['contract', 'lock', 'api.ts'], { cwd })).stdout, /1\.1\.0 {2}1 new/)
    write(cwd, longer)
    const refused = await run(['contract', 'lock', 'api.ts'], { cwd })
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /`colour` is gone.*`text` has a `max` of 300.*--anew/s)
    assert.equal(lockIn(cwd).version, '1.1.0')
    const anew = await run(['contract', 'lock', 'api.ts', '--anew'], { cwd })
    assert.match(anew.stdout, /1\.0\.0 {2}locked/)
  })
  test('R187: the full number is that of the description, with later additions', async () => {
    const cwd = await locked()
    const numberOf = async () => JSON.parse((await run(['openapi', 'api.ts'], { cwd })).stdout).info.version
    assert.equal(await numberOf(), '1.0.0')
    write(cwd, added)
    assert.equal(await numberOf(), '1.1.0')
    const { url, stop } = await served(['api.ts', '--database', 'sqlite::memory:'], { cwd })
    const described = (await (await fetch(`${url}/openapi.json`)).json()) as { info: { version: string } }
    assert.equal(described.info.version, '1.1.0')
    await stop()
  })
  test('writes every version', async () => {
    const cwd = folder({
      'api.ts': `${lengthened.trimEnd()}.change('v2', 'notes', {
      about: 'Longer.', retyped: { text: f.text({ max: 200 }) }, response: ({ text }) => ({ text: text.slice(0, 200) }), request: ({ text }) => ({ text }) })`,
    })
    const { stdout, stderr } = await run(['contract', 'lock', 'api.ts'], { cwd })
    assert.match(stdout, /v1\.json {2}1\.0\.0 {2}locked\n.*v2\.json {2}2\.0\.0 {2}locked/, stderr)
    assert.deepEqual(
      [lockIn(cwd).resources.notes.fields.text.max, lockIn(cwd, 'v2').resources.notes.fields.text.max],
      [200, 300],
    )
  })
  test('reports a file that is not a lock', async () => {
    const cwd = await locked()
    writeFileSync(join(cwd, 'contract/v1.json'), '{')
    const { code, stderr } = await run(['check', 'api.ts'], { cwd })
    assert.equal(code, 1)
    assert.match(stderr, /contract\/v1\.json is not a locked contract: it is not JSON/)
  })
})

describe('a breaking difference from a locked version', { concurrency: 3 }, () => {
  test('R195: is a mistake for check, with the change to paste', async () => {
    const cwd = await locked()
    assert.equal((await run(['check', 'api.ts'], { cwd })).code, 0)
    write(cwd, longer)
    const { code, stdout } = await run(['check', 'api.ts'], { cwd })
    assert.equal(code, 1)
    assert.match(
      stdout,
      /1\. resources\.notes\n.*v1 is locked.*`max` of 300.*add v2 to `versions`.*\.change\('v2', 'notes', \{/s,
    )
    const { mistakes } = JSON.parse((await run(['check', 'api.ts', '--json'], { cwd })).stdout)
    assert.equal(mistakes.length, 1)
  })
  test('the pasted change is accepted', async () => {
    const cwd = await locked()
    write(cwd, lengthened)
    const { stdout } = await run(['check', 'api.ts'], { cwd })
    const [change] = /\.change\('v2'.*?\n *\}\)/s.exec(stdout) ?? [] // the lines of the declaration follow
    write(cwd, `${lengthened.trimEnd()}${change}\n`)
    const after = await run(['check', 'api.ts'], { cwd })
    assert.equal(after.code, 0, after.stdout)
    assert.match(after.stdout, /v2 is released but not locked; lock it with: {2}bylaw contract lock api\.ts/)
  })
  test('R195: does not start', async () => {
    const cwd = await locked()
    write(cwd, longer)
    const { code, stderr } = await run(['serve', 'api.ts', '--port', '0', '--database', 'sqlite::memory:'], { cwd })
    assert.equal(code, 1)
    assert.match(stderr, /v1 is locked/)
    assert.ok(!existsSync(join(cwd, 'data')))
  })
  test('starts while it is written, with a warning', async () => {
    const cwd = await locked()
    write(cwd, longer)
    const dev = launch(['dev', 'api.ts', '--port', '0', '--database', 'sqlite::memory:'], { cwd })
    await dev.hear(/serves notes/)
    await dev.stop()
    assert.match(dev.said.stderr, /v1 is locked/)
  })
})

describe('bylaw contract diff', { concurrency: 3 }, () => {
  test('compares versions, files, folders and declarations', async () => {
    const cwd = await locked()
    write(cwd, added)
    for (const [a, b] of [
      ['v1', 'api.ts'],
      ['contract/v1.json', 'api.ts'],
      ['contract', 'api.ts'],
    ] as const) {
      const { code, stdout, stderr } = await run(['contract', 'diff', a, b], { cwd })
      assert.equal(code, 0, stderr)
      assert.match(
        stdout,
        /^# .*v1.* to v1 of api\.ts\n\nThis asks for a new minor number\.\n\n## Added\n\n- `resources\.notes\.fields\.colour`: `colour` is new\.\n$/,
      )
    }
    const other = folder()
    mkdirSync(join(other, 'contract'))
    writeFileSync(join(other, 'contract/v1.json'), readFileSync(join(cwd, 'contract/v1.json')))
    writeFileSync(join(other, 'contract/v2.json'), readFileSync(join(cwd, 'contract/v1.json')))
    const both = await run(['contract', 'diff', 'contract', other], { cwd })
    assert.match(both.stdout, /# v1 of contract to v1 of .*\n\nNo difference\.\n\n# v2\n\nv2 is new in/)
  })
  test('reports what it cannot compare', async () => {
    const cwd = await locked()
    for (const [words, says] of [
      [['diff', 'v1'], /needs two arguments/],
      [['diff', 'v1', 'v2'], /There is no contract\/v2\.json/],
      [['diff', 'v1', '.'], /^$/],
      [['dif', 'a', 'b'], /Did you mean `bylaw contract diff`/],
      [['lock', 'api.ts', 'more'], /takes no second argument "more"/],
      [[], /needs an action/],
    ] as const) {
      const { stderr } = await run(['contract', ...words], { cwd })
      assert.match(stderr, says)
    }
  })
})

test('R121: check requires another revision of changed functions', async () => {
  const api = (response: string, more = '') =>
    `${lengthened.trimEnd()}.change('v2', 'notes', {
      about: 'Longer.', retyped: { text: f.text({ max: 200 }) }, ${more} response: ({ text }) => ({ text: ${response} }), request: ({ text }) => ({ text }) })`
  const cwd = folder({ 'api.ts': api('text.slice(0, 200)') })
  const check = () => run(['check', 'api.ts'], { cwd })
  assert.equal((await run(['contract', 'lock'], { cwd })).code, 0)
  assert.equal((await check()).code, 0)
  write(cwd, api("text.slice(0, 199) + '…'"))
  const lacking = /changes\.v2\.notes\s+Its functions differ.*revision: 2/s
  assert.match((await check()).stdout, lacking)
  assert.equal((await run(['contract', 'lock'], { cwd })).code, 0)
  assert.match((await check()).stdout, lacking)
  write(cwd, api("text.slice(0, 199) + '…'", 'revision: 2,'))
  assert.equal((await check()).code, 0)
  assert.equal((await run(['contract', 'lock'], { cwd })).code, 0)
  write(cwd, api('text.slice(0, 198)', 'revision: 2,'))
  assert.match((await check()).stdout, /revision: 3/)
})
