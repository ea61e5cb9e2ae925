/** Broken page: refuses a page with an item that the version cannot show, and links around the item. Part 9, versions. */

import { ConversionError, documentId } from '../changes/conversion-error.ts'
import { Problem } from '../errors/problem.ts'
import type { Intent, ListQuery } from '../flow/intent.ts'
import type { Page, Position } from '../flow/outcome.ts'
import type { Reply } from '../flow/reply.ts'
import { writeCursor } from '../lists/cursor.ts'
import { linkHeader } from '../lists/links.ts'
import { windowParameters } from '../lists/list-rules.ts'
import { targetPath } from '../lists/query-string.ts'
import type { Resource } from '../resources/resource.ts'
import { cellIn } from '../rows/collection.ts'

/** Makes the answer with a page, or the refusal if one of its items cannot be converted. */
export function orBrokenPage(today: Resource, intent: Intent, page: Page, make: () => Reply): Reply {
  try {
    return make()
  } catch (failure) {
    if (!(failure instanceof ConversionError)) throw failure
    throw brokenPageProblem(failure, failure.at, linksAround(failure.at, today, intent, page))
  }
}

/** Refuses the whole page: leaving out the item would contradict the total. */
export function brokenPageProblem(failure: ConversionError, at: number, around: Record<string, string>): Problem {
  const links = linkHeader(around)
  const message =
    'One item of this page cannot be shown in this version. The links lead to the items before and after it.'
  return new Problem('version-conversion-failed', message, {
    headers: links === '' ? {} : { Link: links },
    extra: { pointer: `/data/${at}` },
    cause: failure,
  })
}

/**
 * Links to the pages that end before a row and begin after it, if a pagination style allows them. The previous page has only
 * rows of this page, if there are any, as earlier rows may include another one that cannot be shown.
 */
function linksAround(at: number, today: Resource, intent: Intent, page: Page): Record<string, string> {
  const query = intent.query as ListQuery
  const { limit, ...window } = query.window
  const { settings } = today
  const { pagination, maxOffset } = settings.list
  const to = windowUrls(settings.server.basePath + intent.call.target, query)
  const place = pagination.styles.includes('cursor') ? rowPosition(at, today, query, page) : null
  if (place) {
    const binding = { list: query.list, bound: query.bound, ttl: settings.list.cursor.ttl }
    const cursor = (back: boolean) => writeCursor({ position: place, back, including: false }, binding, intent.world)
    return { prev: to({ limit: at || limit, cursor: cursor(true) }), next: to({ limit, cursor: cursor(false) }) }
  }
  if (window.from !== 'offset') return {}
  const [ahead, behind] = [window.offset + at, window.offset + at + 1]
  if (pagination.styles.includes('offset')) {
    const size = at || Math.min(limit, ahead)
    const prev = size === 0 ? {} : { prev: to({ limit: size, offset: ahead - size }) }
    return behind > maxOffset ? prev : { ...prev, next: to({ limit, offset: behind }) }
  }
  // Pages begin at multiples of their size, so only pages of one item can begin right after any item.
  const prev = ahead === 0 ? {} : { prev: to({ page_size: 1, page: ahead }) }
  return behind > maxOffset ? prev : { ...prev, next: to({ page_size: 1, page: behind + 1 }) }
}

/** Writes the URL of the list with another window. */
function windowUrls(
  target: string,
  { parameters }: ListQuery,
): (window: Readonly<Record<string, string | number>>) => string {
  const kept = parameters.filter(([name]) => !windowParameters.includes(name))
  return (window) => {
    const all = [...kept, ...Object.entries(window)]
    const text = all.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&')
    return `${targetPath(target)}?${text}`
  }
}

/** The position of a row for a cursor; null if the order uses values that its document does not contain. */
function rowPosition(at: number, today: Resource, { order }: ListQuery, { data }: Page): Position | null {
  const document = (JSON.parse(`[${data}]`) as Record<string, unknown>[])[at] ?? {}
  const { columns, fields } = today.collection
  const hidden = new Set(fields.filter((one) => one.writeOnly).map(({ name }) => name))
  const place: (string | null)[] = []
  for (const { column: name, reach } of order) {
    const column = columns.find((one) => one.name === name)
    if (reach || (column && hidden.has(column.field)) || (!column && name !== 'id')) return null
    const value = column ? cellIn(column, document) : documentId(today, document)
    place.push(value == null ? null : String(value))
  }
  return place
}
