/** Requests that a client might send next: conditions, changes, pages, filters, repeats, idempotency keys. */
import {
  base,
  conditionOf,
  doneOf,
  type Headers,
  itemOf,
  json,
  listOf,
  membersOf,
  type Variation,
  type VariationSources,
} from './given.ts'

const accepts = [
  ...[
    'application/json',
    '*/*',
    'application/problem+json',
    'application/xml',
    'text/html;q=0.5, */*;q=0.1',
    'application/*',
  ],
  ...['application/json;q=0', 'application/merge-patch+json', ';;', '', 'application/json; charset=utf-8'],
]
const codings = ['gzip', 'br', 'zstd', 'identity;q=0', 'gzip;q=0.5, br;q=0.9', '*;q=0', 'compress', 'GZIP', '']

function extraOf(given: VariationSources): Headers {
  const { chance } = given
  const extras: (readonly [string, string])[] = [
    ['Accept', chance.one(accepts)],
    ['Accept-Encoding', chance.one(codings)],
    ['Prefer', chance.one(['return=minimal', 'return=representation', 'respond-async', 'return=minimal, wait=1', ''])],
    ['Request-Id', chance.one(['client-1', 'a b', 'x'.repeat(300), '0190163d-8694-739b-aea5-966c26f8ad91'])],
    ['traceparent', chance.one(['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', '00-0-0-00', 'x'])],
    ['Origin', chance.one(['https://app.example.com', 'https://evil.example', 'null'])],
    ['Version', chance.one([...given.versions, 'v9', '', 'V1', 'latest'])],
    ['Client-Features', chance.one(['states', 'refunds, states', ''])],
    ['X-Forwarded-For', '10.0.0.1'],
    ['X-Http-Method-Override', 'DELETE'],
    ['Cookie', 'a=b'],
    ['Expect', '100-continue'],
  ]
  return extras.filter(() => chance.once(extras.length / 2))
}

export const read: Variation = (given) => {
  const item = itemOf(given)
  if (!item) return null
  const method = given.chance.one(['GET', 'GET', 'HEAD'])
  return { method, target: item.path, headers: [conditionOf(given, item), ...extraOf(given)] }
}

export const write: Variation = (given) => {
  const { chance } = given
  const item = itemOf(given)
  if (!item) return null
  const method = chance.one(['PATCH', 'PATCH', 'PUT'])
  const members = membersOf(item, chance)
  const { body, headers } = json(method === 'PUT' && !chance.once(4) ? item.json : members)
  const kind: Headers =
    method === 'PATCH' && chance.once(2) ? [['Content-Type', 'application/merge-patch+json']] : headers
  const condition = chance.once(3) ? [] : [conditionOf(given, item)]
  return { method, target: item.path, headers: [...kind, ...condition, ...extraOf(given)], body }
}

export const change: Variation = (given) => {
  const { chance, pool } = given
  const item = itemOf(given)
  if (!item) return null
  const like = pool.items.filter((one) => Object.keys(one.json).join() === Object.keys(item.json).join())
  const { body, headers } = json(membersOf(chance.one(like), chance))
  return { method: 'PATCH', target: item.path, headers: [...headers, ['If-Match', item.tag ?? '*']], body }
}

export const remove: Variation = (given) => {
  const item = itemOf(given)
  if (!item || !given.chance.once(3)) return read(given)
  return { method: 'DELETE', target: item.path, headers: given.chance.once(2) ? [conditionOf(given, item)] : [] }
}

export const gone: Variation = (given) => {
  const { pool, chance } = given
  if (pool.removed.length === 0) return null
  const method = chance.one(['GET', 'HEAD', 'DELETE', 'PATCH', 'PUT'])
  const target = chance.one(pool.removed)
  return method === 'PATCH' || method === 'PUT' ? { method, target, ...json({}) } : { method, target, ...base }
}

export const page: Variation = (given) => {
  const { pool, chance } = given
  const list = listOf(given)
  if (list === null) return null
  if (pool.links.length > 0 && chance.once(3)) return { method: 'GET', target: chance.one(pool.links), ...base }
  if (pool.cursors.length === 0)
    return { method: 'GET', target: `${list}?limit=${1 + chance.below(4)}&cursor=`, ...base }
  const { cursor, list: own } = chance.one(pool.cursors)
  const sent = chance.one([
    cursor,
    cursor,
    cursor,
    cursor,
    `x${cursor}`,
    `${cursor}A`,
    cursor.slice(0, 20),
    'AAAA',
    '',
    '%00',
  ])
  const at = chance.once(8) ? list : own
  const rest = chance.one(['', '', `&limit=${1 + chance.below(5)}`, '&sort=name', '&page=1', '&order=desc', '&limit=0'])
  return { method: 'GET', target: `${at}?cursor=${sent}${rest}`, headers: chance.once(6) ? extraOf(given) : [] }
}

