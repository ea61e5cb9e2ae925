/** Claim: which requests share a key, and which payloads are equal. Part 4, idempotency of POST. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, service } from 'bylaw'
import { testWorld } from '../../test/help/world.ts'
import { Problem } from '../errors/problem.ts'
import { nobody } from '../flow/caller.ts'
import type { Document, RequestContext } from '../flow/intent.ts'
import type { PriorClaim } from '../flow/outcome.ts'
import type { Claim } from '../flow/plan.ts'
import { serviceWorld, trustedClock } from '../flow/world.ts'
import type { Resource } from '../resources/resource.ts'
import type { ResourceSettings } from '../settings.ts'
import { claimOfChange, claimOfCreate, keptAnswer, keyReuseProblem } from './claim.ts'

function shop(idempotency: ResourceSettings['idempotency'] = {}): (name: string) => Resource {
  const fields = { a: f.text({ optional: true }) }
  const { resources } = service({
    name: 'shop',
    settings: { idempotency },
    resources: {
      orders: { fields, access: 'public' },
      lines: { parent: 'orders', fields, access: 'public' },
      slots: { parent: 'orders', key: 'n', fields: { n: f.text() }, access: 'public' },
    },
  })
  return (name) => resources.get(name) ?? assert.fail()
}

function asked(body: Document, { key = 'k1', params = [] as string[], time = 5000 } = {}): RequestContext {
  const call = { method: 'POST', target: '/', authority: null, http: '1.1', id: '', content: null, address: '' }
  const world = serviceWorld(testWorld(), { clock: trustedClock(() => time), secret: 'a secret' })
  const header = { headers: { 'idempotency-key': key }, raw: ['idempotency-key', key] }
  return {
    call: { ...call, ...header },
    caller: nobody,
    carried: { label: 'v1', inPath: '', prefix: '', query: '' },
    params,
    query: null,
    body,
    world,
  }
}

const none: ReadonlySet<string> = new Set()
const usual = shop()
const of = (name: string, body: Document, more = {}, by = usual): Claim =>
  claimOfCreate(asked(body, more), by(name), none).claim ?? assert.fail()

describe('payloads', () => {
  const rows: [one: Document, other: Document, same: boolean][] = [
    [{}, {}, true],
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
    [{ a: { b: 1, c: [{ d: 1, e: 2 }] } }, { a: { c: [{ e: 2, d: 1 }], b: 1 } }, true],
    [{ a: 'x', idempotencyKey: 'k1' }, { a: 'x' }, true],
    [{ a: 1 }, { a: 2 }, false],
    [{ a: 1 }, { a: '1' }, false],
    [{ a: 1 }, { b: 1 }, false],
    [{ a: 1 }, {}, false],
    [{ a: null }, {}, false],
    [{ a: [1, 2] }, { a: [2, 1] }, false],
    [{ a: [[1], 2] }, { a: [1, [2]] }, false],
    [{ a: [] }, { a: {} }, false],
    [{ a: { idempotencyKey: 'k1' } }, { a: {} }, false],
    [{ 'a":1,"b': 2 }, { a: 1, b: 2 }, false],
    [{ a: '1,"b":2' }, { a: '1', b: 2 }, false],
    [{ a: 'é' }, { a: 'e\u0301' }, false],
    [{ a: false }, { a: null }, false],
  ]
  for (const [one, other, same] of rows)
    test(`${JSON.stringify(one)} and ${JSON.stringify(other)} are ${same ? 'the same' : 'not the same'}`, () =>
      assert.equal(of('orders', one).fingerprint === of('orders', other).fingerprint, same))
})

test('a payload has a stable text, with any names of members', () => {
  const rows: [payload: string, fingerprint: string][] = [
    ['{"b":1,"a":"x","c":null}', '1A12Aj0gMXvbZiEH-RzRUaT'],
    ['{"10":1,"9":2,"a":3}', '1S6_02uLO3moj_by1oUFDwG'],
    ['{"__proto__":1,"a":2}', '14oFwqNYOQfSv8bvX6HLjCx'],
    ['{"b":{"10":1,"9":[{"d":1,"c":2}]},"a":{"z":1,"y":2}}', '19JlGUK6CGWp6f3miSwY-sU'],
  ]
  for (const [payload, fingerprint] of rows) assert.equal(of('orders', JSON.parse(payload)).fingerprint, fingerprint)
})

describe('the space of a key', () => {
  const one = of('orders', {})
  const meets = (other: Claim): boolean => other.hash === one.hash

  test('is its collection, for any payload', () => {
    assert.ok(meets(of('orders', { a: 1 })))
    assert.ok(meets(of('orders', {}, { key: '"k1"' })))
    assert.ok(!meets(of('orders', {}, { key: 'k2' })))
    assert.ok(!meets(of('lines', {}, { params: ['ord_1'] })))
    assert.equal(of('lines', {}, { params: ['ord_1'] }).hash, of('lines', {}, { params: ['ord_2'] }).hash)
  })

  test('is all collections if declared', () => {
    const all = shop({ scope: 'caller' })
    assert.equal(of('orders', {}, {}, all).hash, of('slots', {}, { params: ['ord_1'] }, all).hash)
    assert.notEqual(of('orders', {}, {}, all).fingerprint, of('slots', {}, { params: ['ord_1'] }, all).fingerprint)
  })

  test('is shared by POST and PATCH, and each item is a payload of its own', () => {
    const both = shop({ mode: 'replay', methods: ['POST', 'PATCH'] })('slots')
    const change = (...params: string[]) => claimOfChange(asked({}, { params }), both, none).claim ?? assert.fail()
    const create = claimOfCreate(asked({}, { params: ['ord_1'] }), both, none).claim ?? assert.fail()
    assert.equal(create.hash, change('ord_1', 's1').hash)
    const prints = [create, change('ord_1', 's1'), change('ord_2', 's1'), change('ord_1', 's2')]
    assert.equal(new Set(prints.map(({ fingerprint }) => fingerprint)).size, 4)
  })
})

test('a claim has its time, its expiry and whether the answer is kept', () => {
  assert.deepEqual([of('orders', {}).time, of('orders', {}).expired, of('orders', {}).keeps], [5000, null, false])
  const { expired, keeps } = of('orders', {}, {}, shop({ retention: 'PT2S', mode: 'replay' }))
  assert.deepEqual([expired, keeps], [3000, true])
})

test('without a key there is no claim, unless a key is required', () => {
  const bare = (resource: Resource) => {
    const { call, ...rest } = asked({ a: 1 })
    return claimOfCreate({ ...rest, call: { ...call, headers: {}, raw: [] } }, resource, none)
  }
  assert.deepEqual(bare(usual('orders')), { claim: null, body: { a: 1 } })
  assert.throws(() => bare(shop({ required: true })('orders')), { type: 'idempotency-key-missing' })
  assert.deepEqual(claimOfChange(asked({ a: 1 }), usual('orders'), none), { claim: null, body: { a: 1 } })
})

describe('a repeat', () => {
  const claim = (fingerprint: string, keeps: boolean): Claim => ({
    hash: 'h',
    fingerprint,
    time: 0,
    expired: null,
    keeps,
  })
  const answer = { doc: '{}', revision: 1 }
  const prior: PriorClaim = { is: 'claimed', collection: 'orders', id: 'ord_1', parent: null, fingerprint: 'f', answer }

  test('gets the first answer if it is stored and the payload is the same', () => {
    assert.equal(keptAnswer(prior, claim('f', true)), answer)
    assert.equal(keptAnswer(prior, claim('g', true)), null)
    assert.equal(keptAnswer(prior, claim('f', false)), null)
    assert.equal(keptAnswer({ ...prior, answer: null }, claim('f', true)), null)
  })

  test('is refused by its payload and the mode', () => {
    const refusalOf = (own: Claim, by = usual) => {
      const problem = keyReuseProblem(prior, own, '/orders/ord_1', by('orders').settings)
      assert.ok(problem instanceof Problem)
      return [problem.type, problem.under, problem.extra.old_id, problem.bare, problem.headers.Link]
    }
    const link = '</orders/ord_1>; rel="related"'
    const mismatch = 'idempotency-key-payload-mismatch'
    assert.deepEqual(refusalOf(claim('f', false)), ['idempotency-key-reused', undefined, 'ord_1', false, link])
    assert.deepEqual(refusalOf(claim('g', false)), [mismatch, undefined, 'ord_1', false, link])
    assert.deepEqual(refusalOf(claim('f', true)), ['idempotency-key-reused', undefined, 'ord_1', false, link])
    assert.deepEqual(refusalOf(claim('g', true)), [mismatch, 'unprocessable', undefined, false, undefined])
    assert.equal(refusalOf(claim('f', false), shop({ conflictBody: 'minimal' }))[3], true)
    assert.deepEqual(keyReuseProblem(prior, claim('f', false), null, usual('orders').settings).headers, {})
  })
})

test('restricted values are not compared, so that a used key does not reveal them', () => {
  const concealed = new Set(['pin'])
  const print = (body: Document) => claimOfCreate(asked(body), usual('orders'), concealed).claim?.fingerprint
  assert.equal(print({ a: 'x', pin: '1' }), print({ a: 'x', pin: '2' }))
  assert.equal(print({ a: 'x', pin: '1' }), print({ a: 'x' }))
  assert.notEqual(print({ a: 'x', pin: '1' }), print({ a: 'y', pin: '1' }))
  const both = shop({ mode: 'replay', methods: ['POST', 'PATCH'] })('orders')
  const patch = (body: Document) => claimOfChange(asked(body), both, concealed).claim?.fingerprint
  assert.equal(patch({ a: 'x', pin: '1' }), patch({ a: 'x', pin: '2' }))
})
