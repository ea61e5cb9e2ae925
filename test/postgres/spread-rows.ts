/** Many rows on a database sharded like Citus, to be rewritten for a declaration that filters and sorts by more fields. */
import { f } from 'bylaw'
import { shardKeyOf } from '../../src/flow/shard-key.ts'
import type { Node } from './service-on-server.ts'
import { shop, sql } from './spread-nodes.ts'

export const plain = shop({ name: f.text(), city: f.text({ default: 'x' }) })
export const filtered = shop({
  name: f.text({ filter: true }),
  city: f.text({ default: 'x', filter: true }),
  size: f.integer({ default: 7, filter: 'range', sort: true }),
})

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const digits = (n: number): string => [15, 10, 5, 0].map((shift) => alphabet[(n >> shift) & 31]).join('')

/** Inserts `count` rows in the form of the first declaration, from the `from`-th one on, and returns their ids. */
export async function filled({ call }: Node, url: string, count: number, from = 0): Promise<string[]> {
  const made = await call('POST', '/customers', { name: 'a' })
  const ids = Array.from({ length: count }, (_, i) => `cus_01hzxw3k5qf7m8n9p0r1s2${digits(from + i)}`)
  await copied(url, made.json.id, ids)
  return ids
}

/** Inserts copies of a row with other ids. */
export async function copied(url: string, id: string, ids: readonly string[]): Promise<void> {
  const values = ids.map((one) => `(${shardKeyOf(one)}, '${one}')`).join(', ')
  const members = `jsonb_build_object('home', fresh.home, 'id', fresh.id, 'doc', replace(own.doc, own.id, fresh.id))`
  await sql(
    url,
    `INSERT INTO customers SELECT made.* FROM customers AS own, (VALUES ${values}) AS fresh (home, id),
      jsonb_populate_record(own, ${members}) AS made WHERE own.id = '${id}'`,
  )
}
