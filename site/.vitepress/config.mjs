// The site of README.md and docs/, as they are. Addresses are those of the files, so links work in both places.
import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { defineConfig } from 'vitepress'
import { groups } from './pages.mjs'

const root = new URL('../../', import.meta.url).pathname
const titleOf = (path) => /^# (.*)$/m.exec(readFileSync(join(root, path), 'utf8'))?.[1]
const isPage = (path) => /^(docs\/.*|[A-Z]+)\.md$/.test(path) && existsSync(join(root, path))

// They are copied, as modules outside of this folder do not find Vue.
const pages = join(root, 'site/pages')
rmSync(pages, { recursive: true, force: true })
for (const path of ['docs', ...readdirSync(root).filter(isPage)])
  cpSync(join(root, path), join(pages, path), { recursive: true })

/** The anchors that hosts of repositories make, so that links work in both places. */
const anchorOf = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')

/** The search leaves out pages for those who work on Bylaw itself. */
const searchedHtml = (source, env, markdown) =>
  /^docs\/(decisions|conformance|questions)|^CHANGELOG/.test(env.relativePath) ? '' : markdown.render(source, env)

export default defineConfig({
  title: 'Bylaw',
  description: 'Declare your resources. Get the whole HTTP/JSON service.',
  srcDir: './pages',
  outDir: './dist',
  cacheDir: './cache',
  ignoreDeadLinks: 'localhostLinks',
  rewrites: { 'README.md': 'index.md' },
  themeConfig: {
    search: { provider: 'local', options: { _render: searchedHtml } },
    outline: [2, 3],
    nav: [
      { text: 'How to', link: '/docs/how-to' },
      { text: 'Questions', link: '/docs/questions' },
      { text: 'Settings', link: '/docs/settings' },
      { text: 'Command line', link: '/docs/cli' },
      { text: 'Changes', link: '/CHANGELOG' },
    ],
    sidebar: groups.map(({ text, pages }) => ({
      text,
      items: pages.filter(isPage).map((path) => ({ text: titleOf(path), link: `/${path.replace(/\.md$/, '')}` })),
    })),
  },
  markdown: {
    html: false,
    anchor: { slugify: anchorOf },
    config: (markdown) => {
      // Links to files that are no pages (tests, examples) become plain text, as the site does not have them.
      markdown.core.ruler.push('files', ({ tokens, env }) => {
        for (const { children } of tokens) keepPages(children ?? [], env.relativePath ?? '')
      })
    },
  },
})

function keepPages(tokens, from) {
  let dropping = false
  for (const token of tokens) {
    if (token.type === 'link_open') dropping = !staysLink(token.attrGet('href') ?? '', from)
    if (!dropping || !token.type.startsWith('link_')) continue
    dropping = token.type === 'link_open'
    Object.assign(token, { type: 'text', tag: '', content: '', nesting: 0 })
  }
}

function staysLink(href, from) {
  if (/^([a-z]+:|#|\/)/.test(href)) return true
  const path = normalize(join(dirname(from === 'index.md' ? 'README.md' : from), href.replace(/#.*/, '')))
  return isPage(path)
}
