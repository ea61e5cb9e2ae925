/** A service that keeps its promises passes; each broken promise is found and shown with a small item. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, type Service, service } from '../index.ts'
import { openSandbox } from '../terminal/sandbox.ts'
import { replayExchanges } from './exchanges.ts'
import { recordExchanges } from './record.ts'
import { type VerifyReport, verifyService } from './verify.ts'
import {
  type AskVersion,
  type JsonBody,
  type TrialAnswer,
  type TrialRequest,
  type VersionService,
  versionServices,
} from './version-service.ts'

const shop = service({
  name: 'shop',
  settings: { concurrency: { required: true }, idempotency: { required: true } },
  scopes: { 'orders:read': 'Reads', 'orders:write': 'Writes' },
  tiers: { free: { hourly: 1 } },
  resources: {
    orders: {
      fields: {
        name: f.text({ max: 40, filter: true, sort: true }),
        quantity: f.integer({ min: 1, max: 1000 }),
        note: f.text({ optional: true }),
        customerId: f.ref('customers', { filter: true }),
      },
      access: { read: 'orders:read', write: 'orders:write' },
    },
    customers: { fields: { code: f.text({ pattern: '^[A-Z]{3}$', unique: true }) }, access: 'authenticated' },
    lines: {
      parent: 'orders',
      key: 'number',
      fields: { number: f.integer({ min: 0 }), text: f.text() },
      access: 'public',
    },
    odd: { plural: true, fields: { mark: f.text({ pattern: '^(?=a)b$' }) }, access: 'public' },
  },
}) as unknown as Service

async function tried(around: (ask: AskVersion) => AskVersion = (ask) => ask, runs = 60): Promise<VerifyReport> {
  const open = async () => {
    const { ask, close } = await openSandbox(shop)
    return { ask: around(ask), close }
  }
  return verifyService(shop, open, { seed: 11, runs })
}

/** Changes the body of the answers to one method. */
const bent =
  (method: string, bend: (body: JsonBody, request: TrialRequest) => JsonBody, path = /^\/orders/) =>
  (ask: AskVersion): AskVersion =>
  async (version, request) => {
    const answer = await ask(version, request)
    const meant = request.method === method && path.test(request.path) && answer.status < 300
    return meant && answer.body ? { ...answer, body: bend(answer.body, request) } : answer
  }

test('a declaration that keeps its promises passes, and untested resources are reported', async () => {
  const { failure, cases, untried } = await tried()
  assert.equal(failure, null)
  assert.deepEqual(untried, ['odd'])
  assert.deepEqual([...cases.keys()], ['orders', 'customers', 'lines'])
  assert.ok([...cases.values()].every((count) => count === 60))
})

test('a failure is reported before it is reduced, which ends after ten seconds', async () => {
  const bend = bent('GET', ({ note, ...rest }) => rest)
  const mark: number[] = []
  const trying = async (pace: number) => {
    let [time, opened] = [0, 0]
    const open = async () => {
      opened++
      const { ask, close } = await openSandbox(shop)
      return { ask: bend(ask), close }
    }
    const now = (): number => {
      time += pace
      return time
    }
    mark.length = 0
    const { failure } = await verifyService(shop, open, { seed: 11, runs: 60, onFailure: () => mark.push(opened), now })
    assert.match(failure?.says ?? '', /promises `note`/)
    return { opened }
  }
  const [patient, hasty] = [await trying(0), await trying(6000)]
  assert.deepEqual(mark, [1], 'the first store alone was opened until then')
  assert.ok(hasty.opened === 3 && hasty.opened < patient.opened, `${hasty.opened} ${patient.opened}`)
})

