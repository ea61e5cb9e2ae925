/** Page stream: reads all rows of a list, page by page, from one state of the store. The store. R238. */

import { preparedCollection, type StoreContext } from '../catalog/context.ts'
import { resolveList } from '../catalog/resolve-list.ts'
import { Problem } from '../errors/problem.ts'
import type { Outcome, Page, PageStream } from '../flow/outcome.ts'
import type { ListRows } from '../flow/plan.ts'
import type { Cancel, World } from '../flow/world.ts'
import { positionInColumns } from '../store/page-positions.ts'

/** One state of the store. */
interface Reading {
  readonly read: (plan: ListRows) => Promise<Outcome>
  readonly close: () => void
}

export interface Readings {
  /** The first page with its stream, or another outcome if there is no list, for example because the owner does not exist. */
  readonly open: (plan: ListRows, begin: () => Reading | Promise<Reading>) => Promise<Outcome>
  readonly close: () => void
}

/** How many states may be open: each needs a connection or a thread, and the database has to keep old versions of rows for it. */
const mostOpen = 2
/** After this time without a request for the next page a state is closed, in milliseconds. */
const mostIdle = 30_000

/** Opens states of a store, to read whole lists. */
// long because: its steps share the state and its end
export function openReadings(context: StoreContext, { inBackground }: Pick<World, 'inBackground'>): Readings {
  const open = new Set<() => void>()
  let isClosed = false
  return {
    open: async (plan, begin) => {
      if (isClosed) throw new Problem('unavailable', 'The service has stopped.')
      if (open.size >= mostOpen) throw tooManyExports()
      let reading: Reading | null = null
      let cancelIdle: Cancel | null = null
      const close = (): void => {
        cancelIdle?.()
        if (open.delete(close)) reading?.close()
      }
      const idle = (): void => {
        cancelIdle?.()
        cancelIdle = inBackground(mostIdle, close)
      }
      open.add(close)
      try {
        reading = await begin()
        if (!open.has(close)) reading.close() // meanwhile the store was closed
        const first = await reading.read(plan)
        if (first.is === 'page')
          return {
            is: 'pages',
            first,
            rest: following(context, plan, first, { read: reading.read, idle, close }),
            close,
          }
        close()
        return first
      } catch (error) {
        close()
        throw error
      } finally {
        if (open.has(close)) idle()
      }
    },
    close: () => {
      isClosed = true
      for (const close of [...open]) close()
    },
  }
}

/** The pages after the first one. */
async function* following(
  context: StoreContext,
  plan: ListRows,
  first: Page,
  { read, idle, close }: Reading & { readonly idle: () => void },
): PageStream['rest'] {
  try {
    for (let next = nextPlan(context, plan, first); next; ) {
      const page = (await read(next)) as Page
      idle()
      yield page
      next = nextPlan(context, plan, page)
    }
  } finally {
    close()
  }
}

/** All pages, read at once. */
export function pagesAtOnce(context: StoreContext, plan: ListRows, read: (plan: ListRows) => Outcome): Outcome {
  const first = read(plan)
  if (first.is !== 'page') return first
  const rest: Page[] = []
  for (let next = nextPlan(context, plan, first); next; next = nextPlan(context, plan, rest.at(-1) as Page))
    rest.push(read(next) as Page)
  async function* following(): PageStream['rest'] {
    yield* rest
  }
  return { is: 'pages', first, rest: following(), close: () => {} }
}

/** The plan of the page after this one; null after the last. */
function nextPlan(context: StoreContext, plan: ListRows, { last, hasAfter }: Page): ListRows | null {
  if (!hasAfter || last === null) return null
  const position = positionInColumns(preparedCollection(context, plan.collection), resolveList(context, plan), last)
  const { limit } = plan.window
  return { ...plan, window: { from: 'place', position, back: false, including: false, limit } }
}

const tooManyExports = (): Problem =>
  new Problem('overloaded', `This process sends ${mostOpen} exports already. Try again when one of them has ended.`)
