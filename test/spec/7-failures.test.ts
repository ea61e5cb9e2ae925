/** Part 7 of the contract: failures reveal nothing internal, and declared errors are answered as declared. */
import assert from 'node:assert/strict'
import { type Declaration, f, Problem, service } from 'bylaw'
import type { Outcome } from '../../src/flow/outcome.ts'
import type { Store } from '../../src/flow/store.ts'
import { type Answer, type Door, doors, spec } from '../help/door.ts'
import { isError } from '../help/errors.ts'

const resources = { things: { prefix: 'thg', fields: { name: f.text() }, access: 'public' } }
const api = service({
  name: 'failures',
  resources,
  errors: {
    'credit-exceeded': { status: 409, parents: ['conflict'] },
    'account-frozen': { status: 403, parents: ['account-blocked'] },
    'account-blocked': { status: 403, parents: ['forbidden', 'client-error', 'error'] },
    'teapot-empty': { status: 418 },
    'partner-down': { status: 503, parents: ['unavailable'] },
    'ledger-broken': { status: 500 },
  },
} as Declaration)
const thing = '/things/thg_00000000000000000000000000'

/** Replaces the store's work; null if it works normally. */
let act: (() => Outcome | Promise<Outcome>) | null = null
const store = (real: Store): Store => ({ ...real, execute: (plan) => (act ? act() : real.execute(plan)) })
const throws = (error: unknown) => () => {
  throw error
}

const failed = (answer: Answer): void => {
  assert.equal(answer.status, 500)
  isError(answer)
  assert.match(answer.headers['request-id'] ?? '', /./)
  assert.deepEqual(answer.json, {
    message: 'The service failed to handle the request.',
    requestId: answer.headers['request-id'],
    type: 'internal-error',
    types: ['internal-error', 'server-error', 'error'],
  })
}

