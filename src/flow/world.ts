/** World: time, chance and turns of the event loop, passed in to everything that needs them. Part 1. */
import { idSource, requestIdSource } from '../formats/id.ts'
import type { Waiting } from '../rows/collection.ts'
import { ServiceState } from './service-state.ts'

export type Cancel = () => void

/** The log of the operator. It takes details that are not sent to clients. */
export interface Log {
  readonly error: (about: object, message: string) => void
  readonly warn: (about: object, message: string) => void
  readonly info: (about: object, message: string) => void
}

/** Times are in milliseconds. */
export interface World {
  /** The wall clock, which an operator can set. */
  readonly now: () => number
  /** A clock that never jumps; its zero has no meaning. */
  readonly monotonic: () => number
  /** Runs `act` once after a time; the process does not end before. */
  readonly after: (time: number, act: () => void) => Cancel
  /** Runs `act` once after a time; the process may end before. */
  readonly inBackground: (time: number, act: () => void) => Cancel
  /** Runs `act` at an interval, in the background. */
  readonly every: (interval: number, act: () => void) => Cancel
  /** Runs `act` when this turn of the event loop ends. */
  readonly nextTurn: (act: () => void) => void
  /** How many events the event loop has received from the system; several turns may pass without any. */
  readonly eventsPolled: () => number
  /** Blocks the thread. */
  readonly block: (time: number) => void
  /** A number from 0 to 1, for random pauses; not for secrets. */
  readonly random: () => number
  /** Fills `bytes` with cryptographically secure random bytes, and returns them. */
  readonly fillRandom: (bytes: Uint8Array) => Uint8Array
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** The time of a store, in milliseconds. Stored data expires by it, even if the clock of a machine is set wrong. */
export interface Clock {
  /** Never goes back, even after restarts. */
  readonly now: () => number
  /** The time that has certainly passed, even if the clock is far ahead: keys, cursors, quotas and versions expire by it. */
  readonly due: () => number
  /** The time for checking tokens of other issuers: the later of the machine's time at start and `due`. */
  readonly issued: () => number
  /** By how much the clock of the machine was too far ahead at start, in milliseconds; null if it was not. */
  readonly ahead: number | null
}

/** Keeps the contents of files, each under a name that is used once. */
export interface ContentStore {
  /** Stores a content of up to `most` bytes, whole or not at all: nothing is stored if its pieces fail. */
  readonly write: (name: string, pieces: AsyncIterable<Uint8Array>, most: number) => Promise<void>
  /** How many bytes of a content of up to `most` bytes are in memory while it is stored; 0 if the function is missing. */
  readonly holds?: (most: number) => number
  /** The number of bytes of a content; null if there is none. */
  readonly length: (name: string) => Promise<number | null>
  /** The bytes of a content from a position to one that is not included. */
  readonly read: (name: string, from: number, end: number) => AsyncIterable<Uint8Array>
  /** Removes a content, also an incomplete one; it may be missing. */
  readonly remove: (name: string) => Promise<void>
  /** Breaks off all pending requests when the service stops. Missing if none can hang. */
  readonly close?: () => void
}

/** The world of a service: with the clock of its store, and generators of ids. */
export interface ServiceWorld extends World, Clock {
  readonly newId: (prefix: string) => string
  readonly newRequestId: () => string
  /** The counters, limits and caches of the service. */
  readonly state: ServiceState
  /** The keys for cursors: the first one signs, all of them verify. The last one is the store's, for ETags too. */
  readonly secrets: readonly string[]
  /** When the database was last restored from a backup, in microseconds; 0 if never. Tags and cursors of other restores are refused. */
  readonly restoredAt: number
  /** The behaviour of a collection that waits until nodes of the former declaration have stopped; null if none does. */
  readonly waiting: (collection: string) => Waiting | null
  /** The name of a collection in stored data: its first one, even if no declared version has it any more. */
  readonly storedName: (collection: string) => string
  /** Where contents of files are kept; null in a service without files. */
  readonly contents: ContentStore | null
}

/** The parts of a store that the world of its service has. */
interface ServiceStore extends Pick<ServiceWorld, 'restoredAt' | 'waiting' | 'storedName'> {
  readonly clock: Clock
  readonly secret: string
}

/** A clock that is always trusted. */
export const trustedClock = (now: () => number): Clock => ({ now, due: now, issued: now, ahead: null })

export function serviceWorld(
  world: World,
  {
    clock,
    secret,
    restoredAt = 0,
    waiting = nothingWaits,
    storedName = sameName,
  }: Pick<ServiceStore, 'clock' | 'secret'> & Partial<ServiceStore>,
  secrets: readonly string[] = [secret],
  contents: ContentStore | null = null,
): ServiceWorld {
  const { now } = clock
  const { fillRandom } = world
  const [newId, newRequestId] = [idSource(now, fillRandom), requestIdSource(now, fillRandom)]
  const facts = { secrets, restoredAt, waiting, storedName, contents }
  return { ...world, ...clock, newId, newRequestId, ...facts, state: new ServiceState() }
}

/** A random text that names one holder of leases. */
export const newHolder = ({ fillRandom }: Pick<World, 'fillRandom'>): string =>
  Buffer.from(fillRandom(new Uint8Array(12))).toString('base64url')

const nothingWaits = (): null => null
const sameName = (collection: string): string => collection

export const pause = ({ after }: Pick<World, 'after'>, time: number): Promise<void> =>
  new Promise((resolve) => void after(time, resolve))

/** Waits for a promise; after `time`, returns the result of `late` instead. */
export async function within<T>(
  { after }: Pick<World, 'after'>,
  time: number,
  promise: Promise<T>,
  late: () => T,
): Promise<T> {
  const timeout = Promise.withResolvers<void>()
  const cancel = after(time, timeout.resolve)
  try {
    return await Promise.race([promise, timeout.promise.then(late)])
  } finally {
    cancel()
  }
}

/** The time since `started` on the monotonic clock, in milliseconds with two decimals. */
export const elapsedSince = ({ monotonic }: Pick<World, 'monotonic'>, started: number): number =>
  Math.round((monotonic() - started) * 100) / 100

/** Runs all steps one after the other, even if one of them fails. Throws the first failure at the end. */
export async function runAll(steps: readonly (() => unknown)[]): Promise<void> {
  const failures: unknown[] = []
  for (const step of steps)
    try {
      await step()
    } catch (error) {
      failures.push(error)
    }
  if (failures.length > 0) throw failures[0]
}

/** A part of a service that a stop ends. */
export interface StoppablePart {
  /** Its name in messages. */
  readonly what: string
  readonly end: () => unknown
}

/** The time limit of a stop, and the least time that each of its parts has even if the limit is exceeded, in milliseconds. */
const [longestStop, shortestEnd] = [10_000, 1000]

/**
 * Ends all parts one after the other, even if one of them fails. Returns the parts that had not ended in time: a part that
 * never ends must not prevent the others, and the process, from ending.
 */
export async function endAll(
  world: Pick<World, 'after' | 'monotonic'>,
  endings: readonly StoppablePart[],
): Promise<string[]> {
  const until = world.monotonic() + longestStop
  const late: string[] = []
  const ended = async ({ what, end }: StoppablePart): Promise<void> => {
    const left = Math.max(shortestEnd, until - world.monotonic())
    await within(world, left, Promise.resolve(end()), () => void late.push(what))
  }
  await runAll(endings.map((one) => () => ended(one)))
  return late
}

/** Whether work in the background has to end, although there is more of it. */
export type IsEnding = () => boolean

/** For work that is carried out once and to its end. */
export const notEnding: IsEnding = () => false

interface RepeatedTask {
  /** Starts the task unless it is running. A failure is logged; the next start tries again. */
  readonly run: () => void
  /** Tells the task to end, and resolves when it has. It is not started again. */
  readonly end: () => Promise<void>
}

/** A task that is started again and again, and runs once at a time. One that has many steps asks between them whether to end. */
export function oneAtATime(
  task: (isEnding: IsEnding) => Promise<void>,
  log: Pick<Log, 'warn'>,
  failed: string,
): RepeatedTask {
  let running: Promise<void> | null = null
  let isEnding = false
  const run = (): void => {
    if (isEnding) return
    running ??= task(() => isEnding)
      .catch((err: unknown) => log.warn({ err }, failed))
      .finally(() => {
        running = null
      })
  }
  const end = async (): Promise<void> => {
    isEnding = true
    await running
  }
  return { run, end }
}
