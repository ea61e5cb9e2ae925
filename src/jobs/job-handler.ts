/** Job handler: the argument of the handler of an asynchronous operation, which writes in steps. R228. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Caller } from '../flow/caller.ts'
import type { RowKey } from '../flow/found-row.ts'
import type { Document } from '../flow/intent.ts'
import type { ListRows } from '../flow/plan.ts'
import { timestampOf } from '../formats/time-texts.ts'
import type { HandledList } from '../handlers/handled-list.ts'
import { HandlerFault } from '../handlers/handler-fault.ts'
import type { HandlerSources } from '../handlers/handler-sources.ts'
import { HandlerTools, handlerLog } from '../handlers/handler-tools.ts'
import type { HandlerFunction } from '../handlers/own-handlers.ts'
import { RequestRows } from '../handlers/request-rows.ts'
import type { Resource } from '../resources/resource.ts'

/** A job as its handler sees it. */
export interface JobFace {
  readonly id: string
  readonly attempt: number
  readonly name: string
  readonly caller: Caller
  readonly signal: AbortSignal
  readonly takeStep: (label: string, act: HandlerFunction) => Promise<string>
  /** The results of the steps that were taken in earlier tries, as JSON. */
  readonly earlierResults: ReadonlyMap<string, string>
  readonly report: (progress: number) => Promise<void>
}

/** The members of the argument except input and item. Rows that the handler reads may change; rows that a step reads may not. */
export function jobTools(sources: HandlerSources, job: JobFace, use: unknown) {
  const { world, resources, lists, types, readErrorFields } = sources
  const { id, attempt, name, caller, signal, report } = job
  const { account } = caller
  const taken = new Set<string>()
  const fresh = () => {
    const rows = new RequestRows(sources, world.now())
    const reads = { rows, resources, lists, time: rows.time }
    const context = { ...reads, types, readErrorFields, caller, account, newId: world.newId }
    return new HandlerTools(context, null, undefined)
  }
  const { refuse, newId, caller: handlerCaller } = fresh().face
  const step = async (label: string, act: HandlerFunction): Promise<unknown> => {
    const outer = steps.getStore()
    if (outer !== undefined)
      throw new HandlerFault(
        `It takes the step ${label} within ${outer}, which may run again; take one after the other.`,
      )
    if (taken.has(label)) throw new HandlerFault(`It takes the step ${label} twice; give each step a name of its own.`)
    taken.add(label)
    if (taken.size > mostSteps) throw new HandlerFault(`It takes more than ${mostSteps} steps; join some of them.`)
    signal.throwIfAborted()
    return JSON.parse(
      job.earlierResults.get(label) ?? (await job.takeStep(label, (context) => steps.run(label, () => act(context)))),
    )
  }
  return {
    ...{ id, attempt, signal, report, refuse, newId, caller: handlerCaller, use, step, dryRun: false },
    get now() {
      return timestampOf(world.now())
    },
    get: ((...given) => fresh().get(...given)) as HandlerTools['get'],
    list: ((...given) => fresh().list(...given)) as HandlerTools['list'],
    pages: (resource: string, query: HandledList = {}) =>
      pagesOf(sources, resources.get(resource), query, { account, signal }),
    log: handlerLog(sources.log, { handler: name, operation: id }),
  }
}

/** The label of the step that the code is called from. */
const steps = new AsyncLocalStorage<string>()

const pageSize = 500
/** How many steps an operation may take, as their results are read before each try. */
const mostSteps = 10_000

/** All items of a list, page by page; each page is read when it is asked for. */
async function* pagesOf(
  { lists, store, world }: HandlerSources,
  resource: Resource | undefined,
  query: HandledList,
  { account, signal }: { readonly account: string | null; readonly signal: AbortSignal },
): AsyncGenerator<Document[]> {
  if (!resource) throw new HandlerFault('It reads the pages of a resource that does not exist.')
  const list = lists.read(resource, { ...query, limit: pageSize }, { account, time: world.now() })
  let window: ListRows['window'] = list.window
  for (;;) {
    signal.throwIfAborted()
    const page = await store.execute({ ...list, window, withPositions: true })
    if (page.is !== 'page') return
    const documents = JSON.parse(`[${page.data}]`) as Document[]
    if (documents.length > 0) yield documents
    if (documents.length < pageSize || !page.last) return
    window = { from: 'place', position: page.last, back: false, including: false, limit: pageSize }
  }
}

/** The item of a job, as it is now; null if it was removed meanwhile. */
export async function itemOfJob(sources: HandlerSources, resource: Resource, key: RowKey): Promise<Document | null> {
  const { now } = await new RequestRows(sources, sources.world.now()).get(resource, key)
  return now
}
