/** Part 1 of the contract, requests: several messages on one connection, and where contents begin and end. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'
import { answers, converse, head, message, type RawAnswer, unload } from '../help/wire.ts'

const fields = { name: f.text() }

const depot = service({ name: 'depot', resources: { crates: { prefix: 'crt', fields, access: 'public' } } })
const draining = service({
  name: 'draining',
  resources: { crates: { prefix: 'crt', fields, access: 'public' } },
  settings: { body: { onBodyless: 'ignore' }, limits: { body: 1000 } },
})

const json = 'Content-Type: application/json'
const chunked = 'Transfer-Encoding: chunked'
const closing = 'Connection: close'
const body = '{"name":"A"}'
const create = message('POST /crates', [json], body)
const pathOf = (digit: number) => `/crates/crt_${String(digit).padStart(26, '0')}`

const spoken = async (door: Door, ...parts: string[]): Promise<RawAnswer[]> => answers(await converse(door.port, parts))
const statuses = (reported: readonly RawAnswer[]): number[] => reported.map(({ status }) => status)
const count = async (door: Door): Promise<number> =>
  (await door.send('GET', '/crates')).json.pagination.totalRecords as number

/** Asserts a refusal: one answer with this status, then the connection is closed; later requests on it are not handled. */
async function nothingDone(door: Door, bytes: string, status = 400, type = 'malformed-request'): Promise<void> {
  const before = await count(door)
  const reported = await spoken(door, bytes + create)
  const about = `${bytes.slice(0, 300)}\n${reported.map(({ text }) => text).join('\n')}`
  assert.deepEqual(statuses(reported), [status], about)
  assert.equal(reported[0]?.json.type, type, about)
  assert.equal(reported[0]?.headers.connection, 'close', about)
  assert.equal(await count(door), before, about)
}

doors(
  'lengths on the wire',
  depot,
  (door) => {
    const post = (...lines: string[]) => head('POST /crates HTTP/1.1', 'Host: localhost', json, ...lines)
    spec('R18', 'two lengths are 400, and later requests on the connection are not carried out', async () => {
      await nothingDone(door, `${post('Content-Length: 1', chunked)}0\r\n\r\n`)
      await nothingDone(door, `${post(chunked, 'Content-Length: 1')}0\r\n\r\n`)
      await nothingDone(door, post('Content-Length: 12', 'Content-Length: 13') + body)
      await nothingDone(door, post('Content-Length: 12', 'Content-Length: 12') + body)
      await nothingDone(door, post('Content-Length: 12, 12') + body)
    })
    spec('R18', 'a length that is not a number of bytes is 400', async () => {
      for (const length of ['', '+12', '-12', '12.0', '0xC', '1 2', 'twelve', '9'.repeat(30)])
        await nothingDone(door, post(`Content-Length: ${length}`) + body)
    })
    spec('R18', 'Transfer-Encoding is exactly chunked, in HTTP/1.1', async () => {
      const content = `c\r\n${body}\r\n0\r\n\r\n`
      const wrong = ['identity, chunked', 'gzip, chunked', 'chunked, chunked', 'chunked, identity', 'identity', 'gzip']
      for (const coding of [...wrong, 'xchunked', 'chunked;q=1', '"chunked"', ''])
        await nothingDone(door, post(`Transfer-Encoding: ${coding}`) + content)
      await nothingDone(door, post(chunked, 'Transfer-Encoding: identity') + content)
      await nothingDone(door, post('Transfer-Encoding : chunked') + content)
      await nothingDone(door, head('POST /crates HTTP/1.0', json, chunked) + content)
      for (const coding of ['chunked', 'CHUNKED', '\tchunked '])
        assert.deepEqual(statuses(await spoken(door, post(`Transfer-Encoding: ${coding}`) + content)), [201])
    })
    spec('R18', 'a header line that two readers may read differently is 400', async () => {
      const odd = ['X: a\r\n b', 'X y: a', 'Xy', ': a', ' X: a', 'X: a\rb', 'X: a\u0000', 'X: a\u0001', 'X\u00e9: a']
      for (const line of odd) await nothingDone(door, post('Content-Length: 12', line) + body)
      await nothingDone(door, 'POST /crates HTTP/1.1\nHost: localhost\n\n')
    })
    spec('R18', 'malformed chunks are 400, and nothing of the request is carried out', async () => {
      for (const chunk of ['zz\r\n', '-1\r\n', `${'f'.repeat(20)}\r\n`, 'c\r\ntoo much content', '\r\n'])
        await nothingDone(door, `${post(chunked)}c\r\n${body}\r\n${chunk}`)
      assert.deepEqual(door.errors, [])
    })
    spec('R18', 'content that ends too early is 400, and nothing is carried out', async () => {
      const before = await count(door)
      for (const bytes of [post('Content-Length: 13') + body, `${post(chunked)}c\r\n${body}\r\n`, 'POST /cra', 'P']) {
        const [reported, ...more] = await spoken(door, bytes)
        assert.equal(reported?.status, 400)
        assert.equal(reported?.json.type, 'malformed-request')
        assert.deepEqual(more, [])
      }
      assert.equal(await count(door), before)
      assert.deepEqual(door.errors, [])
    })
  },
  { socketOnly: true },
)

