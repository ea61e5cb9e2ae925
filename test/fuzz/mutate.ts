/** Seeds and mutations: raw requests, query strings, bodies, cursors and headers, made odd. */

/** Pseudo-random numbers from a seed. */
export function random(seed: number): (below: number) => number {
  let state = seed >>> 0 || 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

type Random = ReturnType<typeof random>

const request = (line: string, headers: string, body = ''): string =>
  `${line} HTTP/1.1\r\nHost: localhost\r\n${headers}${body === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`}\r\n${body}`

/** Values from answers of the service. */
interface Given {
  readonly ids: Readonly<Record<'cus' | 'ord' | 'lin' | 'whs', string>>
  readonly cursor: string
  readonly etag: string
}

/** Valid requests of every kind. */
export function seeds({ ids, cursor, etag }: Given): string[] {
  const customer =
    '{"name":"Ann","email":"ann@example.com","country":"IT","tags":["a","b"],"metadata":{"k":"v"},"address":{"street":"s","city":"c"}}'
  const order = `{"customerId":"${ids.cus}","currency":"EUR","total":"10.50","priority":"high","paid":true,"dueOn":"2026-11-20","serial":"42","window":"2026-01-01T00:00:00Z/P1M","patience":"PT5M"}`
  return [
    request('GET /customers', 'Accept: application/json, */*;q=0.1\r\n'),
    request('GET /customers?sort=name&order=desc&nulls=first&limit=3&name[like]=a%25&country=in:(IT,%20"DE")', ''),
    request(
      'GET /orders?total[gte]=1.00&total[lte]=20&priority=high&paid=false&dueOn[null]=true&page=1&page_size=5',
      '',
    ),
    request(`GET /customers?cursor=${cursor}&limit=2`, 'If-None-Match: "abc", W/"def"\r\n'),
    request(`GET /customers?cursor=${cursor}`, ''),
    request(`GET /customers?limit=3&cursor=${cursor.slice(0, 20)}`, ''),
    request(`GET /customers/${ids.cus}`, `If-None-Match: ${etag}\r\nAccept-Encoding: zstd, gzip;q=0.5, *;q=0\r\n`),
    request(`PATCH /customers/${ids.cus}`, `If-Match: ${etag}, "x", W/"y"\r\n`, '{"note":"n"}'),
    request(`DELETE /customers/${ids.cus}0`, `If-None-Match: W/${etag}\r\nIf-Match: *\r\n`),
    request('POST /customers', 'Idempotency-Key: "key-1"\r\n', customer),
    request('POST /orders', 'Idempotency-Key: key-2\r\n', `${order.slice(0, -1)},"idempotencyKey":"key-2"}`),
    request('POST /orders', 'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n', order),
    request(`GET /orders/${ids.ord}`, 'If-None-Match: *\r\nAccept-Encoding: br, gzip;q=0.5\r\n'),
    request(`GET /orders/${ids.ord}/order-lines?offset=0&limit=10`, ''),
    request(`HEAD /customers/${ids.cus}`, 'If-Modified-Since: Fri, 20 Nov 2026 09:04:00 GMT\r\n'),
    request('OPTIONS *', ''),
    request('OPTIONS /orders', 'Origin: https://a.example\r\n'),
    request('POST /customers', 'Prefer: return=minimal\r\nRequest-Id: fuzz-1\r\n', customer),
    request('POST /orders', 'Content-Encoding: identity\r\n', order),
    request(`POST /orders/${ids.ord}/order-lines`, '', '{"description":"x","quantity":3,"unitPrice":"1.20"}'),
    request(`PUT /customers/${ids.cus}`, 'If-Match: "1-1-000000"\r\n', customer),
    request(`PATCH /customers/${ids.cus}`, '', '{"note":null,"metadata":{"k":null,"n":"m"},"address":{"zip":"1"}}'),
    request(`PUT /warehouses/${ids.whs}/slots/17`, 'Expect: 100-continue\r\n', '{"capacity":5}'),
    request(`DELETE /warehouses/${ids.whs}/slots/9`, 'If-Unmodified-Since: Fri, 20 Nov 2026 09:04:00 GMT\r\n'),
    request('GET http://localhost/customers', ''),
    'POST /customers HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"nam\r\n9\r\ne":"Ann"}\r\n0\r\n\r\n',
    request('GET /healthz', '') + request('GET /readyz', ''),
  ]
}

/** Texts that have broken services before. */
const odd = [
  '\0',
  '\r\n',
  '\n',
  '\r',
  ' ',
  '\t',
  '%',
  '%00',
  '%FF',
  '%2F',
  '%2e%2e',
  '../',
  '//',
  '?',
  '#',
  '&',
  '=',
  '[',
  ']',
  '[gte]',
  '[like]=',
  '[null]=',
  'in:(',
  '")',
  '\\',
  '\\u0000',
  '\\ud800',
  '"',
  "'",
  ';',
  ',',
  ':',
  '{',
  '}',
  '[[[[',
  '{"a":',
  'null',
  'true',
  '-0',
  '1e400',
  '9007199254740993',
  '0.1e-9',
  '\u{1F600}',
  'é',
  '\x80',
  '\xff',
  '__proto__',
  'constructor',
  'toString',
  'Content-Length: 5\r\n',
  'Content-Length: -1\r\n',
  'Content-Length: 5, 5\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: identity\r\n',
  'Host: b\r\n',
  'Expect: 200-ok\r\n',
  'Content-Type: text/plain\r\n',
  'Content-Encoding: gzip\r\n',
  'Accept: application/xml\r\n',
  'If-Match: *\r\n',
  'If-None-Match: "x\r\n',
  'If-Match: "1-1-000000+gzip"\r\n',
  'If-Unmodified-Since: 0\r\n',
  'Idempotency-Key: k\r\n',
  'Accept-Encoding: identity;q=0, foo\r\n',
  '+gzip"',
  'W/"',
  'Connection: close\r\n',
  'Upgrade: h2c\r\n',
  'version: v9\r\n',
  'sort=',
  'page=',
  'cursor=',
  'limit=0',
  'page=99999999999',
  'HTTP/1.0',
  'HTTP/2.0',
  'TRACE',
  'CONNECT',
  'FOO',
  'access_token=x',
]

export function mutate(seed: string, other: string, random: Random): string {
  let text = seed
  for (let rounds = 1 + random(4); rounds > 0; rounds--) text = once(text, other, random)
  return text.slice(0, 60_000)
}

function once(text: string, other: string, random: Random): string {
  const at = random(text.length + 1)
  const to = at + random(12)
  switch (random(8)) {
    case 0:
      return text.slice(0, at) + odd[random(odd.length)] + text.slice(at)
    case 1:
      return text.slice(0, at) + odd[random(odd.length)] + text.slice(to)
    case 2:
      return text.slice(0, at) + text.slice(to)
    case 3:
      return text.slice(0, to) + text.slice(at)
    case 4:
      return text.slice(0, at) + String.fromCharCode(random(256)) + text.slice(at + 1)
    case 5:
      return text.slice(0, at) + other.slice(random(other.length))
    case 6:
      return text.slice(0, at) + (odd[random(odd.length)] as string).repeat(1 + random(200)) + text.slice(at)
    default:
      return text.slice(0, at)
  }
}
