/**
 * Smuggled requests, on both engines: messages whose length a proxy and the service could read differently, in the forms in
 * which nginx, HAProxy and Envoy were made to forward them, and those of the security releases of Node and llhttp. Each
 * hides a request for /smuggled, which must not be served. R18.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type EchoServer, echoServers, type Seen } from '../fuzz/echo.ts'

const hidden = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n'
/** A head with these lines, and what follows it. */
const post = (lines: readonly string[], rest: string, line = 'POST / HTTP/1.1'): string =>
  `${line}\r\nHost: a\r\n${lines.map((one) => `${one}\r\n`).join('')}\r\n${rest}`
const length = (bytes: number | string): string => `Content-Length: ${bytes}`
const chunked = 'Transfer-Encoding: chunked'
const last = '0\r\n\r\n'

/** Messages that are refused: nothing after them is read. */
const refused: Readonly<Record<string, readonly string[]>> = {
  'CL.TE: a proxy reads the length, a server the chunks': [
    post([length(5 + hidden.length), chunked], last + hidden),
    post([chunked, length(5 + hidden.length)], last + hidden),
    post(['content-length: 4', 'transfer-ENCODING: Chunked'], last + hidden),
  ],
  'TE.CL: a proxy reads the chunks, a server the length': [
    post([length(4), chunked], `${hidden.length.toString(16)}\r\n${hidden}\r\n${last}`),
    post([chunked, length(4)], `${hidden.length.toString(16)}\r\n${hidden}\r\n${last}`),
  ],
  'TE.TE: one of them does not know the coding': [
    ...['xchunked', 'chunked, identity', 'identity, chunked', 'chunked, chunked', 'gzip, chunked', 'chunked;q=1'],
    ...['"chunked"', 'chunked,', ',chunked', 'chunked\x0b', '\x0bchunked', 'chunk', 'identity', '', 'chunked x', 'cow'],
  ].map((coding) => post([`Transfer-Encoding: ${coding}`], last + hidden)),
  'TE.TE: one of them does not know the line': [
    ...['Transfer-Encoding : chunked', 'Transfer-Encoding\t: chunked', ' Transfer-Encoding: chunked'],
    ...['Transfer-Encoding\r\n : chunked', 'Transfer-Encoding:\r\n chunked', 'X: y\r\n\tTransfer-Encoding: chunked'],
    ...['X: y\nTransfer-Encoding: chunked', 'X: y\rTransfer-Encoding: chunked', '\rTransfer-Encoding: chunked'],
    ...['Transfer-Encoding\0: chunked', 'Transfer-Encoding: chunked\0', '\x0bTransfer-Encoding: chunked'],
    ...['Transfer-Encod\xefng: chunked', 'Transfer-Encoding', 'Transfer-Encoding chunked', ': chunked'],
  ].map((line) => post([length(last.length), line], last + hidden)),
  'TE twice': [
    post([chunked, chunked], last + hidden),
    post([chunked, 'Transfer-Encoding: identity'], last + hidden),
    post(['Transfer-Encoding: identity', chunked], last + hidden),
  ],
  'CL.CL: one of them reads the first, the other the last': [
    post([length(0), length(hidden.length)], hidden),
    post([length(hidden.length), length(0)], hidden),
    post([length(0), length(0)], hidden),
    post(['Content-Length: 0, 0'], hidden),
    post([length(hidden.length), 'content-length: 0'], hidden),
  ],
  'a length that is read as another number': [
    ...[
      '+0',
      '-0',
      '0x0',
      '0 0',
      '0,',
      ',0',
      '0.0',
      '0e0',
      ' 0\x0b',
      '0\0',
      '٠',
      '0;',
      '"0"',
      '',
      '18446744073709551616',
    ],
  ].map((text) => post([length(text)], hidden)),
  'a length that stands on a folded line': [
    post(['X: y', ` ${length(0)}`], hidden),
    post([length(0), ' 5'], hidden),
    post(['Content-Length:', ' 0'], hidden),
  ],
  'HTTP/1.0 with chunks': [post([chunked], last + hidden, 'POST / HTTP/1.0')],
  'chunk sizes that are read as other numbers': [
    ...[
      '0x0',
      '+0',
      '-0',
      ' 0',
      '0 ',
      '0\t',
      '0,0',
      '',
      'g',
      '\x000',
      '0\x0b',
      '10000000000000000',
      'fffffffffffffffff',
    ],
  ].map((size) => post([chunked], `${size}\r\n\r\n${hidden}`)),
  'chunks that end in another way than CRLF': [
    ...[
      '1\nx\r\n',
      '1\rx\r\n',
      '1\r\nx\n',
      '1\r\nx\r',
      '1\r\nxy\r\n',
      '1\r\nx',
      '1\r\r\nx\r\n',
      '1;\nx\r\n',
      '1;a\nb\r\nx\r\n',
    ],
  ].map((chunk) => post([chunked], `${chunk}${last}${hidden}`)),
  'a last chunk that ends in another way than CRLF': ['0\n\n', '0\r\n\n', '0\n\r\n', '0\r\r', '0\r\n\rX'].map((end) =>
    post([chunked], end + hidden),
  ),
  'trailers that frame the message': [length(hidden.length), chunked].map((line) =>
    post([chunked], `0\r\n${line}\r\n\r\n${hidden}`),
  ),
  'trailers that are no lines': [' X: y', 'X', 'X : y', ': y', 'X: a\nb', 'X: a\rb', 'X: \0'].map((line) =>
    post([chunked], `0\r\n${line}\r\n\r\n${hidden}`),
  ),
  'heads that end in another way than CRLF CRLF': [
    `GET / HTTP/1.1\nHost: a\n\n${hidden}`,
    `GET / HTTP/1.1\r\nHost: a\r\n\n${hidden}`,
    `GET / HTTP/1.1\r\nHost: a\n\r\n${hidden}`,
    `GET / HTTP/1.1\rHost: a\r\r${hidden}`,
    `GET / HTTP/1.1\r\nHost: a\r\n\r${hidden}`,
  ],
  'names and values with characters that are dropped on the way': [
    ...['X\0: y', 'X: \0y', 'X y: z', 'X(: y', 'X\x80: y', 'X\x7f: y', 'X: \x7f', 'X: \x08', 'X@: y', 'X/: y'],
  ].map((line) => post([line], hidden, 'GET / HTTP/1.1')),
  'request lines that are read in two ways': [
    ...[
      'GET /\tHTTP/1.1',
      'GET\t/ HTTP/1.1',
      'GET / HTTP/1.1 ',
      'GET / HTTP/11',
      'GET / HTTP/1.',
      'GET / http/1.1',
      'GET /',
    ],
    ...[
      'GET /\0 HTTP/1.1',
      'GET /\x80 HTTP/1.1',
      ' GET / HTTP/1.1',
      'GET / HTTP/2.0',
      'GET / HTTP/0.9',
      'GET / HTTP/1.2',
    ],
  ].map((line) => post([], hidden, line)),
  'two hosts': [post(['Host: b'], hidden, 'GET / HTTP/1.1'), post(['Host: a, b'], hidden, 'GET / HTTP/1.1')],
}

