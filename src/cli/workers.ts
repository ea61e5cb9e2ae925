/** Workers: several processes that serve one port, started, replaced and stopped by a primary. Part 8, termination. */

import cluster, { type Worker } from 'node:cluster'
import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { Readable } from 'node:stream'
import type { Log } from '../flow/world.ts'
import type { MetricFamily } from '../telemetry/metrics.ts'
import { joinedFamilies } from '../telemetry/open-metrics.ts'

/** Whether this process is a worker and not the primary. */
export const isWorker = cluster.isWorker

/** A worker's message to the primary: that it listens, that it ends and waits for its replacement, or its metrics. */
type WorkerMessage =
  | { readonly url: string }
  | { readonly leaving: true }
  | { readonly asked: number; readonly families: readonly MetricFamily[] }

type ReadFamilies = () => Promise<readonly MetricFamily[]>

/** Where the metrics are served. */
export interface MetricsDoor {
  readonly open: (read: ReadFamilies) => Promise<void>
  readonly close: () => void
}

/** Tells the primary that this worker serves; stops in order when the primary is gone. */
export function reportReady(url: string, metrics?: ReadFamilies): void {
  if (cluster.worker) cluster.worker.exitedAfterDisconnect = true // else it would exit at once without a primary
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  if (metrics)
    process.on('message', async (word) => {
      if (typeof word !== 'object' || word === null || !('asked' in word)) return
      const asked = word.asked as number
      const families = await metrics().catch(() => [])
      if (process.connected) process.send?.({ asked, families } satisfies WorkerMessage, () => {})
    })
  process.send?.({ url } satisfies WorkerMessage)
  shareAccepts()
}

/**
 * Workers accept from one socket, and the first one that is awake would take most of a burst of connections. So a worker
 * that accepted two within a millisecond sleeps for some microseconds, in which the others wake up and take their share.
 */
function shareAccepts(): void {
  const never = new Int32Array(new SharedArrayBuffer(4))
  let last = 0
  subscribe('net.server.socket', () => {
    if (performance.now() - last < 1) Atomics.wait(never, 0, 0, 0.01)
    last = performance.now()
  })
}

/** How long a worker that is told to end waits for its replacement, in milliseconds. */
const replacementWait = 10_000

/**
 * Settles when another worker listens in place of this one, so that one of them always accepts connections. If all workers
 * end, it disconnects from the primary, which holds the socket for it: the last worker can then accept the connections that
 * still wait at the port before it closes the socket.
 */
export async function untilReplaced(): Promise<void> {
  if (!isWorker || !process.connected) return
  process.send?.({ leaving: true } satisfies WorkerMessage)
  const word = await new Promise<unknown>((resolve) => {
    setTimeout(resolve, replacementWait).unref()
    const onMessage = (word: unknown): void => {
      if (typeof word === 'string') resolve(word)
    }
    process.on('message', onMessage).once('disconnect', resolve)
  })
  if (word === 'end' && process.connected) process.disconnect?.()
}

export interface WorkersOptions {
  readonly size: number
  readonly host: string
  readonly port: number
  readonly log: Log
  readonly announce: (url: string) => void
  /** Serves the metrics of all workers; missing if they are off. */
  readonly metrics?: MetricsDoor
}

const shortestDelay = 100
const longestDelay = 10_000
/** A worker that ran for this long, in milliseconds, did not fail because of its start. */
const healthyAge = 60_000

/**
 * Serves with several processes until a signal and returns the exit code. The others start after the first one listens, so
 * that a failure is reported once.
 */
