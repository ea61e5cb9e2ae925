/** Reads the pages that a service answers as HTML. */
import assert from 'node:assert/strict'
import type { Door } from './door.ts'

/** The header `Accept` of a browser. */
export const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

/** The text of a page. */
export const page = async (door: Door, path: string): Promise<string> => {
  const { status, headers, text } = await door.send('GET', path)
  assert.deepEqual([status, headers['content-type']], [200, 'text/html; charset=utf-8'], path)
  return text
}

/** The text of an attribute or an element. */
export const unescaped = (text: string): string =>
  text.replace(
    /&(amp|lt|gt|quot|#39);/g,
    (_, name) => ({ amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" })[name as string] as string,
  )

/** The addresses of a page, and the places in it. */
export const linksOf = (text: string): string[] =>
  [...text.matchAll(/ href="([^"]*)"/g)].map(([, link = '']) => unescaped(link))
export const idsOf = (text: string): string[] => [...text.matchAll(/ id="([^"]*)"/g)].map(([, id = '']) => id)

/** The example of an answer of an operation, on the reference page. */
export function answerOf(text: string, operationId: string, status: number): Record<string, unknown> {
  const from = text.slice(text.indexOf(`id="${operationId}"`))
  const [, example = ''] = new RegExp(`<h4>Answer ${status}</h4><pre>([\\s\\S]*?)</pre>`).exec(from) ?? []
  return JSON.parse(unescaped(example))
}
