/** Part 1 of the contract, methods: HEAD like GET, OPTIONS, and methods that are not offered. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'
import { shop } from '../help/shop.ts'

const item = `/warehouses/whs_${'1'.repeat(26)}`
const gone = `/warehouses/whs_${'2'.repeat(26)}`
const missing = `/warehouses/whs_${'3'.repeat(26)}`

async function stock(door: Door): Promise<void> {
  await door.send('PUT', item, { json: { name: 'A' } })
  for (const method of ['PUT', 'DELETE']) await door.send(method, gone, method === 'PUT' ? { json: { name: 'A' } } : {})
  for (let i = 0; i < 12; i++) await door.send('POST', `${item}/slots`, { json: { number: String(i), capacity: i } })
}

/** The headers that do not differ from answer to answer. */
function lasting({ headers }: Answer): Record<string, string> {
  const own = new Set(['date', 'request-id', 'connection', 'keep-alive', 'transfer-encoding'])
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !own.has(name)))
}

doors('HEAD', shop, (door) => {
  spec('R10', 'HEAD has the status and the headers of GET, and no content', async () => {
    await stock(door)
    const paths = [
      '/warehouses',
      '/warehouses?limit=1',
      item,
      `${item}/slots`,
      `${item}/slots/3`,
      gone,
      missing,
      '/healthz',
      '/readyz',
    ]
    for (const path of [
      ...paths,
      `${missing}/slots`,
      '/nope',
      '/warehouses?q=1',
      '/warehouses?q=%zz',
      '/warehouses/',
      '/%zz',
    ]) {
      for (const accept of ['*/*', 'application/problem+json, application/json', 'text/html']) {
        const headers = { accept, 'accept-encoding': 'identity' }
        const [get, head] = [await door.send('GET', path, { headers }), await door.send('HEAD', path, { headers })]
        assert.equal(head.status, get.status, path)
        assert.deepEqual(lasting(head), lasting(get), path)
        assert.equal(head.headers['content-length'], String(Buffer.byteLength(get.text)), path)
        assert.equal(head.text, '')
      }
    }
  })
  spec('R10', 'also with conditions', async () => {
    const etag = (await door.send('GET', item)).headers.etag as string
    for (const headers of [{ 'if-none-match': etag }, { 'if-match': '"stale"' }, { 'if-none-match': '"stale"' }]) {
      const [get, head] = [await door.send('GET', item, { headers }), await door.send('HEAD', item, { headers })]
      assert.equal(head.status, get.status)
      assert.deepEqual(lasting(head), lasting(get))
      assert.equal(head.text, '')
    }
  })
  spec('R10', 'HEAD names the coding of a compressed answer, and no wrong length', async () => {
    const { headers } = await door.send('HEAD', `${item}/slots`, { headers: { 'accept-encoding': 'gzip' } })
    assert.equal(headers['content-encoding'], 'gzip')
    assert.equal(headers['content-length'], undefined)
  })
  spec('R10', 'reading changes nothing that can be seen', async () => {
    // Last-Modified begins two seconds after the change.
    const seen = async () => {
      const answers = [await door.send('GET', item), await door.send('GET', '/warehouses')]
      return answers.map((answer) => ({ ...lasting(answer), 'last-modified': '' }))
    }
    const before = await seen()
    for (const method of ['GET', 'HEAD', 'OPTIONS'])
      for (const path of [item, '/warehouses', gone, missing]) await door.send(method, path)
    assert.deepEqual(await seen(), before)
  })
})

