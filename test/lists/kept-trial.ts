/** A trial of cached answers: requests of several callers to services with caches, and to one without, on one database. */
import assert from 'node:assert/strict'
import type { Service } from 'bylaw'
import { type As, testing } from 'bylaw/testing'
import { random } from '../fuzz/mutate.ts'
import type { Place } from '../help/places.ts'

export const callers: Readonly<Record<string, As>> = {
  ann: { id: 'ann', account: 'north', scopes: ['write'] },
  bob: { id: 'bob', account: 'north', scopes: ['write', 'money'] },
  eve: { id: 'eve', account: 'north', scopes: ['write', 'money', 'all'] },
  cat: { id: 'cat', account: 'south', scopes: ['write', 'all'] },
}
export type Who = keyof typeof callers

type Testing = ReturnType<typeof testing>

/** Two services with caches, and one without, on one database. */
export function opened(api: Service, { url }: Place) {
  const [one, other] = [testing(api, { database: url }), testing(api, { database: url })]
  process.env.BYLAW_REMEMBER = 'off'
  const uncached = testing(api, { database: url })
  delete process.env.BYLAW_REMEMBER
  return { one, other, uncached }
}

/** `Last-Modified` is left out in the second of a change. */
const unlike = ['request-id', 'date', 'last-modified']

interface Items {
  readonly id: string
  readonly who: Who
}

export class Trial {
  readonly next: (below: number) => number
  readonly items: Record<string, Items[]> = {}
  readonly done: string[] = []
  readonly doors: readonly Testing[]
  readonly uncached: Testing
  readonly seed: number

  constructor(seed: number, { one, other, uncached }: ReturnType<typeof opened>) {
    this.seed = seed
    this.next = random(seed)
    this.doors = [one, one, one, other]
    this.uncached = uncached
  }

  pick<T>(all: readonly T[]): T {
    return all[this.next(all.length)] as T
  }

  item(name: string): Items {
    const all = this.items[name] ?? []
    return all.length === 0 ? { id: `${name.slice(0, 3)}_00000000000000000000000000`, who: 'ann' } : this.pick(all)
  }

  async send(as: Who, method: string, path: string, given: RequestInit & { readonly json?: unknown } = {}) {
    const { call } = this.pick(this.doors)
    const answer = await call(path, { method, ...given, as: callers[as] as As })
    const text = await answer.text()
    this.done.push(`${as} ${method} ${path} ${JSON.stringify(given.json ?? given.body ?? '')} ${answer.status}`)
    assert.ok(answer.status < 500, `${this.done.at(-1)} ${text}`)
    return { status: answer.status, text }
  }

  async create(name: string, who: Who, json: unknown, path = `/v2/${name}`): Promise<void> {
    const { status, text } = await this.send(who, 'POST', path, { json })
    if (status !== 201) return
    this.items[name] ??= []
    this.items[name].push({ id: JSON.parse(text).id, who })
  }

  /** Compares the answer of a service with that of the one without caches. */
  async compare(who: Who, target: string, method = 'GET', body?: string): Promise<void> {
    const init = {
      method,
      as: callers[who] as As,
      ...(body !== undefined && { body, headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
    }
    const door = this.pick(this.doors)
    const answered = async (one: Testing) => {
      const answer = await one.call(target, init)
      const headers = [...answer.headers].filter(([name]) => !unlike.includes(name))
      return { status: answer.status, headers, text: await answer.text() }
    }
    const before = this.done.slice(-12).join('\n')
    if (this.next(2) === 0) await answered(door) // the second request for an answer caches it
    assert.deepEqual(
      await answered(door),
      await answered(this.uncached),
      `${who} ${method} ${target} ${body ?? ''}\n${before}`,
    )
    this.done.push(`  ${who} ${method} ${target}`)
  }
}