doors(
  'failures',
  api,
  (door: Door) => {
    spec('R152 R157', 'an unexpected exception is a 500 without details, with its cause in the log', async () => {
      const circular: Record<string, unknown> = {}
      circular.self = circular
      const odd = Object.assign(Object.create(null), { secret: 'hunter2' })
      const exceptions: unknown[] = [
        new Error('SELECT secret FROM things at /srv/app/secret.ts:12'),
        new TypeError("Cannot read properties of undefined (reading 'hunter2')"),
        'hunter2',
        null,
        undefined,
        42,
        odd,
        new Problem('internal-error', 'hunter2 at /srv/app'),
        new Problem('error', 'hunter2'),
        new Problem('undeclared-type', 'hunter2', { extra: { secret: 'hunter2' } }),
        new Problem('conflict', 'circular', { extra: { circular } }),
        new Problem('conflict', 'big', { extra: { big: 1n } }),
        new Problem('conflict', 'header', { headers: { 'X-Odd': 'a\r\nSet-Cookie: b=c' } }),
      ]
      for (const error of exceptions) {
        const before = door.errors.length
        for (const thrown of [throws(error), () => Promise.reject(error)]) {
          act = thrown
          failed(await door.send('GET', thing))
          failed(await door.send('POST', '/things', { json: { name: 'a' } }))
        }
        assert.equal(door.errors.length, before + 4)
        assert.ok(door.errors.slice(before).every((one) => 'err' in one && 'requestId' in one))
      }
      act = throws(exceptions[0])
      await door.send('GET', thing)
      assert.equal((door.errors.at(-1) as { err: unknown }).err, exceptions[0])
    })
    spec('R157', 'the id in the body is that of the header, also if the client chose it', async () => {
      act = throws(new Error('x'))
      const answer = await door.send('GET', thing, { headers: { 'request-id': 'abc-1' } })
      assert.deepEqual([answer.headers['request-id'], answer.json.requestId], ['abc-1', 'abc-1'])
      assert.equal((door.errors.at(-1) as { requestId: string }).requestId, 'abc-1')
    })
    spec('R161', 'an outage of the store is a 503 with Retry-After, and passes', async () => {
      act = throws(new Problem('dependency-unavailable', 'The store is down.', { cause: new Error('disk I/O error') }))
      const requests = [
        ['GET', '/things'],
        ['GET', thing],
        ['DELETE', thing],
        ['POST', '/things'],
      ] as const
      for (const [method, path] of requests) {
        const answer = await door.send(method, path, method === 'POST' ? { json: { name: 'a' } } : {})
        isError(answer)
        assert.deepEqual([answer.status, answer.headers['retry-after']], [503, '5'])
        assert.deepEqual(answer.json.types, ['dependency-unavailable', 'unavailable', 'server-error', 'error'])
        assert.doesNotMatch(answer.text, /disk|I\/O/)
      }
      act = throws(new Problem('overloaded', 'Too much.', { headers: { 'Retry-After': '2' } }))
      assert.equal((await door.send('GET', thing)).headers['retry-after'], '2')
      act = null
      assert.equal((await door.send('GET', '/things')).status, 200)
    })
    spec('R161', 'only a 503 asks to be tried again', async () => {
      for (const type of ['internal-error', 'ledger-broken', 'not-implemented', 'conflict']) {
        act = throws(new Problem(type, 'No.'))
        assert.equal((await door.send('GET', thing)).headers['retry-after'], undefined, type)
      }
    })
    spec('R160', 'a declared type has its status, its parents and its further members', async () => {
      const declared: readonly (readonly [type: string, status: number, types: string[]])[] = [
        ['credit-exceeded', 409, ['credit-exceeded', 'conflict', 'client-error', 'error']],
        ['account-frozen', 403, ['account-frozen', 'account-blocked', 'forbidden', 'client-error', 'error']],
        ['account-blocked', 403, ['account-blocked', 'forbidden', 'client-error', 'error']],
        ['teapot-empty', 418, ['teapot-empty', 'client-error', 'error']],
        ['partner-down', 503, ['partner-down', 'unavailable', 'server-error', 'error']],
        ['ledger-broken', 500, ['ledger-broken', 'server-error', 'error']],
      ]
      for (const [type, status, types] of declared) {
        act = throws(new Problem(type, 'Said in words.', { extra: { limit: '10.00', missing: 3 } }))
        const answer = await door.send('POST', '/things', { json: { name: 'a' } })
        const requestId = status >= 500 ? { requestId: answer.headers['request-id'] } : {}
        assert.equal(answer.status, status)
        assert.deepEqual(answer.json, {
          message: 'Said in words.',
          limit: '10.00',
          missing: 3,
          ...requestId,
          type,
          types,
        })
        isError(answer)
      }
      act = throws(new Problem('credit-exceeded', 'Said in words.', { extra: { limit: '10.00' } }))
      const { json } = await door.send('GET', thing, { headers: { accept: 'application/problem+json, */*' } })
      assert.deepEqual([json.type, json.title, json.limit], ['/problems/credit-exceeded', 'Credit exceeded', '10.00'])
    })
    spec('R10 R151', 'an error to HEAD has the status and the headers of that to GET, and no content', async () => {
      const paths = [thing, '/nowhere', '/things?x=1', '/things/%FF']
      for (const failing of [null, throws(new Error('x')), throws(new Problem('unavailable', 'x'))]) {
        act = failing
        for (const path of paths) {
          const headers = { 'request-id': 'same' }
          const [get, head] = [await door.send('GET', path, { headers }), await door.send('HEAD', path, { headers })]
          for (const one of [get, head]) delete (one.headers as Record<string, string>).date
          assert.ok(get.status >= 400)
          assert.deepEqual([head.status, head.headers, head.text], [get.status, get.headers, ''])
        }
      }
      act = null
    })
  },
  { store },
)

