/** The text of a list: `data`, and the page information beside it. Part 4, pagination. */
import type { Query, Style } from '../flow/intent.ts'
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

/** The name that a member of the page information has. R75. */
const nameIn = (name: string, { naming, list }: Settings): string =>
  list.pagination.names[name] ?? (naming === 'camel' ? name : cased(name, naming))

/** The schemas of the page information, one for each style that is enabled. */
export function informationOf(settings: Settings): object[] {
  const { styles, totals } = settings.list.pagination
  const counts = ['totalRecords']
  const next = styles.includes('cursor') ? ['nextCursor'] : []
  const members: Readonly<Record<Style, readonly [always: string[], sometimes: string[]]>> = {
    page: [
      ['currentPage', 'pageSize', 'hasMore'],
      [...(totals === 'off' ? [] : ['totalPages', ...counts]), ...next],
    ],
    offset: [
      ['limit', 'offset', 'hasMore'],
      [...(totals === 'off' ? [] : counts), ...next],
    ],
    cursor: [['limit', 'nextCursor', 'prevCursor', 'hasMore'], []],
  }
  return styles.map((style) => {
    const [always, sometimes] = members[style]
    const all = [...always, ...sometimes].map((name) => [nameIn(name, settings), kindOf(name)])
    return {
      title: `In the style of ${style}`,
      type: 'object',
      properties: Object.fromEntries(all),
      required: always.map((name) => nameIn(name, settings)),
      additionalProperties: false,
    }
  })
}

function kindOf(name: string): object {
  if (name === 'hasMore') return { type: 'boolean' }
  if (name.endsWith('Cursor')) return { type: ['string', 'null'], pattern: '^[A-Za-z0-9_-]+$' }
  return { type: 'integer', minimum: ['limit', 'pageSize', 'currentPage'].includes(name) ? 1 : 0 }
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
  const { field } = settings.list.pagination
  const offered = settings.list.pagination.styles.includes('cursor')
  const named = Object.entries(information(query, page, cursors, offered)).map(([name, value]) => [
    nameIn(name, settings),
    value,
  ])
  const below = links === null ? '' : `,"_links":${JSON.stringify(links)}`
  return `{"data":[${page.data}],${JSON.stringify(field)}:${JSON.stringify(Object.fromEntries(named))}${below}}`
}
