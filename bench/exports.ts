/** `npm run bench:exports -- --rows 10000,100000`: the memory and the speed of exports of short and of long lists. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { cluster } from '../test/help/cluster.ts'
import { startService } from '../test/help/process.ts'

const { values: options } = parseArgs({ options: { rows: { type: 'string', default: '10000,100000' } } })
const counts = options.rows.split(',').map(Number)

const declaration = `import { f, service } from 'bylaw'
export default service({
  name: 'shop',
  resources: {
    orders: {
      prefix: 'ord',
      fields: { status: f.text({ max: 10 }), note: f.text() },
      exports: true,
      access: 'public',
    },
  },
})
`
const at = '2026-01-01T00:00:00.000Z'
const note = 'Some words about an order, as they are written by people who want to be sure that nothing is forgotten.'
/** The statement that inserts rows as the service stores them; `digits` is SQL for the 26 digits of the id. */
const fill = (numbers: string, digits: string): string =>
  `INSERT INTO orders (id, revision, shape, doc, "by_createdAt", "by_updatedAt")
    SELECT 'ord_' || ${digits}, 1, 1,
      '{"id":"ord_' || ${digits} || '","status":"paid","note":"${note}","createdAt":"${at}","updatedAt":"${at}"}', '${at}', '${at}'
    FROM ${numbers}`

const memoryOf = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

/** Exports the list once; describes its speed, and the most memory that the service used meanwhile. */
async function measure(url: string, pid: number, accept: string): Promise<string> {
  let [peak, bytes, lines] = [0, 0, 0]
  const watch = setInterval(() => {
    peak = Math.max(peak, memoryOf(pid))
  }, 20)
  const began = performance.now()
  const answer = await fetch(`${url}/orders`, { headers: { accept } })
  for await (const piece of answer.body as ReadableStream<Uint8Array>) {
    bytes += piece.length
    for (const byte of piece) if (byte === 10) lines++
  }
  clearInterval(watch)
  const seconds = (performance.now() - began) / 1000
  return `${accept}: ${lines} lines, ${(bytes / 1e6).toFixed(1)} MB in ${seconds.toFixed(2)} s, ${Math.round(lines / seconds)} a second, at most ${Math.round(peak)} MB`
}

async function run(store: string, database: string, insert: (rows: number) => Promise<unknown>): Promise<void> {
  for (const rows of counts) {
    const before = await startService(file, { database })
    await before.stop()
    await insert(rows)
    const running = await startService(file, { database })
    console.log(`${store}, ${rows} rows, ${Math.round(memoryOf(running.pid))} MB before`)
    for (const accept of ['application/x-ndjson', 'text/csv', 'application/x-ndjson'])
      console.log(`  ${await measure(running.url, running.pid, accept)}`)
    await running.stop()
  }
}

const folder = mkdtempSync(join(tmpdir(), 'bylaw-exports-'))
const file = join(folder, 'api.ts')
writeFileSync(file, declaration)
try {
  const path = join(folder, 'shop.db')
  await run('SQLite', `sqlite:${path}`, async (rows) => {
    const db = new DatabaseSync(path)
    db.exec('DELETE FROM orders')
    db.exec(
      `WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < ${rows}) ${fill('t', `printf('%026d', n)`)}`,
    )
    db.close()
  })
  const { url, close } = await cluster(['jit=off'])
  await run('PostgreSQL', url, async (rows) => {
    const client = new pg.Client(url)
    await client.connect()
    await client.query('DELETE FROM orders')
    await client.query(fill(`generate_series(1, ${rows}) AS t(n)`, `lpad(n::text, 26, '0')`))
    await client.end()
  })
  await close()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exit(0)
