/** Links from a page to the pages around it. Part 4, pagination; RFC 8288. */
import type { Query } from '../flow/intent.ts'
import type { Page } from '../flow/outcome.ts'
import type { Cursors } from './page.ts'
import type { Parameters } from './parameters.ts'

type Links = Record<string, string>

/** The URLs of a list's pages by relation, each keeping all other parameters. R86. */
export function links(
  path: string,
  given: Parameters,
  query: Query,
  page: Page,
  cursors: Cursors,
  maxOffset: number,
): Links {
  const url = (more: Parameters) => address(path, [...query.kept, ...more])
  const self = address(path, given)
  if (query.style !== 'cursor') return { self, ...numbered(query, page, maxOffset, url) }
  const sized = given.filter(([name]) => name === 'limit')
  const to = (cursor: string) => url([...sized, ['cursor', cursor]])
  return {
    self,
    first: to(''),
    ...(cursors.prev === null ? {} : { prev: to(cursors.prev) }),
    ...(cursors.next === null ? {} : { next: to(cursors.next) }),
  }

  function numbered(
    { style, window }: Query,
    { total, after }: Page,
    most: number,
    url: (more: Parameters) => string,
  ): Links {
    const { limit } = window
    const offset = window.from === 'offset' ? window.offset : 0
    const sized = given.filter(([name]) => name === (style === 'page' ? 'page_size' : 'limit'))
    const at = (from: number) =>
      url([...sized, style === 'page' ? ['page', String(from / limit + 1)] : ['offset', String(from)]])
    const last =
      total === null
        ? null
        : Math.max(0, style === 'page' ? (Math.ceil(total / limit) - 1) * limit : lastOffset(total, offset, limit))
    const prev = offset === 0 ? null : Math.max(0, Math.min(offset - limit, last ?? offset))
    return {
      first: at(0),
      ...(prev === null ? {} : { prev: at(prev) }),
      ...(after && offset + limit <= most ? { next: at(offset + limit) } : {}),
      ...(last === null || last > most ? {} : { last: at(last) }),
    }
  }
}

/** The last page in steps from the present offset. */
const lastOffset = (total: number, offset: number, limit: number): number =>
  (offset % limit) + Math.floor(Math.max(0, total - 1 - (offset % limit)) / limit) * limit

function address(path: string, parameters: Parameters): string {
  if (parameters.length === 0) return path
  return `${path}?${parameters.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&')}`
}

/** The URLs as a `Link` header. */
export const linkHeader = (all: Links): string =>
  Object.entries(all)
    .map(([rel, url]) => `<${url}>; rel="${rel}"`)
    .join(', ')
