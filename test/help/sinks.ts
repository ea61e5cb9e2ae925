/** Servers that receive deliveries on the loopback, and a sender for tests. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http, { type RequestListener } from 'node:http'
import https from 'node:https'
import net, { type AddressInfo, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import tls from 'node:tls'
import { type AttemptResult, makeSender } from '../../src/webhooks/send.ts'
import { testWorld } from './world.ts'

const loopback = async () => ['127.0.0.1']

/** A sender and its clock; `post` sends a delivery to a port of the loopback. */
export function sending(t: TestContext, privateTargets = true, resolve = loopback) {
  const world = testWorld()
  const sender = makeSender({ privateTargets, resolve, world })
  t.after(sender.close)
  const post = (url: string, over: object = {}): Promise<AttemptResult> =>
    sender.send({ endpoint: 'whe_1', url, headers: { 'content-type': 'application/json' }, body: '{}', ...over })
  return { world, sender, post }
}

export async function listening(t: TestContext, server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => sockets.add(socket))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return (server.address() as AddressInfo).port
}

export async function sink(t: TestContext, answer: RequestListener) {
  const server = http.createServer({ keepAliveTimeout: 60_000 }, answer)
  const sockets: Socket[] = []
  server.on('connection', (socket) => sockets.push(socket))
  return { url: `http://hooks.example:${await listening(t, server)}/in?a=b`, sockets }
}

/** A server below HTTP: it is given each connection, when its first bytes have come. */
export async function rawSink(t: TestContext, act: (socket: Socket) => void): Promise<string> {
  const server = net.createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => act(socket))
  })
  return `http://hooks.example:${await listening(t, server)}/`
}

/** An https server for hooks.example, whose certificate this process trusts. */
export async function secureSink(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-hooks-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const names = ['-subj', '/CN=hooks.example', '-addext', 'subjectAltName=DNS:hooks.example']
  execFileSync('openssl', [...request, ...names, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  const trusted = tls.getCACertificates('default')
  tls.setDefaultCACertificates([...trusted, readFileSync(cert, 'utf8')])
  t.after(() => {
    tls.setDefaultCACertificates(trusted)
    rmSync(folder, { recursive: true })
  })
  let requests = 0
  const server = https.createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (_, response) => {
    requests++
    response.end()
  })
  return { port: await listening(t, server), requests: () => requests }
}

/** Every address that a connection would go to is recorded, and leads to the loopback. */
export function routePublicToLoopback(t: TestContext, connected: string[]): void {
  const connect = net.Socket.prototype.connect as (options: object, listener: () => void) => Socket
  t.mock.method(net.Socket.prototype, 'connect', function (this: Socket, ...given: unknown[]) {
    const [options, listener] = (Array.isArray(given[0]) ? given[0] : given) as [net.TcpNetConnectOpts, () => void]
    if (!options.lookup) return this.destroy(new Error('The connection has no look-up of its own.'))
    options.lookup(options.host as string, { all: true }, (error, found) => {
      if (error) return void this.destroy(error)
      connected.push(...(found as { address: string }[]).map(({ address }) => address))
      const { lookup, ...rest } = options
      connect.call(this, { ...rest, host: '127.0.0.1' }, listener)
    })
    return this
  })
}
