/** The programs of examples/embedding run, and docs/embedding.md shows them. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { Service } from 'bylaw'
import api from '../../examples/embedding/api.ts'
import { checkout } from '../help/built.ts'
import { freePort } from '../help/free-port.ts'
import { keyedDatabase } from '../help/hosts.ts'
import { blocksOf } from '../help/pages.ts'
import { until } from '../help/until.ts'

const exampleFolder = join(checkout, 'examples/embedding')
const programs = ['node', 'fetch', 'fastify', 'hono']

/** Starts a program, and returns its URL and the function that ends it. */
async function started(t: TestContext, name: string, database: string) {
  const port = await freePort()
  const env = { ...process.env, PORT: String(port), DATABASE_URL: database, NODE_TEST_CONTEXT: undefined }
  const words = ['--conditions=bylaw-source', join(exampleFolder, `${name}.ts`)]
  const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  let text = ''
  child.stdout.on('data', (chunk) => {
    text += chunk
  })
  await until(() => text.includes(`http://localhost:${port}/api/orders\n`))
  const stop = async () => {
    const over = once(child, 'exit')
    child.kill('SIGTERM')
    const [code, signal] = await over
    return { code, signal, text }
  }
  return { url: `http://localhost:${port}`, stop }
}

describe('the examples of embedding', () => {
  for (const name of programs)
    it(`R163, R164, R186: ${name} serves, knows its callers on its own route, logs and stops`, async (t) => {
      const { database, authorization } = await keyedDatabase(api as unknown as Service, ['orders:write'])
      const { url, stop } = await started(t, name, database)
      const json = { 'content-type': 'application/json' }
      const create = (headers: Record<string, string>) =>
        fetch(`${url}/api/orders`, { method: 'POST', headers: { ...json, ...headers }, body: '{"total":"9.50"}' })
      assert.equal((await create({})).status, 401)
      const created = await create({ authorization })
      assert.equal(created.status, 201)
      assert.match(String(created.headers.get('location')), /^\/api\/orders\/ord_/)
      const list = (await (await fetch(`${url}/api/orders`)).json()) as { data: unknown[] }
      assert.equal(list.data.length, 1)
      const known = await fetch(`${url}/whoami`, { headers: { authorization } })
      assert.deepEqual([known.status, await known.json()], [200, { account: 'acc_1' }])
      const refused = await fetch(`${url}/whoami`)
      assert.equal(refused.status, 401)
      assert.match(String(refused.headers.get('www-authenticate')), /^Bearer/)
      assert.equal((await fetch(`${url}/orders`)).status, 404)
      const stream = await fetch(`${url}/api/events`, { headers: { accept: 'text/event-stream', authorization } })
      const over = stream.text()
      const { code, text } = await stop()
      assert.equal(code, 0)
      assert.match(await over, /retry: 1000/)
      assert.match(text, /"status":201/)
      assert.match(text, /"account":"acc_1".*A caller has asked who it is\./)
    })

  it('are those of the page', () => {
    const shown = blocksOf(readFileSync(join(checkout, 'docs/embedding.md'), 'utf8'))
    for (const name of ['api', ...programs]) {
      const [, ...lines] = readFileSync(join(exampleFolder, `${name}.ts`), 'utf8')
        .trim()
        .split('\n')
      const block = shown.find(({ text }) => text.startsWith(`// ${name}.ts\n`))
      assert.equal(block?.text, [`// ${name}.ts`, ...lines].join('\n'), `docs/embedding.md shows another ${name}.ts`)
    }
  })
})
