/** Collects what later requests can use from answers: items with their tags, lists, cursors, and successful requests. */
import type { Received } from './client.ts'
import type { Request } from './exchange.ts'

export interface Item {
  readonly path: string
  readonly tag: string | undefined
  readonly modified: string | undefined
  readonly json: Readonly<Record<string, unknown>>
}

export interface Pool {
  readonly items: Item[]
  /** Tags that items had before. */
  readonly stale: string[]
  readonly lists: string[]
  readonly cursors: { readonly list: string; readonly cursor: string }[]
  /** Targets in links to other pages. */
  readonly links: string[]
  readonly done: Request[]
  readonly keyed: Request[]
  readonly removed: string[]
}

export const emptyPool = (): Pool => ({
  ...{ items: [], stale: [], lists: [], cursors: [], links: [], done: [], keyed: [], removed: [] },
})

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** How many of each kind are kept; the oldest are dropped. */
const most = 60

function keep<T>(all: T[], one: T): void {
  all.push(one)
  if (all.length > most) all.shift()
}

/** Adds what an answer contains to the pool. */
export function learn(pool: Pool, request: Request, { status, headers }: Received, text: string): void {
  const header = (wanted: string) => headers.find(([name]) => name.toLowerCase() === wanted)?.[1]
  if (status >= 400 || request.raw !== undefined) return
  const [path = ''] = request.target.split('?', 1)
  keep(pool.done, request)
  if (request.headers.some(([name]) => name.toLowerCase() === 'idempotency-key')) keep(pool.keyed, request)
  for (const [, target = ''] of (header('link') ?? '').matchAll(/<(\/[^>]*)>; rel="(?:next|prev|first|last)"/g))
    keep(pool.links, target)
  if (request.method === 'DELETE') forget(pool, path)
  const json = parsed(text)
  if (!isObject(json)) return
  if (Array.isArray(json.data)) {
    ofList(pool, path, json, text)
    return
  }
  const place = request.method === 'POST' ? header('location') : path
  if (place === undefined || request.method === 'QUERY' || !/[a-z].*\/[^/]+$/.test(place)) return
  const at = pool.items.findIndex((one) => one.path === place)
  const [before] = at < 0 ? [] : pool.items.splice(at, 1)
  if (before?.tag !== undefined) keep(pool.stale, before.tag)
  if (status < 300) keep(pool.items, { path: place, tag: header('etag'), modified: header('last-modified'), json })
}

function forget(pool: Pool, path: string): void {
  const at = pool.items.findIndex((one) => one.path === path)
  if (at >= 0) pool.items.splice(at, 1)
  keep(pool.removed, path)
}

function ofList(pool: Pool, path: string, json: Record<string, unknown>, text: string): void {
  if (!pool.lists.includes(path)) keep(pool.lists, path)
  for (const [, cursor = ''] of text.matchAll(/"[a-zA-Z_]*[cC]ursor":"([^"]+)"/g))
    keep(pool.cursors, { list: path, cursor })
  const [first] = json.data as unknown[]
  if (isObject(first) && typeof first.id === 'string' && !pool.items.some((one) => one.path === `${path}/${first.id}`))
    keep(pool.items, { path: `${path}/${first.id}`, tag: undefined, modified: undefined, json: first })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
