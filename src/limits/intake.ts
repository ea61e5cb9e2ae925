/** Intake: bounds the memory of incomplete request bodies, so that stalled senders cannot fill it. Part 8, body size. */
import { Problem } from '../errors/problem.ts'
import { type Cancel, type World, within } from '../flow/world.ts'

const MiB = 1024 * 1024

interface IntakeTerms {
  /** The bound for all uploads of a service together, in bytes. */
  readonly most: number
  /** While memory is full, uploads that took longer than `grace` ms plus one ms for each `pace` bytes are aborted. */
  readonly grace: number
  readonly pace: number
  /** How long an upload waits for memory, in milliseconds. */
  readonly patience: number
}

const ofBodies: IntakeTerms = { most: 64 * MiB, grace: 2000, pace: 512, patience: 5000 }
/** Uploads of files have higher limits, as slow clients send them too and they may take any time. */
const ofParts: IntakeTerms = { most: 256 * MiB, grace: 10_000, pace: 32, patience: 60_000 }

interface Upload {
  /** How many bytes of it are in memory, and how many have arrived. */
  bytes: number
  received: number
  /** When it began, moved forward by the time that it had to wait for its reader. */
  since: number
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
  /**
   * Yields the pieces of content that is passed on; throws if none comes for `idle` milliseconds, however long all take. The
   * reader holds a part of it at a time.
   */
  readonly flow: (
    content: AsyncIterable<Uint8Array>,
    idle: number,
    part?: number,
  ) => AsyncGenerator<Uint8Array, void, undefined>
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

/** A separate memory for contents that are passed on, so that uploads of files do not use up the memory of other bodies. */
export const makeFlow = (world: World): Intake['flow'] => makeIntake(world, ofParts).flow

// long because: its functions share the counter and the waiting uploads
export function makeIntake(world: World, { most, grace, pace, patience } = ofBodies): Intake {
  const { monotonic, every, inBackground } = world
  /** In the order of their first piece. */
  const uploads = new Set<Upload>()
  const waiting = new Set<() => void>()
  let held = 0
  let stopSweeping: Cancel | null = null

  /** `part`: how many bytes the reader keeps before it passes them on, and keeps the next ones; missing if it keeps all. */
  async function* taken(
    content: AsyncIterable<Uint8Array>,
    { timeout, idle, part }: { timeout?: number; idle?: number; part?: number },
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const own: Upload = { bytes: 0, received: 0, since: monotonic(), cut: null, late: null }
    const cancel = timeout === undefined ? undefined : inBackground(timeout, () => cutLate(own))
    const pieces = content[Symbol.asyncIterator]()
    let kept = 0
    try {
      for (;;) {
        const { done, value } = await inTime(next(own, pieces.next()), idle)
        if (done) return
        own.received += value.length
        const since = monotonic()
        if (part === undefined) await add(own, value.length)
        // The whole part at once: uploads that wait for the rest of theirs would wait for each other.
        else if (part > 0 && own.bytes === 0) await add(own, part)
        yield value
        own.since += monotonic() - since // the time that the sender had to wait does not count
        if (part === undefined || part === 0) continue
        kept += value.length
        if (kept <= part) continue
        kept %= part
        keep(own, 0)
      }
    } finally {
      cancel?.()
      pieces.return?.().catch(() => {}) // not awaited: the sender may never send anything again
      uploads.delete(own)
      keep(own, 0)
    }
  }

  const inTime = <T>(piece: Promise<T>, idle: number | undefined): Promise<T> =>
    idle === undefined
      ? piece
      : within(world, idle, piece, () => {
          throw lateRequest()
        })

  function keep(own: Upload, bytes: number): void {
    held += bytes - own.bytes
    own.bytes = bytes
    for (const go of waiting) go()
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
    while (held > 0 && held + bytes > most) await room(until)
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
    for (const { received, since, cut } of uploads) if (time - since > grace + received / pace) cut?.(intakeFull())
  }

  return {
    receive: (content, timeout) => taken(content, timeout === undefined ? {} : { timeout }),
    flow: (content, idle, part = 0) => taken(content, { idle, part }),
    held: () => held,
  }
}
