/** R236: summaries of older versions. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'

const versioned = service({
  name: 'versioned',
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' }, v3: { released: '2026-01-01' } },
  settings: { versions: { carriers: ['path'] } },
  resources: {
    clients: { prefix: 'cli', fields: { name: f.text() }, access: 'public' },
    orders: {
      prefix: 'ord',
      parent: 'clients',
      fields: {
        state: f.enum(['open', 'active', 'held', 'done'], { filter: true }),
        amount: f.decimal({ scale: 2, filter: 'range' }),
        weight: f.decimal({ scale: 1 }),
        channel: f.text({ max: 10, optional: true }),
        address: f.object({ town: f.text({ max: 30 }) }),
      },
      summaries: {
        byState: {
          group: ['state', 'clientId'],
          sum: ['amount'],
          min: ['amount'],
          max: ['amount'],
          average: ['amount'],
        },
        byTown: { group: ['address.town', { year: 'createdAt' }] },
        byChannel: { group: ['channel'] },
        heaviest: { max: ['weight'] },
      },
      access: 'public',
    },
  },
})
  .change('v3', 'orders', {
    about: 'Weights are decimals, and there are channels.',
    retyped: { weight: f.integer() },
    added: ['channel'],
    shown: { state: { held: 'active' } },
    request: ({ weight }) => ({ weight: `${weight}` }),
    response: ({ weight }) => ({ weight: Math.round(Number(weight)) }),
  })
  .change('v2', 'clients', { about: 'Customers are clients.', was: 'customers' })
  .change('v2', 'orders', {
    about: 'Other names.',
    renamed: { status: 'state', total: 'amount', location: 'address' },
    mapped: { state: { draft: 'open', begun: 'active' } },
  })

doors('summaries of older versions', versioned, (door) => {
  spec('R236 R194', 'have the names and values of the version, and join groups that are one there', async () => {
    const { id } = (await door.send('POST', '/v3/clients', { json: { name: 'Ann' } })).json
    const rows = [
      ['open', '1.00', 'Rome'],
      ['active', '2.00', 'Rome'],
      ['held', '4.01', 'Oslo'],
      ['held', '-0.50', 'Rome'],
      ['done', '8.00', 'Oslo'],
    ]
    for (const [state, amount, town] of rows) {
      const json = { state, amount, weight: '1.5', address: { town } }
      assert.equal((await door.send('POST', `/v3/clients/${id}/orders`, { json })).status, 201)
    }
    const data = async (path: string) => {
      const answer = await door.send('GET', path)
      assert.equal(answer.status, 200, answer.text)
      return answer.json.data
    }
    const values = (count: number, sum: string, min: string, max: string, average: string) => ({
      ...{ count, sumAmount: sum, minAmount: min, maxAmount: max, averageAmount: average },
    })
    const newest = await data('/v3/orders/summaries/by-state')
    assert.deepEqual(
      newest.map((one: { state: string }) => one.state),
      ['active', 'done', 'held', 'open'],
    )
    assert.deepEqual(newest[2], {
      ...{ id: `state=held&clientId=${id}`, state: 'held', clientId: id },
      ...values(2, '3.51', '-0.50', '4.01', '1.7550'),
    })
    assert.deepEqual(await data('/v2/orders/summaries/by-state?state=active'), [
      {
        ...{ id: `state=active&clientId=${id}`, state: 'active', clientId: id },
        ...values(3, '5.51', '-0.50', '4.01', '1.8367'),
      },
    ])
    const renamed = (status: string, count: number, sum: string, min: string, max: string, average: string) => ({
      ...{ id: `status=${status}&customerId=${id}`, status, customerId: id, count },
      ...{ sumTotal: sum, minTotal: min, maxTotal: max, averageTotal: average },
    })
    assert.deepEqual(await data(`/v1/customers/${id}/orders/summaries/by-state?total[lte]=7`), [
      renamed('begun', 3, '5.51', '-0.50', '4.01', '1.8367'),
      renamed('draft', 1, '1.00', '1.00', '1.00', '1.0000'),
    ])
    const year = new Date().toISOString().slice(0, 4)
    const town = (name: string, count: number) => ({
      ...{ id: `locationTown=${name}&createdAtYear=${year}`, locationTown: name, createdAtYear: year, count },
    })
    assert.deepEqual(await data('/v1/orders/summaries/by-town'), [town('Oslo', 2), town('Rome', 3)])
    assert.deepEqual(await data('/v3/orders/summaries/heaviest'), [{ id: '', count: 5, maxWeight: '1.5' }])
    for (const label of ['v1', 'v2'])
      for (const name of ['heaviest', 'by-channel'])
        assert.equal((await door.send('GET', `/${label}/orders/summaries/${name}`)).status, 404, `${label} ${name}`)
  })
})

const withoutOlder = service({
  name: 'without-older',
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' }, v3: { released: '2026-01-01' } },
  settings: { versions: { carriers: ['path'] } },
  resources: {
    parcels: {
      key: 'code',
      fields: { code: f.text({ max: 20, immutable: true }), weight: f.decimal({ scale: 1 }) },
      summaries: { heaviest: { max: ['weight'] } },
      access: 'public',
    },
    letters: {
      key: 'code',
      fields: { code: f.text({ max: 20, immutable: true }), colour: f.text({ max: 10, optional: true }) },
      summaries: { colours: { group: ['colour'] } },
      access: 'public',
    },
  },
})
  .change('v3', 'parcels', {
    about: 'Weights are decimals.',
    retyped: { weight: f.integer() },
    request: ({ weight }) => ({ weight: `${weight}` }),
    response: ({ weight }) => ({ weight: Math.round(Number(weight)) }),
  })
  .change('v2', 'letters', { about: 'Letters have colours.', added: ['colour'] })

doors('resources whose older versions have no summary', withoutOlder, (door) => {
  spec('R236 R194', 'start, and keep the path of the summaries free', async () => {
    const statusOf = async (method: string, path: string, json?: object) =>
      (await door.send(method, path, json && { json })).status
    assert.equal(await statusOf('PUT', '/v2/parcels/a', { weight: 2 }), 201)
    assert.equal(await statusOf('PUT', '/v1/letters/a', {}), 201)
    for (const [path, oldest] of [
      ['parcels/summaries/heaviest', 'v1 v2'],
      ['letters/summaries/colours', 'v1'],
    ] as const)
      for (const label of ['v1', 'v2', 'v3'])
        assert.equal(await statusOf('GET', `/${label}/${path}`), oldest.includes(label) ? 404 : 200, label + path)
    for (const [path, json] of [
      ['/v1/parcels', { weight: 2 }],
      ['/v1/letters', {}],
    ] as const) {
      const inPath = await door.send('PUT', `${path}/summaries`, { json })
      assert.equal(inPath.status, 404, inPath.text)
      const inBody = await door.send('POST', path, { json: { ...json, code: 'summaries' } })
      assert.equal(inBody.status, 400, inBody.text)
    }
  })
})