doors('OPTIONS', shop, (door) => {
  const patch = 'application/merge-patch+json, application/json'
  spec('R11', 'OPTIONS is 204 with the methods of the path, whether or not the item exists', async () => {
    for (const path of ['/orders/ord_x', '/orders/a%2Fb', missing, item, `/warehouses/x/slots/${'y'.repeat(500)}`]) {
      const { status, headers, text } = await door.send('OPTIONS', path)
      assert.deepEqual([status, text], [204, ''], path)
      assert.equal(headers.allow, 'GET, HEAD, OPTIONS, PUT, PATCH, DELETE', path)
      assert.equal(headers['accept-patch'], patch, path)
      assert.equal(headers['content-length'], undefined)
      assert.equal(headers['content-type'], undefined)
      assert.match(headers['request-id'] ?? '', /./)
    }
  })
  spec('R11', 'Accept-Patch is sent only where PATCH is offered', async () => {
    for (const [path, allow] of [
      ['/orders', 'GET, HEAD, OPTIONS, POST'],
      ['/order-lines', 'GET, HEAD, OPTIONS'],
      ['/orders/x/order-lines', 'GET, HEAD, OPTIONS, POST'],
      ['/healthz', 'GET, HEAD, OPTIONS'],
      ['/readyz', 'GET, HEAD, OPTIONS'],
    ] as const) {
      const { status, headers } = await door.send('OPTIONS', path)
      assert.deepEqual([status, headers.allow, headers['accept-patch']], [204, allow, undefined], path)
    }
  })
  spec('R11', 'on an undeclared path OPTIONS is 404', async () => {
    for (const path of ['/nope', '/orders/x/y', '/orders/'])
      assert.equal((await door.send('OPTIONS', path)).status, 404)
  })
})

const all = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE', 'QUERY', 'PROPFIND']
const some = service({
  name: 'some',
  resources: {
    logs: { fields: { name: f.text() }, access: 'public', methods: ['list', 'create'] },
    notes: { fields: { name: f.text() }, access: 'public', methods: ['read', 'change'] },
  },
})

doors('methods that are not offered', some, (door) => {
  spec('R12', 'Allow lists exactly the methods that are not answered with 405', async () => {
    for (const path of ['/logs', '/notes/x', `/notes/note_${'1'.repeat(26)}`]) {
      const offered: string[] = []
      for (const method of all) if ((await door.send(method, path)).status !== 405) offered.push(method)
      for (const method of all.filter((one) => !offered.includes(one))) {
        const { headers, json } = await door.send(method, path)
        assert.equal(headers.allow, offered.join(', '), `${method} ${path}`)
        assert.deepEqual(json.types, ['method-not-allowed', 'client-error', 'error'])
        assert.ok(json.message.includes(method) && json.message.includes(offered.join(', ')), json.message)
      }
      assert.equal((await door.send('OPTIONS', path)).headers.allow, offered.join(', '))
    }
  })
  spec('R12', 'a path without methods does not exist', async () => {
    for (const method of all)
      for (const path of ['/notes', '/logs/x']) assert.equal((await door.send(method, path)).status, 404)
  })
  spec('R13', 'an unknown method is 405, with the same Allow', async () => {
    for (const method of ['FOO', 'PURGE', 'QUERY']) {
      // Node's client refuses to send methods that its parser does not know.
      if (door.name === 'node:http' && method === 'FOO') continue
      const { status, headers, json } = await door.send(method, '/logs')
      assert.equal(status, 405)
      assert.equal(json.type, 'method-not-allowed')
      assert.equal(headers.allow, 'GET, HEAD, OPTIONS, POST')
    }
  })
})

doors(
  '501 for unknown methods',
  service({
    name: 'strict',
    resources: { logs: { fields: { name: f.text() }, access: 'public', methods: ['list', 'create'] } },
    settings: { methods: { unknown: 501 } },
  }),
  (door) => {
    spec('R13', 'with methods.unknown 501 a method of no path is 501, with the error body', async () => {
      const { status, json, headers } = await door.send('PURGE', '/logs')
      assert.equal(status, 501)
      assert.deepEqual(json.types, ['not-implemented', 'server-error', 'error'])
      assert.equal(json.requestId, headers['request-id'])
      assert.equal(headers['retry-after'], undefined)
    })
    spec('R13', 'and one that only this path does not offer stays 405', async () => {
      const answer = await door.send('HEAD', '/logs')
      assert.equal(answer.status, 200)
      assert.equal((await door.send('POST', '/healthz')).status, 405)
      assert.equal((await door.send('PURGE', '/nope')).status, 404)
    })
  },
)