doors('the form of RFC 9457', api, (door) => {
  spec('R158', 'is chosen by naming it in Accept with a quality above zero', async () => {
    const accepts: readonly (readonly [accept: string | undefined, rich: boolean])[] = [
      [undefined, false],
      ['*/*', false],
      ['application/*', false],
      ['application/json', false],
      ['application/problem+json;q=0, */*', false],
      ['application/problem+xml, */*', false],
      ['application/json, application/problem+json', true],
      ['application/problem+json, application/json;q=0.1', true],
      ['application/problem+json', true],
      ['APPLICATION/PROBLEM+JSON;q=0.001, */*', true],
      ['text/html, application/problem+json;charset=utf-8', true],
    ]
    for (const [accept, rich] of accepts) {
      const headers: Record<string, string> = accept === undefined ? {} : { accept }
      const answer = await door.send('GET', '/nowhere', { headers })
      assert.equal(answer.status, 404)
      assert.equal(
        answer.headers['content-type'],
        rich ? 'application/problem+json' : 'application/json',
        accept ?? 'none',
      )
      assert.equal('message' in answer.json, !rich)
      assert.match(answer.headers.vary ?? '', /\bAccept\b(?!-)/)
    }
  })
  spec('R158', 'has these members and no others', async () => {
    const headers = { accept: 'application/json, application/problem+json' }
    const missing = await door.send('GET', thing, { headers })
    assert.deepEqual(missing.json, {
      type: '/problems/resource-not-found',
      title: 'Resource not found',
      status: 404,
      detail: 'Thing thg_00000000000000000000000000 was not found.',
      instance: `urn:uuid:${missing.headers['request-id']}`,
      types: ['resource-not-found', 'not-found', 'client-error', 'error'],
    })
    const invalid = await door.send('POST', '/things', { json: {}, headers })
    assert.deepEqual(Object.keys(invalid.json), [
      'type',
      'title',
      'status',
      'detail',
      'instance',
      'types',
      'cause',
      'errors',
    ])
    assert.deepEqual([invalid.json.status, invalid.json.detail], [400, '1 field is invalid.'])
    const chosen = await door.send('GET', thing, { headers: { ...headers, 'request-id': 'a.b_c-1' } })
    assert.doesNotThrow(() => new URL(chosen.json.instance))
    for (const answer of [missing, invalid, chosen]) {
      assert.equal(answer.headers['content-language'], 'en')
      assert.equal(answer.json.status, answer.status)
    }
  })
})

const based = service({
  name: 'based',
  resources,
  settings: { errors: { problemBase: 'https://api.example.com/problems/' } },
} as Declaration)

doors('types as absolute URLs', based, (door) => {
  spec('R158', 'errors.problemBase is the prefix of the type', async () => {
    const { json } = await door.send('GET', '/nowhere', { headers: { accept: 'application/problem+json' } })
    assert.equal(json.type, 'https://api.example.com/problems/route-not-found')
  })
})

doors('odd requests', api, (door) => {
  spec('R152 R156', 'a fault of the client is never a 5xx, and no answer reveals internals', async () => {
    const json = { 'content-type': 'application/json' }
    const long = 'x'.repeat(5000)
    const requests: readonly (readonly [
      method: string,
      path: string,
      headers?: Record<string, string>,
      body?: string,
    ])[] = [
      ['GET', "/things/thg_'%20OR%201=1--"],
      ['GET', '/things?name=a%00b'],
      ['GET', `/things/${long}`],
      ['GET', '/things?limit=1e9'],
      ['GET', '/things?cursor=AAAA'],
      ['GET', '/things?page=99999999999999999999'],
      ['GET', '/__proto__'],
      ['GET', '/things/__proto__'],
      ['GET', '/things?__proto__=1'],
      ['GET', '/things?constructor[prototype]=1'],
      ['POST', '/things', json, '{"__proto__":{"a":1},"name":"a"}'],
      ['POST', '/things', json, `{"name":${'['.repeat(4000)}`],
      ['POST', '/things', json, `{"name":"${long}${long}${long}"}`],
      ['POST', '/things', json, '{"name":"\\u0000"}'],
      ['POST', '/things', json, '{"toString":1}'],
      ['POST', '/things', { 'content-type': 'x'.repeat(200) }, '{}'],
      ['PUT', thing, json, 'null'],
      ['PATCH', thing, json, '{"name":null}'],
      ['PATCH', thing, { 'content-type': 'application/merge-patch+json' }, '""'],
      ['DELETE', '/things'],
      ['DELETE', thing, { 'if-match': '""""' }],
    ]
    for (const [method, path, headers = {}, body] of requests) {
      const answer = await door.send(method, path, body === undefined ? { headers } : { headers, body })
      assert.ok(
        answer.status >= 400 && answer.status < 500 && answer.status !== 422,
        `${method} ${path}: ${answer.status}`,
      )
      isError(answer)
      assert.doesNotMatch(answer.text, /sqlite|SELECT|node:|\.ts\b|\bat .*:\d+:\d+|\/work\/|\/src\/|Error:/i)
      assert.doesNotMatch(answer.text, /x{200}/)
    }
    assert.deepEqual(door.errors, [])
  })
})
