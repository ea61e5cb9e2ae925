/** Two processes on one database, or with one Redis: the requests that they grant together, and after a restart. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { freshPostgres } from '../help/postgres.ts'
import { type Running, startService } from '../help/process.ts'
import { type Redis, servers } from '../help/redis.ts'

const quota = 300
const lease = 6 // 2 % of the quota
const bylaw = fileURLToPath(new URL('../../src/index.ts', import.meta.url))
const declaration = `import { f, service } from ${JSON.stringify(bylaw)}
export default service({
  name: 'quotas',
  resources: { notes: { prefix: 'not', plural: true, fields: { text: f.text() }, access: 'public' } },
  tiers: { anonymous: { hourly: ${quota} } },
  settings: { rateLimit: { lease: 2 } },
})
`
const args = ['--trusted-proxies', '127.0.0.1']
let folder = ''
let file = ''

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'bylaw-nodes-'))
  file = join(folder, 'api.ts')
  writeFileSync(file, declaration)
})
after(() => rmSync(folder, { recursive: true, force: true }))

async function ask({ url }: Running, from: string): Promise<Response> {
  const answer = await fetch(`${url}/notes`, { headers: { 'x-forwarded-for': from } })
  await answer.text()
  return answer
}

/** The number of granted requests of `count`, which a few clients send to all nodes in turn. */
async function granted(nodes: readonly Running[], count: number, from: string): Promise<number> {
  let sent = 0
  let got = 0
  const client = async () => {
    while (sent < count) {
      const { status } = await ask(nodes[sent++ % nodes.length] as Running, from)
      assert.ok(status === 200 || status === 429, String(status))
      if (status === 200) got++
    }
  }
  await Promise.all(Array.from({ length: 6 }, client))
  return got
}

function together(title: string, start: () => Promise<Running>, skip: string | false = false): void {
  describe(title, () => {
    const nodes: Running[] = []
    before(async () => {
      if (!skip) nodes.push(await start(), await start())
    })
    after(() => Promise.all(nodes.map((node) => node.stop())))

    it('two processes grant the whole quota, and at most one lease each beyond it', { skip }, async () => {
      const got = await granted(nodes, 2 * quota, '192.0.2.1')
      assert.ok(got >= quota && got <= quota + lease, String(got))
    })

    it('a process that is killed and started again forgets at most one lease', { skip }, async () => {
      assert.equal(await granted(nodes, 100, '192.0.2.2'), 100)
      await nodes.pop()?.stop('SIGKILL')
      nodes.push(await start())
      const got = 100 + (await granted(nodes, 2 * quota, '192.0.2.2'))
      assert.ok(got >= quota && got <= quota + 2 * lease, String(got))
    })
  })
}

together('one SQLite file', () => startService(file, { database: `sqlite:${join(folder, 'quotas.db')}`, args }))

describe('PostgreSQL', () => {
  let database: Awaited<ReturnType<typeof freshPostgres>>
  before(async () => {
    database = await freshPostgres()
  })
  after(() => database.drop())
  together('one PostgreSQL', () => startService(file, { database: database.url, args }))
})

for (const { name, start, skip } of servers)
  describe(name, () => {
    let redis: Redis
    before(async () => {
      if (!skip) redis = await start(undefined, 'sesame-open')
    })
    after(() => redis?.stop())
    const serve = () => startService(file, { args: [...args, '--rate-limit', redis.url], env: { LOG_LEVEL: 'info' } })
    together(`${name}, and a database each`, serve, skip)
  })

describe('Redis', () => {
  it('an unreachable Redis refuses the start, without its password in the message', async () => {
    const url = 'redis://:sesame-open@127.0.0.1:1'
    await assert.rejects(startService(file, { env: { RATE_LIMIT_URL: url } }), ({ message }: Error) => {
      assert.match(message, /The Redis at 127\.0\.0\.1:1 cannot be used: ECONNREFUSED/)
      assert.doesNotMatch(message, /sesame/)
      return true
    })
    for (const wrong of ['127.0.0.1:6379', 'http://127.0.0.1', 'redis://'])
      await assert.rejects(startService(file, { args: ['--rate-limit', wrong] }), /has to be the URL of a Redis/)
  })
})

it('invalid proxies refuse the start', async () => {
  await assert.rejects(startService(file, { args: ['--trusted-proxies', '10.0.0.0/8,proxy'] }), /"proxy" is neither/)
})
