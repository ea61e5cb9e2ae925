/** R238, R162: a service that is killed during an import goes on after its last transaction; no row is lost or doubled. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { places } from '../help/places.ts'
import { startService } from '../help/process.ts'
import { until } from '../help/until.ts'

const folder = mkdtempSync(join(tmpdir(), 'bylaw-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'api.ts')
const house = new URL('../../src/index.ts', import.meta.url).href
writeFileSync(
  file,
  `import { f, service } from '${house}'
export default service({
  name: 'shop',
  events: true,
  resources: {
    orders: {
      prefix: 'ord',
      fields: { number: f.integer({ filter: true }) },
      imports: true,
      exports: true,
      access: 'public',
    },
  },
})
`,
)

const most = 8000
const lines = Array.from({ length: most }, (_, i) => `{"number":${i}}\n`)
const headers = { 'content-type': 'application/x-ndjson', 'idempotency-key': 'all' }

/** Sends a part of an import, and nothing after it. */
function begin(url: string, text: string) {
  const sent = request(`${url}/orders/imports`, { method: 'POST', headers })
  sent.on('error', () => {}).write(text)
  return sent
}

async function total(url: string): Promise<number> {
  const answer = await fetch(`${url}/orders?page_size=1`)
  return ((await answer.json()) as { pagination: { totalRecords: number } }).pagination.totalRecords
}

for (const [name, place] of places)
  describe(`an import on ${name}`, () => {
    test('R238 R162: after kills and broken connections, a repeat with its key creates each line once', async (t) => {
      const { url: database, rows } = await place(t)
      let had = 0
      for (const [from, signal] of [
        [2500, 'SIGKILL'],
        [4500, null],
        [6500, 'SIGKILL'],
      ] as const) {
        const running = await startService(file, { database })
        const sent = begin(running.url, lines.slice(0, from).join(''))
        await until(async () => (await total(running.url)) > had)
        had = await total(running.url)
        if (signal === null) sent.destroy()
        await running.stop(signal ?? 'SIGTERM')
      }
      const running = await startService(file, { database })
      try {
        const repeat = () =>
          fetch(`${running.url}/orders/imports`, { method: 'POST', headers, body: lines.join('') }).then((one) =>
            one.json(),
          )
        const report = await repeat()
        assert.deepEqual(report, { created: most, existing: 0, failed: 0, errors: [] })
        assert.deepEqual(await repeat(), report)
        const exported = await fetch(`${running.url}/orders`, { headers: { accept: 'application/x-ndjson' } })
        const numbers = (await exported.text())
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line).number)
        assert.deepEqual(numbers, [...lines.keys()])
        const [events] = await rows('SELECT count(*) AS n, count(DISTINCT item) AS items FROM bylaw_outbox')
        assert.deepEqual([Number(events?.n), Number(events?.items)], [most, most])
      } finally {
        await running.stop() // before its database is dropped
      }
    })
  })
