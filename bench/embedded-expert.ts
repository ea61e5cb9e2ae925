/** The expert for embedded items: one join by named statements, and Fastify with a schema of the answer, on both stores. */
import { DatabaseSync } from 'node:sqlite'
import Fastify from 'fastify'
import pg from 'pg'

/** A row of the join. */
type JoinedRow = Readonly<Record<string, string | number>>
type ReadPage = (total: number, id: string, limit: number) => readonly JoinedRow[] | Promise<readonly JoinedRow[]>

export const orderColumns =
  'id text PRIMARY KEY, customer_id text NOT NULL, status text NOT NULL, total integer NOT NULL, note text NOT NULL, created_at text NOT NULL'
export const customerColumns =
  'id text PRIMARY KEY, name text NOT NULL, email text NOT NULL, city text NOT NULL, note text NOT NULL, created_at text NOT NULL'
export const expertIndex = 'CREATE INDEX expert_orders_by_status ON expert_orders (status, total, id)'

const join = `SELECT o.id, o.customer_id, o.status, o.total, o.note, o.created_at,
  c.name, c.email, c.city, c.note AS about, c.created_at AS since
  FROM expert_orders o JOIN expert_customers c ON c.id = o.customer_id WHERE o.status = 'paid'`

function onSqlite(file: string): ReadPage {
  const db = new DatabaseSync(file)
  db.exec('PRAGMA journal_mode = WAL; PRAGMA cache_size = -65536')
  const page = db.prepare(`${join} AND (o.total, o.id) > (?, ?) ORDER BY o.total, o.id LIMIT ?`)
  return (total, id, limit) => page.all(total, id, limit) as never
}

function onPostgres(url: string): ReadPage {
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  const text = `${join} AND (o.total, o.id) > ($1, $2) ORDER BY o.total, o.id LIMIT $3`
  return async (total, id, limit) => (await pool.query({ name: 'page', text, values: [total, id, limit] })).rows
}

const text = { type: 'string' }
const texts = (...names: string[]) => Object.fromEntries(names.map((name) => [name, text]))
const customer = { type: 'object', properties: texts('id', 'name', 'email', 'city', 'note', 'createdAt') }
const order = {
  type: 'object',
  properties: { ...texts('id', 'customerId', 'status', 'note', 'createdAt'), total: { type: 'integer' }, customer },
}
const page = {
  type: 'object',
  properties: { data: { type: 'array', items: order }, next: { type: ['string', 'null'] } },
}

async function main(database: string, port: number): Promise<void> {
  const read = database.startsWith('postgres') ? onPostgres(database) : onSqlite(database)
  const app = Fastify({ logger: false })
  app.get('/orders', { schema: { response: { 200: page } } }, async (request) => {
    const { cursor = '', limit = '20' } = request.query as Record<string, string>
    const [total = '', id = ''] = Buffer.from(cursor, 'base64url').toString().split(' ')
    const rows = await read(Number(total || -1), id, Math.min(100, Number(limit)))
    const last = rows.at(-1)
    return {
      data: rows.map((row) => ({
        ...{ id: row.id, customerId: row.customer_id, status: row.status, total: row.total },
        ...{ note: row.note, createdAt: row.created_at },
        customer: {
          ...{ id: row.customer_id, name: row.name, email: row.email, city: row.city },
          ...{ note: row.about, createdAt: row.since },
        },
      })),
      next: last ? Buffer.from(`${last.total} ${last.id}`).toString('base64url') : null,
    }
  })
  await app.listen({ port, host: '127.0.0.1' })
}

if (import.meta.main) await main(process.argv[2] as string, Number(process.argv[3]))
