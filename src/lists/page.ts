/** The text of a list: `data`, and the page information beside it. Part 4, pagination. */
import type { Query } from '../flow/intent.ts'
import type { Page } from '../flow/outcome.ts'
import { cased } from '../resources/naming.ts'
import type { Settings } from '../resources/settings.ts'

/** Cursors to the pages around this one. */
export interface Cursors {
  readonly next: string | null
  readonly prev: string | null
}

/** What the page information consists of, under the names of the conventions. R75, R76. */
function information(
  { style, window }: Query,
  page: Page,
  cursors: Cursors,
  cursorsOffered: boolean,
): Record<string, unknown> {
  const { limit } = window
  if (style === 'cursor') return { limit, nextCursor: cursors.next, prevCursor: cursors.prev, hasMore: page.after }
  const offset = window.from === 'offset' ? window.offset : 0
  const total = page.total === null ? {} : { totalRecords: page.total }
  const next = cursorsOffered && offset === 0 ? { nextCursor: cursors.next } : {}
  if (style === 'offset') return { limit, offset, ...total, hasMore: page.after, ...next }
  const pages = page.total === null ? {} : { totalPages: Math.ceil(page.total / limit) }
  return { currentPage: offset / limit + 1, pageSize: limit, ...pages, ...total, hasMore: page.after, ...next }
}

/** Whether the page shows cursors at all, so that they have to be made. */
export function showsCursors({ style, window }: Query, { list }: Settings): boolean {
  return (
    style === 'cursor' || (list.pagination.styles.includes('cursor') && window.from === 'offset' && window.offset === 0)
  )
}

/** The whole text of a list; `links` stands in it where that is asked for. R52. */
export function pageText(
  settings: Settings,
  query: Query,
  page: Page,
  cursors: Cursors,
  links: Readonly<Record<string, string>> | null,
): string {
  const { field, names } = settings.list.pagination
  const offered = settings.list.pagination.styles.includes('cursor')
  const named = Object.entries(information(query, page, cursors, offered)).map(([name, value]) => [
    names[name] ?? (settings.naming === 'camel' ? name : cased(name, settings.naming)),
    value,
  ])
  const below = links === null ? '' : `,"_links":${JSON.stringify(links)}`
  return `{"data":[${page.data}],${JSON.stringify(field)}:${JSON.stringify(Object.fromEntries(named))}${below}}`
}
