/** `bylaw serve` and `bylaw migrate` refuse to leave out a version that has callers, before any change. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import type { Service } from 'bylaw'
import { realWorld } from '../../src/flow/real-world.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { loadService } from '../../src/terminal/load.ts'
import { openStoreFor } from '../../src/terminal/start.ts'
import { countVersionUse, flushUsage } from '../../src/versions/usage.ts'
import { folder, launch, run, served } from '../help/command.ts'
import { alive, applied, nodeOn, type Place, places } from '../help/places.ts'

const declared = (versions: string, change: string): string => `import { f, service } from 'bylaw'

export default service({
  name: 'people',
  versions: { ${versions} },
  resources: { people: { prefix: 'per', fields: { full: f.text({ sort: true }), note: f.text() }, access: 'public' } },
})${change}
`
const change = `.change('v2', 'people', {
  about: 'One name.',
  renamed: { text: 'note' },
  removed: { first: f.text({ filter: true }), last: f.text({ default: '' }) },
  added: ['full'],
  request: ({ first, last }) => ({ full: first + ' ' + last }),
  response: ({ full }) => ({ first: full.split(' ')[0], last: full.split(' ').slice(1).join(' ') }),
})`
const v2 = `v2: { released: '2026-01-01' }`
const cwd = folder({
  'both.ts': declared(`v1: { released: '2025-01-01' }, ${v2}`, change),
  'second.ts': declared(v2, ''),
  'first.ts': `import { f, service } from 'bylaw'

export default service({
  name: 'people',
  versions: { v1: { released: '2025-01-01' } },
  resources: {
    people: {
      prefix: 'per',
      fields: { text: f.text(), first: f.text({ filter: true }), last: f.text({ default: '' }) },
      access: 'public',
    },
  },
})
`,
  'told.ts': declared(`v1: { released: '2025-01-01', retired: 'all callers have moved' }, ${v2}`, change),
})

/** All data that a schema change could write. */
const content = async ({ rows }: Place): Promise<string> =>
  JSON.stringify([
    await rows(`SELECT value FROM bylaw_meta WHERE name = 'layout'`),
    await rows('SELECT id, shape, revision, doc, hidden FROM people ORDER BY id'),
  ])

const called = async (t: TestContext, make: (t: TestContext) => Promise<Place>): Promise<Place> => {
  const place = await make(t)
  const api = await loadService(`${cwd}/both.ts`)
  const node = nodeOn(place, api)
  await node.ask('POST', '/v2/people', { full: 'Ann Lee', note: 'n' })
  await node.close()
  await noted(api, place, 'v1')
  return place
}

/** Records a caller of a version. */
async function noted(api: Service, { url }: Place, version: string): Promise<void> {
  const store = await openStoreFor(api, url, 'apply')
  const on = { store, world: serviceWorld(realWorld, store) }
  countVersionUse(on, version, 'shop', Date.now() - 1000)
  await flushUsage(on)
  await store.close()
}

const says = /v1 is not served any more, but it has 1 caller in the last 30 days/

for (const [store, make] of places)
  describe(`R203: a version that has callers and is left out (${store})`, () => {
    test('keeps a service from starting, before anything is changed', async (t) => {
      const place = await called(t, make)
      const before = await content(place)
      const env = { DATABASE_URL: place.url }
      for (const more of [{}, { NODE_ENV: 'production' }]) {
        const { code, stderr } = await run(['serve', 'second.ts', '--port', '0'], { cwd, env: { ...env, ...more } })
        assert.equal(code, 1)
        if (!('NODE_ENV' in more)) assert.match(stderr, says)
        assert.equal(await content(place), before)
      }
      const { stop, url } = await served(['both.ts'], { cwd, env })
      const { data } = (await (await fetch(`${url}/v1/people`)).json()) as { data: Record<string, unknown>[] }
      assert.deepEqual([data[0]?.first, data[0]?.last, data[0]?.text], ['Ann', 'Lee', 'n'])
      assert.equal(await stop(), 0)
    })

    test('keeps a service from starting, even if the clock of its machine is ahead of all their requests', async (t) => {
      const place = await called(t, make)
      const days = 40 * 86_400_000
      const NODE_OPTIONS = `--import=data:text/javascript,const{now}=Date;Date.now=()=>now()+${days}`
      const refused = async () => {
        const { code, stderr } = await run(['serve', 'second.ts', '--port', '0', '--database', place.url], {
          cwd,
          env: { NODE_OPTIONS },
        })
        assert.equal(code, 1)
        assert.match(stderr, says)
      }
      await refused()
      if (store === 'PostgreSQL') return
      await place.rows(`UPDATE bylaw_uses SET last = last - ${days}`)
      await place.rows(`UPDATE bylaw_meta SET value = CAST(value - ${days} AS TEXT) WHERE name IN ('clock', 'certain')`)
      await refused() // as if the clock of the machine were ahead
    })

    test('is left out by no node of the former declaration that starts again between the phases', async (t) => {
      const place = await make(t)
      const old = nodeOn(place, await loadService(`${cwd}/first.ts`))
      t.after(old.close)
      await old.ask('POST', '/people', { text: 'n', first: 'Ann' })
      await alive(place)
      const both = await loadService(`${cwd}/both.ts`)
      await applied(place, both)
      await noted(both, place, 'v2')
      const { stop, url } = await served(['first.ts'], { cwd, env: { DATABASE_URL: place.url } })
      assert.equal((await fetch(`${url}/people`)).status, 200)
      assert.equal(await stop(), 0)
    })

    test('keeps `dev` from serving it, which continues with the former declaration', async (t) => {
      const place = await called(t, make)
      const before = await content(place)
      const own = folder({ 'api.ts': declared(`v1: { released: '2025-01-01' }, ${v2}`, change) })
      const { said, hear, stop } = launch(['dev', 'api.ts', '--port', '0', '--database', place.url], { cwd: own })
      await hear(/Starts again when api\.ts/)
      const [, url = ''] = /^bylaw serves people at (\S+)/.exec(said.stdout) ?? []
      writeFileSync(join(own, 'api.ts'), declared(v2, ''))
      await hear(/Still serving the former declaration\. Waiting for a change\./)
      assert.match(said.stderr, says)
      assert.equal((await fetch(`${url}/v1/people`)).status, 200)
      assert.equal(await content(place), before)
      const from = said.stdout.length
      writeFileSync(
        join(own, 'api.ts'),
        declared(`v1: { released: '2025-01-01', retired: 'all callers have moved' }, ${v2}`, change),
      )
      await hear(/restarted in/, from)
      assert.equal(await stop(), 0)
      const alone = launch(['dev', 'second.ts', '--port', '0', '--database', place.url], { cwd })
      await alone.hear(/Waiting for a change\./)
      assert.match(alone.said.stderr, /v1 is not served any more, but it has 2 callers/)
      await alone.stop()
    })

    test('keeps `migrate apply` from its first step, and `migrate plan` says so', async (t) => {
      const place = await called(t, make)
      const before = await content(place)
      const database = ['--database', place.url]
      const planned = await run(['migrate', 'plan', 'second.ts', ...database], { cwd })
      assert.match(planned.stdout, says)
      const { code, stderr } = await run(['migrate', 'apply', 'second.ts', ...database], { cwd })
      assert.equal(code, 1)
      assert.match(stderr, says)
      assert.equal(await content(place), before)
      const reported = await run(['migrate', 'apply', 'told.ts', ...database], { cwd })
      assert.equal(reported.code, 0, reported.stderr)
    })
  })
