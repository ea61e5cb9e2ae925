/** Links: from a page to the pages around it. Part 4, pagination; RFC 8288. */
import type { ListQuery } from '../flow/intent.ts'
import type { Page } from '../flow/outcome.ts'
import type { Settings } from '../settings.ts'
import { windowParameters } from './list-rules.ts'
import type { PageCursors } from './page-text.ts'
import { parametersOf, type QueryParameters, targetPath } from './query-string.ts'

type PageLinks = Record<string, string>

/** The URLs of pages by relation; each keeps all parameters that do not choose the page. R86. */
export function pageLinks(
  path: string,
  query: ListQuery,
  page: Page,
  cursors: PageCursors,
  maxOffset: number,
): PageLinks {
  const { parameters, style } = query
  const kept = parameters.filter(([name]) => !windowParameters.includes(name))
  const sized = parameters.filter(([name]) => name === (style === 'page' ? 'page_size' : 'limit'))
  const before = listUrl(path, [...kept, ...sized])
  const to = pageUrls(before, path)
  const self = listUrl(path, parameters)
  return { self, ...(style === 'cursor' ? cursorLinks(cursors, to) : numberedLinks(query, page, maxOffset, to)) }
}

/** The URL of another page. */
type PageUrl = (name: string, value: string) => string

/** The URLs of pages by a parameter more than those that are kept. */
const pageUrls =
  (kept: string, path: string): PageUrl =>
  (name, value) =>
    `${kept}${kept === path ? '?' : '&'}${name}=${value}`

const cursorLinks = ({ next, prev }: PageCursors, to: PageUrl): PageLinks => ({
  first: to('cursor', ''),
  ...(prev === null ? {} : { prev: to('cursor', prev) }),
  ...(next === null ? {} : { next: to('cursor', next) }),
})

/** The header and the member of the body with the links of a list that is only read forward by cursor. R86. */
export function forwardLinks(
  { server, list }: Settings,
  target: string,
  next: string | null,
): { readonly headers: Record<string, string>; readonly member: string } {
  if (list.links === 'none') return { headers: {}, member: '' }
  const path = server.basePath + targetPath(target)
  const parameters = parametersOf(target)
  const kept = listUrl(
    path,
    parameters.filter(([name]) => name !== 'cursor'),
  )
  const links = { self: listUrl(path, parameters), ...cursorLinks({ next, prev: null }, pageUrls(kept, path)) }
  const header = list.links === 'body' ? '' : linkHeader(links)
  return {
    headers: header === '' ? {} : { Link: header },
    member: list.links === 'header' ? '' : `,"_links":${JSON.stringify(links)}`,
  }
}

function numberedLinks({ style, window }: ListQuery, { total, hasAfter }: Page, most: number, to: PageUrl): PageLinks {
  const { limit } = window
  const offset = window.from === 'offset' ? window.offset : 0
  const at = (from: number) => (style === 'page' ? to('page', String(from / limit + 1)) : to('offset', String(from)))
  const last = total === null ? null : lastOffset(total, offset % limit, limit)
  const prev = offset === 0 ? null : Math.max(0, Math.min(offset - limit, last ?? offset))
  return {
    first: at(0),
    ...(prev === null ? {} : { prev: at(prev) }),
    ...(hasAfter && offset + limit <= most ? { next: at(offset + limit) } : {}),
    ...(last === null || last > most ? {} : { last: at(last) }),
  }
}

/** The offset of the last page, in steps of the limit from this page; the first page may be `short`. */
const lastOffset = (total: number, short: number, limit: number): number =>
  total <= short ? 0 : short + Math.floor((total - 1 - short) / limit) * limit

function listUrl(path: string, parameters: QueryParameters): string {
  if (parameters.length === 0) return path
  return `${path}?${parameters.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&')}`
}

const mostHeader = 8192 // many clients accept 16 KiB for all headers together
const dispensableLinks = ['first', 'last', 'self', 'prev', 'next']

/** The URLs as a `Link` header. If it is too long, links are left out, the least important ones first. R86. */
export function linkHeader(all: PageLinks): string {
  const texts = Object.entries(all).map(([rel, url]) => ({ rel, text: `<${url}>; rel="${rel}"` }))
  for (let i = 0; ; i++) {
    const gone = dispensableLinks.slice(0, i)
    const kept = texts.filter(({ rel }) => !gone.includes(rel))
    const header = kept.map(({ text }) => text).join(', ')
    if (header.length <= mostHeader) return header
  }
}
