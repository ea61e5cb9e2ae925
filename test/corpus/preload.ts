/**
 * Makes time and chance repeatable from outside of the code under test. Loaded before everything else, so that the very same
 * file works with any version of the code, wherever that code reads the clock or draws random numbers.
 *
 * - `Date` and `performance.now` stand still and move only by `advance`.
 * - `Math.random` and all random functions of `node:crypto` and `globalThis.crypto` draw from one stream for each function and
 *   size, so that a draw added for one purpose does not shift the draws for another one.
 * - `setInterval` never fires: no background work runs between two requests. Timeouts run in real time, for drivers and sockets.
 */
import { createHash, randomFillSync as really } from 'node:crypto'
import { createRequire, syncBuiltinESMExports } from 'node:module'

const RealDate = Date
const start = RealDate.UTC(2026, 9, 1, 8, 30, 0, 250)

const clock = { date: start, steady: 1_000_000 }
let seed = ''
const drawn = new Map<string, number>()

/** Moves the clock forward. */
export function advance(milliseconds: number): void {
  clock.date += milliseconds
  clock.steady += milliseconds
}

/** The time of the fixed clock, in milliseconds. */
export const present = (): number => clock.date

/** Sets the clock to its start, or to a given time, and restarts all random streams. */
export function restart(name: string, at = start): void {
  clock.date = at
  clock.steady = 1_000_000
  seed = name
  drawn.clear()
}

class FixedDate extends RealDate {
  constructor(...given: [] | [number | string | Date]) {
    // biome-ignore lint/complexity/noArguments: a call without arguments means now, one with undefined does not
    if (arguments.length === 0) super(clock.date)
    else super(...(given as [number]))
  }
  static override now(): number {
    return clock.date
  }
}
globalThis.Date = FixedDate as DateConstructor
Object.defineProperty(performance, 'now', { value: () => clock.steady, configurable: true, writable: true })

/** The next bytes of the stream of one purpose. */
function bytes(purpose: string, length: number): Uint8Array {
  const count = (drawn.get(`${purpose} ${length}`) ?? 0) + 1
  drawn.set(`${purpose} ${length}`, count)
  return createHash('shake256', { outputLength: Math.max(1, length) })
    .update(`${seed}\n${purpose} ${length}\n${count}`)
    .digest()
    .subarray(0, length)
}

function fill<T extends ArrayBufferView>(purpose: string, view: T, offset = 0, size = view.byteLength - offset): T {
  const target = new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
  target.set(bytes(purpose, size), offset)
  return view
}

const number = (purpose: string): number => Buffer.from(bytes(purpose, 6)).readUIntBE(0, 6) / 2 ** 48

function uuid(): `${string}-${string}-${string}-${string}-${string}` {
  const hex = Buffer.from(bytes('uuid', 16)).toString('hex')
  const variant = '89ab'[Number.parseInt(hex.charAt(16), 16) % 4]
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
}

type Callback = (error: null, value: unknown) => void

function integer(...given: (number | Callback | undefined)[]): number {
  const numbers = given.filter((one) => typeof one === 'number')
  const [least, below] = numbers.length > 1 ? (numbers as [number, number]) : [0, numbers[0] as number]
  const made = least + Math.floor(number('integer') * (below - least))
  const done = given.at(-1)
  if (typeof done === 'function') queueMicrotask(() => done(null, made))
  return made
}

const require = createRequire(import.meta.url)
Math.random = () => number('Math.random')
const replaced = {
  randomBytes: (size: number, done?: Callback) => {
    const made = Buffer.from(bytes('bytes', size))
    if (done) queueMicrotask(() => done(null, made))
    return made
  },
  // When the corpus was recorded, `randomBytes` drew the secret of 32 bytes, so it still comes from that stream.
  randomFillSync: (view: ArrayBufferView, offset?: number, size?: number) =>
    fill(view.byteLength === 32 ? 'bytes' : 'fill', view, offset, size),
  randomFill: (view: ArrayBufferView, ...rest: (number | Callback)[]) => {
    const done = rest.at(-1) as Callback
    queueMicrotask(() => done(null, fill('fill', view)))
  },
  randomInt: integer,
  randomUUID: uuid,
}
for (const [name, value] of Object.entries(replaced))
  Object.defineProperty(require('node:crypto'), name, { value, configurable: true })
Object.defineProperty(crypto, 'getRandomValues', { value: (view: ArrayBufferView) => fill('values', view) })
Object.defineProperty(crypto, 'randomUUID', { value: uuid })

const later = globalThis.setInterval
const never = 2 ** 31 - 1
const still = (act: () => void) => later(act, never).unref()
globalThis.setInterval = still as unknown as typeof setInterval
Object.assign(require('node:timers'), { setInterval: still })
syncBuiltinESMExports()

/** A random text that differs in each run, for names of folders and schemas that no answer shows. */
export const unlike = (): string => Buffer.from(really(new Uint8Array(6))).toString('hex')
