/** Workers: several processes that serve one port, started, replaced and stopped by a primary. Part 8, termination. */

import cluster, { type Worker } from 'node:cluster'
import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { Readable } from 'node:stream'
import type { Log } from '../flow/world.ts'

/** Whether this process is a worker and not the primary. */
export const isWorker = cluster.isWorker

/** A worker's message to the primary: that it listens, or that it ends and waits for its replacement. */
type WorkerMessage = { readonly url: string } | { readonly leaving: true }

/** Tells the primary that this worker serves; stops in order when the primary is gone. */
export function reportReady(url: string): void {
  if (cluster.worker) cluster.worker.exitedAfterDisconnect = true // else it would exit at once without a primary
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
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
    process.once('message', resolve).once('disconnect', resolve)
  })
  if (word === 'end' && process.connected) process.disconnect?.()
}

export interface WorkersOptions {
  readonly size: number
  readonly host: string
  readonly port: number
  readonly log: Log
  readonly announce: (url: string) => void
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
export async function serveWithWorkers({ size, host, port, log, announce }: WorkersOptions): Promise<number> {
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
  return new Promise((ended) => {
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
      member.on('message', (word: WorkerMessage) => ('url' in word ? listens(word.url) : leaves(member)))
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
  })
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