/** Messages that are read, with their content, and after which the next one is a request of its own. */
const read: Readonly<Record<string, readonly (readonly [bytes: string, content: string | null])[]>> = {
  'content that looks like a request': [
    [post([length(hidden.length)], hidden), hidden],
    [post([chunked], `${hidden.length.toString(16)}\r\n${hidden}\r\n${last}`), hidden],
    [post([length(hidden.length)], hidden, 'GET / HTTP/1.1'), hidden],
  ],
  'chunk extensions and trailers that look like requests': [
    [post([chunked], `1;a="GET /smuggled HTTP/1.1"\r\nx\r\n${last}`), 'x'],
    [post([chunked], '1\r\nx\r\n0\r\nGET: /smuggled\r\nX: HTTP/1.1\r\n\r\n'), 'x'],
    [post([chunked], '00001;a;b=c\r\nx\r\n000;d\r\n\r\n'), 'x'],
  ],
  'spaces around a value, as RFC 9112 has them': [
    [post(['Content-Length:\t 1 \t'], 'x'), 'x'],
    [post(['Transfer-Encoding:chunked'], `1\r\nx\r\n${last}`), 'x'],
  ],
  'names that are like those of a length': [
    [post(['Content_Length: 5', 'Transfer_Encoding: chunked', 'X-Content-Length: 5'], ''), null],
    [post(['Content-Length-: 5', 'XTransfer-Encoding: chunked'], ''), null],
  ],
  'lines that a proxy drops as those of its connection': [
    [post(['Connection: keep-alive, Content-Length', length(hidden.length)], hidden), hidden],
    [post(['Connection: Transfer-Encoding', chunked], `${hidden.length.toString(16)}\r\n${hidden}\r\n${last}`), hidden],
  ],
  'requests for an upgrade': [
    [post(['Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__', 'Connection: Upgrade'], '', 'GET / HTTP/1.1'), null],
    [post(['Upgrade: websocket', 'Connection: Upgrade'], '', 'GET / HTTP/1.1'), null],
  ],
}

/** Security releases about servers of HTTP/1.1 whose messages can be sent; docs/security.md has the others. */
const releases: Readonly<Record<string, string>> = {
  'CVE-2016-2086: a length that is no number': post(['Content-Length: 0abc'], hidden),
  'CVE-2018-7159: spaces in a length': post(['Content-Length: 0 1'], hidden),
  'CVE-2019-15605: a malformed Transfer-Encoding': post(['Transfer-Encoding: chunkedchunked'], last + hidden),
  'CVE-2020-8201: CR in a name is read as a hyphen': post(['Content\rLength: 5', length(0)], hidden),
  'CVE-2020-8287: two lines of Transfer-Encoding': post([chunked, 'Transfer-Encoding: eee'], last + hidden),
  'CVE-2021-22959: a space before the colon': post(['Content-Length : 5', length(0)], hidden),
  'CVE-2021-22960: LF in a chunk extension': post([chunked], `2;\nxx\r\n4c\r\n${last}${hidden}`),
  'CVE-2022-32213: chunked as a part of another coding': post(['Transfer-Encoding: abc-chunked'], last + hidden),
  'CVE-2022-32214: lines that end with LF': post(['X: y\nTransfer-Encoding: chunked'], last + hidden),
  'CVE-2022-32215: Transfer-Encoding on two lines': post(['Transfer-Encoding: chunked', ' , identity'], last + hidden),
  'CVE-2022-35256: lines that do not end with CRLF': post(['X: y\r Transfer-Encoding: chunked'], last + hidden),
  'CVE-2023-30589: CR alone ends an empty line': post(['X:\rTransfer-Encoding: chunked'], last + hidden),
  'CVE-2024-27982: a space before the first line': `GET / HTTP/1.1\r\n Content-Length: 5\r\nHost: a\r\n\r\n${hidden}`,
  'CVE-2025-23167: CR X in place of the empty line': `GET / HTTP/1.1\r\nHost: a\r\n\rX${hidden}`,
}

interface SeenRequest {
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly raw: readonly string[]
  readonly content: string | null
}
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
