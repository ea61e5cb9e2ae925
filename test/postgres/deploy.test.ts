/** A rolling upgrade under load: no request fails, no write is lost, and nodes give the same answers. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { folder, run, served } from '../help/command.ts'
import { freshPostgres, sql } from '../help/postgres.ts'
import { until } from '../help/until.ts'

const api = (fields: string): string => `import { f, service } from 'bylaw'

export default service({
  name: 'shop',
  resources: { orders: { prefix: 'ord', fields: { ${fields} }, order: ['name'], access: 'public' } },
})
`
const before = api("name: f.text({ filter: true, sort: true }), note: f.text({ default: '' })")
const after = api('name: f.text({ filter: true, sort: true }), size: f.integer({ default: 1, filter: true })')
const env = { NODE_ENV: 'production', LOG_LEVEL: 'fatal' }

interface AnswerSeen {
  readonly status: number
  readonly etag: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
  readonly json: any
}

/** Sends requests to the nodes in turn, like a load balancer: if a node fails, the next one gets the request. */
function balancer(urls: string[]) {
  let turn = 0
  return async (
    method: string,
    path: string,
    json?: unknown,
    headers: Record<string, string> = {},
  ): Promise<AnswerSeen> => {
    for (let tries = 0; ; tries++) {
      const url = urls[turn++ % urls.length] as string
      try {
        const type = json === undefined ? {} : { 'content-type': 'application/json' }
        const body = json === undefined ? {} : { body: JSON.stringify(json) }
        const response = await fetch(url + path, { method, headers: { ...type, ...headers }, ...body })
        return { status: response.status, etag: response.headers.get('etag') ?? '', json: await response.json() }
      } catch (error) {
        if (tries === 20) throw error
        await pause(10)
      }
    }
  }
}

test('a rolling deploy under load', async (t) => {
  const { url: database, drop } = await freshPostgres()
  t.after(drop)
  const cwd = folder({ 'api.ts': before })
  const words = ['api.ts', '--database', database]
  const bylaw = (...given: string[]) =>
    run(['migrate', ...given, ...words, '--allow-loss', 'orders.note'], { cwd, env })
  assert.equal((await bylaw('apply')).code, 0)
  const nodes = [await served(words, { cwd, env }), await served(words, { cwd, env })]
  const urls = nodes.map(({ url }) => url)
  const ask = balancer(urls)
  const known = new Map<string, string>()
  const failures: string[] = []
  let going = true

  const client = async (n: number): Promise<void> => {
    for (let i = 0; going; i++) {
      const name = `${n}-${i}`
      const made = await ask('POST', '/orders', { name }, { 'idempotency-key': `"${randomUUID()}"` })
      // The answer to a first attempt may have been lost; the 409 for its key then has the id of the new item.
      const id = made.status === 409 ? made.json.old_id : made.json.id
      if (made.status !== 201 && made.status !== 409) failures.push(`POST ${made.status} ${made.json.message}`)
      known.set(id, name)
      const read = await ask('GET', `/orders/${id}`)
      if (read.status !== 200 || read.json.name !== name)
        failures.push(`GET ${read.status} ${JSON.stringify(read.json)}`)
      const changed = await ask('PATCH', `/orders/${id}`, { name: `${name}+` }, { 'if-match': read.etag })
      if (changed.status === 200) known.set(id, `${name}+`)
      else if (changed.status === 412)
        known.set(id, `${name}+`) // written by an attempt whose connection broke
      else failures.push(`PATCH ${changed.status} ${changed.json.message}`)
      const list = await ask('GET', '/orders?limit=3&sort=name')
      if (list.status !== 200) failures.push(`list ${list.status}`)
      const next = list.json.pagination?.nextCursor
      const page = next && (await ask('GET', `/orders?limit=3&sort=name&cursor=${encodeURIComponent(next)}`))
      if (page && page.status !== 200) failures.push(`cursor ${page.status} ${page.json.message}`)
      await pause(5)
    }
  }
  const load = Promise.all([1, 2, 3, 4].map(client))
  /** Waits until the clients have made eight more orders. */
  const more = (enough = known.size + 8) => until(() => known.size >= enough)
  const replace = async (i: number): Promise<void> => {
    const place = nodes[i]
    const fresh = await served(words, { cwd, env })
    nodes[i] = fresh
    urls[i] = fresh.url
    assert.equal(await place?.stop(), 0)
  }
  await more()
  writeFileSync(join(cwd, 'api.ts'), after)
  const first = await bylaw('apply')
  assert.equal(first.code, 2)
  assert.match(first.stdout, /These nodes run the former declaration/)
  await replace(0)
  await more()
  assert.match((await bylaw('apply')).stdout, /These nodes run the former declaration/)
  await replace(1)
  assert.match((await bylaw('apply')).stdout, /is as declared\.\n$/)
  await more()
  going = false
  await load
  assert.deepEqual(failures, [])
  const rows = await sql(
    database,
    `SELECT id, doc::json->>'name' AS name, by_name, by_size::int AS size, shape::int AS shape FROM orders`,
  )
  assert.deepEqual(new Map(rows.map(({ id, name }) => [id, name])), known)
  assert.ok(rows.every(({ name, by_name, size, shape }) => by_name === name && size === 1 && shape === 2))
  const found = await ask('GET', '/orders?size=1&limit=1')
  assert.equal(found.json.pagination.totalRecords, known.size)
  for (const { stop } of nodes) assert.equal(await stop(), 0)
  t.diagnostic(`${known.size} orders`)
})
