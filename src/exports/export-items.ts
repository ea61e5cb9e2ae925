/** Exports the items of a list: all that match, as lines of JSON or CSV, from one state of the store. Part 4. R238. */
import { preferredStream } from '../endpoints/content-negotiation.ts'
import { type EndpointContext, isAbsent } from '../endpoints/item.ts'
import { shownItems } from '../endpoints/list-items.ts'
import { contextOfFields } from '../endpoints/read-item.ts'
import type { Call } from '../flow/call.ts'
import type { Intent, ListQuery } from '../flow/intent.ts'
import { documentSeparator, type Page, type PageStream } from '../flow/outcome.ts'
import type { ListRows } from '../flow/plan.ts'
import type { AnswerStream, Reply, StreamTarget } from '../flow/reply.ts'
import type { Route } from '../flow/route.ts'
import type { World } from '../flow/world.ts'
import { makeReaderTime } from '../limits/reader-time.ts'
import { listQueryReader } from '../lists/list-query.ts'
import { viewNow } from '../views/shown-rows.ts'
import { listRulesOf } from '../views/version-lists.ts'
import { csvColumns, csvHeader, csvLines } from './csv-text.ts'

const csvType = 'text/csv'
const exportTypes = ['application/x-ndjson', csvType]

/** The route of a list that also answers with all of its items, if its resource declares exports. */
export function withExport(context: EndpointContext, route: Route): Route {
  if (!context.resource.exports) return route
  const { parameterNames, ...rules } = listRulesOf(context)
  const names = parameterNames.filter((name) => name !== 'embed') // CSV could not show the rows
  const read = listQueryReader({ ...rules, parameterNames: names, whole: true })
  const typeFor = (call: Call) => preferredStream(call, exportTypes)
  return {
    ...route,
    streams: exportTypes,
    query: (call, world, carried) =>
      typeFor(call) === null
        ? route.query(call, world, carried)
        : read(call.target.slice(carried.inPath.length), world),
    plan: (intent) => {
      const list = route.plan(intent) as ListRows
      if (typeFor(intent.call) === null) return list
      if (intent.call.method === 'HEAD') return { ...list, window: { from: 'offset', offset: 0, limit: 1 } }
      return { ...list, whole: true, withPositions: true }
    },
    render: (intent, outcome) => {
      const type = typeFor(intent.call)
      return type === null || isAbsent(outcome)
        ? route.render(intent, outcome)
        : exportReply(context, intent, type, outcome as Page | PageStream)
    },
    about: { ...route.about, notes: [...route.about.notes, exportNote] },
  }
}

const exportNote =
  'With `Accept: application/x-ndjson` or `text/csv` it answers with all items that match, without pages, from one state of the data.'

/** For HEAD only one page is read, to check that the list exists. The first page may still be refused. */
function exportReply(context: EndpointContext, intent: Intent, type: string, outcome: Page | PageStream): Reply {
  const own = contextOfFields(context, (intent.query as ListQuery).fields)
  const textOf = type === csvType ? csvWriter(own, intent) : (page: Page) => jsonLines(shownItems(own, intent, page))
  const headers = { 'Content-Type': type === csvType ? `${csvType}; charset=utf-8` : type }
  if (outcome.is === 'page') return { status: 200, headers, body: null, stream: { open: () => () => {} } }
  try {
    return {
      status: 200,
      headers,
      body: null,
      stream: exportStream(textOf(outcome.first), outcome, textOf, intent.world),
    }
  } catch (problem) {
    outcome.close()
    throw problem
  }
}

/** Each item on a line of its own. No item has a line break inside. */
const jsonLines = (items: string): string =>
  items === '' ? '' : `${items.includes('\n') ? items.replaceAll(documentSeparator, '\n') : linesOf(items)}\n`

const linesOf = (items: string): string =>
  parsed(items)
    .map((item) => JSON.stringify(item))
    .join('\n')

const parsed = (items: string): unknown[] => JSON.parse(`[${items}]`)

/** Writes pages as CSV, the first one with the names of the columns. The items have no links. */
function csvWriter(context: EndpointContext, intent: Intent): (page: Page) => string {
  const own = { ...context, linker: null }
  const columns = csvColumns(context.resource, viewNow(context, intent.caller, intent.world))
  let header = csvHeader(columns)
  return (page) => {
    const text = header + csvLines(columns, parsed(shownItems(own, intent, page)))
    header = ''
    return text
  }
}

/** A client may pause for this time in all, in milliseconds, and for one more per 64 bytes: the state of the store stays open meanwhile. */
const [grace, pace] = [20_000, 64]

function exportStream(first: string, pages: PageStream, textOf: (page: Page) => string, world: World): AnswerStream {
  return {
    open: (target) => {
      let hasLeft = false
      const failed = (failure?: unknown): void => {
        if (!hasLeft) target.cut(failure)
      }
      void sendPages(first, pages, textOf, target, world).catch(failed)
      return () => {
        hasLeft = true
        pages.close()
      }
    },
  }
}

/** Sends pages as the client reads them. If the client is too slow, the answer is cut, which is no failure of the service. */
async function sendPages(
  first: string,
  { rest, close }: PageStream,
  textOf: (page: Page) => string,
  target: StreamTarget,
  world: World,
): Promise<void> {
  const isRead = makeReaderTime(target, world, { grace, pace })
  try {
    let inTime = await isRead(first)
    while (inTime) {
      const next = await rest.next()
      if (next.done) break
      inTime = await isRead(textOf(next.value))
    }
    if (inTime) target.end()
    else target.cut()
  } finally {
    close()
  }
}
