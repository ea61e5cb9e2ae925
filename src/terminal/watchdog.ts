/** Watchdog: knows the handlers in progress; its thread ends the process when one of them blocks the event loop. R226. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { url as inspectorUrl } from 'node:inspector'
import { extname } from 'node:path'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import type { World } from '../flow/world.ts'
import type { HandlerFunction, OwnHandlers } from '../handlers/own-handlers.ts'

/** The input of the thread. It cannot inspect the main thread, so both share counters. */
interface WatchdogData {
  /** The beats of the event loop, 0 while a debugger is attached; then the runs in progress of each handler. */
  readonly cells: Int32Array
  readonly handlers: readonly string[]
  readonly service: string
  /** How long the event loop may be blocked, in milliseconds. */
  readonly timeout: number
  /** Whether lines are those of the JSON log. */
  readonly json: boolean
}

const beatInterval = 100

/** Starts the thread. Returns the handlers with their runs counted, and a function that ends the thread. */
export async function watchHandlers(
  own: OwnHandlers,
  { every }: World,
  options: Pick<WatchdogData, 'service' | 'timeout' | 'json'>,
): Promise<{ readonly watched: OwnHandlers; readonly stop: () => Promise<void> }> {
  const names = namesOf(own)
  const cells = new Int32Array(new SharedArrayBuffer(4 * (1 + names.length)))
  const watched = withEach(own, (name, act) => counted(name, act, cells, names.indexOf(name) + 1))
  const data: WatchdogData = { ...options, cells, handlers: names }
  // The path leads here from the folder of any module: the build joins this one with others.
  const program = new URL(`../terminal/watchdog${extname(import.meta.filename)}`, import.meta.url)
  const thread = new Worker(program, { workerData: { watchdog: data } })
  await once(thread, 'message') // it cannot start while this thread is blocked
  thread.unref()
  const beat = (): void => {
    // A debugger may pause the process for as long as it likes.
    Atomics.store(cells, 0, inspectorUrl() === undefined ? Atomics.load(cells, 0) + 1 : 0)
  }
  beat()
  const stopBeats = every(beatInterval, beat)
  const stop = async () => {
    stopBeats()
    await thread.terminate()
  }
  return { watched, stop }
}

/** The same handlers and reactions, each function wrapped by `wrap`. */
export function withEach(own: OwnHandlers, wrap: (name: string, act: HandlerFunction) => HandlerFunction): OwnHandlers {
  const mapped = <T, U>(members: { readonly [name: string]: T }, map: (name: string, value: T) => U) =>
    Object.fromEntries(Object.entries(members).map(([name, value]) => [name, map(name, value)]))
  const handlers = mapped(own.handlers, (resource, acts) =>
    mapped(acts, (operation, act) => wrap(`${resource}.${operation}`, act)),
  )
  const reactions = mapped(own.reactions ?? {}, (name, reaction) => ({
    ...reaction,
    run: wrap(`reactions.${name}`, reaction.run),
  }))
  return { ...own, handlers, reactions }
}

function namesOf(own: OwnHandlers): readonly string[] {
  const names: string[] = []
  withEach(own, (name, act) => {
    names.push(name)
    return act
  })
  return names
}

const current = new AsyncLocalStorage<string>()
/** The handler or reaction whose code this is, also after it has ended; undefined outside of them. */
export const currentHandler = (): string | undefined => current.getStore()

const counted =
  (name: string, act: HandlerFunction, cells: Int32Array, cell: number): HandlerFunction =>
  async (context) => {
    Atomics.add(cells, cell, 1)
    try {
      return await current.run(name, act, context)
    } finally {
      Atomics.sub(cells, cell, 1)
    }
  }

/** Longer than two beats. The thread counts its own turns instead of time, as a suspended process has no turns. */
const watchInterval = 250

/** In the thread: names the handlers in progress when the event loop is blocked, and ends the process after a time. */
function watch({ cells, handlers, service, timeout, json }: WatchdogData): void {
  let [beat, blocked] = [0, 0]
  const report = (level: string, running: readonly string[], msg: string): void => {
    const about = { level, time: new Date().toISOString(), service, handlers: running, msg }
    try {
      // Not by the log of the service, which the blocked thread writes.
      writeSync(1, json ? `${JSON.stringify(about)}\n` : `${level} ${msg} handlers=${running.join()}\n`)
    } catch {
      // The pipe of the log is closed.
    }
  }
  setInterval(() => {
    const [before, running] = [beat, handlers.filter((_, i) => Atomics.load(cells, i + 1) > 0)]
    beat = Atomics.load(cells, 0)
    blocked = beat === before && beat !== 0 && running.length > 0 ? blocked + watchInterval : 0
    if (blocked === 1000)
      report('error', running, 'Nothing was answered for a second. One of these handlers may loop without `await`.')
    if (blocked === 0 || blocked < timeout) return
    report('fatal', running, 'The process ends: a handler has blocked it for longer than `limits.handlerTimeout`.')
    // Only a signal ends a process whose main thread never returns. Nothing else sends this one: shells show it as 154.
    process.kill(process.pid, process.platform === 'win32' ? 'SIGKILL' : 'SIGVTALRM')
  }, watchInterval)
}

if (parentPort && workerData?.watchdog) {
  watch(workerData.watchdog as WatchdogData)
  parentPort.postMessage('ready')
}
