/** Crew: several processes that serve one port of one machine, begun, replaced and ended by a first one. Part 8, termination. */
import cluster, { type Worker } from 'node:cluster'
import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { Readable } from 'node:stream'
import type { Log } from '../http/server-context.ts'

/** Whether this process is one of a crew, not who leads it. */
export const isWorker = cluster.isWorker

/** What a member says to its leader: that it listens, and at its end that it waits for its replacement. */
type WorkerMessage = { readonly url: string } | { readonly leaving: true }

/** Tells the leader of the crew that this member serves, and ends in order when the leader is gone. */
export function reportReady(url: string): void {
  if (cluster.worker) cluster.worker.exitedAfterDisconnect = true // else the cluster module exits at once without a leader
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.send?.({ url } satisfies WorkerMessage)
  shareAccepts()
}

/**
 * Members accept from one socket, and the first one that is awake would take most of a burst of connections. So a member that
 * accepted two within a millisecond sleeps for some microseconds, in which the others wake up and take their share.
 */
function shareAccepts(): void {
  const never = new Int32Array(new SharedArrayBuffer(4))
  let last = 0
  subscribe('net.server.socket', () => {
    if (performance.now() - last < 1) Atomics.wait(never, 0, 0, 0.01)
    last = performance.now()
  })
}

/** How long a member that is told to end waits for its replacement, in milliseconds. */
const replacementWait = 10_000

/**
 * Settles when another member listens in the place of this one, so that there is always one that accepts connections. Where
 * all end, the member lets go of its leader, which holds the socket for it: the last member can then accept what still waits
 * at the port before it closes it.
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
/** A member that served for so long, in milliseconds, did not fail by itself. */
const healthyAge = 60_000

/** Serves with several processes until a signal; gives the exit code. The first one is heard before others begin, so that a failure is told once. */
// long because: its steps share the members and the signals
export async function serveWithWorkers({ size, host, port, log, announce }: WorkersOptions): Promise<number> {
  const members = new Set<Worker>()
  /** Members that were told to end, in the order in which they wait for their replacements. */
  const waiting = new Set<Worker>()
  const left = new WeakSet<Worker>()
  let served = false
  let ending = false
  let delay = shortestDelay
  let worst = 0

  // Members accept from one socket. Where this process hands connections over to them instead, as the cluster module does by
  // default, those on their way to a member that is killed stay open without an answer.
  cluster.schedulingPolicy = cluster.SCHED_NONE
  // A port that is chosen here stays the same also where all members were gone for a moment.
  const args = [...process.argv.slice(2), '--port', String(port || (await freePort(host)))]
  cluster.setupPrimary({ silent: true, args })
  // long because: its steps share the members and the signals
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
        if (!(ending && signal === 'SIGTERM')) worst = Math.max(worst, signal === null ? code : 1) // else it had not begun
        if (members.size === 0) ended(worst)
        return
      }
      const about = { worker: member.process.pid, code, signal }
      if (left.has(member)) return void log.info(about, 'A worker has ended after it was replaced.')
      const killed = signal === 'SIGKILL' || signal === 'SIGTERM' // from outside
      delay = killed || age > healthyAge ? shortestDelay : Math.min(longestDelay, delay * 2)
      log.error({ ...about, delay }, 'A worker has ended and is replaced.')
      setTimeout(begin, delay)
    }

    /** The first signal lets members finish, the second one does not. */
    function end(): void {
      for (const { process: member } of members) member.kill(ending ? 'SIGKILL' : 'SIGTERM')
      ending = true
      for (const member of waiting) say(member, 'end')
      if (members.size === 0) ended(worst)
    }
  })
}

/** A port that nobody uses; 0 where there is none, which the first member then explains. */
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
 * One log of all: whole lines, as two processes that write to one pipe would tear those of each other.
 * A member is gone when its pipes are closed, not when it exits: what it wrote last comes behind its exit.
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