doors('method overrides', shop, (door) => {
  spec('R14', 'a header that names another method has no effect', async () => {
    for (const name of ['x-http-method-override', 'x-http-method', 'x-method-override']) {
      const headers = { [name]: 'DELETE' }
      assert.equal((await door.send('POST', '/warehouses', { json: { name: 'A' }, headers })).status, 201)
      await door.send('PUT', item, { json: { name: 'A' } })
      assert.equal((await door.send('GET', item, { headers })).status, 200)
      assert.equal((await door.send('POST', item, { json: { name: 'A' }, headers })).status, 405)
      assert.equal((await door.send('GET', item)).status, 200)
    }
  })
  spec('R14', 'a parameter that names another method is unknown', async () => {
    for (const name of ['_method', 'method', 'X-HTTP-Method-Override']) {
      const { status, json } = await door.send('POST', `/warehouses?${name}=DELETE`, { json: { name: 'A' } })
      assert.equal(status, 400)
      assert.equal(json.cause.type, 'unknown-parameter')
      assert.equal(json.cause.name, name)
    }
  })
})

doors('content on methods without content', shop, (door) => {
  spec('R16', 'DELETE with content is 400 and deletes nothing; without, a content type does no harm', async () => {
    await door.send('PUT', item, { json: { name: 'A' } })
    for (const body of ['{}', ' ', 'null']) {
      const { status, json } = await door.send('DELETE', item, { body })
      assert.equal(status, 400)
      assert.deepEqual(json.types, ['unexpected-body', 'invalid-request', 'client-error', 'error'])
    }
    assert.equal((await door.send('GET', item)).status, 200)
    const bare = await door.send('DELETE', item, {
      headers: { 'content-type': 'application/json', 'content-length': '0' },
    })
    assert.equal(bare.status, 204)
  })
  spec('R16', 'OPTIONS with content is 400', async () => {
    const { status, json } = await door.send('OPTIONS', '/warehouses', { json: {} })
    assert.deepEqual([status, json.type], [400, 'unexpected-body'])
  })
})

doors('Request-Id', shop, (door) => {
  spec('R27', 'every answer has a Request-Id, a new UUIDv7 if the request had none', async () => {
    const seen = new Set<string>()
    for (const [method, path] of [
      ['GET', '/warehouses'],
      ['GET', '/nope'],
      ['OPTIONS', '/warehouses'],
      ['GET', '/%zz'],
      ['POST', '/warehouses'],
      ['DELETE', '/warehouses'],
      ['GET', '/healthz'],
    ] as const) {
      const id = (await door.send(method, path)).headers['request-id'] as string
      assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/, path)
      seen.add(id)
    }
    assert.equal(seen.size, 7)
  })
  spec('R27', 'a Request-Id of the client is kept', async () => {
    for (const id of ['abc-1', 'A.b_c-9', 'a', '0'.repeat(128), '-', '..']) {
      for (const path of ['/warehouses', '/nope'])
        assert.equal((await door.send('GET', path, { headers: { 'request-id': id } })).headers['request-id'], id)
    }
  })
  spec('R27', 'any other one is replaced', async () => {
    for (const id of ['<script>', 'a b', '', '0'.repeat(129), 'a,b', 'a/b', 'a:b', 'caf\u00e9', '"a"', 'a;b']) {
      const { headers, status } = await door.send('GET', '/warehouses', { headers: { 'request-id': id } })
      assert.equal(status, 200)
      assert.match(headers['request-id'] ?? '', /^[0-9a-f-]{36}$/, id)
    }
  })
})
