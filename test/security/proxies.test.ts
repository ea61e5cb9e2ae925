/**
 * Smuggled requests behind the proxies that people put in front of a service, on both engines: the service serves no request that
 * the proxy did not forward as one. Each proxy marks the requests that it forwards; one that is hidden in another has no mark,
 * unless a proxy writes a line of HTTP/2 as several; it would be served as /smuggled. R18.
 */
import assert from 'node:assert/strict'
import { type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type EchoServer, echoServers, type SeenRequest } from '../fuzz/echo.ts'
import { owner } from '../help/cluster.ts'
import { freePort } from '../help/free-port.ts'
import { pathOf, without } from '../help/programs.ts'
import { until } from '../help/until.ts'
import { downgraded, plain } from './downgraded.ts'
import { exchange } from './http2.ts'
import { proxies } from './proxies.ts'
import { early, read, refused, releases } from './smuggled.ts'

const simple = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
const last = 'GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'

/** Sends pieces, the later ones after a while, and returns all that arrives until the proxy closes the connection or is silent for a while. */
async function sent(port: number, pieces: readonly string[], patience: number, quiet = 100): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let answer = ''
  let last = performance.now()
  socket.on('error', () => {})
  socket.on('data', (piece) => {
    answer += piece.toString('latin1')
    last = performance.now()
  })
  for (const [i, piece] of pieces.entries()) {
    if (i > 0) await pause(50)
    socket.write(piece, 'latin1')
  }
  while (!socket.closed && !socket.readableEnded && performance.now() - last < (answer === '' ? patience : quiet))
    await pause(5)
  socket.destroy()
  return answer
}

describe('proxies', { concurrency: true }, () => {
  for (const [name, proxy] of Object.entries(proxies))
    for (const engine of ['node', 'own'] as const)
      describe(`smuggled requests behind ${name} (${engine})`, {
        skip: without(proxy.program),
        concurrency: false,
      }, () => {
        let folder: string
        let server: EchoServer
        let served: SeenRequest[] = []
        let port = 0
        let http2 = 0
        let stop = async (): Promise<void> => {}

        before(async () => {
          folder = mkdtempSync(join(tmpdir(), 'bylaw-proxy-'))
          const all = await echoServers((request) => served.push(request))
          server = all[engine]
          const [from, to] = [await freePort(), await server.listen()]
          http2 = await freePort()
          const file = join(folder, proxy.file ?? 'config')
          writeFileSync(file, proxy.config({ from, http2, to, folder }))
          const as = owner()
          if (as) for (const path of [folder, file]) chownSync(path, as.uid, as.gid)
          const stdio: StdioOptions = ['ignore', 'pipe', 'pipe']
          const child = spawn(pathOf(proxy.program) as string, [...proxy.words(file)], { ...as, stdio })
          let printed = ''
          for (const stream of [child.stdout, child.stderr])
            stream?.on('data', (piece) => {
              printed = `${printed}${piece}`.slice(-10_000)
            })
          process.once('exit', () => child.kill())
          const ended = once(child, 'exit')
          stop = async () => {
            child.kill('SIGTERM')
            await ended
            for (const one of [all.node, all.own]) one.close()
            assert.deepEqual(server.errors, [])
          }
          port = from
          await until(async () => child.exitCode !== null || (await sent(port, [simple], 1000)).includes(' 200 '))
          assert.equal(child.exitCode, null, `${name} ended:\n${printed}`)
        })
        after(async () => {
          await stop()
          rmSync(folder, { recursive: true, force: true })
        })

        /** Everything that the service serves while these bytes are sent, and for a request after them. */
        async function servedFor(...pieces: readonly string[]): Promise<readonly SeenRequest[]> {
          served = []
          await sent(port, pieces, 2000)
          return servedBeforeNext({ pieces })
        }

        /** Sends a request on a connection of its own, which gets its own answer; returns all that was served until then. */
        async function servedBeforeNext(before: object): Promise<readonly SeenRequest[]> {
          const next = await sent(port, [last], 10_000, 2000) // it closes
          const about = JSON.stringify({ ...before, next })
          assert.match(next, /^HTTP\/1\.1 200 /, about)
          assert.match(next, /"target":"\/next"/, about)
          return served
        }

        it('R18: requests of different clients arrive on the same connection', async () => {
          await servedFor(simple)
          const before = server.connections()
          for (let times = 0; times < 5; times++) await servedFor(simple)
          assert.ok(server.connections() - before < 5, `10 requests, ${server.connections() - before} connections`)
        })

        it('R18: hidden requests are not served, and the next answer is that of the next request', async () => {
          const messages = [...Object.values(refused).flat(), ...Object.values(releases)]
          for (const bytes of messages)
            for (const { headers, target } of await servedFor(bytes))
              assert.equal(
                headers['x-relayed'],
                'yes',
                `${JSON.stringify(bytes)}: ${target} was not forwarded by the proxy`,
              )
        })

        it('R18: content that arrives with its head, or after the answer, is not served as a request', async () => {
          for (const [head, content] of Object.values(early).flat())
            for (const pieces of [[head + content], [head, content]])
              for (const { headers, target } of await servedFor(...pieces))
                assert.equal(headers['x-relayed'], 'yes', `${JSON.stringify(pieces)}: ${target}`)
        })

        it('R18: content that looks like a request is content', async () => {
          let forwarded = 0
          for (const [bytes, content] of Object.values(read).flat()) {
            const [first] = await servedFor(bytes)
            assert.equal(first?.headers['x-relayed'], 'yes')
            if (first.target === '/next') continue // the proxy refused the message
            assert.equal(first.content || null, content, JSON.stringify(bytes))
            forwarded++
          }
          assert.ok(forwarded >= 5, `${forwarded}`)
        })

        it('R18: requests that are hidden in the lines or the content of one of HTTP/2 are not served', async () => {
          served = []
          assert.equal(await exchange(http2, plain.frames, false), 'answered')
          assert.equal(served[0]?.content, plain.content)
          for (const { frames, late } of downgraded) {
            served = []
            await exchange(http2, frames, late)
            const about = { late, frames: frames.map((one) => one.toString('latin1')) }
            for (const { target } of await servedBeforeNext(about))
              assert.ok(!target.startsWith('/smuggled'), JSON.stringify(about))
          }
        })
      })
})
