/** The functions of a change receive the default of a field that only the version between has. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { nodeOn, places } from '../help/places.ts'

const dated = (...labels: string[]) =>
  Object.fromEntries(labels.map((label) => [label, { released: `2025-01-0${label.slice(1)}` }]))
const declared = (labels: string[], fields: object) =>
  service({
    name: 'orders',
    versions: dated(...labels),
    resources: { orders: { prefix: 'ord', fields, access: 'public' } },
  } as never) as unknown as Changing
interface Changing {
  change: (version: string, resource: string, change: object) => Changing
}
const served = (made: Changing): Service => made as unknown as Service

for (const [store, make] of places) {
  test(`R196: an older response receives the default of a field that a newer version removed (${store})`, async (t) => {
    const api = declared(['v1', 'v2', 'v3'], { note: f.text() })
      .change('v3', 'orders', { about: 'No level.', removed: { level: f.integer({ default: 3 }) } })
      .change('v2', 'orders', {
        about: 'A level is a number.',
        removed: { rank: f.text({ default: 'none', filter: true, sort: true }) },
        added: ['level'],
        request: ({ rank }: { rank: string }) => ({ level: Number(rank.slice(1)) }),
        response: ({ level }: { level: number }) => ({ rank: `r${level}` }),
      })
    const { ask, close } = nodeOn(await make(t), served(api))
    t.after(close)
    const { id } = (await ask('POST', '/v3/orders', { note: 'a' })).json
    assert.equal((await ask('GET', `/v2/orders/${id}`)).json.level, 3)
    assert.equal((await ask('GET', `/v1/orders/${id}`)).json.rank, 'r3')
    const found = (await ask('GET', '/v1/orders?rank=r3&sort=rank')).json.data
    assert.deepEqual(
      found.map(({ rank }: { rank: string }) => rank),
      ['r3'],
    )
  })

  test(`R196: a newer request receives the default of a field that the version between added (${store})`, async (t) => {
    const place = await make(t)
    const first = nodeOn(place, served(declared(['v1'], { note: f.text() })))
    await first.ask('POST', '/v1/orders', { note: 'a' })
    await first.close()
    const api = declared(['v1', 'v2', 'v3'], { note: f.text(), rank: f.text() })
      .change('v3', 'orders', {
        about: 'A rank is a text.',
        removed: { level: f.integer({ optional: true }), size: f.integer() },
        added: ['rank'],
        request: ({ level, size }: { level: number | null; size: number }) => ({ rank: `${level} of ${size}` }),
        response: ({ rank }: { rank: string }) => ({
          level: Number.parseInt(rank, 10) || null,
          size: Number.parseInt(rank.split(' of ')[1] ?? '', 10) || 0,
        }),
      })
      .change('v2', 'orders', {
        about: 'Orders have a level and a size.',
        added: ['level', 'size'],
        request: () => ({ size: 5 }),
      })
    const { ask, close } = nodeOn(place, served(api))
    t.after(close)
    await ask('POST', '/v1/orders', { note: 'b' })
    await ask('POST', '/v2/orders', { note: 'c', size: 5 })
    const ranks = (await ask('GET', '/v3/orders')).json.data.map(({ rank }: { rank: string }) => rank)
    assert.deepEqual(ranks, ['null of 5', 'null of 5', 'null of 5'])
  })

  test(`R196: a field that a version added and a newer one requires has the value of the newer change for older clients (${store})`, async (t) => {
    const place = await make(t)
    const first = nodeOn(place, served(declared(['v1'], { note: f.text() })))
    await first.ask('POST', '/v1/orders', { note: 'a' })
    await first.close()
    const api = declared(['v1', 'v2', 'v3'], { note: f.text(), level: f.integer({ filter: true }) })
      .change('v3', 'orders', { about: 'A level is required.', required: { level: 7 } })
      .change('v2', 'orders', { about: 'Orders have a level.', added: ['level'] })
    const { ask, close } = nodeOn(place, served(api))
    t.after(close)
    const { status, json } = await ask('POST', '/v1/orders', { note: 'b' })
    assert.equal(status, 201, JSON.stringify(json))
    await ask('PATCH', `/v3/orders/${json.id}`, { level: 8 })
    assert.equal((await ask('PATCH', `/v1/orders/${json.id}`, { note: 'c' })).status, 200)
    const found = async (level: number) => (await ask('GET', `/v3/orders?level=${level}`)).json.data.length
    assert.deepEqual([await found(7), await found(8)], [1, 1])
  })

  test(`R196: so it has if the change that added it has a request that makes other fields (${store})`, async (t) => {
    const fields = { note: f.text(), level: f.integer(), size: f.integer() }
    const api = declared(['v1', 'v2', 'v3'], fields)
      .change('v3', 'orders', { about: 'A level is required.', required: { level: 7 } })
      .change('v2', 'orders', {
        about: 'Orders have a level and a size.',
        added: ['level', 'size'],
        request: () => ({ size: 5 }),
      })
    const { ask, close } = nodeOn(await make(t), served(api))
    t.after(close)
    const { status, json } = await ask('POST', '/v1/orders', { note: 'a' })
    assert.equal(status, 201, JSON.stringify(json))
    const { level, size } = (await ask('GET', `/v3/orders/${json.id}`)).json
    assert.deepEqual([level, size], [7, 5])
  })

  test(`R196: a value that an item keeps while it has no link is shown in the terms of each version (${store})`, async (t) => {
    const api = (
      service({
        name: 'orders',
        versions: dated('v1', 'v2', 'v3'),
        resources: {
          customers: { prefix: 'cus', fields: { tier: f.enum(['gold', 'basic']) }, access: 'public' },
          orders: { prefix: 'ord', fields: { customerId: f.ref('customers', { optional: true }) }, access: 'public' },
        },
      } as never) as unknown as Changing
    )
      .change('v3', 'orders', {
        about: 'Tiers are those of customers.',
        moved: { tier: { by: 'customerId', to: 'tier' } },
      })
      .change('v2', 'orders', { about: 'Silver is basic.', mapped: { tier: { silver: 'basic' } } })
    const { ask, close } = nodeOn(await make(t), served(api))
    t.after(close)
    const { status, json } = await ask('POST', '/v1/orders', { tier: 'silver' })
    assert.deepEqual([status, json.tier], [201, 'silver'], JSON.stringify(json))
  })
}
