/** Memo: a cache by key with a size limit; least recently used values are evicted first. Part 1. */

/** `sizeOf` is 1 by default, which limits the number of values; `dropped` receives evicted values. */
interface MemoOptions<Value> {
  readonly sizeOf?: (value: Value) => number
  readonly dropped?: (value: Value) => void
}

/**
 * Two generations: a used value moves into the recent one; when that is full, it becomes the older one, and values still in
 * the older one are evicted. Reading a recent value writes nothing.
 */
export class Memo<Key, Value> {
  #recent = new Map<Key, Value>()
  #older = new Map<Key, Value>()
  /** The size of the recent generation. */
  #size = 0
  readonly #half: number
  readonly #sizeOf: (value: Value) => number
  readonly #dropped: (value: Value) => void

  /** `most` limits the size of all values together; a value larger than half of it is not kept. */
  constructor(most: number, { sizeOf = () => 1, dropped = () => {} }: MemoOptions<Value> = {}) {
    this.#half = most / 2
    this.#sizeOf = sizeOf
    this.#dropped = dropped
  }

  get(key: Key): Value | undefined {
    const value = this.#recent.get(key)
    if (value !== undefined) return value
    const older = this.#older.get(key)
    if (older === undefined) return undefined
    this.#older.delete(key)
    return this.set(key, older)
  }

  /** Keeps a value under a key that has none, and returns it. */
  set(key: Key, value: Value): Value {
    const size = this.#sizeOf(value)
    if (size > this.#half) return value
    if (this.#size + size > this.#half) {
      for (const one of this.#older.values()) this.#dropped(one)
      this.#older = this.#recent
      this.#recent = new Map()
      this.#size = 0
    }
    this.#size += size
    this.#recent.set(key, value)
    return value
  }

  delete(key: Key): void {
    const value = this.#recent.get(key)
    if (value === undefined) return void this.#older.delete(key)
    this.#size -= this.#sizeOf(value)
    this.#recent.delete(key)
  }

  clear(): void {
    this.#recent.clear()
    this.#older.clear()
    this.#size = 0
  }
}
