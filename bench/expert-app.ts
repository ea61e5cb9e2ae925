/** The expert's service: Fastify with schemas for requests and answers, for any store. */
import { randomBytes } from 'node:crypto'
import Fastify from 'fastify'

/** A book in the expert's answers. */
export interface ExpertBook {
  readonly id: string
  readonly version: number
  readonly title: string
  readonly status: string
  readonly price: number
  readonly shelf: string | null
  readonly blurb: string
  readonly createdAt: string
  readonly updatedAt: string
}

export type NewBook = Pick<ExpertBook, 'title' | 'status' | 'price' | 'shelf' | 'blurb'>
type Maybe<T> = T | Promise<T>

/** The expert's statements on a store. Each is a transaction of its own. */
export interface Statements {
  readonly one: (id: string) => Maybe<ExpertBook | undefined>
  /** Books of a status in the order of their prices, after the book with this price and id. */
  readonly after: (status: string, price: number, id: string, limit: number) => Maybe<readonly ExpertBook[]>
  readonly page: (status: string, limit: number, offset: number) => Maybe<readonly ExpertBook[]>
  readonly count: (status: string) => Maybe<number>
  readonly insert: (id: string, book: NewBook, at: string) => Maybe<ExpertBook>
  readonly retitle: (id: string, title: string, at: string) => Maybe<ExpertBook | undefined>
  readonly remove: (id: string) => Maybe<boolean>
}

const text = { type: 'string' } as const
const book = {
  type: 'object',
  properties: {
    id: text,
    title: text,
    status: text,
    price: { type: 'integer' },
    shelf: { type: ['string', 'null'] },
    blurb: text,
    createdAt: text,
    updatedAt: text,
  },
} as const
const pageByCursor = {
  type: 'object',
  properties: { data: { type: 'array', items: book }, next: { type: ['string', 'null'] } },
}
const pageWithTotal = {
  type: 'object',
  properties: { data: { type: 'array', items: book }, total: { type: 'integer' } },
}
const newBook = {
  type: 'object',
  required: ['title', 'status', 'price', 'blurb'],
  additionalProperties: false,
  properties: {
    title: { type: 'string', maxLength: 200 },
    status: { enum: ['draft', 'listed', 'sold'] },
    price: { type: 'integer', minimum: 0 },
    shelf: { type: ['string', 'null'] },
    blurb: text,
  },
}
const missing = { type: 'object', properties: { message: text } } as const
const cursorOf = ({ price, id }: ExpertBook): string => Buffer.from(`${price} ${id}`).toString('base64url')
const newId = (): string => `boo_${Date.now().toString(16).padStart(12, '0')}${randomBytes(8).toString('hex')}`

/** Serves books over HTTP by these statements. */
export async function serve(statements: Statements, port: number): Promise<void> {
  const app = Fastify({ logger: false })
  app.get(
    '/books/:id',
    { schema: { response: { 200: book, 304: { type: 'null' }, 404: missing } } },
    async (request, reply) => {
      const found = await statements.one((request.params as { id: string }).id)
      if (!found) return reply.code(404).send({ message: 'There is no such book.' })
      const tag = `"${found.version}"`
      reply.header('etag', tag)
      return request.headers['if-none-match'] === tag ? reply.code(304).send() : found
    },
  )
  app.get('/books', { schema: { response: { 200: pageByCursor } } }, async (request) => {
    const { status = '', cursor = '', limit = '20' } = request.query as Record<string, string>
    const [price = '-1', id = ''] = Buffer.from(cursor, 'base64url').toString().split(' ')
    const data = await statements.after(status, Number(price || -1), id, Math.min(100, Number(limit)))
    const last = data.at(-1)
    return { data, next: last ? cursorOf(last) : null }
  })
  app.get('/books/pages/:page', { schema: { response: { 200: pageWithTotal } } }, async (request) => {
    const { status = '', limit = '20' } = request.query as Record<string, string>
    const size = Math.min(100, Number(limit))
    const page = Number((request.params as { page: string }).page)
    const [data, total] = await Promise.all([
      statements.page(status, size, (page - 1) * size),
      statements.count(status),
    ])
    return { data, total }
  })
  app.post('/books', { schema: { body: newBook, response: { 201: book } } }, async (request, reply) => {
    const created = await statements.insert(newId(), request.body as NewBook, new Date().toISOString())
    return reply.code(201).header('location', `/books/${created.id}`).send(created)
  })
  const title = { type: 'object', required: ['title'], properties: { title: newBook.properties.title } }
  app.patch(
    '/books/:id',
    { schema: { body: title, response: { 200: book, 404: missing } } },
    async (request, reply) => {
      const { id } = request.params as { id: string }
      const changed = await statements.retitle(id, (request.body as NewBook).title, new Date().toISOString())
      return changed ?? reply.code(404).send({ message: 'There is no such book.' })
    },
  )
  app.delete('/books/:id', { schema: { response: { 204: { type: 'null' }, 404: missing } } }, async (request, reply) =>
    (await statements.remove((request.params as { id: string }).id))
      ? reply.code(204).send()
      : reply.code(404).send({ message: 'There is no such book.' }),
  )
  await app.listen({ port, host: '127.0.0.1' })
  console.log('listening')
}
