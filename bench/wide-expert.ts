/** The expert's shipments: Fastify, a table of typed columns, and an index on each column that has one in our service. */
import { randomBytes } from 'node:crypto'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import Fastify from 'fastify'
import pg from 'pg'

/** The columns with an index, and their types. */
const indexed = {
  ...{ status: 'text', kind: 'text', express: 'boolean', country: 'text', currency: 'text', city: 'text' },
  ...{ customer: 'text', reference: 'text', email: 'text', priority: 'integer', parcels: 'integer', weight: 'integer' },
  ...{ total: 'integer', tax: 'integer', insured: 'integer', picked_up_at: 'text', due_at: 'text' },
  ...{ created_at: 'text', updated_at: 'text' },
}
const names = ['id', 'version', 'note', ...Object.keys(indexed)]
const typed = Object.entries(indexed).map(([name, type]) => `${name} ${type} NOT NULL`)
const table = `CREATE TABLE expert_shipments (id text PRIMARY KEY, version integer NOT NULL, note text NOT NULL, ${typed.join(', ')})`
const indexes = Object.keys(indexed).map((name) => `CREATE INDEX expert_by_${name} ON expert_shipments (${name}, id)`)
const head = `INSERT INTO expert_shipments (${names.join(', ')}) VALUES`

type Insert = (values: SQLInputValue[]) => Promise<unknown> | unknown

function onSqlite(file: string): Insert {
  const db = new DatabaseSync(file)
  db.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000; PRAGMA cache_size = -65536',
  )
  db.exec(`${table.replaceAll('boolean', 'integer')} STRICT; ${indexes.join('; ')}`)
  const insert = db.prepare(`${head} (${names.map(() => '?').join(', ')})`)
  return (values) => insert.run(...values) // a single statement is a transaction
}

async function onPostgres(url: string): Promise<Insert> {
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  await pool.query([table, ...indexes].join(';').replaceAll(' text', ' text COLLATE "C"'))
  const text = `${head} (${names.map((_, i) => `$${i + 1}`).join(', ')})`
  return (values) => pool.query({ name: 'insert', text, values })
}

const text = { type: 'string', maxLength: 100 } as const
const whole = { type: 'integer' } as const
const time = { type: 'string', format: 'date-time' } as const
const members = {
  status: { enum: ['planned', 'sent', 'arrived', 'lost'] },
  kind: { enum: ['letter', 'parcel', 'pallet'] },
  express: { type: 'boolean' },
  country: { type: 'string', pattern: '^[A-Z]{2}$' },
  currency: { type: 'string', pattern: '^[A-Z]{3}$' },
  ...{ city: text, customer: text, reference: text, email: { type: 'string', format: 'email' } },
  ...{ priority: whole, parcels: whole, weight: whole, total: whole, tax: whole, insured: whole },
  ...{ pickedUpAt: time, dueAt: time, note: { type: 'string', maxLength: 1000 } },
}
type Shipment = Readonly<Record<keyof typeof members, string | number | boolean>>

async function main(database: string, port: number): Promise<void> {
  const isPostgres = database.startsWith('postgres')
  const insert = isPostgres ? await onPostgres(database) : onSqlite(database.replace('sqlite:', ''))
  const app = Fastify({ logger: false })
  app.get('/healthz', () => 'ok')
  const newShipment = {
    type: 'object',
    required: Object.keys(members),
    additionalProperties: false,
    properties: members,
  }
  const storedShipment = { type: 'object', properties: { id: text, ...members, createdAt: text, updatedAt: text } }
  app.post(
    '/shipments',
    { schema: { body: newShipment, response: { 201: storedShipment } } },
    async (request, reply) => {
      const id = `shp_${Date.now().toString(16).padStart(12, '0')}${randomBytes(8).toString('hex')}`
      const [shipment, at] = [request.body as Shipment, new Date().toISOString()]
      const { status, kind, express, country, currency, city, customer, reference, email } = shipment
      const { priority, parcels, weight, total, tax, insured, pickedUpAt, dueAt, note } = shipment
      const values = [
        ...[id, 1, note, status, kind, isPostgres ? express : Number(express), country, currency, city, customer],
        ...[reference, email, priority, parcels, weight, total, tax, insured, pickedUpAt, dueAt, at, at],
      ]
      await insert(values as SQLInputValue[])
      return reply
        .code(201)
        .header('location', `/shipments/${id}`)
        .send({ id, ...shipment, createdAt: at, updatedAt: at })
    },
  )
  await app.listen({ port, host: '127.0.0.1' })
}

await main(process.argv[2] as string, Number(process.argv[3]))
