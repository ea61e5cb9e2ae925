/** The sources that variations of requests draw from: items, lists and earlier requests, and conditions on the items. */
import type { Chance } from './chance.ts'
import type { Door, Request } from './exchange.ts'
import type { Item, Pool } from './pool.ts'

export interface VariationSources {
  readonly pool: Pool
  readonly chance: Chance
  readonly door: Door
  readonly versions: readonly string[]
  readonly holders: readonly string[]
  readonly main: string | undefined
}

export type Variation = (sources: VariationSources) => Request | null

export const base = { headers: [] } as const
export type Headers = (readonly [string, string])[]

export const itemOf = ({ pool, chance }: VariationSources): Item | null =>
  pool.items.length > 0 ? chance.one(pool.items) : null
export const listOf = ({ pool, chance }: VariationSources): string | null =>
  pool.lists.length > 0 ? chance.one(pool.lists) : null
export const doneOf = ({ pool, chance }: VariationSources): Request | null =>
  pool.done.length > 0 ? chance.one(pool.done) : null
export const written = ({ pool, chance }: VariationSources): Request | null => {
  const all = pool.done.filter(({ body, base64 }) => body !== undefined && !base64)
  return all.length > 0 ? chance.one(all) : null
}

/** Some random members of an item, without those that a client may not send back. */
export function membersOf(item: Item, chance: Chance): Record<string, unknown> {
  const own = Object.entries(item.json).filter(([name]) => !/^(?:id|created_?[aA]t|updated_?[aA]t)$/.test(name))
  return Object.fromEntries(own.filter(() => chance.once(2)))
}

export const json = (value: unknown): { body: string; headers: Headers } => ({
  body: JSON.stringify(value),
  headers: [['Content-Type', 'application/json']],
})

export function conditionOf({ pool, chance }: VariationSources, item: Item): readonly [string, string] {
  const tag = item.tag ?? '"1-1-000000"'
  const other = pool.stale.length > 0 ? chance.one(pool.stale) : '"9-1-abcdef"'
  const tags = [
    tag,
    tag,
    tag,
    other,
    '*',
    `W/${tag}`,
    `"x", ${tag}`,
    `${tag}, ${other}`,
    '"',
    '',
    'x',
    tag.replace(/"$/, '+gzip"'),
  ]
  const dates = [item.modified, 'Fri, 20 Nov 2026 09:04:00 GMT', 'Fri, 20 Nov 2020 09:04:00 GMT', 'yesterday', '0']
  const date = chance.one(dates.filter((one) => one !== undefined))
  return chance.one([
    ['If-Match', chance.one(tags)],
    ['If-Match', tag],
    ['If-None-Match', chance.one(tags)],
    ['If-Modified-Since', date],
    ['If-Unmodified-Since', date],
  ] as const)
}
