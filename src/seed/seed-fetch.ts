/** Seed fetch: gives each POST a key that is made from its content, and reads the item that an earlier run created with it. Part 4. */
import { createHash } from 'node:crypto'
import { answerLinks } from '../client/answer-links.ts'
import { isRandomKey } from '../client/item-calls.ts'

/** How many items were created, and how many an earlier run had created. */
export interface SeedCounts {
  created: number
  found: number
}

type Door = (request: Request) => Promise<Response>

/** Equal requests in one run are numbered, so that each makes an item of its own, and the same item in the next run. */
export function seedFetch(door: Door, counts: SeedCounts): (url: string, init: RequestInit) => Promise<Response> {
  const times = new Map<string, number>()
  const keys = new Map<string, string>()
  const keyFor = (random: string, url: string, body: unknown): string => {
    const known = keys.get(random) // a retry
    if (known !== undefined) return known
    const content = createHash('sha256').update(`${url}\n${body}`).digest('base64url').slice(0, 22)
    const time = (times.get(content) ?? 0) + 1
    times.set(content, time)
    const key = `seed-${content}-${time}`
    keys.set(random, key)
    return key
  }
  return async (url, init) => {
    const headers = new Headers(init.headers)
    const key = headers.get('idempotency-key')
    if (key !== null && isRandomKey(key)) headers.set('idempotency-key', keyFor(key, url, init.body))
    const answer = await door(new Request(url, { ...init, headers }))
    if (answer.status === 201) counts.created++
    if (key === null || answer.status !== 409) return answer
    const { old_id: id } = (await answer.clone().json()) as { readonly old_id?: unknown }
    if (typeof id !== 'string') return answer
    const related = answerLinks(answer.headers).get('related') ?? `${new URL(url).pathname}/${encodeURIComponent(id)}`
    headers.delete('idempotency-key')
    headers.delete('content-type')
    headers.delete('if-match')
    counts.found++
    return door(new Request(new URL(related, url), { headers, signal: init.signal ?? null }))
  }
}
