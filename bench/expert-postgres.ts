/** The expert on PostgreSQL: a pool of ten connections, and named statements, each of them a transaction of its own. */
import pg from 'pg'
import type { Book } from './books.ts'
import { type ExpertBook, serve } from './expert-app.ts'

const columns = 'id, version, title, status, price, shelf, blurb, created_at AS "createdAt", updated_at AS "updatedAt"'

/** Creates the expert's table and fills it with the books. */
export async function fillExpert(client: pg.Client, books: readonly Book[]): Promise<void> {
  await client.query(`CREATE TABLE expert_books (id text PRIMARY KEY, version integer NOT NULL, title text NOT NULL,
    status text NOT NULL, price integer NOT NULL, shelf text, blurb text NOT NULL, created_at text NOT NULL, updated_at text NOT NULL)`)
  const column = (name: keyof Book) => books.map((book) => book[name])
  const prices = books.map(({ price }) => Math.round(Number(price) * 100))
  await client.query(
    `INSERT INTO expert_books SELECT id, 1, title, status, price, shelf, blurb, made, made
      FROM unnest($1::text[], $2::text[], $3::text[], $4::integer[], $5::text[], $6::text[], $7::text[])
      AS one (id, title, status, price, shelf, blurb, made)`,
    [column('id'), column('title'), column('status'), prices, column('shelf'), column('blurb'), column('createdAt')],
  )
  await client.query('CREATE INDEX expert_books_by_status ON expert_books (status, price, id)')
}

async function main(url: string, port: number): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  const query = async (name: string, text: string, values: unknown[]): Promise<ExpertBook[]> =>
    (await pool.query({ name, text, values })).rows
  const list = `SELECT ${columns} FROM expert_books WHERE status = $1`
  await serve(
    {
      one: async (id) => (await query('one', `SELECT ${columns} FROM expert_books WHERE id = $1`, [id]))[0],
      after: (status, price, id, limit) =>
        query('behind', `${list} AND (price, id) > ($2, $3) ORDER BY price, id LIMIT $4`, [status, price, id, limit]),
      page: (status, limit, offset) =>
        query('page', `${list} ORDER BY price, id LIMIT $2 OFFSET $3`, [status, limit, offset]),
      count: async (status) => {
        const text = 'SELECT count(*)::integer AS total FROM expert_books WHERE status = $1'
        const { rows } = await pool.query({ name: 'count', text, values: [status] })
        return rows[0].total
      },
      insert: async (id, { title, status, price, shelf, blurb }, at) => {
        const text = `INSERT INTO expert_books VALUES ($1, 1, $2, $3, $4, $5, $6, $7, $7) RETURNING ${columns}`
        const [inserted] = await query('insert', text, [id, title, status, price, shelf ?? null, blurb, at])
        return inserted as ExpertBook
      },
      retitle: async (id, title, at) => {
        const set = 'title = $1, updated_at = $2, version = version + 1'
        const text = `UPDATE expert_books SET ${set} WHERE id = $3 RETURNING ${columns}`
        return (await query('retitle', text, [title, at, id]))[0]
      },
      remove: async (id) => {
        const text = 'DELETE FROM expert_books WHERE id = $1'
        return ((await pool.query({ name: 'remove', text, values: [id] })).rowCount ?? 0) > 0
      },
    },
    port,
  )
}

if (import.meta.main) await main(process.argv[2] as string, Number(process.argv[3]))
