/** Hosts: servers of other programs that a service is part of, each with a route of its own. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import type { Service } from 'bylaw'
import { type App, type AppOptions, openApp, toFastify, toFetch, toHono, toNode } from 'bylaw/embedding'
import fastify from 'fastify'
import { Hono } from 'hono'
import { openStore } from '../../src/terminal/open.ts'
import { folder } from './command.ts'
import { keyFor } from './door.ts'
import { until } from './until.ts'

export interface LogLine {
  readonly level: 'info' | 'warn' | 'error'
  readonly message: string
  readonly about: Readonly<Record<string, unknown>>
}

export interface Host {
  readonly app: App
  readonly url: string
  readonly lines: readonly LogLine[]
  /** Ends the server, then the app if the server does not. */
  readonly close: () => Promise<void>
}

/** The answer of the host to requests outside of the service. */
const own = (path: string): string => `own ${path}`

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const ended = (server: Server): Promise<void> =>
  new Promise((resolve, reject) => {
    server.close((error) => (error ? reject(error) : resolve()))
    server.closeIdleConnections()
  })

async function overNode(app: App, listener: Parameters<typeof createServer>[1]) {
  const server = createServer(listener)
  const url = await listening(server)
  const close = async (): Promise<void> => {
    const over = ended(server)
    await app.close()
    server.closeIdleConnections()
    await over
  }
  return { url, close }
}

type Starter = (app: App) => Promise<Pick<Host, 'url' | 'close'>>

/** A chain of functions as that of Express, which cuts the mounted path off `url`. */
function expressLike(app: App) {
  const answer = toNode(app)
  return (request: IncomingMessage & { originalUrl?: string }, response: ServerResponse) => {
    const url = request.url as string
    request.originalUrl = url
    request.url = url.replace(/^\/shop/, '') || '/'
    answer(request, response, (error) => {
      request.url = url
      response.statusCode = error ? 500 : 200
      response.end(own(url))
    })
  }
}

export const hosts: Readonly<Record<string, Starter>> = {
  'node:http': (app) => {
    const answer = toNode(app)
    return overNode(app, (request, response) => {
      if (request.url?.startsWith('/own')) response.end(own(request.url))
      else answer(request, response)
    })
  },
  express: (app) => overNode(app, expressLike(app)),
  fastify: async (app) => {
    const server = fastify()
    await server.register(toFastify(app))
    server.get('/own', async () => own('/own'))
    const url = await server.listen({ port: 0, host: '127.0.0.1' })
    return { url, close: () => server.close() }
  },
  hono: (app) => {
    const hono = new Hono()
    hono.use(toHono(app))
    hono.get('/own', (context) => context.text(own('/own')))
    return overNode(app, getRequestListener(hono.fetch))
  },
  fetch: (app) => {
    const answer = toFetch(app, { addressOf: (_, incoming: IncomingMessage) => incoming.socket.remoteAddress })
    return overNode(
      app,
      getRequestListener((request, { incoming }) =>
        new URL(request.url).pathname === '/own'
          ? new Response(own('/own'))
          : answer(request, incoming as IncomingMessage),
      ),
    )
  },
}

/** A new database in a file, with a key of the account acc_1. */
export async function keyedDatabase(declared: Service, scopes: readonly string[]) {
  const database = `sqlite:${join(folder({}), 'keyed.db')}`
  const store = await openStore(declared, database, 'apply')
  const holder = { account: 'acc_1', scopes, tier: 'free' }
  const headers = await keyFor(store, 'ci', holder, Date.now())
  await store.close()
  return { database, authorization: String(headers.authorization) }
}

/** Opens an app on a database in memory, whose log is kept. */
export async function openLogged(service: Service, options: AppOptions = {}) {
  const lines: LogLine[] = []
  const keep = (level: LogLine['level']) => (about: object, message: string) =>
    void lines.push({ level, message, about: { ...about } })
  const log = { info: keep('info'), warn: keep('warn'), error: keep('error') }
  return { app: await openApp(service, { database: 'sqlite::memory:', log, ...options }), lines }
}

export async function startHost(name: string, service: Service, options: AppOptions = {}): Promise<Host> {
  const { app, lines } = await openLogged(service, options)
  return { app, lines, ...(await (hosts[name] as Starter)(app)) }
}

/** Waits for a line of the log. */
export async function logged(lines: readonly LogLine[], fits: (line: LogLine) => boolean): Promise<LogLine> {
  await until(() => lines.some(fits))
  return lines.find(fits) as LogLine
}
