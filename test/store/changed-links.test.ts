/** Tags of items whose links a new declaration changes: the text differs, so the tag must. R121. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { nodeOn, places } from '../help/places.ts'

const payments = { from: ['open'], to: 'paid' }
const versions = { v1: { released: '2026-01-01' }, v2: { released: '2026-02-01' } }

const fields = { memo: f.text({ optional: true }) }
const renamed = { about: '`memo` was `note`.', renamed: { note: 'memo' } } as const

/** Orders with links, and lines below them if `hasLines`. */
const shop = ({ links = 'none', hasLines = false }: { links?: 'none' | 'all'; hasLines?: boolean }) =>
  service({
    name: 'shop',
    versions,
    resources: {
      orders: { prefix: 'ord', fields, access: 'public', settings: { resource: { links } } },
      ...(hasLines && { lines: { prefix: 'lin', parent: 'orders', fields: { n: f.integer() }, access: 'public' } }),
    },
  }).change('v2', 'orders', renamed)

/** Orders with transitions. */
const machine = (transitions: Record<string, typeof payments & { readonly access?: string }>) =>
  service({
    name: 'shop',
    versions,
    resources: {
      orders: { prefix: 'ord', fields, states: { field: 'status', initial: 'open', transitions }, access: 'public' },
    },
  }).change('v2', 'orders', renamed)

const changes = {
  'a transition is added': [machine({ payments }), machine({ payments, refusals: { from: ['open'], to: 'paid' } })],
  'a transition gets another name': [machine({ payments }), machine({ settlements: payments })],
  'a transition is possible in another state': [
    machine({ payments, returns: { from: ['paid'], to: 'open' } }),
    machine({ payments, returns: { from: ['paid', 'open'], to: 'open' } }),
  ],
  'a transition needs credentials': [
    machine({ payments }),
    machine({ payments: { ...payments, access: 'authenticated' } }),
  ],
  'a list of children is added': [shop({ links: 'all' }), shop({ links: 'all', hasLines: true })],
  'links are turned on': [shop({}), shop({ links: 'all' })],
  'links are turned off': [shop({ links: 'all' }), shop({})],
} as const

for (const [store, placeOf] of places)
  for (const [name, [before, after]] of Object.entries(changes))
    test(`R121: an item has another tag if its links change: ${name} (${store})`, async (t) => {
      const place = await placeOf(t)
      const first = nodeOn(place, before)
      const { id } = (await first.ask('POST', '/v2/orders', {})).json
      const paths = [`/v1/orders/${id}`, `/v2/orders/${id}`]
      const was = await Promise.all(paths.map((path) => first.ask('GET', path)))
      await first.close()
      const second = nodeOn(place, after)
      t.after(second.close)
      for (const [i, path] of paths.entries()) {
        const { json, headers } = was[i] as (typeof was)[number]
        const is = await second.ask('GET', path)
        const again = await second.ask('GET', path, undefined, { 'if-none-match': headers.get('etag') as string })
        assert.notDeepEqual(is.json, json, path)
        assert.notEqual(is.headers.get('etag'), headers.get('etag'), path)
        assert.equal(again.status, 200, path)
      }
      const match = { 'if-match': was[1]?.headers.get('etag') as string }
      assert.equal(
        (await second.ask('PATCH', `/v2/orders/${id}`, { memo: 'x' }, match)).status,
        200,
        'the state is the same',
      )
    })
