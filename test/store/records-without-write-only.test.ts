/** Events, revisions and first answers have no write-only values, which a change may convert others from. R98, R207, R237. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { type Node, nodeOn, places } from '../help/places.ts'

const settings = { idempotency: { mode: 'replay', methods: ['POST', 'PATCH'] } } as const
const orders = {
  prefix: 'ord',
  access: 'public',
  events: true,
  history: { read: 'public' },
  states: { field: 'status', initial: 'open', transitions: { payments: { from: ['open'], to: 'paid' } } },
} as const

const before = service({
  name: 'shop',
  versions: { v1: { released: '2026-01-01' } },
  settings,
  resources: {
    orders: {
      ...orders,
      fields: { note: f.text(), size: f.integer(), pin: f.text({ writeOnly: true }) },
    },
  },
})

const after = service({
  name: 'shop',
  versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-02-01' } },
  settings,
  resources: {
    orders: {
      ...orders,
      fields: {
        note: f.text(),
        label: f.text(),
        end: f.text(),
        short: f.text({ derived: true }),
      },
      derived: { short: ({ label }: { label: string }) => label.slice(0, 2) },
    },
  },
}).change('v2', 'orders', {
  about: 'Only the end of the pin is shown, and the size is in the label.',
  removed: { pin: f.text({ writeOnly: true }), size: f.integer() },
  added: ['end', 'label', 'short'],
  request: ({ pin, size }) => ({ end: pin.slice(-2), label: `${pin.length}-${size}` }) as never,
  response: ({ label, end }) => ({ pin: end, size: Number(label.slice(2)) }),
})

const keyed = async ({ ask }: Node, method: string, path: string, json: object, key: string) => {
  const { status, json: item, headers } = await ask(method, path, json, { 'idempotency-key': key })
  const { _links, ...shown } = item
  return { status, shown, isReplayed: headers.has('idempotency-replayed') }
}

/** The answers to requests with keys. */
async function answered(node: Node) {
  const first = await keyed(node, 'POST', '/v1/orders', { note: 'a', size: 7, pin: '1234' }, 'create')
  const path = `/v1/orders/${first.shown.id}`
  return [
    first,
    await keyed(node, 'PATCH', path, { note: 'b' }, 'change'),
    await keyed(node, 'POST', `${path}/payments`, {}, 'pay'),
  ]
}

for (const [store, placeOf] of places)
  test(`what a change computes from a write-only value is null in records from before (${store})`, async (t) => {
    const place = await placeOf(t)
    const old = nodeOn(place, before)
    const first = await answered(old)
    await old.close()
    const node = nodeOn(place, after, ['orders.pin'])
    t.after(node.close)
    const id = first[0]?.shown.id
    const unknown = { label: null, end: null, short: null }
    const older = first.map((one) => ({ ...one, shown: { ...one.shown, size: null }, isReplayed: true }))
    assert.deepEqual(await answered(node), older)
    const paid = await keyed(node, 'POST', `/v2/orders/${id}/payments`, {}, 'pay')
    const { size: _, ...rest } = first[2]?.shown ?? {}
    assert.deepEqual(paid, { status: 200, shown: { ...rest, ...unknown }, isReplayed: true })
    const shown = async (path: string) => (await node.ask('GET', path)).json
    for (const [version, fields] of [
      ['v1', { size: null }],
      ['v2', unknown],
    ] as const) {
      const { data } = await shown(`/${version}/events`)
      const made = { note: 'a', status: 'open', ...fields }
      assert.deepEqual(
        data.map((one: { data: object }) => one.data),
        [made, { ...made, note: 'b' }, { ...made, note: 'b', status: 'paid' }].map((one, i) => ({
          ...{ id, createdAt: rest.createdAt, updatedAt: first[i]?.shown.updatedAt },
          ...one,
        })),
      )
      const revision = await shown(`/${version}/orders/${id}/revisions/1`)
      assert.deepEqual(revision, data[0].data)
      assert.equal((await shown(`/${version}/orders/${id}/revisions`)).data.length, 3)
    }
    // The item itself was converted with all values.
    const { label, end, short, size } = { ...(await shown(`/v1/orders/${id}`)), ...(await shown(`/v2/orders/${id}`)) }
    assert.deepEqual({ label, end, short, size }, { label: '4-7', end: '34', short: '4-', size: 7 })
  })
