/** The pages in the package: their links, and the way to the answer of each question of docs/questions.md. */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { linksOf, sectionsOf } from './help/links.ts'

const pages = ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'ARCHITECTURE.md', ...globSync('docs/**/*.md')]
const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly files: readonly string[] }

const isPacked = (path: string): boolean =>
  ['README.md', 'LICENSE', ...files].some((one) => path === one || path.startsWith(`${one}/`)) &&
  !files.some((one) => one.startsWith('!') && path.startsWith(`${one.slice(1)}/`))

test('each link of a page leads to a file, and to a heading of it', () => {
  const isDead = ({ path, heading }: { path: string; heading: string | null }) =>
    !existsSync(path) || (heading !== null && !sectionsOf(path).has(heading))
  const dead = pages.flatMap((page) =>
    linksOf(page)
      .filter(isDead)
      .map(({ path, heading }) => `${page} links to ${path}${heading === null ? '' : `#${heading}`}`),
  )
  assert.deepEqual(dead, [])
})

test('links of the README and of the pages work in the package', () => {
  const read = pages.filter((page) => page.startsWith('docs/') || ['README.md', 'SECURITY.md'].includes(page))
  const left = read.filter((page) => isPacked(page) && page !== 'docs/conformance.md') // it names tests
  assert.ok(left.length > 30)
  const missing = left.flatMap((page) =>
    linksOf(page)
      .filter(({ path }) => !isPacked(path))
      .map(({ path }) => `${page} links to ${path}, which is not in the package`),
  )
  assert.deepEqual(missing, [])
})

/** Rows of docs/questions.md: the question, the words to search for, and the texts of the links from the start page. */
const questions = [
  ...readFileSync('docs/questions.md', 'utf8').matchAll(/^\| \[(.*?)\]\(.*?\) \| `(.*?)` \| (.*) \|$/gm),
]

test('there are twenty questions, each with an answer of its own', () => {
  assert.equal(questions.length, 20)
  const answers = linksOf('docs/questions.md').filter(({ text }) => questions.some(([, question]) => text === question))
  assert.equal(new Set(answers.map(({ path, heading }) => `${path}#${heading}`)).size, 20)
})

for (const [, question = '', search = '', clicks = ''] of questions)
  test(`docs/questions.md: ${question}`, () => {
    const answer = linksOf('docs/questions.md').find(({ text }) => text === question)
    let [path, heading]: [string, string | null] = ['README.md', null]
    for (const click of clicks.split(', ')) {
      const next = linksOf(path).find(({ text }) => text === click)
      assert.ok(next, `${path} has no link "${click}"`)
      path = next.path
      heading = next.heading
    }
    assert.deepEqual({ path, heading }, { path: answer?.path, heading: answer?.heading })
    const text = heading === null ? readFileSync(path, 'utf8') : (sectionsOf(path).get(heading) ?? '')
    const missing = search.split(' ').filter((word) => !text.toLowerCase().includes(word.toLowerCase()))
    assert.deepEqual(missing, [], `${path} does not have the words of the search`)
  })
