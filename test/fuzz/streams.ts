/** Streams of bytes as clients, proxies and attackers send them: requests from a grammar, most of them then made odd. */
import type { random } from './mutate.ts'

type Random = ReturnType<typeof random>

const pick = <T>(next: Random, all: readonly T[]): T => all[next(all.length)] as T

const methods = [
  'GET',
  'GET',
  'POST',
  'POST',
  'PUT',
  'HEAD',
  'DELETE',
  'OPTIONS',
  'PATCH',
  'QUERY',
  'CONNECT',
  'FOO',
  'get',
  'M-SEARCH',
  'PRI',
]
const targets = [
  '/',
  '/a?b=c',
  '/unread',
  '*',
  'http://b.example/x',
  'http://b.example',
  'a:1',
  '/%zz',
  '/a#b',
  `/${'x'.repeat(1100)}`,
  '/[x]',
]
const versions = [
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/2.0',
  'HTTP/0.9',
  'HTTP/1.2',
  'http/1.1',
  'HTTP/11',
]
const hosts = ['Host: a', 'Host: a', 'Host: a', 'Host: a', 'Host: a:80', 'host: b', 'Host: a, b', '']
const lines = [
  'Accept: */*',
  'Accept: a',
  'X: y',
  'X:y',
  'X: \t y \t',
  'X:',
  'Cookie: a=b',
  'Cookie: c=d',
  'Content-Type: a/b',
  'Content-Type: c/d',
  'Connection: close',
  'Connection: keep-alive',
  'Connection: close, keep-alive',
  'Connection: Upgrade',
  'Connection: x, CLOSE',
  'Upgrade: h2c',
  'Upgrade: websocket',
  'Expect: 100-continue',
  'Expect: x',
  'Keep-Alive: timeout=5',
  'Proxy-Connection: close',
  'Request-Id: r',
  'Trailer: X',
  'TE: trailers',
  'Date: x',
  'Referer: /',
  'If-Match: "a"',
  'If-Match: "b"',
  `X-Long: ${'y'.repeat(900)}`,
]
/** Lines that end or blur a message for some readers. */
const odd = [
  ' X: y',
  '\tX: y',
  'X : y',
  'X\t: y',
  ': y',
  'X',
  'X y: z',
  'X: a\rb',
  'X: a\nb',
  'X: \0',
  'X: \x7f',
  'X: \xe9',
  'X\xe9: a',
  'X: a\r\n b',
  'X: a\r\n\tb',
  '__proto__: a',
  'constructor: a',
  'Content-Length: 0',
  'Content-Length: 3',
  'Content-Length: +3',
  'Content-Length: 3 ',
  'Content-Length: 3, 3',
  'Content-Length: 3 3',
  'Content-Length: 0x3',
  'Content-Length: 03',
  'Content-Length: -1',
  'Content-Length: ',
  'Content-Length: 99999999999999999999999',
  'Content_Length: 3',
  'Content-Length\0: 3',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: Chunked',
  'Transfer-Encoding:\tchunked',
  'Transfer-Encoding: chunked ',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding: identity, chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: identity',
  'Transfer-Encoding: ',
  'Transfer-Encoding: chunked;a=b',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding\r\n: chunked',
  'Transfer-Encoding:\r\n chunked',
  'Transfer_Encoding: chunked',
  ' Transfer-Encoding: chunked',
  'X: a\nTransfer-Encoding: chunked',
  'X: a\rTransfer-Encoding: chunked',
]
const bytes = [
  '\0',
  '\t',
  '\n',
  '\v',
  '\r',
  '\r\n',
  '\r\n\r\n',
  '\n\n',
  ' ',
  ':',
  ';',
  '0',
  'f',
  '\x7f',
  '\x80',
  '\xff',
  '"',
  ',',
  '0\r\n\r\n',
  '1\r\nx\r\n',
  'GET / HTTP/1.1\r\nHost: c\r\n\r\n',
]
const sizes = [
  '0',
  '00',
  '000',
  '1 ',
  ' 1',
  '1;a',
  '1;a=b',
  '1;a="b"',
  '1;a="b\\"c"',
  '1; a=b',
  '1;',
  '1;a=',
  '1 ;a',
  '+1',
  '-1',
  '0x1',
  '1\n',
  'ffffffffffffffff',
  '00000000000000001',
  'g',
  '',
  '1;a=b;c',
  '1;\x01',
  `1;${'a'.repeat(300)}`,
]
const trailers = [
  'X: y',
  'Content-Length: 5',
  'Transfer-Encoding: chunked',
  'Host: z',
  ' X: y',
  'X',
  'X: \0',
  ...odd.slice(0, 12),
]

const some = (next: Random, most: number): number[] => Array.from({ length: next(most + 1) }, (_, i) => i)

function chunked(next: Random): string {
  let text = ''
  for (const _ of some(next, 3)) {
    const content = 'abcdefghijklmnopqrstuvwxyz'.slice(0, 1 + next(26))
    const size = next(4) === 0 ? pick(next, sizes) : content.length.toString(16) + (next(4) === 0 ? ';ext=1' : '')
    text += `${size}\r\n${/^1(?![\da-f])/.test(size) ? 'x' : content}\r\n`
  }
  const last = next(6) === 0 ? pick(next, sizes) : '0'
  const ended = some(next, 2).map(() => (next(3) === 0 ? `${pick(next, trailers)}\r\n` : ''))
  return `${text}${last}\r\n${ended.join('')}\r\n`
}

function request(next: Random): string {
  const usual = next(3) > 0
  const method = usual ? pick(next, methods.slice(0, 10)) : pick(next, methods)
  const head = [
    `${method} ${usual ? pick(next, targets.slice(0, 5)) : pick(next, targets)} ${usual ? pick(next, versions.slice(0, 5)) : pick(next, versions)}`,
  ]
  head.push(usual ? 'Host: a' : pick(next, hosts))
  for (const _ of some(next, 4)) head.push(pick(next, lines))
  if (!usual) for (const _ of some(next, 2)) head.push(pick(next, odd))
  let body = ''
  const framing = next(6)
  if (framing < 2) {
    body = 'abcdefghij'.slice(0, next(11))
    head.push(`Content-Length: ${body.length}`)
  } else if (framing < 4) {
    body = chunked(next)
    head.push('Transfer-Encoding: chunked')
  } else if (framing === 4 && !usual) body = pick(next, bytes)
  if (next(2) === 0) head.push(head.splice(1 + next(head.length - 1), 1)[0] as string)
  return `${head.filter((line) => line !== '').join('\r\n')}\r\n\r\n${body}`
}

function mutated(text: string, next: Random): string {
  const at = next(text.length + 1)
  switch (next(6)) {
    case 0:
      return text.slice(0, at) + pick(next, bytes) + text.slice(at)
    case 1:
      return text.slice(0, at) + pick(next, bytes) + text.slice(at + 1 + next(3))
    case 2:
      return text.slice(0, at) + text.slice(at + 1 + next(8))
    case 3:
      return text.slice(0, at) + String.fromCharCode(next(256)) + text.slice(at + 1)
    case 4:
      return text.slice(0, at + next(20)) + text.slice(at)
    default:
      return text.slice(0, at)
  }
}

/** One to three requests; half of the streams are then changed at one or two places. */
export function stream(next: Random): string {
  let text = request(next)
  for (const _ of some(next, 2)) text += next(8) === 0 ? `\r\n${request(next)}` : request(next)
  if (next(2) === 0) for (const _ of [0, ...some(next, 1)]) text = mutated(text, next)
  return text
}
