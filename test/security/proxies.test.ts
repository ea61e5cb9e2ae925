/**
 * Smuggled requests behind the proxies that people put in front of a service, on both engines: the service serves no request that
 * the proxy did not forward as one. Each proxy marks the requests that it forwards; one that is hidden in another has no mark. R18.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { echoServers, type SeenRequest } from '../fuzz/echo.ts'
import { freePort, owner } from '../help/cluster.ts'
import { type Program, pathOf, without } from '../help/programs.ts'
import { until } from '../help/until.ts'
import { read, refused, releases } from './smuggled.ts'

interface Ports {
  readonly from: number
  readonly to: number
  readonly folder: string
}

interface Proxy {
  readonly program: Program
  readonly words: (file: string) => readonly string[]
  readonly config: (ports: Ports) => string
}

/** Connections to the service are kept and shared, so that bytes left behind by one request would begin the next. */
const proxies: Readonly<Record<string, Proxy>> = {
  nginx: {
    program: 'nginx',
    words: (file) => ['-c', file, '-e', 'stderr'],
    config: ({ from, to, folder }) => `daemon off; master_process off; pid ${folder}/pid; error_log stderr crit;
events { worker_connections 200; }
http {
  access_log off;
  ${['body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name === 'body' ? 'client_body' : name}_temp_path ${folder}/${name};`).join(' ')}
  upstream service { server 127.0.0.1:${to}; keepalive 4; }
  server {
    listen 127.0.0.1:${from};
    location / {
      proxy_pass http://service; proxy_http_version 1.1; proxy_request_buffering off;
      proxy_set_header Connection ""; proxy_set_header Host $http_host; proxy_set_header X-Relayed yes;
    }
  }
}
`,
  },
  HAProxy: {
    program: 'haproxy',
    words: (file) => ['-db', '-f', file],
    config: ({ from, to }) => `global
  maxconn 200
defaults
  mode http
  timeout connect 5s
  timeout client 10s
  timeout server 10s
  http-reuse always
frontend front
  bind 127.0.0.1:${from}
  http-request set-header X-Relayed yes
  default_backend service
backend service
  server one 127.0.0.1:${to}
`,
  },
  Apache: {
    program: 'apache2',
    words: (file) => ['-DFOREGROUND', '-f', file],
    config: ({ from, to, folder }) => `ServerRoot ${folder}
PidFile ${folder}/pid
ErrorLog /dev/null
ServerName localhost
Listen 127.0.0.1:${from}
${['mpm_event', 'authz_core', 'env', 'headers', 'proxy', 'proxy_http'].map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
StartServers 1
ThreadsPerChild 25
MaxRequestWorkers 25
DefaultRuntimeDir ${folder}
RequestHeader set X-Relayed yes
ProxyPreserveHost On
SetEnv proxy-sendchunked 1
ProxyPass / http://127.0.0.1:${to}/ keepalive=On
`,
  },
}

/** Sends bytes and returns the answer: all that arrives until the proxy closes the connection or is silent for 100 ms. */
async function sent(port: number, bytes: string, patience: number): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let answer = ''
  let last = performance.now()
  socket.on('error', () => {})
  socket.on('data', (piece) => {
    answer += piece.toString('latin1')
    last = performance.now()
  })
  socket.write(bytes, 'latin1')
  while (!socket.closed && !socket.readableEnded && performance.now() - last < (answer === '' ? patience : 100))
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
        const folder = mkdtempSync(join(tmpdir(), 'bylaw-proxy-'))
        let served: SeenRequest[] = []
        let port = 0
        let stop = async (): Promise<void> => {}

        before(async () => {
          const all = await echoServers((request) => served.push(request))
          const [from, to] = [await freePort(), await all[engine].listen()]
          const file = join(folder, 'config')
          writeFileSync(file, proxy.config({ from, to, folder }))
          const as = owner()
          if (as) for (const path of [folder, file]) chownSync(path, as.uid, as.gid)
          const child = spawn(pathOf(proxy.program) as string, [...proxy.words(file)], { ...as, stdio: 'ignore' })
          process.once('exit', () => child.kill())
          const ended = once(child, 'exit')
          stop = async () => {
            child.kill('SIGTERM')
            await ended
            for (const one of [all.node, all.own]) one.close()
            assert.deepEqual(all[engine].errors, [])
          }
          port = from
          await until(
            async () =>
              child.exitCode !== null ||
              (await sent(port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n', 1000)).includes(' 200 '),
          )
          assert.equal(child.exitCode, null, `${name} ended: see its messages with stdio 'inherit'`)
        })
        after(async () => {
          await stop()
          rmSync(folder, { recursive: true, force: true })
        })

        /** Everything that the service serves while these bytes are sent, and for a request after them. */
        async function servedFor(bytes: string): Promise<readonly SeenRequest[]> {
          served = []
          await sent(port, bytes, 2000)
          const next = await sent(port, 'GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', 5000)
          const about = JSON.stringify({ bytes, next })
          assert.match(next, /^HTTP\/1\.1 200 /, about)
          assert.match(next, /"target":"\/next"/, about)
          return served
        }

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
      })
})
