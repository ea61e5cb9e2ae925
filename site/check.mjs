// Checks the built site: each link leads to a page and a heading. Of docs/questions.md, the search finds each answer among its
// first three results, and the links lead to it.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import MiniSearch from 'minisearch'
import { groups } from './.vitepress/pages.mjs'

const dist = new URL('dist/', import.meta.url)
const read = (path) => readFileSync(new URL(path, dist), 'utf8')

/** As the search box of VitePress asks. */
const options = {
  fields: ['title', 'titles', 'text'],
  storeFields: ['title', 'titles'],
  searchOptions: { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 } },
}
const file = readdirSync(new URL('assets/chunks', dist)).find((name) => name.startsWith('@localSearchIndexroot'))
const index = MiniSearch.loadJSON((await import(new URL(`assets/chunks/${file}`, dist))).default, options)

const textOf = (html) =>
  html
    .replace(/<[^>]*>/g, '')
    .replaceAll('&#39;', "'")
    .replaceAll('\u200b', '')
    .trim()

/** The links of a page's content, or of a larger part: their text, and where they lead. */
function linksOf(address, part = /<main[^>]*>(.*)<\/main>/s) {
  const [, content = ''] = part.exec(read(address.slice(1))) ?? []
  return [...content.matchAll(/<a\b[^>]*?href="([^"]*)"[^>]*>(.*?)<\/a>/gs)].map(([, href, text]) => {
    const { origin, pathname, hash } = new URL(href, `http://site${address}`)
    const page = pathname === '/' ? '/index.html' : pathname
    return { text: textOf(text), origin, address: decodeURI(page), hash: decodeURI(hash) }
  })
}

/** Links within the site that lead to no page, or to no heading of one. */
const deadLinksOf = (address) =>
  linksOf(address, /(.*)/s)
    .filter(({ origin }) => origin === 'http://site')
    .filter(({ address, hash }) => {
      if (!existsSync(new URL(address.slice(1), dist))) return true
      return hash !== '' && !read(address.slice(1)).includes(`id="${hash.slice(1)}"`)
    })
    .map((link) => `${address} links to ${link.address}${link.hash}, which is not there`)

/** An answer that is a whole page is found by any of its sections. */
const isAnswer = (id, { address, hash }) => (hash === '' ? id.split('#')[0] === address : id === address + hash)

function mistakesOf({ question, search, clicks, answer }) {
  const found = index.search(search).slice(0, 3)
  const mistakes = []
  if (!found.some(({ id }) => isAnswer(id, answer)))
    mistakes.push(`the search for "${search}" finds ${found.map(({ id }) => id).join(', ')}`)
  let at = { address: '/index.html', hash: '' }
  for (const click of clicks) {
    const next = linksOf(at.address).find(({ text }) => text === click)
    if (next === undefined) return [...mistakes, `${at.address} has no link "${click}"`]
    at = next
  }
  if (at.address !== answer.address || at.hash !== answer.hash)
    mistakes.push(`the links lead to ${at.address}${at.hash}`)
  return mistakes.map((mistake) => `${question} ${mistake}`)
}

const rows = [...read('docs/questions.html').matchAll(/<tr><td>(.*?)<\/td><td>(.*?)<\/td><td>(.*?)<\/td><\/tr>/gs)]
const questions = rows.map(([, question, search, clicks]) => ({
  question: textOf(question),
  search: textOf(search),
  clicks: textOf(clicks).split(', '),
  answer: linksOf('/docs/questions.html').find(({ text }) => text === textOf(question)),
}))
const pages = readdirSync(dist, { recursive: true }).filter((name) => name.endsWith('.html'))
const listed = new Set(groups.flatMap(({ pages }) => pages))
const unlisted = pages
  .map((name) => (name === 'index.html' ? 'README.md' : name.replace(/html$/, 'md')))
  .filter((path) => !listed.has(path) && !/^(README|CHANGELOG|404|docs\/decisions\/.*)\.md$/.test(path))
  .map((path) => `${path} is in no group of .vitepress/pages.mjs`)
const mistakes = [...unlisted, ...questions.flatMap(mistakesOf), ...pages.flatMap((name) => deadLinksOf(`/${name}`))]
for (const mistake of mistakes) console.error(mistake)
console.log(`${pages.length} pages, ${questions.length} questions, ${mistakes.length} mistakes.`)
process.exitCode = questions.length === 20 && mistakes.length === 0 ? 0 : 1
