/**
 * Messages whose length a proxy and the service could read differently, in the forms in which nginx, HAProxy and Envoy were made
 * to forward them, and those of the security releases of Node and llhttp. Each hides a request for /smuggled. R18.
 */

export const hidden = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n'
/** A head with these lines, and what follows it. */
export const post = (lines: readonly string[], rest: string, line = 'POST / HTTP/1.1'): string =>
  `${line}\r\nHost: a\r\n${lines.map((one) => `${one}\r\n`).join('')}\r\n${rest}`
export const length = (bytes: number | string): string => `Content-Length: ${bytes}`
export const chunked = 'Transfer-Encoding: chunked'
const last = '0\r\n\r\n'
const hiddenChunk = `${hidden.length.toString(16)}\r\n${hidden}\r\n${last}`

/** Messages that are refused: nothing after them is read. */
export const refused: Readonly<Record<string, readonly string[]>> = {
  'CL.TE: a proxy reads the length, a server the chunks': [
    post([length(5 + hidden.length), chunked], last + hidden),
    post([chunked, length(5 + hidden.length)], last + hidden),
    post(['content-length: 4', 'transfer-ENCODING: Chunked'], last + hidden),
  ],
  'TE.CL: a proxy reads the chunks, a server the length': [
    post([length(4), chunked], hiddenChunk),
    post([chunked, length(4)], hiddenChunk),
  ],
  'TE.TE: one of them does not know the coding': [
    ...['xchunked', 'chunked, identity', 'identity, chunked', 'chunked, chunked', 'gzip, chunked', 'chunked;q=1'],
    ...[
      '"chunked"',
      'chunked\t',
      'chunked \t ',
      'chunked,',
      ',chunked',
      'chunked\x0b',
      '\x0bchunked',
      'chunk',
      'identity',
      '',
      'chunked x',
      'cow',
    ],
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
export const read: Readonly<Record<string, readonly (readonly [bytes: string, content: string | null])[]>> = {
  'content that looks like a request': [
    [post([length(hidden.length)], hidden), hidden],
    [post([chunked], hiddenChunk), hidden],
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
    [post(['Connection: Transfer-Encoding', chunked], hiddenChunk), hidden],
  ],
  'requests for an upgrade': [
    [post(['Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__', 'Connection: Upgrade'], '', 'GET / HTTP/1.1'), null],
    [post(['Upgrade: websocket', 'Connection: Upgrade'], '', 'GET / HTTP/1.1'), null],
  ],
}

/** A head and its content, of messages that may be answered before the content has arrived; it is never read as a request. */
export const early: Readonly<Record<string, readonly (readonly [head: string, content: string])[]>> = {
  'content that the service does not read': ['GET', 'POST', 'QUERY'].flatMap((method) => [
    [post([length(hidden.length)], '', `${method} /unread HTTP/1.1`), hidden],
    [post([chunked], '', `${method} /unread HTTP/1.1`), hiddenChunk],
  ]),
  'content that waits for an answer': ['/', '/unread'].flatMap((target) =>
    [
      '100-continue',
      '100-Continue ',
      '100-continue, x',
      'x, 100-continue',
      'x 100-continue',
      '100-continuex',
      'x',
      '',
    ].map((expected) => [post([`Expect: ${expected}`, length(hidden.length)], '', `POST ${target} HTTP/1.1`), hidden]),
  ),
  'content of methods that are refused, or have none': ['HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'FOO'].flatMap(
    (method) => [
      [post([length(hidden.length)], '', `${method} / HTTP/1.1`), hidden],
      [post([chunked], '', `${method} / HTTP/1.1`), hiddenChunk],
    ],
  ),
  'content of targets that are refused': ['/%00', '//', '*', 'a:1', 'http://a/', 'http://b/', '/a#b'].map((target) => [
    post([length(hidden.length)], '', `POST ${target} HTTP/1.1`),
    hidden,
  ]),
  'content after HTTP/1.0': ['close', 'keep-alive'].map((kept) => [
    post([`Connection: ${kept}`, length(hidden.length)], '', 'POST /unread HTTP/1.0'),
    hidden,
  ]),
}

/** Security releases about servers of HTTP/1.1 whose messages can be sent; docs/security.md has the others. */
export const releases: Readonly<Record<string, string>> = {
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
