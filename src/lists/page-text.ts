/** Page text: the body of a list, with `data` and the page information. Part 4, pagination. */
import type { ListQuery, PaginationStyle } from '../flow/intent.ts'
import type { Page } from '../flow/outcome.ts'
import { toCase } from '../formats/naming.ts'
import type { Settings } from '../settings.ts'

/** The cursors of the next and the previous page. */
export interface PageCursors {
  readonly next: string | null
  readonly prev: string | null
}

/** The members of the page information, under their default names. R75, R76. */
function pageInformation(
  { style, window }: ListQuery,
  page: Page,
  cursors: PageCursors,
  cursorsOffered: boolean,
): Record<string, unknown> {
  const { limit } = window
  if (style === 'cursor') return { limit, nextCursor: cursors.next, prevCursor: cursors.prev, hasMore: page.hasAfter }
  const offset = window.from === 'offset' ? window.offset : 0
  const total = page.total === null ? {} : { totalRecords: page.total }
  const next = cursorsOffered && offset === 0 ? { nextCursor: cursors.next } : {}
  if (style === 'offset') return { limit, offset, ...total, hasMore: page.hasAfter, ...next }
  const pages = page.total === null ? {} : { totalPages: Math.ceil(page.total / limit) }
  return { currentPage: offset / limit + 1, pageSize: limit, ...pages, ...total, hasMore: page.hasAfter, ...next }
}

/** The name of a member of the page information, after the settings. R75. */
const memberName = (name: string, { naming, list }: Settings): string =>
  list.pagination.names[name] ?? (naming === 'camel' ? name : toCase(name, naming))

/** The schemas of the page information, one for each offered style. */
export function pageInformationSchemas(settings: Settings): object[] {
  const { styles, totals } = settings.list.pagination
  const counts = ['totalRecords']
  const next = styles.includes('cursor') ? ['nextCursor'] : []
  const members: Readonly<Record<PaginationStyle, readonly [always: string[], sometimes: string[]]>> = {
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
    const all = [...always, ...sometimes].map((name) => [memberName(name, settings), memberSchema(name)])
    return {
      title: `In the style of ${style}`,
      type: 'object',
      properties: Object.fromEntries(all),
      required: always.map((name) => memberName(name, settings)),
      additionalProperties: false,
    }
  })
}

function memberSchema(name: string): object {
  if (name === 'hasMore') return { type: 'boolean' }
  if (name.endsWith('Cursor')) return { type: ['string', 'null'], pattern: '^[A-Za-z0-9_-]+$' }
  return { type: 'integer', minimum: ['limit', 'pageSize', 'currentPage'].includes(name) ? 1 : 0 }
}

/** The page information of a list that is only read forward by cursor, as a member of its body. */
export function cursorInformation(
  settings: Settings,
  { limit, next, hasMore }: { readonly limit: number; readonly next: string | null; readonly hasMore: boolean },
): string {
  const members = { limit, nextCursor: next, hasMore }
  const named = Object.entries(members).map(([name, value]) => [memberName(name, settings), value])
  return `${JSON.stringify(settings.list.pagination.field)}:${JSON.stringify(Object.fromEntries(named))}`
}

/** The schema of the body of such a list, with the schema of its `data`. */
export function forwardPageSchema(settings: Settings, data: object): object {
  const names = ['limit', 'nextCursor', 'hasMore']
  const all = names.map((name) => [memberName(name, settings), memberSchema(name)])
  const information = {
    ...{ type: 'object', properties: Object.fromEntries(all), required: all.map(([name]) => name) },
    additionalProperties: false,
  }
  const links = linksSchema(settings, ['self', 'first', 'next'])
  const properties = { data, [settings.list.pagination.field]: information, ...links }
  return { properties, required: Object.keys(properties), additionalProperties: false }
}

/** The schema of the links in the body of a list; empty if the settings have them elsewhere. R86. */
export function linksSchema({ list }: Settings, relations: readonly string[]): { readonly _links?: object } {
  if (list.links !== 'body' && list.links !== 'both') return {}
  const url = { type: 'string', format: 'uri-reference' }
  const properties = Object.fromEntries(relations.map((relation) => [relation, url]))
  return { _links: { type: 'object', properties, required: ['self'] } }
}

/** Whether the page shows cursors. */
export function showsCursors({ style, window }: ListQuery, { list }: Settings): boolean {
  return (
    style === 'cursor' || (list.pagination.styles.includes('cursor') && window.from === 'offset' && window.offset === 0)
  )
}

/** The whole body; `links` are its `_links`, null if the settings turn them off. R52. */
export function pageText(
  settings: Settings,
  query: ListQuery,
  page: Page,
  cursors: PageCursors,
  links: Readonly<Record<string, string>> | null,
): string {
  const { field } = settings.list.pagination
  const offered = settings.list.pagination.styles.includes('cursor')
  const named = Object.entries(pageInformation(query, page, cursors, offered)).map(([name, value]) => [
    memberName(name, settings),
    value,
  ])
  const below = links === null ? '' : `,"_links":${JSON.stringify(links)}`
  return `{"data":[${page.data}],${JSON.stringify(field)}:${JSON.stringify(Object.fromEntries(named))}${below}}`
}
