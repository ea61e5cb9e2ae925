/** Crew: several processes that serve one port of one machine, begun, replaced and ended by a first one. Part 8, termination. */
import cluster, { type Worker } from 'node:cluster'
import type { Readable } from 'node:stream'
import type { Log } from '../http/house.ts'

/** Whether this process is one of a crew, not who leads it. */
export const isMember = cluster.isWorker

/** What a member tells who leads it, once it listens. */
interface Word {
  readonly url: string
}

/** Tells who leads the crew that this one serves, and ends in order when the other is gone. */
export function report(url: string): void {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.send?.({ url } satisfies Word)
}

const shortest = 100
const longest = 10_000
/** Who served for so long, in milliseconds, did not fail by itself. */
const sound = 60_000

/** Serves with `size` processes until a signal; gives the exit code. The first one is heard before others begin, so that a failure is told once. */
// long because: its steps share the members and the signals
export function crew(size: number, log: Log, announce: (url: string) => void): Promise<number> {
  const members = new Set<Worker>()
  let served = false
  let ending = false
  let delay = shortest
  let worst = 0

  cluster.setupPrimary({ silent: true })
  return new Promise((ended) => {
    begin()
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, end)

    function begin(): void {
      if (ending) return
      const member = cluster.fork()
      const since = performance.now()
      members.add(member)
      const { stdout, stderr } = member.process
      if (stdout) passOn(stdout)
      stderr?.pipe(process.stderr, { end: false })
      member.once('message', ({ url }: Word) => {
        if (served) return
        served = true
        announce(url)
        for (let i = 1; i < size; i++) begin()
      })
      member.process.once('close', (code, signal) => gone(member, code ?? 1, signal, performance.now() - since))
    }

    function gone(member: Worker, code: number, signal: string | null, age: number): void {
      members.delete(member)
      if (ending || !served) {
        if (!(ending && signal === 'SIGTERM')) worst = Math.max(worst, signal === null ? code : 1) // else it had not begun
        if (members.size === 0) ended(worst)
        return
      }
      delay = age > sound ? shortest : Math.min(longest, delay * 2)
      log.error({ worker: member.process.pid, code, signal, delay }, 'A worker has ended and is replaced.')
      setTimeout(begin, delay)
    }

    /** The first signal lets members finish, the second one does not. */
    function end(): void {
      for (const { process: member } of members) member.kill(ending ? 'SIGKILL' : 'SIGTERM')
      ending = true
      if (members.size === 0) ended(worst)
    }
  })
}

/**
 * One log of all: whole lines, as two processes that write to one pipe would tear those of each other.
 * A member is gone when its pipes are closed, not when it exits: what it wrote last comes behind its exit.
 */
function passOn(from: Readable): void {
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
