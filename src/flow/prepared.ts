/** Prepared: compiled forms of a value, kept with the value, so that both are freed together. Part 1. */

export class Prepared {
  readonly #forms = new Map<string, unknown>()
  #owner: object | null = null

  /** The forms for one owner, such as a store; forms made for another owner are dropped. */
  for(owner: object): this {
    if (this.#owner !== owner) this.#forms.clear()
    this.#owner = owner
    return this
  }

  /** The form of this name, made at its first use. */
  form<Form>(name: string, make: () => Form): Form {
    const existing = this.#forms.get(name) as Form | undefined
    if (existing !== undefined) return existing
    const form = make()
    this.#forms.set(name, form)
    return form
  }
}
