/** Both sides of a comparison over HTTP: a service of the library, and an expert's server of a few lines. */
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { callerGate } from '../src/corridor/server-context.ts'
import { realWorld } from '../src/flow/real-world.ts'
import { serviceWorld } from '../src/flow/world.ts'
import { listen } from '../src/http/listening.ts'
import type { Service } from '../src/service.ts'
import { openStore } from '../src/terminal/open.ts'

export interface Side {
  readonly url: string
  readonly close: () => Promise<unknown>
}

/** Serves a service from a database. */
export async function servedFrom(declared: Service, database: string): Promise<Side> {
  const store = await openStore(declared, database, 'apply')
  const world = serviceWorld(realWorld, store)
  const log = { error: console.error, warn: () => {}, info: () => {} }
  const authenticate = callerGate(declared, store, world)
  const context = { service: declared, store, world, log, authenticate, open: () => true }
  const { url, stop } = await listen(context, { port: 0, host: '127.0.0.1' })
  const close = async () => {
    await stop(1000)
    await store.close()
  }
  return { url, close }
}

/** Answers each path with the rows that the function of this path returns for the value of the parameter `q`. */
export async function expertServer(paths: Readonly<Record<string, (q: string) => unknown>>): Promise<Side> {
  const server = createServer(async (incoming, outgoing) => {
    const { pathname, searchParams } = new URL(incoming.url ?? '', 'http://localhost')
    const data = await paths[pathname]?.(searchParams.get('q') ?? '')
    outgoing.setHeader('Content-Type', 'application/json').end(JSON.stringify({ data }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, close: async () => server.close() }
}

const agent = new Agent({ keepAlive: true })

/** The body of the answer of a URL; fails unless its status is 200. */
export const answerOf = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { agent }, async (incoming) => {
      const body = (await incoming.toArray()).join('')
      if (incoming.statusCode === 200) resolve(body)
      else reject(new Error(body))
    })
    sent.on('error', reject).end()
  })

/** Closes the connections that `answerOf` keeps. */
export const endRequests = (): void => agent.destroy()
