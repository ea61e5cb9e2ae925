/**
 * Requests of HTTP/2 that would be several, or have another length, when a proxy writes them as HTTP/1.1 without a check.
 * Each hides a request for /smuggled. R18.
 */
import { framesOf, type Lines } from './http2.ts'
import { hidden } from './smuggled.ts'

interface Parts {
  readonly method?: string
  readonly path?: string
  readonly authority?: string
  readonly scheme?: string
  readonly lines?: Lines
}
const head = ({ method = 'POST', path = '/', authority = 'a', scheme = 'http', lines = [] }: Parts): Lines => [
  [':method', method],
  [':scheme', scheme],
  [':authority', authority],
  [':path', path],
  ...lines,
]
const last = '0\r\n\r\n'
const hiddenLines = hidden.slice(0, -4) // the proxy adds the end of a line

/** Requests whose content is text that looks like a request. */
const framed: readonly Lines[] = [
  ...['0', '5', '1000', `${hidden.length}`, `+${hidden.length}`, '0, 0', '', 'x'].map(
    (length): Lines => [['content-length', length]],
  ),
  [
    ['content-length', '0'],
    ['content-length', `${hidden.length}`],
  ],
  [
    ['content-length', `${hidden.length}`],
    ['content-length', '0'],
  ],
  [['Content-Length', '0']],
  [['transfer-encoding', 'chunked']],
  [['Transfer-Encoding', 'chunked']],
  [
    ['transfer-encoding', 'chunked'],
    ['content-length', `${last.length + hidden.length}`],
  ],
  [['te', 'chunked']],
  [
    ['connection', 'content-length'],
    ['content-length', `${last.length + hidden.length}`],
  ],
  [
    ['connection', 'transfer-encoding'],
    ['transfer-encoding', 'chunked'],
  ],
  [
    ['upgrade', 'websocket'],
    ['connection', 'upgrade'],
  ],
  [['expect', '100-continue']],
]

/** Texts that end a line, or a head, where they are written without a check. */
const injected = (end: string): readonly string[] => [
  `y${end}Transfer-Encoding: chunked`,
  `y${end}Content-Length: 0`,
  `y${end}${end}${hiddenLines}`,
]
const line = ' HTTP/1.1\r\nHost: a\r\n\r\nGET /smuggled'

const heads: readonly Lines[] = [
  ...['\r\n', '\n', '\r', '\0']
    .flatMap(injected)
    .flatMap((text) => [head({ lines: [['x', text]] }), head({ lines: [[text, 'x']] }), head({ authority: text })]),
  ...injected('\r\n').flatMap((text) => [head({ lines: [['cookie', text]] }), head({ scheme: text })]),
  ...[
    `/${line}`,
    `/ HTTP/1.1\nHost: a\n\nGET /smuggled`,
    '/ HTTP/1.1',
    '/ HTTP/1.0\r\nX:',
    '/\tx',
    '/\0',
    '',
    '*',
    'x',
  ].map((path) => head({ path })),
  ...[`GET /${line}`, `GET /${line} HTTP/1.1\r\nX:`, 'GET /smuggled', 'GET\t/smuggled', 'GET\r\n', '', 'get'].map(
    (method) => head({ method }),
  ),
  ...['http://a/smuggled?', 'http://a/smuggled HTTP/1.1\r\nX:', ''].map((scheme) => head({ scheme })),
  ...['a/smuggled?', 'a b', 'b@a', 'a:1', ''].map((authority) => head({ authority })),
  head({ lines: [['host', 'b']] }),
  ...['x:', 'transfer-encoding: chunked\r\nx', 'x y', ''].map((name) => head({ lines: [[name, 'y']] })),
  [...head({}), [':path', '/other']],
  [['x', 'y'], ...head({})],
  [...head({}), [':smuggled', 'y']],
]
const trailers: readonly Lines[] = [
  [['content-length', `${hidden.length}`]],
  [['transfer-encoding', 'chunked']],
  [['x', `y\r\n\r\n${hiddenLines}`]],
  [[`get /smuggled http/1.1\r\nhost`, 'a']],
  [[':path', '/smuggled']],
]

interface Downgraded {
  /** The frames of one request. */
  readonly frames: readonly Buffer[]
  /** Whether the content is sent after the proxy has forwarded the head. */
  readonly late: boolean
}

export const downgraded: readonly Downgraded[] = [
  ...[{ path: '/unread' }, { method: 'GET' }, { method: 'HEAD' }, {}].flatMap((parts) =>
    framed.flatMap((lines) => [
      { frames: framesOf(head({ ...parts, lines }), hidden), late: false },
      { frames: framesOf(head({ ...parts, lines }), hidden), late: true },
      { frames: framesOf(head({ ...parts, lines }), last + hidden), late: false },
    ]),
  ),
  ...heads.flatMap((lines) => [null, last + hidden].map((text) => ({ frames: framesOf(lines, text), late: false }))),
  ...trailers.map((lines) => ({ frames: framesOf(head({}), 'x', lines), late: false })),
]

/** A request that every proxy forwards, with its content. */
export const plain = { frames: framesOf(head({}), hidden), content: hidden }