// long because: its functions share the workers and the signals
export async function serveWithWorkers({ size, host, port, log, announce, metrics }: WorkersOptions): Promise<number> {
  const scrape = workerMetrics()
  await metrics?.open(scrape.read)
  const members = new Set<Worker>()
  /** Workers that were told to end, in the order in which they wait for their replacements. */
  const waiting = new Set<Worker>()
  const left = new WeakSet<Worker>()
  let served = false
  let ending = false
  let delay = shortestDelay
  let worst = 0

  // Workers accept from one socket. If the primary handed out connections, as the cluster module does by default, those on
  // their way to a worker that is killed would stay open without an answer.
  cluster.schedulingPolicy = cluster.SCHED_NONE
  // A free port is chosen here, so that it stays the same even if all workers end for a moment.
  const args = [...process.argv.slice(2), '--port', String(port || (await freePort(host)))]
  cluster.setupPrimary({ silent: true, args })
  // long because: its functions share the workers and the signals
  return new Promise<number>((ended) => {
    begin()
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, end)

    function begin(): void {
      if (ending) return
      const member = cluster.fork()
      const since = performance.now()
      members.add(member)
      const { stdout, stderr } = member.process
      if (stdout) forwardLines(stdout)
      stderr?.pipe(process.stderr, { end: false })
      scrape.join(member)
      member.on('message', (word: WorkerMessage) => {
        if ('url' in word) listens(word.url)
        else if ('leaving' in word) leaves(member)
      })
      member.process.once('close', (code, signal) => gone(member, code ?? 1, signal, performance.now() - since))
    }

    function listens(url: string): void {
      const [first] = waiting
      if (first) say(first, 'replaced')
      if (served) return
      served = true
      announce(url)
      for (let i = 1; i < size; i++) begin()
    }

    function leaves(member: Worker): void {
      if (ending) {
        say(member, 'end')
        return
      }
      waiting.add(member)
      left.add(member)
      begin()
    }

    function say(member: Worker, word: 'replaced' | 'end'): void {
      waiting.delete(member)
      if (member.isConnected()) member.send(word, () => {}) // it may be gone
    }

    function gone(member: Worker, code: number, signal: string | null, age: number): void {
      members.delete(member)
      waiting.delete(member)
      if (ending || !served) {
        // A worker that SIGTERM kills while all end had not installed its handler yet.
        if (!(ending && signal === 'SIGTERM')) worst = Math.max(worst, signal === null ? code : 1)
        if (members.size === 0) ended(worst)
        return
      }
      const about = { worker: member.process.pid, code, signal }
      if (left.has(member)) return void log.info(about, 'A worker has ended after it was replaced.')
      const killed = signal === 'SIGKILL' || signal === 'SIGTERM' // killed from outside
      delay = killed || age > healthyAge ? shortestDelay : Math.min(longestDelay, delay * 2)
      log.error({ ...about, delay }, 'A worker has ended and is replaced.')
      setTimeout(begin, delay)
    }

    /** The first signal lets workers finish, the second one kills them. */
    function end(): void {
      for (const { process: member } of members) member.kill(ending ? 'SIGKILL' : 'SIGTERM')
      ending = true
      for (const member of waiting) say(member, 'end')
      if (members.size === 0) ended(worst)
    }
  }).finally(() => metrics?.close())
}

/** How long a worker may take to send its metrics, in milliseconds. */
const metricsWait = 3000

/**
 * Reads the metrics of all workers. Each worker has a number, which its replacement takes over: counters begin anew then, as
 * after a restart of a process.
 */
function workerMetrics() {
  const slots = new Map<string, Worker>()
  const pending = new Map<number, PromiseWithResolvers<readonly MetricFamily[]>>()
  let asked = 0

  function join(member: Worker): void {
    let slot = 1
    while (slots.has(String(slot))) slot++
    slots.set(String(slot), member)
    member.process.once('close', () => slots.delete(String(slot)))
    member.on('message', (word: WorkerMessage) => {
      if ('families' in word) pending.get(word.asked)?.resolve(word.families)
    })
  }

  async function ask(member: Worker): Promise<readonly MetricFamily[]> {
    if (!member.isConnected()) return []
    const own = ++asked
    const answer = Promise.withResolvers<readonly MetricFamily[]>()
    pending.set(own, answer)
    const late = setTimeout(() => answer.resolve([]), metricsWait)
    member.send({ asked: own }, () => {})
    try {
      return await answer.promise
    } finally {
      clearTimeout(late)
      pending.delete(own)
    }
  }

  const read: ReadFamilies = async () => {
    const all = await Promise.all([...slots].sort().map(async ([slot, member]) => [slot, await ask(member)] as const))
    return joinedFamilies(new Map(all))
  }
  return { join, read }
}

/** A free port; 0 if none can be found, which the first worker then explains. */
async function freePort(host: string): Promise<number> {
  const server = createServer()
  try {
    await once(server.listen(0, host), 'listening')
    return (server.address() as AddressInfo).port
  } catch {
    return 0
  } finally {
    server.close()
  }
}

/**
 * Forwards whole lines only, as processes that write to one pipe would mix theirs. A worker is gone when its pipes are
 * closed, not when it exits: its last output arrives after its exit.
 */
function forwardLines(from: Readable): void {
  let rest: Buffer = Buffer.alloc(0)
  from.on('data', (chunk: Buffer) => {
    const end = chunk.lastIndexOf(10) + 1
    if (end > 0 && !process.stdout.write(Buffer.concat([rest, chunk.subarray(0, end)]))) {
      from.pause()
      process.stdout.once('drain', () => from.resume())
    }
    rest = end > 0 ? chunk.subarray(end) : Buffer.concat([rest, chunk])
  })
}
