/** Intake: bounds the memory of incomplete request bodies, so that stalled senders cannot fill it. Part 8, body size. */
import { Problem } from '../errors/problem.ts'
import { type Cancel, type World, within } from '../flow/world.ts'

const MiB = 1024 * 1024
/** The bound for all incomplete bodies of a service together. */
const mostContentHeld = 64 * MiB
/** While memory is full, uploads that took longer than `grace` ms plus one ms for each `pace` bytes are aborted. */
const [grace, pace] = [2000, 512]
/** How long an upload waits for memory, in milliseconds. */
const patience = 5000

interface Upload {
  bytes: number
  readonly since: number
  cut: ((problem: Problem) => void) | null
  /** Why no further piece is awaited; null while it is in time. */
  late: Problem | null
}

export interface Intake {
  /**
   * Yields the pieces of an upload; throws if memory stays full, or if the upload holds memory for too long. `timeout` is the
   * time for all of it, in milliseconds, if the server does not watch it.
   */
  readonly receive: (
    content: AsyncIterable<Uint8Array>,
    timeout?: number,
  ) => AsyncGenerator<Uint8Array, void, undefined>
  /** Yields the pieces of content that is not kept; throws if none comes for `idle` milliseconds, however long all take. */
  readonly flow: (content: AsyncIterable<Uint8Array>, idle: number) => AsyncGenerator<Uint8Array, void, undefined>
  /** How many bytes are held. */
  readonly held: () => number
}

/** The refusal of a request that takes too long to arrive. */
export const lateRequest = (): Problem =>
  new Problem('request-timeout', 'The request did not arrive completely in time. Send it again.', {
    headers: { Connection: 'close' },
  })

/** The failure if the program that the service is part of has read the content. */
export const consumedContent = (): Problem =>
  new Problem(
    'internal-error',
    'The body of the request was read before it reached the service, which checks and reads bodies itself. Mount the service before all that reads bodies, as express.json() or c.req.json(), or let that read the bodies of other paths only.',
  )

const intakeFull = (): Problem =>
  new Problem('overloaded', 'More content is on its way than the service keeps in memory. Send it again later.', {
    headers: { Connection: 'close' },
  })

// long because: its functions share the counter and the waiting uploads
export function makeIntake(world: World): Intake {
  const { monotonic, every, inBackground } = world
  /** In the order of their first piece. */
  const uploads = new Set<Upload>()
  const waiting = new Set<() => void>()
  let held = 0
  let stopSweeping: Cancel | null = null

  async function* taken(
    content: AsyncIterable<Uint8Array>,
    timeout?: number,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const own: Upload = { bytes: 0, since: monotonic(), cut: null, late: null }
    const cancel = timeout === undefined ? undefined : inBackground(timeout, () => cutLate(own))
    const pieces = content[Symbol.asyncIterator]()
    try {
      for (;;) {
        const { done, value } = await next(own, pieces.next())
        if (done) return
        await add(own, value.length)
        yield value
      }
    } finally {
      cancel?.()
      pieces.return?.().catch(() => {}) // not awaited: the sender may never send anything again
      uploads.delete(own)
      held -= own.bytes
      for (const go of waiting) go()
    }
  }

  async function* flow(content: AsyncIterable<Uint8Array>, idle: number): AsyncGenerator<Uint8Array, void, undefined> {
    const pieces = content[Symbol.asyncIterator]()
    try {
      for (;;) {
        const { done, value } = await within(world, idle, pieces.next(), () => {
          throw lateRequest()
        })
        if (done) return
        yield value
      }
    } finally {
      pieces.return?.().catch(() => {}) // not awaited: the sender may never send anything again
    }
  }

  const next = <T>(own: Upload, piece: Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      own.cut = reject
      if (own.late) reject(own.late)
      piece.then(resolve, reject)
    })

  function cutLate(own: Upload): void {
    own.late = lateRequest()
    own.cut?.(own.late)
  }

  async function add(own: Upload, bytes: number): Promise<void> {
    const until = monotonic() + patience
    while (held > 0 && held + bytes > mostContentHeld) await room(until)
    own.bytes += bytes
    held += bytes
    uploads.add(own)
  }

  /** Waits until another upload ends; meanwhile aborts uploads that are too slow. */
  function room(until: number): Promise<unknown> {
    stopSweeping ??= every(500, sweep)
    const { promise, resolve } = Promise.withResolvers<void>()
    waiting.add(resolve)
    sweep()
    return within(world, until - monotonic(), promise, () => {
      throw intakeFull()
    }).finally(() => waiting.delete(resolve))
  }

  function sweep(): void {
    if (waiting.size === 0) {
      stopSweeping?.()
      stopSweeping = null
      return
    }
    const time = monotonic()
    for (const { bytes, since, cut } of uploads) if (time - since > grace + bytes / pace) cut?.(intakeFull())
  }

  return { receive: taken, flow, held: () => held }
}
