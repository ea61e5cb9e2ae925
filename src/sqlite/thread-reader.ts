/** A thread that reads: lists that no index bounds run there, so that the loop goes on answering. The cellar. */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { Problem } from '../errors/problem.ts'
import type { Statement } from '../sql/compile.ts'
import { type ResultRow, runStepsAsync, type Steps } from '../store/steps.ts'
import type { ThreadReply, ThreadRequest } from './thread.ts'

interface Job {
  readonly steps: Steps<unknown>
  readonly until: number
  readonly done: (value: never) => void
  readonly fail: (error: unknown) => void
}

export interface ThreadReader {
  /** Carries steps out in one snapshot, before a time of the monotonic clock. */
  readonly run: <T>(steps: Steps<T>, until: number) => Promise<T>
  readonly close: () => Promise<void>
}

/** Each of them is refused when its time is over. */
const maxQueue = 1000
/** In MB: what it makes is short-lived, and a thread takes 64 for it by itself. */
const resourceLimits = { maxYoungGenerationSizeMb: 8 }
const maxThreads = 3

/** One thread that works off a queue. At a deadline the thread is given up, and another one takes the queue on. */
// long because: its steps share the queue and the thread
export function threadReader(file: string): ThreadReader {
  const queue: Job[] = []
  const threads = new Set<Worker>()
  let working: Worker | null = null
  let busy = false

  return {
    run: (steps, until) =>
      new Promise((done, fail) => {
        if (queue.length >= maxQueue) return fail(tooManyLists())
        queue.push({ steps, until, done: done as (value: never) => void, fail })
        void work()
      }),
    close: async () => {
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
    if (performance.now() >= until) return fail(listTimeout())
    try {
      working ??= started()
      const value = await runStepsAsync(steps, statementRunnerOn(working, until))
      if (queue.length === 0) working.postMessage(null satisfies ThreadRequest)
      done(value as never)
    } catch (error) {
      giveUp() // in whatever state its snapshot is
      fail(error)
    }
  }

  function started(): Worker {
    if (threads.size >= maxThreads) throw tooManyLists()
    const thread = launchThread(file)
    thread.unref()
    threads.add(thread)
    thread.on('error', () => {}) // a job that is under way is refused with it, and nothing else is
    thread.on('exit', () => {
      threads.delete(thread)
      if (working === thread) working = null
    })
    return thread
  }

  /** A thread inside a statement ends when the statement does; it is not waited for. */
  function giveUp(): void {
    void working?.terminate()
    working = null
  }
}

function launchThread(file: string): Worker {
  try {
    const program = new URL(`./thread${extname(import.meta.filename)}`, import.meta.url)
    return new Worker(program, { workerData: { file }, resourceLimits })
  } catch (cause) {
    throw readerUnavailable(cause)
  }
}

/** A failure of the database keeps its code, by which it is judged; all others are those of a machine that lacks memory, threads or files. */
const readerUnavailable = (cause: unknown): unknown =>
  (cause as { errcode?: number } | undefined)?.errcode === undefined
    ? new Problem(
        'dependency-unavailable',
        'The store has no means to read this list at the moment. Try again later, or narrow the list with filters that are indexed.',
        { cause },
      )
    : cause

const tooManyLists = (): Problem =>
  new Problem(
    'overloaded',
    'Too many long lists are asked for at a time. Narrow the list with filters, or try again later.',
  )

const listTimeout = (): Problem =>
  new Problem(
    'timeout',
    'The list could not be read in time. Narrow it with filters that are indexed, or ask for less.',
  )

function statementRunnerOn(thread: Worker, until: number): (statement: Statement) => Promise<readonly ResultRow[]> {
  let first = true
  return ({ text, values }) =>
    new Promise((resolve, reject) => {
      const alarm = setTimeout(() => settle(() => reject(listTimeout())), Math.max(0, until - performance.now()))
      const heard = ({ rows, error }: ThreadReply) =>
        settle(() => (rows ? resolve(rows) : reject(Object.assign(new Error(error?.message), error))))
      const failed = (cause: unknown) => settle(() => reject(readerUnavailable(cause)))
      const ended = () => failed(new Error('The reading thread ended.'))
      thread.on('message', heard)
      thread.on('error', failed)
      thread.on('exit', ended)
      thread.postMessage({ text, values, first } satisfies ThreadRequest)
      first = false
      function settle(how: () => void): void {
        clearTimeout(alarm)
        thread.off('message', heard)
        thread.off('error', failed)
        thread.off('exit', ended)
        how()
      }
    })
}
