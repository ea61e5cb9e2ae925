/** Thread reader: runs lists that no index bounds on a thread, so that they do not block the event loop. The store. */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { type ResultRow, runStepsAsync, type Steps } from '../catalog/steps.ts'
import { Problem } from '../errors/problem.ts'
import { type World, within } from '../flow/world.ts'
import type { Statement } from '../sql/statements.ts'
import type { ThreadReply, ThreadRequest } from './thread.ts'

interface Job {
  readonly steps: Steps<unknown>
  readonly until: number
  readonly done: (value: never) => void
  readonly fail: (error: unknown) => void
}

export interface ThreadReader {
  /** Runs steps in one snapshot; fails at a deadline of the monotonic clock. */
  readonly run: <T>(steps: Steps<T>, until: number) => Promise<T>
  readonly close: () => Promise<void>
}

/** How many jobs may wait; each also fails at its deadline. */
const maxQueue = 1000
/** In MB. A small young generation is enough for the short-lived objects of the thread; the default of Node is up to 96. */
const resourceLimits = { maxYoungGenerationSizeMb: 8 }
const maxThreads = 3

/** One thread that works through a queue. If a job fails or misses its deadline, a new thread replaces it. */
// long because: its functions share the queue and the thread
export function threadReader(file: string, world: World): ThreadReader {
  const queue: Job[] = []
  const threads = new Set<Worker>()
  let working: Worker | null = null
  let busy = false
  let closed = false

  return {
    run: (steps, until) =>
      new Promise((done, fail) => {
        if (queue.length >= maxQueue) return fail(tooManyLists())
        queue.push({ steps, until, done: done as (value: never) => void, fail })
        void work()
      }),
    close: async () => {
      closed = true
      await Promise.all([...threads].map((thread) => thread.terminate()))
    },
  }

  async function work(): Promise<void> {
    if (busy) return
    busy = true
    for (let job = queue.shift(); job; job = queue.shift()) await attempt(job)
    busy = false
  }

  async function attempt({ steps, until, done, fail }: Job): Promise<void> {
    if (world.monotonic() >= until) return fail(listTimeout())
    try {
      working ??= started()
      const value = await runStepsAsync(steps, statementRunnerOn(working, until, world))
      if (queue.length === 0) working.postMessage(null satisfies ThreadRequest)
      done(value as never)
    } catch (error) {
      giveUp() // its snapshot may still be open
      fail(error)
    }
  }

  function started(): Worker {
    if (closed) throw readerUnavailable(new Error('The store is closed.'))
    if (threads.size >= maxThreads) throw tooManyLists()
    const thread = launchThread(file)
    thread.unref()
    threads.add(thread)
    thread.on('error', () => {}) // a running job listens too and fails; without this listener the process would end
    thread.on('exit', () => {
      threads.delete(thread)
      if (working === thread) working = null
    })
    return thread
  }

  /** A thread that is executing a statement ends only when the statement does, so this does not wait for it. */
  function giveUp(): void {
    void working?.terminate()
    working = null
  }
}

/** A thread whose jobs, one at a time, all read from the snapshot of the first one. */
export function snapshotReader(file: string, world: World): ThreadReader {
  const thread = launchThread(file)
  thread.unref()
  thread.on('error', () => {}) // as above
  let first = true
  return {
    run: (steps, until) => {
      const run = statementRunnerOn(thread, until, world, first)
      first = false
      return runStepsAsync(steps, run)
    },
    close: async () => void (await thread.terminate()),
  }
}

function launchThread(file: string): Worker {
  try {
    // The path leads there from the folder of any module: the build joins this one with others.
    const program = new URL(`../sqlite/thread${extname(import.meta.filename)}`, import.meta.url)
    return new Worker(program, { workerData: { file }, resourceLimits })
  } catch (cause) {
    throw readerUnavailable(cause)
  }
}

/** Errors of SQLite keep their code, by which they are classified; any other means a lack of memory, threads or files. */
const readerUnavailable = (cause: unknown): unknown =>
  (cause as { errcode?: number } | undefined)?.errcode === undefined
    ? new Problem(
        'dependency-unavailable',
        'The store cannot read this list at the moment. Try again later, or narrow the list with filters that are indexed.',
        { cause },
      )
    : cause

const tooManyLists = (): Problem =>
  new Problem(
    'overloaded',
    'Too many long lists are being read at a time. Narrow the list with filters, or try again later.',
  )

const listTimeout = (): Problem =>
  new Problem(
    'timeout',
    'The list could not be read in time. Narrow it with filters that are indexed, or ask for less.',
  )

function statementRunnerOn(
  thread: Worker,
  until: number,
  world: World,
  begins = true,
): (statement: Statement) => Promise<readonly ResultRow[]> {
  let first = begins
  return ({ text, values }) => {
    const { promise, resolve, reject } = Promise.withResolvers<readonly ResultRow[]>()
    const onMessage = ({ rows, error }: ThreadReply) =>
      rows ? resolve(rows) : reject(Object.assign(new Error(error?.message), error))
    const failed = (cause: unknown) => reject(readerUnavailable(cause))
    const ended = () => failed(new Error('The reading thread ended.'))
    thread.on('message', onMessage).on('error', failed).on('exit', ended)
    thread.postMessage({ text, values, first } satisfies ThreadRequest)
    first = false
    return within(world, Math.max(0, until - world.monotonic()), promise, () => {
      throw listTimeout()
    }).finally(() => thread.off('message', onMessage).off('error', failed).off('exit', ended))
  }
}