const paging = [
  ...[
    'limit=2',
    'limit=3&offset=1',
    'page=1&page_size=2',
    'page=2&page_size=1',
    'page=99',
    'limit=0',
    'limit=-1',
    'limit=x',
  ],
  ...[
    'limit=1&cursor=',
    'cursor=',
    'offset=2',
    'offset=-1',
    'page=0',
    'page_size=100000',
    'page=1&limit=2',
    'page=1&cursor=',
  ],
  ...['limit=2&limit=3', 'offset=99999999', 'page=1&page_size=3&total=true', 'limit=1e2', 'utm_source=x', 'limit= 2'],
]
const operators = ['', '[gt]', '[gte]', '[lt]', '[lte]', '[ne]', '[like]', '[null]', '[in]', '[', '[]', '[nope]']

/** A list with some of these: a filter by a value that an item has, a sort by one of its members, and a window. */
export const list: Variation = (sources) => {
  const { chance, pool } = sources
  const target = listOf(sources)
  if (target === null) return null
  const own = pool.items.filter(({ path }) => path.startsWith(`${target}/`))
  const item = own.length > 0 ? chance.one(own) : itemOf(sources)
  const members = Object.entries(item?.json ?? {}).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.entries(value).map(([inner, one]) => [`${name}.${inner}`, one] as const)
      : [[name, value] as const],
  )
  const parts: string[] = []
  const query = (name: string, value: string) =>
    `${encodeURIComponent(name.toWellFormed()).replace(/%5B|%5D/g, decodeURIComponent)}=${encodeURIComponent(value.toWellFormed())}`
  const some = members.length > 0 ? members : [['id', 'x'] as const]
  if (chance.once(2)) {
    const [name, value] = chance.one(some)
    const operator = chance.one(operators.slice(0, chance.once(5) ? operators.length : 8))
    const text =
      operator === '[null]'
        ? chance.one(['true', 'false', ''])
        : operator === '[like]'
          ? `${String(value).slice(0, 2)}%`
          : String(value)
    parts.push(query(`${name}${operator}`, chance.once(6) ? `in:("${text}", x)` : text))
  }
  if (chance.once(2)) {
    const [name] = chance.one(some)
    parts.push(query('sort', name))
    if (chance.once(2)) parts.push(`order=${chance.one(['asc', 'desc', 'DESC', ''])}`)
    if (chance.once(3)) parts.push(`nulls=${chance.one(['first', 'last', 'none'])}`)
  }
  if (chance.once(2)) parts.push(chance.one(paging))
  const method = chance.one(['GET', 'GET', 'GET', 'GET', 'HEAD'])
  return {
    method,
    target: parts.length > 0 ? `${target}?${parts.join('&')}` : target,
    headers: chance.once(6) ? extraOf(sources) : [],
  }
}

export const again: Variation = (sources) => {
  const done = doneOf(sources)
  return done && { ...done, headers: [...done.headers, ...extraOf(sources)] }
}

/** A creation with a new idempotency key; or an earlier one with its key again, one time in three with another body. */
export const keyed: Variation = (sources) => {
  const { chance, pool } = sources
  if (pool.keyed.length > 0 && chance.once(2)) {
    const before = chance.one(pool.keyed)
    const body = before.body ?? ''
    return chance.once(3) ? { ...before, body: body.replace(/\d(?=[^\d]*$)/, '7') } : before
  }
  const posts = pool.done.filter(({ method, body }) => method === 'POST' && body !== undefined)
  if (posts.length === 0) return null
  const post = chance.one(posts)
  const key = chance.one([
    `key-${chance.below(6)}`,
    `"key-${chance.below(6)}"`,
    '',
    'é',
    'x'.repeat(256),
    `k${chance.below(1000)}`,
  ])
  const rest = post.headers.filter(([name]) => name.toLowerCase() !== 'idempotency-key')
  const value = sources.door === 'fetch' ? key.replace('é', '%') : Buffer.from(key).toString('latin1')
  return { ...post, headers: [...rest, ['Idempotency-Key', value]] }
}

export const searched: Variation = (sources) => {
  const { chance } = sources
  const target = listOf(sources)
  if (target === null) return null
  const parts = chance.one(['limit=2', 'limit=1&cursor=', 'sort=id', 'nope=1', '', 'sort=createdAt&order=desc&limit=3'])
  const kind = chance.one([
    'application/x-www-form-urlencoded',
    'application/x-www-form-urlencoded',
    'application/json',
    'text/plain',
  ])
  const body = kind.endsWith('json') ? '{"limit":2}' : parts
  return { method: 'QUERY', target, headers: [['Content-Type', kind]], body }
}
