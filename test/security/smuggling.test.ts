/** Smuggled requests, on both engines: the hidden request must not be served. R18. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type EchoServer, echoServers, type Seen, type SeenRequest } from '../fuzz/echo.ts'
import { chunked, early, length, post, read, refused, releases } from './smuggled.ts'

const request = (seen: Seen | undefined): SeenRequest => {
  assert.ok(seen?.saw, JSON.stringify(seen))
  return seen.saw as SeenRequest
}

/** A stream as a whole, byte by byte, and cut once at some places. */
function* cuts(bytes: string): Generator<readonly Buffer[]> {
  const all = Buffer.from(bytes, 'latin1')
  yield [all]
  yield Array.from(all, (byte) => Buffer.of(byte))
  for (let at = 1; at < all.length; at += 7) yield [all.subarray(0, at), all.subarray(at)]
}

for (const engine of ['node', 'own'] as const)
  describe(`smuggled requests (${engine})`, () => {
    let server: EchoServer
    let all: Awaited<ReturnType<typeof echoServers>>
    before(async () => {
      all = await echoServers()
      server = all[engine]
    })
    after(() => {
      for (const one of [all.node, all.own]) one.close()
      assert.deepEqual(server.errors, [])
    })

    async function neverSeen(bytes: string): Promise<void> {
      for (const pieces of cuts(bytes)) {
        const seen = await server.converse(pieces)
        const about = `${JSON.stringify(bytes)} in ${pieces.length} pieces: ${JSON.stringify(seen)}`
        assert.equal(seen.length, 1, about)
        assert.ok((seen[0] as Seen).status >= 400 && (seen[0] as Seen).closes, about)
      }
    }
    for (const [title, messages] of Object.entries(refused))
      it(`R18: ${title}`, async () => {
        for (const bytes of messages) await neverSeen(bytes)
      })
    for (const [title, bytes] of Object.entries(releases)) it(`R18: ${title}`, () => neverSeen(bytes))

    for (const [title, messages] of Object.entries(read))
      it(`R18: ${title}`, async () => {
        for (const [bytes, content] of messages)
          for (const pieces of cuts(`${bytes}GET /next HTTP/1.1\r\nHost: a\r\n\r\n`)) {
            const seen = await server.converse(pieces)
            const about = `${JSON.stringify(bytes)} in ${pieces.length} pieces: ${JSON.stringify(seen)}`
            assert.equal(request(seen[0]).content, content, about)
            // node:http loses what arrives with a request for an upgrade, so that its connection is closed.
            if (!(engine === 'node' && seen[0]?.closes && bytes.includes('Upgrade: ')))
              assert.deepEqual([seen.length, request(seen[1]).target], [2, '/next'], about)
          }
      })

    for (const [title, messages] of Object.entries(early))
      it(`R18: ${title}`, async () => {
        for (const [head, content] of messages) {
          const streams = [...cuts(head + content), [Buffer.from(head, 'latin1'), Buffer.from(content, 'latin1')]]
          for (const pieces of streams) {
            const next = Buffer.from('GET /next HTTP/1.1\r\nHost: a\r\n\r\n')
            const [first, ...rest] = await server.converse([...pieces, next], true)
            const about = `${JSON.stringify(head)} in ${pieces.length} pieces: ${JSON.stringify([first, ...rest])}`
            assert.ok((first?.status ?? 0) >= 200, about)
            if (!first?.closes)
              assert.deepEqual(
                rest.map((one) => request(one).target),
                ['/next'],
                about,
              )
            else assert.equal(rest.length, 0, about)
          }
        }
      })

    it('R18: CVE-2019-15606: spaces after a value are not part of it', async () => {
      const [seen] = await server.converse([Buffer.from(post(['X: y \t '], '', 'GET / HTTP/1.1'))])
      assert.equal(request(seen).headers.x, 'y')
    })
    it('R179: CVE-2018-12121: heads of more than the limit are refused before they are complete', async () => {
      const head = `GET / HTTP/1.1\r\nHost: a\r\n${`X: ${'y'.repeat(50)}\r\n`.repeat(200)}`
      for (const pieces of cuts(head).take(2))
        assert.deepEqual((await server.converse(pieces))[0]?.type, 'header-fields-too-large')
    })
    it('R179: CVE-2024-22019: chunk extensions are limited', async () => {
      const chunk = `1;${'a'.repeat(1000)}\r\nx\r\n`
      for (const rest of [chunk.repeat(20), `1;${'a'.repeat(20_000)}`])
        assert.equal((await server.converse([Buffer.from(post([chunked], rest))]))[0]?.status, 400)
    })
    it('R18: CVE-2026-21710: a header called __proto__ or constructor is one like others', async () => {
      const lines = ['__proto__: a', 'constructor: b', 'toString: c']
      const [seen] = await server.converse([Buffer.from(post(lines, '', 'GET / HTTP/1.1'))])
      const { headers, raw } = request(seen)
      assert.deepEqual([headers.constructor, headers.tostring], ['b', 'c'])
      assert.deepEqual(raw.slice(-6), ['__proto__', 'a', 'constructor', 'b', 'toString', 'c'])
    })
    it('R179: CVE-2026-58044: no line is left out, and more than allowed are refused', async () => {
      const lines = Array.from({ length: 98 }, (_, i) => `X${i}: y`)
      const sent = (more: readonly string[]) => server.converse([Buffer.from(post([...lines, ...more], 'x'))])
      const [seen] = await sent([length(1)])
      assert.deepEqual([request(seen).content, request(seen).raw.length], ['x', 200])
      assert.equal((await sent(['X98: y', length(1)]))[0]?.type, 'header-fields-too-large')
    })
  })