doors(
  'several messages on a connection',
  depot,
  (door) => {
    spec('R18', 'pipelined requests are carried out and answered in their order', async () => {
      const path = pathOf(1)
      const put = (name: string) => message(`PUT ${path}`, [json], JSON.stringify({ name }))
      const get = message(`GET ${path}`)
      const reported = await spoken(door, put('A') + get + put('B') + get + message(`DELETE ${path}`) + get)
      assert.deepEqual(statuses(reported), [201, 200, 200, 200, 204, 410])
      assert.deepEqual(
        reported.slice(0, 4).map(({ json }) => json.name),
        ['A', 'A', 'B', 'B'],
      )
    })
    spec('R18', 'many pipelined requests get as many answers', async () => {
      const reported = await spoken(door, message('GET /crates').repeat(500))
      assert.deepEqual(new Set(statuses(reported)), new Set([200]))
      assert.equal(reported.length, 500)
    })
    spec('R18', 'many requests on some connections do not keep others from being served', async () => {
      const before = door.answered.length
      const bytes = message(`GET ${pathOf(1)}`).repeat(900)
      const many = Array.from({ length: 10 }, () => door.raw(`${bytes}${message('GET /healthz', [closing])}`, 60_000))
      while (door.answered.length < before + 10) await new Promise(setImmediate)
      assert.equal((await door.send('GET', '/healthz')).status, 200)
      assert.ok(door.answered.length - before < 6000, `${door.answered.length - before} were served first`)
      for (const text of await Promise.all(many)) assert.equal(answers(text).length, 901)
    })
    spec('R164', 'a credential in place of the method is not logged', async () => {
      const key = `bylaw_${'aB3'.repeat(17).slice(0, 49)}`
      for (const line of [`${key} /crates HTTP/1.1`, `GET${key} /crates HTTP/1.1`, `A-${key} /crates/${key} HTTP/1.1`])
        assert.match(await door.raw(head(line, 'Host: localhost')), /^HTTP\/1.1 4/)
      const lines = JSON.stringify(door.answered)
      for (let at = 0; at + 12 <= key.length; at++) assert.ok(!lines.includes(key.slice(at, at + 12)), lines)
    })
    spec('R18', 'a refused request with its whole content leaves the connection open', async () => {
      const reported = await spoken(
        door,
        message('POST /crates', ['Content-Type: text/plain'], body) + message('GET /crates'),
      )
      assert.deepEqual(statuses(reported), [415, 200])
    })
    spec('R18', 'a malformed message is answered after the pending answers, as the last one', async () => {
      const good = message(`PUT ${pathOf(2)}`, [json], body)
      const broken = [
        message('GET /crates', ['X y: a']),
        message('FOO /crates'),
        message('GET *'),
        message('CONNECT a:1'),
      ]
      for (const [i, bytes] of broken.entries()) {
        const reported = await spoken(door, good + bytes + message(`DELETE ${pathOf(2)}`))
        assert.deepEqual(statuses(reported), [i === 0 ? 201 : 200, [400, 405, 400, 405][i]], bytes)
        assert.equal(reported[1]?.headers.connection, 'close')
      }
      assert.equal((await door.send('GET', pathOf(2))).status, 200)
    })
    spec('R18', 'requests after a message that closes the connection are not carried out', async () => {
      const before = await count(door)
      const reported = await spoken(door, message('GET /crates', [closing]) + create)
      assert.deepEqual(statuses(reported), [200])
      assert.deepEqual(statuses(await spoken(door, head('GET /crates HTTP/1.0') + create)), [200])
      assert.equal(await count(door), before)
    })
    spec('R18', 'a client that half-closes the connection gets its answer', async () => {
      assert.deepEqual(statuses(await spoken(door, create)), [201])
    })
    spec('R18 R178', 'a client that sends everything first can read an early refusal', async () => {
      const large = Buffer.alloc(12_000_000, 'x')
      const lines = head('POST /crates HTTP/1.1', 'Host: localhost', json, `Content-Length: ${large.length}`)
      const [reported, ...more] = answers(await unload(door.port, lines, large))
      assert.equal(reported?.json.type, 'content-too-large')
      assert.equal(reported?.headers.connection, 'close')
      assert.deepEqual(more, [])
      const [broken] = answers(await unload(door.port, head('GET /crates HTTP/1.1', 'X y: a'), large))
      assert.equal(broken?.json.type, 'malformed-request')
    })
    spec('R178', 'content without an end is refused as soon as it is too large', async () => {
      const chunk = Buffer.from(`186a0\r\n${'x'.repeat(100_000)}\r\n`)
      const lines = head('POST /crates HTTP/1.1', 'Host: localhost', json, chunked)
      const [reported] = answers(await unload(door.port, lines, Buffer.concat(Array(120).fill(chunk))))
      assert.equal(reported?.json.type, 'content-too-large')
      assert.equal(reported?.headers.connection, 'close')
    })
  },
  { socketOnly: true },
)

