/** Keys of transitions and operations whose inputs newer declarations rename and convert: a repeat is compared in the form of then. R98, R108. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Declaration, f, input, type Service, service } from 'bylaw'
import { type Node, nodeOn, places } from '../help/places.ts'

const released = {
  v1: { released: '2026-01-01' },
  v2: { released: '2026-02-01' },
  v3: { released: '2026-03-01' },
} as const
const names = { v1: ['carrier', 'dozens'], v2: ['forwarder', 'pieces'], v3: ['agent', 'pieces'] } as const
type Version = keyof typeof released
const labels = Object.keys(released) as Version[]

/** A service without the types of its fields, which differ by version. */
interface Changing {
  readonly change: (version: string, resource: string, change: object) => Changing
  readonly handlers: (own: object) => Service
}

/** The declaration whose newest version is the given one. */
function shop(newest: Version): Service {
  const [carrier, count] = names[newest]
  const versions = Object.fromEntries(labels.slice(0, labels.indexOf(newest) + 1).map((one) => [one, released[one]]))
  let api: Changing = service({
    name: 'shop',
    versions,
    resources: {
      orders: {
        prefix: 'ord',
        access: 'public',
        fields: { by: f.text({ optional: true }) },
        states: {
          field: 'status',
          initial: 'open',
          transitions: {
            shipments: {
              from: ['open'],
              to: 'shipped',
              input: { [carrier]: f.text(), ...(newest === 'v3' && { speed: f.text() }) },
              set: { by: input(carrier) },
            },
          },
        },
        operations: { quotes: { at: 'collection', input: { [count]: f.integer() }, output: { ok: f.boolean() } } },
      },
    },
  } as unknown as Declaration) as unknown as Changing
  if (newest === 'v3')
    api = api.change('v3', 'orders', {
      about: 'Forwarders are agents, who have a speed.',
      transitions: {
        changed: {
          shipments: {
            input: { renamed: { forwarder: 'agent' }, added: ['speed'], request: () => ({ speed: 'slow' }) },
          },
        },
      },
    })
  if (newest !== 'v1')
    api = api.change('v2', 'orders', {
      about: 'Carriers are forwarders, and dozens pieces.',
      transitions: { changed: { shipments: { input: { renamed: { carrier: 'forwarder' } } } } },
      operations: {
        changed: {
          quotes: {
            input: {
              removed: { dozens: f.integer() },
              added: ['pieces'],
              request: ({ dozens }: { dozens: number }) => ({ pieces: dozens * 12 }),
            },
          },
        },
      },
    })
  return api.handlers({ orders: { quotes: () => ({ ok: true }) } })
}

async function ask({ ask: send }: Node, path: string, json: object, key: string) {
  const { status, json: body, headers } = await send('POST', path, json, { 'idempotency-key': key })
  return [status, headers.has('idempotency-replayed'), body.type ?? body.status ?? body.ok]
}

for (const [store, placeOf] of places)
  test(`R98 R108: a repeat in its version is answered after its inputs have changed (${store})`, async (t) => {
    const place = await placeOf(t)
    const used: { readonly version: Version; readonly id: string; readonly key: string }[] = []
    const shipment = ({ version, id, key }: (typeof used)[number], by = key) =>
      [
        `/${version}/orders/${id}/shipments`,
        { [names[version][0]]: by, ...(version === 'v3' && { speed: 'slow' }) },
        key,
      ] as const
    const quote = ({ version, key }: (typeof used)[number], count = 5) =>
      [`/${version}/orders/quotes`, { [names[version][1]]: count }, `${key}-quote`] as const
    for (const newest of labels) {
      const node = nodeOn(place, shop(newest))
      t.after(() => node.close().catch(() => {})) // after a failure
      for (const one of used) {
        const about = `${one.key} after ${newest}`
        assert.deepEqual(await ask(node, ...shipment(one)), [200, true, 'shipped'], about)
        assert.deepEqual(await ask(node, ...quote(one)), [200, true, true], about)
        const other = [422, false, 'idempotency-key-payload-mismatch']
        assert.deepEqual(await ask(node, ...shipment(one, 'another')), other, about)
        assert.deepEqual(await ask(node, ...quote(one, 6)), other, about)
      }
      for (const version of labels.slice(0, labels.indexOf(newest) + 1)) {
        const { json } = await node.ask('POST', '/v1/orders', {})
        const one = { version, id: json.id as string, key: `${version}-in-${newest}` }
        assert.deepEqual(await ask(node, ...shipment(one)), [200, false, 'shipped'])
        assert.deepEqual(await ask(node, ...quote(one)), [200, false, true])
        used.push(one)
      }
      await node.close()
    }
  })
