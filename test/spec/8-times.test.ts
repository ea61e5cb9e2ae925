/** Part 8 of the contract: time limits of requests: to arrive, to be handled, and for the answer to be read. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after } from 'node:test'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'
import { answers, converse, message } from '../help/wire.ts'

const access = 'public'
const fields = { text: f.text({ max: 10_000, filter: 'like' }) }
const notes = { notes: { prefix: 'not', plural: true, fields, access } } as const
const limits = { headersTimeout: 'PT1S', requestTimeout: 'PT1S', idleTimeout: 'PT1S', writeTimeout: 'PT1S' }

const brisk = service({
  name: 'brisk',
  resources: { ...notes, walls: { prefix: 'wal', fields, access, settings: { list: { maxPageSize: 1000 } } } },
  settings: { limits },
})
const hasty = service({ name: 'hasty', resources: notes, settings: { limits: { handlerTimeout: 'PT0.001S' } } })

const folder = mkdtempSync(join(tmpdir(), 'bylaw-'))
const file = join(folder, 'hasty.db')
after(() => rmSync(folder, { recursive: true, force: true }))

/** Adds copies of a row, so many that none of them is found within a millisecond. */
function copyRows(count: number): void {
  const other = new DatabaseSync(file, { timeout: 5000 })
  const names = other
    .prepare(`SELECT name FROM pragma_table_info('notes')`)
    .all()
    .map(({ name }) => `"${name}"`)
  const values = names.map((name) => (name === '"id"' ? `'not_' || hex(randomblob(13))` : name))
  const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})`
  other.exec(`${numbers} INSERT INTO notes (${names}) SELECT ${values} FROM numbers, (SELECT * FROM notes LIMIT 1)`)
  other.close()
}

/** The answer to an incomplete request, until the connection ends. */
function unfinished(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => socket.write(bytes))
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.on('end', () => socket.end())
    socket.on('error', reject)
    socket.on('close', () => resolve(text))
  })
}

doors(
  'times on the wire',
  brisk,
  (door) => {
    spec('R180', 'a request that does not arrive completely in time is answered 408 and closed', async () => {
      const whole = message('POST /notes', ['Content-Type: application/json'], '{"text":"a"}')
      const chunked =
        'POST /notes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"tex\r\n'
      const before = (await door.send('GET', '/notes')).json.pagination.totalRecords
      const cut = ['GET /no', 'GET /notes HTTP/1.1\r\nHost: loc', whole.slice(0, -3), chunked]
      const texts = await Promise.all(cut.map((bytes) => unfinished(door.port, bytes)))
      for (const [i, text] of texts.entries()) {
        const [reported, ...more] = answers(text)
        assert.deepEqual(
          [reported?.status, reported?.json.type, reported?.headers.connection],
          [408, 'request-timeout', 'close'],
          `${cut[i]}`,
        )
        assert.equal(reported?.headers['cache-control'], 'no-store')
        assert.ok(reported?.headers['request-id'])
        assert.equal(more.length, 0)
      }
      assert.equal((await door.send('GET', '/notes')).json.pagination.totalRecords, before)
    })

    spec('R180', 'earlier requests on the connection are answered first', async () => {
      const text = await unfinished(door.port, `${message('GET /notes')}GET /notes HTTP/1.1\r\nHo`)
      assert.deepEqual(
        answers(text).map(({ status }) => status),
        [200, 408],
      )
    })

    spec('R180', 'a connection without a request is closed without an answer', async () => {
      assert.deepEqual(
        answers(await unfinished(door.port, message('GET /healthz'))).map(({ status }) => status),
        [200],
      )
    })

    spec('R180', 'a client that does not read the answer is disconnected', async () => {
      const text = 'x'.repeat(10_000)
      for (let i = 0; i < 40; i++)
        await Promise.all(Array.from({ length: 25 }, () => door.send('POST', '/walls', { json: { text } })))
      const socket = connect({ port: door.port, host: '127.0.0.1' })
      socket.pause()
      const closed = new Promise((resolve) => socket.on('close', resolve).on('error', () => {}))
      socket.write(message('GET /walls?limit=1000'))
      await new Promise((resolve) => setTimeout(resolve, 5000))
      socket.resume()
      let length = 0
      socket.on('data', (chunk) => {
        length += chunk.length
      })
      await closed
      assert.ok(length < 10_000_000, `${length} bytes came`)
      assert.equal((await door.send('GET', '/walls?limit=1000')).json.data.length, 1000)
      const slowly = await converse(door.port, [message('GET /walls?limit=1000', ['Connection: close'])])
      assert.equal(answers(slowly)[0]?.json.data.length, 1000)
    })
  },
  { socketOnly: true },
)

doors(
  'times of handling',
  hasty,
  (door) => {
    spec('R180', 'a list that takes too long is ended with 503, and other requests continue', async () => {
      const { headers } = await door.send('POST', '/notes', { json: { text: 'a' } })
      copyRows(20_000)
      for (let i = 0; i < 3; i++) {
        const answer = await door.send('GET', '/notes?text[like]=%25b%25')
        assert.deepEqual([answer.status, answer.json.type], [503, 'timeout'])
        assert.deepEqual(answer.json.types, ['timeout', 'unavailable', 'server-error', 'error'])
        assert.match(answer.headers['retry-after'] ?? '', /^[1-9]\d*$/)
        assert.equal((await door.send('GET', headers.location as string)).status, 200)
      }
    })

    spec('R180', 'a write that waits too long for another process ends with 503', async () => {
      const other = new DatabaseSync(file, { timeout: 5000 })
      other.exec('BEGIN IMMEDIATE')
      const answer = await door.send('POST', '/notes', { json: { text: 'b' } })
      other.exec('ROLLBACK')
      other.close()
      assert.deepEqual([answer.status, answer.json.types.at(-2)], [503, 'server-error'])
      assert.match(answer.headers['retry-after'] ?? '', /^[1-9]\d*$/)
      assert.equal((await door.send('POST', '/notes', { json: { text: 'c' } })).status, 201)
    })
  },
  { database: `sqlite:${file}` },
)
