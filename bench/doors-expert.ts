/** The expert's doors: Fastify, and an UPDATE that changes the row only if it is in the state that the transition starts from. */
import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import Fastify from 'fastify'
import pg from 'pg'

type Row = Readonly<Record<string, unknown>> | undefined

interface Doors {
  readonly add: (id: string, name: string, at: string) => unknown
  /** The changed door; undefined if no door with this id is in the state `from`. */
  readonly move: (id: string, from: string, to: string, at: string) => Row | Promise<Row>
  readonly read: (id: string) => Row | Promise<Row>
}

const columns = 'id, version, name, state, created_at AS "createdAt", updated_at AS "updatedAt"'
const tables = `CREATE TABLE doors (id text PRIMARY KEY, version integer NOT NULL, name text NOT NULL, state text NOT NULL,
    created_at text NOT NULL, updated_at text NOT NULL);
  CREATE INDEX doors_by_state ON doors (state, id); CREATE INDEX doors_by_creation ON doors (created_at, id);
  CREATE INDEX doors_by_change ON doors (updated_at, id)`
const insert = "INSERT INTO doors VALUES ($1, 1, $2, 'closed', $3, $3)"
const move = `UPDATE doors SET state = $1, updated_at = $2, version = version + 1 WHERE id = $3 AND state = $4 RETURNING ${columns}`
const read = `SELECT ${columns} FROM doors WHERE id = $1`

function onSqlite(file: string): Doors {
  const db = new DatabaseSync(file)
  db.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000; PRAGMA cache_size = -65536',
  )
  db.exec(tables)
  const [addStatement, moveStatement, readStatement] = [insert, move, read].map((text) =>
    db.prepare(text.replaceAll(/\$(\d)/g, '?$1')),
  )
  return {
    add: (id, name, at) => addStatement?.run(id, name, at),
    move: (id, from, to, at) => moveStatement?.get(to, at, id, from), // a single statement is a transaction
    read: (id) => readStatement?.get(id),
  }
}

async function onPostgres(url: string): Promise<Doors> {
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  await pool.query(tables)
  const first = async (name: string, text: string, values: unknown[]): Promise<Row> =>
    (await pool.query({ name, text, values })).rows[0]
  return {
    add: (id, name, at) => first('insert', insert, [id, name, at]),
    move: (id, from, to, at) => first('move', move, [to, at, id, from]),
    read: (id) => first('read', read, [id]),
  }
}

async function main(database: string, port: number): Promise<void> {
  const doors = database.startsWith('postgres') ? await onPostgres(database) : onSqlite(database.replace('sqlite:', ''))
  const app = Fastify({ logger: false })
  const text = { type: 'string' } as const
  const members = { id: text, name: text, state: text, createdAt: text, updatedAt: text }
  const door = { type: 'object', properties: members } as const
  const missing = { type: 'object', properties: { message: text } } as const
  app.get('/healthz', () => 'ok')
  app.post('/doors', async (request, reply) => {
    const id = `doo_${Date.now().toString(16).padStart(12, '0')}${randomBytes(8).toString('hex')}`
    await doors.add(id, (request.body as { name: string }).name, new Date().toISOString())
    return reply.code(201).send({ id })
  })
  for (const [name, from, to] of [
    ['openings', 'closed', 'open'],
    ['closings', 'open', 'closed'],
  ] as const)
    app.post(
      `/doors/:id/${name}`,
      { schema: { response: { 200: door, 404: missing, 409: missing } } },
      async (request, reply) => {
        const { id } = request.params as { id: string }
        const moved = await doors.move(id, from, to, new Date().toISOString())
        if (moved) return reply.header('etag', `"${moved.version}"`).send(moved)
        if (await doors.read(id)) return reply.code(409).send({ message: `The door is not ${from}.` })
        return reply.code(404).send({ message: 'There is no such door.' })
      },
    )
  await app.listen({ port, host: '127.0.0.1' })
}

await main(process.argv[2] as string, Number(process.argv[3]))
