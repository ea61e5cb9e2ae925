/** First answers that are replayed when a newer declaration has another form of their rows. R98, R196. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { type Node, nodeOn, places } from '../help/places.ts'

const kinds = {
  'keys are kept for ever': {},
  'keys expire': { retention: 'P30D' },
} as const

const payment = { from: ['open'], to: 'paid' } as const
const lapses = { from: ['open'], to: 'lapsed', after: 'P7D' } as const
const states = { field: 'status', initial: 'open', transitions: { payments: payment, lapses } } as const
const newer = { ...states, transitions: { settlements: payment, lapses } } as const

const before = (idempotency: object) =>
  service({
    name: 'shop',
    versions: { v1: { released: '2026-01-01' } },
    resources: {
      orders: {
        prefix: 'ord',
        fields: {
          memo: f.text(),
          kind: f.enum(['plain', 'gift'], { default: 'plain' }),
          sum: f.integer({ optional: true }),
        },
        states,
        access: 'public',
      },
    },
    settings: { idempotency: { mode: 'replay', methods: ['POST', 'PATCH'], ...idempotency }, etag: { mode: 'off' } },
  })

const after = (idempotency: object) =>
  service({
    name: 'shop',
    versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-02-01' } },
    resources: {
      orders: {
        prefix: 'ord',
        fields: {
          note: f.text(),
          kind: f.enum(['usual', 'gift'], { default: 'usual' }),
          sum: f.text({ optional: true }),
        },
        states: newer,
        access: 'public',
      },
    },
    settings: { idempotency: { mode: 'replay', methods: ['POST', 'PATCH'], ...idempotency }, etag: { mode: 'off' } },
  }).change('v2', 'orders', {
    about: 'Memos are notes, sums are texts, and payments are settlements.',
    renamed: { memo: 'note' },
    transitions: { renamed: { payments: 'settlements' } },
    mapped: { kind: { plain: 'usual' } },
    retyped: { sum: f.integer({ optional: true }) },
    request: ({ sum }) => ({ sum: sum == null ? null : `${sum}` }),
    response: ({ sum }) => ({ sum: sum == null ? null : Number(sum) }),
  })

/** The answers to requests with keys. */
async function repeated({ ask }: Node) {
  const answers: { readonly status: number; readonly json: Record<string, unknown>; readonly isReplayed: boolean }[] =
    []
  const send = async (method: string, path: string, json: object, key: string) => {
    const answer = await ask(method, path, json, { 'idempotency-key': key })
    answers.push({ status: answer.status, json: answer.json, isReplayed: answer.headers.has('idempotency-replayed') })
    return answer.json
  }
  const { id } = await send('POST', '/v1/orders', { memo: 'a', sum: 7 }, 'create')
  await send('PATCH', `/v1/orders/${id}`, { memo: 'b' }, 'change')
  await send('POST', `/v1/orders/${id}/payments`, {}, 'pay')
  return answers
}

for (const [store, placeOf] of places)
  for (const [name, idempotency] of Object.entries(kinds))
    test(`R98: a first answer is replayed in the form of its version after a newer declaration: ${name} (${store})`, async (t) => {
      const place = await placeOf(t)
      const old = nodeOn(place, before(idempotency))
      const first = await repeated(old)
      assert.deepEqual(
        first.map(({ status, isReplayed }) => [status, isReplayed]),
        [[201, false], [200, false], [200, false]], // biome-ignore format: one line
      )
      await old.close()
      const node = nodeOn(place, after(idempotency))
      t.after(node.close)
      const shown = await repeated(node)
      assert.deepEqual(
        shown,
        first.map((one) => ({ ...one, isReplayed: true })),
      )
    })
