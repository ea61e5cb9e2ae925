/** Part 1 of the contract, requests: a request with several faults gets the error of the first check that fails. */
import assert from 'node:assert/strict'
import { type Door, doors, spec } from '../help/door.ts'
import { shop } from '../help/shop.ts'

/** A request that is built from its faults. */
interface Wrong {
  method: string
  path: string
  query: string
  headers: Record<string, string>
  body: string
}

/** One fault: how it changes a request, and the expected answer. */
interface Fault {
  readonly name: string
  readonly status: number
  readonly type: string
  /** Only over a socket: a Request of fetch cannot have this fault. */
  readonly wire?: boolean
  readonly spoil: (request: Wrong) => void
}

const present = `/warehouses/whs_${'1'.repeat(26)}`
const missing = `/warehouses/whs_${'2'.repeat(26)}`
const header =
  (name: string, value: string) =>
  ({ headers }: Wrong): void => {
    headers[name] = value
  }
const fault = (name: string, status: number, type: string, spoil: Fault['spoil'], wire = false): Fault => ({
  name,
  status,
  type,
  spoil,
  wire,
})

/** The faults of a request that changes an item, in the order of the checks. */
const faults: readonly Fault[] = [
  fault(
    'form',
    400,
    'malformed-request',
    (request) => {
      request.query += '#fragment'
    },
    true,
  ),
  fault('size', 414, 'uri-too-long', (request) => {
    request.query += `q=${'a'.repeat(9000)}`
  }),
  fault('expectation', 417, 'expectation-failed', header('expect', 'nonsense')),
  fault('malformed host', 400, 'invalid-host', header('host', 'a b')),
  fault('foreign host', 421, 'misdirected-request', header('host', 'evil.example')),
  fault('escape in the path', 400, 'invalid-url-encoding', (request) => {
    request.path = '/nope/%zz'
  }),
  fault('route', 404, 'route-not-found', (request) => {
    request.path = '/nope'
  }),
  fault('method', 405, 'method-not-allowed', (request) => {
    request.method = 'POST'
  }),
  fault('Accept', 406, 'not-acceptable', header('accept', 'text/html')),
  fault('content type', 415, 'unsupported-media-type', header('content-type', 'text/plain')),
  fault('content coding', 415, 'unsupported-content-coding', header('content-encoding', 'compress')),
  fault('declared length', 413, 'content-too-large', header('content-length', '2000000')),
  fault('escape in the query', 400, 'invalid-url-encoding', (request) => {
    request.query = 'q=%zz'
  }),
  fault('query', 400, 'invalid-query', (request) => {
    request.query = 'q=1'
  }),
  fault('target', 404, 'resource-not-found', (request) => {
    request.path = missing
  }),
  fault('precondition', 412, 'precondition-failed', header('if-match', '"stale"')),
  fault('body bytes', 400, 'malformed-json', (request) => {
    request.body = '{"name":'
  }),
  fault('fields', 400, 'validation-failed', (request) => {
    request.body = '{"name":5}'
  }),
]

/** A request with these faults; of two that change the same part, the earlier one wins. */
function spoiled(some: readonly Fault[]): Wrong {
  const headers = { host: 'localhost', 'content-type': 'application/json' }
  const request: Wrong = { method: 'PATCH', path: present, query: '', headers, body: '{"name":"B"}' }
  for (const { spoil } of some.toReversed()) spoil(request)
  return request
}

async function expect(door: Door, some: readonly Fault[]): Promise<void> {
  const { method, path, query, headers, body } = spoiled(some)
  const target = query === '' ? path : `${path}?${query}`
  const answer = await door.send(method, target, { headers, body })
  const { name, status, type } = some[0] as Fault
  const about = `${name} before ${some.slice(1).map((one) => one.name)}: ${answer.text}`
  assert.equal(answer.status, status, about)
  assert.equal(answer.json.type, type, about)
}

