/** Runs every code block of the README and of docs/, page by page. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { it } from 'node:test'
import { readSettings } from '../src/settings.ts'
import type { Command } from '../src/terminal/command.ts'
import { allProofs, conformance } from './help/conformance.ts'
import { blocksOf, matches, Page } from './help/pages.ts'

const inDocs = readdirSync('docs', { recursive: true })
  .filter((name) => String(name).endsWith('.md'))
  .map((name) => `docs/${name}`)
const pages = ['README.md', 'CONTRIBUTING.md', 'ARCHITECTURE.md', ...inDocs]

for (const name of pages) {
  it(`${name} does what it says`, async () => {
    const page = await Page.open()
    try {
      for (const block of blocksOf(readFileSync(name, 'utf8'))) await page.run(block)
    } finally {
      await page.close()
    }
  })
}

it('a page that shows another result is found', () => {
  assert.ok(matches('{"a":1,"b":2}', '{"a":1,…}'))
  assert.ok(!matches('{"a":1,"b":2}', '{"a":2,…}'))
  assert.ok(!matches('{"a":1}', '{"a":1,"b":2}'))
})

it('docs/conformance.md lists the tests of each rule', () => {
  assert.equal(readFileSync('docs/conformance.md', 'utf8'), conformance(allProofs()), 'Run npm run conformance.')
})

it('docs/deviations.md lists each deviation once', () => {
  const rows = readFileSync('docs/deviations.md', 'utf8').match(/^\| R\d.*/gm) ?? []
  assert.ok(rows.length > 5)
  const reported = rows.map((row) => row.replaceAll(/\d[\d,]*(?= )/g, 'so many'))
  assert.deepEqual(
    rows.filter((_, i) => reported.indexOf(reported[i] as string) !== i),
    [],
  )
})

it('docs/security.md names tests that there are', () => {
  const named = readFileSync('docs/security.md', 'utf8').match(/test\/[\w/.-]+\.ts/g) ?? []
  assert.ok(named.length > 30)
  assert.deepEqual(
    named.filter((path) => !existsSync(path)),
    [],
  )
})

it('docs/settings.md names every setting', () => {
  const page = readFileSync('docs/settings.md', 'utf8')
  const leaves = (value: unknown, at: string): string[] =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
      ? Object.entries(value).flatMap(([name, one]) => leaves(one, at === '' ? name : `${at}.${name}`))
      : [at]
  const settings = leaves(
    readSettings({}, undefined, false, () => {}),
    '',
  )
  assert.deepEqual(
    settings.filter((name) => !page.includes(`\`${name}\``)),
    [],
  )
})

it('the pages name every flag of every command', async () => {
  const texts = inDocs.map((name) => readFileSync(name, 'utf8'))
  const files = readdirSync('src/cli').filter((name) => !/^main\.|\.test\.ts$/.test(name))
  const exported = await Promise.all(files.map((name) => import(`../src/cli/${name}`)))
  const commands = exported.flatMap((all) => Object.values(all).filter(isCommand))
  assert.ok(commands.length >= 12)
  const flags = commands.flatMap(({ name, flags }) => Object.keys(flags).map((flag) => ({ name, flag })))
  const missing = flags.filter(({ flag }) => !texts.some((text) => new RegExp(`--${flag}(?![\\w-])`).test(text)))
  assert.deepEqual(
    missing.map(({ name, flag }) => `${name} --${flag}`),
    [],
  )
})

function isCommand(value: unknown): value is Command {
  return typeof value === 'object' && value !== null && 'flags' in value && 'run' in value
}