doors(
  'Expect: 100-continue',
  depot,
  (door) => {
    const waiting = (line: string, ...lines: string[]) =>
      head(`${line} HTTP/1.1`, 'Host: localhost', 'Expect: 100-continue', ...lines)
    spec('R19', '100 Continue is sent when the content is needed', async () => {
      for (const length of ['Content-Length: 12', chunked]) {
        const content = length === chunked ? `c\r\n${body}\r\n0\r\n\r\n` : body
        const reported = await spoken(door, waiting('POST /crates', json, length), content)
        assert.deepEqual(statuses(reported), [100, 201])
      }
    })
    spec('R1 R19', 'every check that needs no content comes before 100 Continue', async () => {
      const length = 'Content-Length: 12'
      const rows: readonly (readonly [string, number, string])[] = [
        [waiting('POST /nope', json, length), 404, 'route-not-found'],
        [waiting('PATCH /crates', json, length), 405, 'method-not-allowed'],
        [waiting('POST /crates', json, length, 'Accept: text/html'), 406, 'not-acceptable'],
        [waiting('POST /crates', length), 415, 'unsupported-media-type'],
        [waiting('POST /crates', json, 'Content-Length: 99999999'), 413, 'content-too-large'],
        [waiting('POST /crates?a=1', json, length), 400, 'invalid-query'],
        [waiting(`PATCH ${pathOf(3)}`, json, length), 404, 'resource-not-found'],
        [waiting(`PUT ${pathOf(3)}`, json, length, 'If-Match: *'), 412, 'precondition-failed'],
        [waiting('POST /crates', json, length, 'If-None-Match: *'), 412, 'precondition-failed'],
        [waiting('GET /crates', length), 400, 'unexpected-body'],
        [waiting('OPTIONS /crates', length), 400, 'unexpected-body'],
      ]
      for (const [bytes, status, type] of rows) {
        const [reported, ...more] = await spoken(door, bytes)
        assert.equal(reported?.status, status, bytes)
        assert.equal(reported?.json.type, type, bytes)
        assert.equal(reported?.headers.connection, 'close', bytes)
        assert.deepEqual(more, [], bytes)
      }
    })
    spec('R19', 'another expectation is 417; HTTP/1.0 ignores Expect', async () => {
      for (const expectation of ['nonsense', '100-continue, nonsense', '200-ok'])
        await nothingDone(
          door,
          head('POST /crates HTTP/1.1', 'Host: localhost', json, 'Content-Length: 12', `Expect: ${expectation}`),
          417,
          'expectation-failed',
        )
      const old = head('POST /crates HTTP/1.0', json, 'Content-Length: 12', 'Expect: 100-continue')
      assert.deepEqual(statuses(await spoken(door, old + body)), [201])
    })
    spec('R16', 'content on GET, HEAD, DELETE and OPTIONS is 400, with a length or in chunks', async () => {
      await door.send('PUT', pathOf(4), { json: { name: 'A' } })
      for (const method of ['GET', 'DELETE', 'OPTIONS']) {
        for (const bytes of [
          message(`${method} ${pathOf(4)}`, [], '{}'),
          `${message(`${method} ${pathOf(4)}`, [chunked])}2\r\n{}\r\n0\r\n\r\n`,
        ]) {
          const [reported] = await spoken(door, bytes)
          assert.equal(reported?.status, 400, bytes)
          assert.equal(reported?.json.type, 'unexpected-body', bytes)
        }
      }
      const [reported] = answers(await converse(door.port, [message('HEAD /crates', [], '{}')]), 1)
      assert.equal(reported?.status, 400)
      assert.equal((await door.send('GET', pathOf(4))).status, 200)
    })
    spec('R16', 'empty content counts as no content', async () => {
      for (const method of ['GET', 'OPTIONS', 'DELETE']) {
        await door.send('PUT', pathOf(5), { json: { name: 'A' } })
        const bare = message(`${method} ${pathOf(5)}`, ['Content-Length: 0', json])
        const empty = `${message(`${method} ${pathOf(6)}`, [chunked])}0\r\n\r\n`
        await door.send('PUT', pathOf(6), { json: { name: 'A' } })
        const done = method === 'GET' ? 200 : 204
        assert.deepEqual(statuses(await spoken(door, bare + empty)), [done, done], method)
      }
    })
  },
  { socketOnly: true },
)

doors(
  'content that is read and dropped',
  draining,
  (door) => {
    spec('R16', 'with body.onBodyless ignore the content of GET, DELETE and OPTIONS is ignored', async () => {
      await door.send('PUT', pathOf(1), { json: { name: 'A' } })
      const reported = await spoken(
        door,
        message(`GET ${pathOf(1)}`, [], '{}') +
          `${message(`OPTIONS ${pathOf(1)}`, [chunked])}2\r\n{}\r\n0\r\n\r\n` +
          message(`DELETE ${pathOf(1)}`, [], '{}') +
          message(`GET ${pathOf(1)}`),
      )
      assert.deepEqual(statuses(reported), [200, 204, 204, 410])
    })
    spec('R16 R178', 'but not beyond the size limit', async () => {
      const [reported] = await spoken(door, message('GET /crates', [], 'x'.repeat(1001)))
      assert.equal(reported?.status, 413)
    })
  },
  { socketOnly: true },
)