doors(
  'the order of checks',
  shop,
  (door) => {
    const shown = faults.filter(({ wire }) => !wire || door.name === 'node:http')
    for (const [i, one] of shown.entries()) {
      const next = shown[i + 1]
      spec(
        'R1',
        `${one.name}: ${next ? `before ${next.name}, and before all later ones` : 'the last one'}`,
        async () => {
          await door.send('PUT', present, { json: { name: 'A' }, headers: { host: 'localhost' } })
          await expect(door, [one])
          if (next) await expect(door, [one, next])
          await expect(door, shown.slice(i))
        },
      )
    }
    spec('R1', 'without any of them the request is done', async () => {
      const { method, path, headers, body } = spoiled([])
      assert.equal((await door.send(method, path, { headers, body })).status, 200)
    })
  },
  { hosts: ['localhost'] },
)

doors('the order of checks by example', shop, (door) => {
  const gone = `/warehouses/whs_${'3'.repeat(26)}`
  const stale = { 'if-match': '"stale"' }
  const broken = { body: '{"name":', headers: { 'content-type': 'application/json' } }
  const reported = async (method: string, path: string, sent: Parameters<Door['send']>[2] = {}) => {
    const { status, json } = await door.send(method, path, sent)
    return [status, json?.type ?? null]
  }

  spec('R1', 'a missing target is reported before a stale condition and a broken body', async () => {
    const headers = { ...broken.headers, ...stale }
    assert.deepEqual(await reported('PATCH', missing, { ...broken, headers }), [404, 'resource-not-found'])
    await door.send('PUT', gone, { json: { name: 'A' } })
    await door.send('DELETE', gone)
    assert.deepEqual(await reported('PATCH', gone, { ...broken, headers }), [410, 'resource-deleted'])
    assert.deepEqual(await reported('POST', `${missing}/slots`, broken), [404, 'resource-not-found'])
    assert.deepEqual(await reported('POST', `${gone}/slots`, broken), [410, 'resource-deleted'])
  })
  spec('R1', 'a stale condition is reported before a broken body and before invalid fields', async () => {
    await door.send('PUT', present, { json: { name: 'A' } })
    for (const method of ['PUT', 'PATCH']) {
      assert.deepEqual(await reported(method, present, { json: { name: 5 }, headers: stale }), [
        412,
        'precondition-failed',
      ])
      const headers = { ...broken.headers, ...stale }
      assert.deepEqual(await reported(method, present, { ...broken, headers }), [412, 'precondition-failed'])
    }
    const never = { ...broken.headers, 'if-none-match': '*' }
    assert.deepEqual(await reported('POST', '/warehouses', { ...broken, headers: never }), [412, 'precondition-failed'])
    assert.deepEqual(await reported('DELETE', present, { body: '{}', headers: stale }), [412, 'precondition-failed'])
    assert.deepEqual(await reported('DELETE', missing, { body: '{}' }), [404, 'resource-not-found'])
  })
  spec('R1', 'an unknown path is reported before the method, and the method before Accept', async () => {
    assert.deepEqual(await reported('DELETE', '/nope'), [404, 'route-not-found'])
    assert.deepEqual(await reported('DELETE', '/warehouses', { headers: { accept: 'text/html' } }), [
      405,
      'method-not-allowed',
    ])
  })
  spec('R1', 'OPTIONS needs nothing but a path that exists', async () => {
    const headers = { accept: 'text/html', ...stale, 'content-type': 'text/plain' }
    assert.deepEqual(await reported('OPTIONS', `${missing}?q=%zz&q=1`, { headers }), [204, null])
    assert.deepEqual(await reported('OPTIONS', '/nope', { headers }), [404, 'route-not-found'])
  })
  spec('R1', 'on a read the parameters come before the target, and the target before the conditions', async () => {
    assert.deepEqual(await reported('GET', `${missing}?q=1`), [400, 'invalid-query'])
    assert.deepEqual(await reported('GET', `${missing}/slots?q=1`), [400, 'invalid-query'])
    assert.deepEqual(await reported('GET', missing, { headers: { 'if-none-match': '*' } }), [404, 'resource-not-found'])
    assert.deepEqual(await reported('GET', missing, { headers: stale }), [404, 'resource-not-found'])
  })
})
