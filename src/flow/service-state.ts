/** Service state: the counters, limits and caches of one running service, which no other service shares. Part 1. */

/** The parts of the state; the function that makes a part is also its key. */
export class ServiceState {
  readonly #parts = new Map<unknown, unknown>()

  /** The part that `make` makes, made from `given` at its first use. */
  of<Given, Part extends object>(make: (given: Given) => Part, given: Given): Part {
    const existing = this.#parts.get(make) as Part | undefined
    if (existing) return existing
    const part = make(given)
    this.#parts.set(make, part)
    return part
  }
}
