/** Remembered: caches values read from the store, up to a size, each with the state that it was read in. Part 1. */
import { Memo } from './memo.ts'

interface Entry<Value, State> {
  readonly value: Value
  state: State
  readonly size: number
}

/** `State` identifies the state of the collections that a value was read from: it changes when they are written to. */
export class Remembered<Value, State = string> {
  readonly #entries: Memo<string, Entry<Value, State>>

  /** `most` limits the size of all values together, in characters; 0 if nothing may be cached. */
  constructor(most: number) {
    this.#entries = new Memo(most, { sizeOf: ({ size }) => size })
  }

  /** The value that was read in this state, or in an earlier one if `isSame` finds that no change since then affects it. */
  get(key: string, state: State, isSame?: (since: State, value: Value) => boolean): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined || entry.state === state) return entry?.value
    if (!isSame?.(entry.state, entry.value)) return undefined
    entry.state = state
    return entry.value
  }

  /** The latest value, in any state. */
  latest(key: string): Value | undefined {
    return this.#entries.get(key)?.value
  }

  put(key: string, state: State, value: Value, size: number): void {
    this.#entries.delete(key)
    this.#entries.set(key, { value, state, size })
  }

  /** Drops a value, for example after a write of this process. */
  delete(key: string): void {
    this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
  }
}
