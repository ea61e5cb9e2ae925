/** `bylaw serve --metrics`: a port of its own, one answer for all workers, and clear errors. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect, createServer as createListener } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { checkout } from '../help/built.ts'
import { folder, launch, notes, post, run, served, startedOnce } from '../help/command.ts'
import { freePort } from '../help/free-port.ts'
import { metricValue, readOpenMetrics } from '../help/open-metrics.ts'
import { blocksOf } from '../help/pages.ts'
import { childrenOf } from '../help/processes.ts'
import { until } from '../help/until.ts'

const hooked = notes.replace("name: 'notes',", "name: 'notes', events: true, settings: { events: { webhooks: true } },")
const cwd = folder({ 'api.ts': notes, 'hooked.ts': hooked })

const scraped = async (port: number) => {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`)
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'application/openmetrics-text; version=1.0.0; charset=utf-8')
  return readOpenMetrics(await answer.text())
}

describe('bylaw serve --metrics', { concurrency: 2 }, () => {
  test('serves /metrics on its own port only', async () => {
    const port = await freePort()
    const { url, said, stop } = await served(['api.ts', '--database', 'sqlite::memory:', '--metrics', String(port)], {
      cwd,
    })
    assert.match(said.stdout, /^bylaw serves/)
    assert.equal((await fetch(`${url}/metrics`)).status, 404)
    await post(`${url}/notes`, { text: 'a' })
    const families = await scraped(port)
    assert.equal(metricValue(families, 'bylaw_request_duration_seconds_count', { route: '/notes', status: '2xx' }), 1)
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.end('NO HTTP\r\n\r\n')
    for await (const _ of socket);
    const broken = metricValue(await scraped(port), 'bylaw_request_duration_seconds_count', { method: 'other' })
    assert.equal(broken, 1, 'a message that is no HTTP counts too')
    const own = `http://127.0.0.1:${port}`
    assert.equal((await fetch(`${own}/notes`)).status, 404)
    assert.equal((await fetch(`${own}/metrics`, { method: 'POST' })).status, 405)
    assert.equal((await fetch(`${own}/metrics`, { method: 'HEAD' })).status, 200)
    assert.equal(await stop(), 0)
    assert.match(said.stdout, /"url":"http:\/\/127\.0\.0\.1:\d+\/metrics".*Metrics are served/)
  })

  test('shows the metrics of all workers, also after one was replaced', async () => {
    const port = await freePort()
    const words = ['api.ts', '--workers', '2', '--database', 'sqlite:./crew.db', '--metrics', String(port)]
    const { url, stop, child } = await served(words, { cwd })
    const workers = async () => {
      const samples = (await scraped(port)).get('process_start_time_seconds')?.samples ?? []
      return new Map(samples.map(({ labels: { worker = '' }, value }) => [worker, value]))
    }
    await until(async () => (await workers()).size === 2)
    const before = await workers()
    assert.deepEqual([...before.keys()], ['1', '2'])
    for (let i = 0; i < 5; i++) await post(`${url}/notes`, { text: 'a' })
    assert.equal(metricValue(await scraped(port), 'bylaw_request_duration_seconds_count', { method: 'POST' }), 5)
    process.kill(childrenOf(child.pid as number)[0] as number, 'SIGKILL')
    await until(async () => {
      const after = await workers()
      return after.size === 2 && [...after].some(([worker, since]) => since > (before.get(worker) ?? Infinity))
    })
    assert.deepEqual([...(await workers()).keys()], ['1', '2'])
    assert.equal(await stop(), 0)
  })

  test('counts attempts to deliver webhooks', { timeout: 180_000 }, async (t) => {
    const receiver = createServer((_, response) => void response.writeHead(204).end())
    await once(receiver.listen(0, '127.0.0.1'), 'listening')
    t.after(() => receiver.close())
    const { port: target } = receiver.address() as { port: number }
    const port = await freePort()
    const database = 'sqlite:./hooked.db'
    const scopes = 'webhook-endpoints:write'
    const words = ['keys', 'create', 'hooked.ts', '--database', database, '--name', 'ci', '--scopes', scopes, '--json']
    const { key } = JSON.parse((await run(words, { cwd })).stdout)
    const { url, stop } = await served(
      ['hooked.ts', '--database', database, '--webhooks-to-private', '--metrics', String(port)],
      { cwd },
    )
    const made = await fetch(`${url}/webhook-endpoints`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ url: `http://127.0.0.1:${target}/`, eventTypes: ['note.*'] }),
    })
    assert.equal(made.status, 201, await made.text())
    await post(`${url}/notes`, { text: 'a' })
    const succeeded = async () =>
      metricValue(await scraped(port), 'bylaw_delivery_attempts_total', { result: 'succeeded' })
    await until(async () => (await succeeded()) === 1)
    assert.equal(await stop(), 0)
  })

  test('--opentelemetry sends traces and metrics as docs/operating.md shows it', { timeout: 180_000 }, async (t) => {
    const paths: string[] = []
    const collector = createServer((request, response) => {
      paths.push(String(request.url))
      request.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'))
    })
    await once(collector.listen(0, '127.0.0.1'), 'listening')
    t.after(() => collector.close())
    const shown = blocksOf(readFileSync('docs/operating.md', 'utf8')).find(({ text }) =>
      text.includes('TracerProvider'),
    )
    const own = folder({
      'api.ts': notes,
      'opentelemetry.ts': String(shown?.text),
      'package.json': '{"type":"module"}',
    })
    mkdirSync(join(own, 'node_modules'))
    symlinkSync(join(checkout, 'node_modules/@opentelemetry'), join(own, 'node_modules/@opentelemetry'))
    const env = {
      NODE_OPTIONS: `${startedOnce.NODE_OPTIONS} --import ./opentelemetry.ts --preserve-symlinks`,
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as { port: number }).port}`,
    }
    const { url, stop } = await served(['api.ts', '--database', 'sqlite::memory:', '--opentelemetry'], {
      cwd: own,
      env,
    })
    await post(`${url}/notes`, { text: 'a' })
    assert.equal(await stop(), 0)
    assert.deepEqual([...new Set(paths)].sort(), ['/v1/metrics', '/v1/traces'])
  })

  test('explains that @opentelemetry/api is missing', async () => {
    const own = folder({
      'api.ts': notes,
      'hide.mjs': `import { registerHooks } from 'node:module'
registerHooks({
  resolve(name, context, next) {
    if (name === '@opentelemetry/api') throw Object.assign(new Error('not found'), { code: 'ERR_MODULE_NOT_FOUND' })
    return next(name, context)
  },
})`,
    })
    const env = { NODE_OPTIONS: `${startedOnce.NODE_OPTIONS} --import ./hide.mjs` }
    const words = ['serve', 'api.ts', '--port', '0', '--database', 'sqlite::memory:', '--opentelemetry']
    const { code, stderr } = await run(words, { cwd: own, env })
    assert.equal(code, 1)
    assert.match(stderr, /needs the package @opentelemetry\/api[\s\S]*npm install @opentelemetry\/api/)
  })

  test('explains a port that is in use, and a value that is not a port', async () => {
    const other = createListener()
    await once(other.listen(0, '127.0.0.1'), 'listening')
    const { port } = other.address() as { port: number }
    const memory = ['serve', 'api.ts', '--port', '0', '--database', 'sqlite::memory:']
    const taken = await run([...memory, '--metrics', String(port)], { cwd })
    assert.equal(taken.code, 1)
    assert.match(taken.stderr, new RegExp(`Port ${port} on 127.0.0.1 is in use`))
    assert.match(taken.stderr, /--metrics/)
    other.close()
    const wrong = await run([...memory, '--metrics', 'yes'], { cwd })
    assert.match(wrong.stderr, /--metrics has to be a port, not "yes"/)
    const named = launch(memory, { cwd, env: { METRICS_PORT: 'x' } })
    assert.equal(await named.end(), 1)
    assert.match(named.said.stderr, /METRICS_PORT has to be a port/)
  })
})
