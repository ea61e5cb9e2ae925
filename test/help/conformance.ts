/** Writes docs/conformance.md from the titles of the tests: the tests of each rule. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const sections: readonly (readonly [title: string, from: number, to: number])[] = [
  ['Requests and paths', 1, 28],
  ['Representations', 29, 51],
  ['Lists', 52, 86],
  ['Creation and idempotency', 87, 108],
  ['Update and concurrency', 109, 130],
  ['Deletion', 131, 138],
  ['Caching and compression', 139, 148],
  ['Errors', 149, 162],
  ['Authentication, permission, browsers', 163, 176],
  ['Limits', 177, 186],
  ['Versioning and retirement', 187, 204],
  ['Events', 205, 213],
  ['API description', 214, 219],
  ['Behaviour', 220, 229],
  ['Events and reactions', 230, 231],
  ['Reading and writing more', 232, 239],
]
/** Rules with a letter, by the number of the rule before them. */
const lettered: Readonly<Record<number, readonly string[]>> = {
  41: ['R41a'],
  44: ['R44a'],
  50: ['R50a'],
  187: ['R187a'],
}

const named = /\b(?:spec|it|test)\(\s*(['"`])((?:R\d+[a-z]?[ ,]*)+)\1?[:,]?/g

/** The titles of tables of cases end with their rules. */
const behind = /\b(?:table|test)\(\s*(['"`])[^'"`\n]*\(((?:R\d+[a-z]?(?:, )?)+)\)\1/g

/** The files that test each rule, from the titles in the files. */
export function proofs(folder: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.test.ts'))
  for (const file of files.sort()) {
    const text = readFileSync(join(folder, file), 'utf8')
    for (const [, , rules = ''] of [...text.matchAll(named), ...text.matchAll(behind)]) {
      for (const rule of rules.match(/R\d+[a-z]?/g) ?? [])
        found.set(rule, (found.get(rule) ?? new Set()).add(`${folder}/${file}`))
    }
  }
  return found
}

export function conformance(found: ReadonlyMap<string, ReadonlySet<string>>): string {
  const all = sections.flatMap(([, from, to]) => rulesBetween(from, to))
  const tested = all.filter((rule) => found.has(rule)).length
  const head = `# Conformance\n\nEvery rule of the contract, and the tests that prove it through the door. Made from the titles of the tests by\n\`npm run conformance\`; what is done otherwise stands in [deviations](deviations.md).\n\n**${tested} of ${all.length} rules are tested.**\n`
  return head + sections.map(([title, from, to]) => section(title, rulesBetween(from, to), found)).join('')
}

function rulesBetween(from: number, to: number): string[] {
  const numbers = Array.from({ length: to - from + 1 }, (_, i) => from + i)
  return numbers.flatMap((number) => [`R${number}`, ...(lettered[number] ?? [])])
}

function section(title: string, rules: readonly string[], found: ReadonlyMap<string, ReadonlySet<string>>): string {
  const rows = rules.map(
    (rule) =>
      `| ${rule} | ${found.has(rule) ? 'tested' : 'not yet'} | ${[...(found.get(rule) ?? [])].map((file) => `[${file.split('/').at(-1)}](../${file})`).join(', ')} |`,
  )
  return `\n## ${title}\n\n| Rule | State | Where |\n|---|---|---|\n${rows.join('\n')}\n`
}

/** The rules of the tests in `test` and of the tests beside the code in `src`. */
export function allProofs(): Map<string, Set<string>> {
  const found = proofs('test')
  for (const [rule, files] of proofs('src')) found.set(rule, new Set([...(found.get(rule) ?? []), ...files]))
  return found
}

if (import.meta.main) writeFileSync('docs/conformance.md', conformance(allProofs()))