describe('a broken promise is found:', () => {
  const mutants: [string, (ask: AskVersion) => AskVersion, RegExp][] = [
    ['a field that is not answered', bent('GET', ({ note, ...rest }) => rest), /promises `note`/],
    [
      'a field that nobody declared',
      bent('GET', (body) => ({ ...body, extra: 1 }), /^\/orders\/[^/?]+$/),
      /does not know `extra`/,
    ],
    [
      'a value that does not fit',
      bent('POST', (body) => ({ ...body, quantity: 1001 })),
      /quantity must be at most 1000/,
    ],
    [
      'a value that is another one',
      bent('POST', (body) => ({ ...body, name: 'other' })),
      /`name` of orders does not come back/,
    ],
    [
      'an id of others',
      bent('GET', (body) => ({ ...body, id: 'cus_1' }), /^\/orders\/[^/?]+$/),
      /`id` is not an id of orders/,
    ],
    [
      'a list that does not find',
      bent('GET', (body) => (Array.isArray(body.data) ? { ...body, data: [] } : body)),
      /does not find an item of orders by its/,
    ],
    [
      'a list that is not in the order that was asked for',
      bent('GET', (body) => (Array.isArray(body.data) ? { ...body, data: body.data.toReversed() } : body)),
      /a list of orders that is sorted by `.*` has .* ahead of /,
    ],
  ]
  for (const [name, mutant, says] of mutants)
    test(name, async () => {
      const { failure } = await tried(mutant)
      assert.match(String(failure?.says), says)
      assert.ok((failure?.steps.length ?? 0) > 0)
    })
  test('a refusal of a declared value, with the smallest item', async () => {
    const picky =
      (ask: AskVersion): AskVersion =>
      async (version, request) => {
        const refused: TrialAnswer = { status: 400, headers: {}, body: { message: 'Too many.' } }
        return request.path === '/orders' && Number(request.body?.quantity) > 50 ? refused : ask(version, request)
      }
    const { failure } = await tried(picky)
    assert.match(String(failure?.says), /v1 refuses what it declares: 400 Too many\./)
    assert.deepEqual({ ...failure?.steps[0]?.request.body, customerId: '' }, { name: '', quantity: 51, customerId: '' })
  })
  test('a replacement that loses values of other versions', async () => {
    const lossy =
      (ask: AskVersion): AskVersion =>
      async (version, request) =>
        ask(
          version,
          request.method === 'PUT' && request.body ? { ...request, body: { ...request.body, note: null } } : request,
        )
    const { failure } = await tried(lossy)
    assert.match(String(failure?.says), /`note` of orders changed when v1 put back what it read/)
  })
})

test('resources of the service itself are not tried', async () => {
  const hooked = service({
    name: 'hooked',
    events: true,
    settings: { events: { webhooks: true } },
    resources: {
      notes: {
        fields: { text: f.text() },
        operations: { exports: { at: 'item', output: { text: f.text() }, asynchronous: true } },
        access: 'authenticated',
      },
    },
  })
  const served = hooked.handlers({
    notes: { exports: async () => ({ text: '' }) },
  }) as unknown as Service
  const { failure, untried, cases } = await verifyService(served, () => openSandbox(served), { seed: 11, runs: 20 })
  assert.deepEqual([failure, untried, [...cases]], [null, [], [['notes', 20]]])
})

describe('recorded answers', () => {
  const record = async () => {
    const sandbox = await openSandbox(shop)
    const [release] = versionServices(shop) as [VersionService]
    return recordExchanges(release, sandbox.ask).finally(sandbox.close)
  }
  test('are the same each time, and cover the declaration', async () => {
    const [one, other] = [await record(), await record()]
    assert.deepEqual(one, other)
    const seen = new Set(one.map(({ request, answer }) => `${request.method} ${answer.status}`))
    for (const each of [
      'POST 201',
      'POST 409',
      'POST 400',
      'GET 200',
      'GET 404',
      'GET 410',
      'GET 400',
      'PUT 200',
      'PATCH 200',
      'PATCH 400',
      'DELETE 204',
      'OPTIONS 204',
    ])
      assert.ok(seen.has(each), `${each} is not among ${[...seen].join(', ')}`)
    assert.ok(one.every(({ answer }) => answer.status < 500))
  })
  test('are repeated from an empty store', async () => {
    const sandbox = await openSandbox(shop)
    assert.equal(await replayExchanges(await record(), 'v1', sandbox.ask).finally(sandbox.close), null)
  })
})
