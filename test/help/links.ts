/** The links and the sections of pages in Markdown. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export interface PageLink {
  readonly text: string
  /** The file that it leads to, from the root of the checkout, and the heading there; null for a whole page. */
  readonly path: string
  readonly heading: string | null
}

/** The text of a page without its code blocks, which have links of other kinds. */
const proseOf = (path: string): string => readFileSync(path, 'utf8').replace(/^```.*?^```$/gms, '')

/** Links to files of the checkout; those to other hosts are left out. */
export function linksOf(path: string): PageLink[] {
  const found = proseOf(path).matchAll(/(?<!!)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g)
  return [...found].flatMap(([, text = '', target = '']) => {
    if (/^[a-z]+:/.test(target)) return []
    const [file = '', heading = null] = target.split('#')
    return [{ text, path: file === '' ? path : join(dirname(path), file), heading }]
  })
}

/** The anchor of a heading, as hosts of repositories make it; the site makes the same. */
export const anchorOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')

/** The sections of a page by their anchors: the heading, and the text until the next one of its level or a higher one. */
export function sectionsOf(path: string): ReadonlyMap<string, string> {
  const blocks = proseOf(path).split(/^(?=#{1,6} )/m)
  const levels = blocks.map((block) => /^#*/.exec(block)?.[0].length ?? 0)
  return new Map(
    blocks.flatMap((block, i) => {
      if (levels[i] === 0) return []
      const next = levels.findIndex((level, at) => at > i && level <= (levels[i] as number))
      const heading = (/^#+ (.*)$/m.exec(block)?.[1] ?? '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      return [[anchorOf(heading), blocks.slice(i, next < 0 ? undefined : next).join('')]]
    }),
  )
}
