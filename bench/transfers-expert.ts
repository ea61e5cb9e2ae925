/** The expert's transfers: Fastify, and one transaction that reads both accounts, changes them and inserts the transfer. */
import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import Fastify from 'fastify'
import pg from 'pg'

interface Transfer {
  readonly from: string
  readonly to: string
  readonly amount: number
}

interface Bank {
  readonly open: (id: string, balance: number, at: string) => unknown
  /** Moves the amount, if the payer has enough; returns whether it did. */
  readonly transfer: (id: string, transfer: Transfer, at: string) => boolean | Promise<boolean>
}

const tables = `CREATE TABLE accounts (id text PRIMARY KEY, balance bigint NOT NULL, created_at text NOT NULL, updated_at text NOT NULL);
  CREATE TABLE transfers (id text PRIMARY KEY, payer text NOT NULL REFERENCES accounts, payee text NOT NULL REFERENCES accounts,
    amount bigint NOT NULL, created_at text NOT NULL);
  CREATE INDEX transfers_by_payer ON transfers (payer); CREATE INDEX transfers_by_payee ON transfers (payee)`

function onSqlite(file: string): Bank {
  const db = new DatabaseSync(file)
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000')
  db.exec(tables.replaceAll('bigint', 'INTEGER'))
  const read = db.prepare('SELECT balance FROM accounts WHERE id = ?')
  const change = db.prepare('UPDATE accounts SET balance = ?, updated_at = ? WHERE id = ?')
  const add = db.prepare('INSERT INTO transfers VALUES (?, ?, ?, ?, ?)')
  const insert = db.prepare('INSERT INTO accounts VALUES (?, ?, ?, ?)')
  return {
    open: (id, balance, at) => insert.run(id, balance, at, at),
    transfer: (id, { from, to, amount }, at) => {
      db.exec('BEGIN IMMEDIATE')
      const [payer, payee] = [from, to].map((one) => read.get(one) as { balance: number } | undefined)
      if (!payer || !payee || payer.balance < amount) {
        db.exec('ROLLBACK')
        return false
      }
      change.run(payer.balance - amount, at, from)
      change.run(payee.balance + amount, at, to)
      add.run(id, from, to, amount, at)
      db.exec('COMMIT')
      return true
    },
  }
}

async function onPostgres(url: string): Promise<Bank> {
  const pool = new pg.Pool({ connectionString: url, max: 20 })
  await pool.query(tables)
  const read = { name: 'read', text: 'SELECT id, balance FROM accounts WHERE id IN ($1, $2) ORDER BY id FOR UPDATE' }
  const change = { name: 'change', text: 'UPDATE accounts SET balance = balance + $1, updated_at = $2 WHERE id = $3' }
  const add = { name: 'add', text: 'INSERT INTO transfers VALUES ($1, $2, $3, $4, $5)' }
  return {
    open: (id, balance, at) => pool.query('INSERT INTO accounts VALUES ($1, $2, $3, $3)', [id, balance, at]),
    transfer: async (id, { from, to, amount }, at) => {
      const client = await pool.connect()
      try {
        await client.query('BEGIN')
        const { rows } = await client.query({ ...read, values: [from, to] })
        const payer = rows.find((one) => one.id === from)
        const enough = rows.length === 2 && Number(payer.balance) >= amount
        if (enough) {
          await client.query({ ...change, values: [-amount, at, from] })
          await client.query({ ...change, values: [amount, at, to] })
          await client.query({ ...add, values: [id, from, to, amount, at] })
        }
        await client.query(enough ? 'COMMIT' : 'ROLLBACK')
        return enough
      } finally {
        client.release()
      }
    },
  }
}

const newId = (prefix: string): string =>
  `${prefix}_${Date.now().toString(16).padStart(12, '0')}${randomBytes(8).toString('hex')}`

async function main(database: string, port: number): Promise<void> {
  const bank = database.startsWith('postgres') ? await onPostgres(database) : onSqlite(database)
  const app = Fastify({ logger: false })
  const text = { type: 'string', maxLength: 100 } as const
  const amount = { type: 'integer', minimum: 1 } as const
  const transferSchema = { type: 'object', required: ['from', 'to', 'amount'], additionalProperties: false } as const
  app.get('/healthz', () => 'ok')
  app.post('/accounts', async (request, reply) => {
    const id = newId('acc')
    await bank.open(id, (request.body as { balance: number }).balance, new Date().toISOString())
    return reply.status(201).send({ id })
  })
  const schema = { body: { ...transferSchema, properties: { from: text, to: text, amount } } }
  app.post('/transfers', { schema }, async (request, reply) => {
    const transfer = request.body as Transfer
    const [id, createdAt] = [newId('trf'), new Date().toISOString()]
    if (!(await bank.transfer(id, transfer, createdAt)))
      return reply.status(409).send({ message: 'Too little is left.' })
    return reply
      .status(201)
      .header('location', `/transfers/${id}`)
      .send({ id, ...transfer, createdAt })
  })
  await app.listen({ port, host: '127.0.0.1' })
}

await main(process.argv[2] as string, Number(process.argv[3]))
