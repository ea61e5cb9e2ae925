/** A rolling upgrade of states in which nodes are killed: nothing waits for ever, and `migrate status` says what to do. R220, R225. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { folder, launch, post, run, served } from '../help/command.ts'
import { places } from '../help/places.ts'

const api = (transitions: string, fields: string) => `import { count, f, service } from 'bylaw'

export default service({
  name: 'shop',
  resources: {
    orders: {
      prefix: 'ord',
      fields: { ${fields} },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: { placements: { from: ['draft'], to: 'placed' }, ${transitions} },
      },
      access: 'public',
    },
    lines: { prefix: 'lin', parent: 'orders', fields: { text: f.text() }, access: 'public' },
  },
})
`
const cwd = folder({
  'old.ts': api('', ''),
  'new.ts': api("shipments: { from: ['placed'], to: 'shipped' }", "lineCount: f.integer({ derived: count('lines') })"),
})
const env = { NODE_ENV: 'production' }

for (const [name, make] of places)
  describe(`killed nodes (${name})`, () => {
    test('hold up the second phase only until they count as stopped', async (t) => {
      const place = await make(t)
      const database = ['--database', place.url]
      const migrate = (action: string, file: string) => run(['migrate', action, file, ...database], { cwd, env })
      await migrate('apply', 'old.ts')
      const old = await served(['old.ts', ...database], { cwd, env })
      const { id } = (await post(`${old.url}/orders`, {})).json
      const lines = `/orders/${id}/lines`
      const writes = Array.from({ length: 20 }, (_, i) => post(`${old.url}${lines}`, { text: `${i}` }))
      await writes[0]
      old.child.kill('SIGKILL')
      await Promise.allSettled(writes)
      await old.end()
      const isSeen = () => place.rows(`UPDATE bylaw_nodes SET seen = ${place.now}`) // on a slow machine it would count as stopped
      await isSeen()
      const waits = await migrate('apply', 'new.ts')
      assert.equal(waits.code, 2)
      assert.match(waits.stdout, /These nodes run the former declaration: \S+:\d+\. .* counts as stopped 30 seconds/)
      await isSeen()
      const status = await migrate('status', 'new.ts')
      assert.equal(status.code, 1)
      assert.match(status.stdout, /wait for nodes of the former declaration: \S+:\d+ \(reported \d+ seconds ago\)\./)
      assert.match(status.stdout, /killed counts as stopped 30 seconds after .* Then run `bylaw migrate apply`/)
      await isSeen()
      const young = await served(['new.ts', ...database], { cwd, env })
      await post(`${young.url}/orders/${id}/placements`, {})
      const early = await fetch(`${young.url}/orders/${id}/shipments`, { method: 'POST' })
      assert.deepEqual([early.status, early.headers.has('retry-after')], [503, true])
      await post(`${young.url}${lines}`, { text: 'new' })
      young.child.kill('SIGKILL')
      await young.end()
      await place.rows('UPDATE bylaw_nodes SET seen = seen - 40000')
      const lost = await migrate('status', 'new.ts')
      assert.match(
        lost.stdout,
        /No node of the former declaration runs; lost: \S+ \(reported \d+ seconds ago\)\. Now run/,
      )
      for (const delay of [600, 1200]) {
        const applying = launch(['migrate', 'apply', 'new.ts', ...database], { cwd, env })
        await setTimeout(delay)
        applying.child.kill('SIGKILL')
        await applying.end()
      }
      if (name === 'PostgreSQL') await place.rows('UPDATE bylaw_leases SET until = 0')
      const applied = await migrate('apply', 'new.ts')
      assert.match(applied.stdout, /is as declared/)
      assert.equal((await migrate('status', 'new.ts')).code, 0)
      const next = await served(['new.ts', ...database], { cwd, env })
      assert.equal((await fetch(`${next.url}/orders/${id}/shipments`, { method: 'POST' })).status, 200)
      const { lineCount } = (await (await fetch(`${next.url}/orders/${id}`)).json()) as { lineCount: number }
      const [{ found } = {}] = await place.rows('SELECT count(*) AS found FROM lines')
      assert.ok(lineCount >= 2)
      assert.equal(lineCount, Number(found))
      assert.equal(await next.stop(), 0)
    })
  })
