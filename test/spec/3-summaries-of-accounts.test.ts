/** R236: summaries of accounts, their parameters, tags and refusals. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'

const market = service({
  name: 'market',
  scopes: { costs: 'See costs' },
  resources: {
    stalls: {
      prefix: 'sta',
      owner: 'accountId',
      fields: {
        name: f.text({ max: 40, filter: true }),
        rent: f.decimal({ scale: 2, default: '1', read: 'costs', filter: true }),
      },
      summaries: {
        byName: { group: ['name'] },
        rents: { group: ['name'], sum: ['rent'] },
        byRent: { group: ['rent'] },
      },
      access: 'authenticated',
    },
    wares: {
      prefix: 'war',
      parent: 'stalls',
      fields: {
        kind: f.text({ max: 20, filter: true }),
        weight: f.decimal({ precision: 38, scale: 3 }),
        place: f.object({ row: f.integer() }, { optional: true }),
      },
      summaries: {
        'by-kind': { group: ['kind', 'stallId'], sum: ['weight'], max: ['place.row'], average: ['weight'] },
        byPlace: { group: ['place.row'], average: ['place.row'] },
      },
      access: 'authenticated',
    },
    slots: {
      parent: 'stalls',
      key: 'code',
      fields: { code: f.text({ max: 20 }), size: f.integer() },
      summaries: { total: { sum: ['size'] } },
      access: 'authenticated',
    },
    codes: {
      key: 'code',
      fields: { code: f.text({ max: 20 }), size: f.integer({ filter: true }) },
      summaries: { bySize: { group: ['size'] } },
      access: 'authenticated',
    },
  },
})
const holders = {
  ann: { account: 'a', scopes: [] },
  boss: { account: 'a', scopes: ['costs'] },
  eve: { account: 'b', scopes: ['costs'] },
}

doors(
  'summaries of accounts',
  market,
  (door) => {
    const as = (who: string, method: string, path: string, json?: object, headers = {}) =>
      door.send(method, path, { ...(json && { json }), headers: { ...door.as(who), ...headers } })
    const get = (who: string, path: string, headers = {}) => as(who, 'GET', path, undefined, headers)
    const create = async (who: string, path: string, json: object): Promise<{ id: string }> => {
      const answer = await as(who, 'POST', path, json)
      assert.equal(answer.status, 201, answer.text)
      return answer.json
    }

    spec(
      'R236 R170',
      'only the items of the account of the caller count, with the parent and in the flat list',
      async () => {
        const [one, two, other] = [
          await create('boss', '/stalls', { name: 'one', rent: '2.50' }),
          await create('boss', '/stalls', { name: 'two' }),
          await create('eve', '/stalls', { name: 'other', rent: '1000' }),
        ]
        const kilos = '99999999999999999999999999999999999.999'
        await create('boss', `/stalls/${one.id}/wares`, { kind: 'figs', weight: kilos, place: { row: 3 } })
        await create('boss', `/stalls/${one.id}/wares`, { kind: 'figs', weight: kilos })
        await create('boss', `/stalls/${two.id}/wares`, { kind: 'figs', weight: `-${kilos}`, place: { row: 4 } })
        await create('eve', `/stalls/${other.id}/wares`, { kind: 'secret', weight: '1' })
        const figs = {
          ...{ id: `kind=figs&stallId=${one.id}`, kind: 'figs', stallId: one.id, count: 2 },
          ...{ sumWeight: '199999999999999999999999999999999999.998', maxPlaceRow: 3 },
          averageWeight: '99999999999999999999999999999999999.99900',
        }
        const more = {
          ...{ id: `kind=figs&stallId=${two.id}`, kind: 'figs', stallId: two.id, count: 1 },
          ...{ sumWeight: `-${kilos}`, maxPlaceRow: 4, averageWeight: `-${kilos}00` },
        }
        assert.deepEqual((await get('ann', '/wares/summaries/by-kind')).json.data, [figs, more])
        assert.deepEqual((await get('ann', `/stalls/${one.id}/wares/summaries/by-kind`)).json.data, [figs])
        assert.deepEqual((await get('ann', `/wares/summaries/by-kind?stallId=${two.id}`)).json.data, [more])
        assert.deepEqual((await get('ann', '/wares/summaries/by-kind?kind=secret')).json.data, [])
        assert.deepEqual((await get('boss', `/stalls/${one.id}/wares/summaries/by-place`)).json.data, [
          { id: 'placeRow=3', placeRow: 3, count: 1, averagePlaceRow: '3.00' },
          { id: 'placeRow%5Bnull%5D=true', placeRow: null, count: 1, averagePlaceRow: null },
        ])
        assert.equal((await get('eve', `/stalls/${one.id}/wares/summaries/by-kind`)).status, 404)
        await create('boss', `/stalls/${one.id}/slots`, { code: 'a', size: 5 })
        const total = await get('ann', `/stalls/${one.id}/slots/summaries/total`)
        assert.deepEqual(total.json.data, [{ id: '', count: 1, sumSize: '5' }])
        assert.equal((await get('ann', '/slots/summaries/total')).status, 404)
        const gone = await create('boss', '/stalls', { name: 'gone' })
        await as('boss', 'DELETE', `/stalls/${gone.id}`)
        assert.equal((await get('ann', `/stalls/${gone.id}/slots/summaries/total`)).status, 410)
      },
    )

    spec('R236 R169', 'a summary with a field that needs a scope needs the scope, as a filter by it does', async () => {
      assert.equal((await get('boss', '/stalls/summaries/rents')).status, 200)
      for (const path of ['/stalls/summaries/rents', '/stalls/summaries/by-rent', '/stalls/summaries/by-name?rent=1']) {
        const refused = await get('ann', path)
        assert.equal(refused.status, 403, path)
        assert.equal(refused.json.type, 'insufficient-scope')
        assert.equal(refused.json.scope, 'costs')
        // Only a filter is named by its place in the request.
        const isFilter = path.includes('?')
        assert.match(refused.json.message, isFilter ? /^To filter or sort by rent/ : /^To summarize rent/)
        assert.equal(refused.json.name, isFilter ? 'rent' : undefined)
        assert.equal((await door.send('GET', path)).status, 401)
      }
      assert.deepEqual((await get('ann', '/stalls/summaries/by-name?name=one')).json.data, [
        { id: 'name=one', name: 'one', count: 1 },
      ])
    })

    spec('R236 R22 R154', 'parameters that are no filters are refused, with all other mistakes', async () => {
      const path = '/stalls/summaries/by-name'
      const refused = await get('boss', `${path}?sort=name&limit=5&fields=name&cursor=&nam=x&name=a&name=b&id=7&page=1`)
      assert.equal(refused.status, 400)
      assert.deepEqual(
        refused.json.errors.map(({ type, name }: { type: string; name: string }) => `${name} ${type}`),
        [
          ...['sort unknown-parameter', 'limit unknown-parameter', 'fields unknown-parameter'],
          ...['cursor unknown-parameter', 'nam unknown-parameter', 'name repeated-parameter'],
          ...['id invalid-parameter-value', 'page unknown-parameter'],
        ],
      )
      assert.match(refused.json.errors[4].message, /Did you mean name\? Accepted: .*rent/)
      assert.equal((await get('boss', `${path}?or=(name=a)`)).status, 400, 'list.or is off')
      const many = Array.from({ length: 21 }, (_, i) => `name[${i}]=a`).join('&')
      assert.equal((await get('boss', `${path}?${many}`)).status, 400)
    })

    spec(
      'R236 R121 R139 R142',
      'its tag changes with each write that it shows, and answers conditional reads',
      async () => {
        const path = '/codes/summaries/by-size'
        const code = (size: number, method = 'PUT') =>
          as('boss', method, '/codes/x', method === 'PUT' ? { code: 'x', size } : undefined)
        await code(1)
        const first = await get('boss', path)
        assert.deepEqual(first.json.data, [{ id: 'size=1', size: 1, count: 1 }])
        const tag = first.headers.etag as string
        assert.match(tag, /^"[^"]+"$/)
        for (let i = 0; i < 3; i++) {
          const again = await get('boss', path, { 'if-none-match': tag })
          assert.equal(again.status, 304)
          assert.equal(again.headers.etag, tag)
        }
        await code(2)
        const second = await get('boss', path, { 'if-none-match': tag })
        assert.deepEqual(second.json.data, [{ id: 'size=2', size: 2, count: 1 }])
        const head = await as('boss', 'HEAD', path)
        assert.equal(head.headers.etag, second.headers.etag)
        assert.equal(head.text, '')
        await code(0, 'DELETE')
        assert.deepEqual((await get('boss', path)).json, { data: [] })
        assert.equal((await get('boss', path, { 'if-match': tag })).status, 412)
      },
    )

    spec('R236 R8 R12 R14', 'the segment `summaries` is no item and takes no other method', async () => {
      const refused = await as('boss', 'POST', '/codes', { code: 'summaries', size: 1 })
      assert.equal(refused.status, 400, refused.text)
      assert.match(refused.json.errors?.[0]?.message ?? refused.json.cause.message, /cannot be summaries/)
      for (const [method, path] of [
        ['GET', '/codes/summaries'],
        ['PUT', '/codes/summaries'],
        ['GET', '/codes/summaries/none'],
        ['GET', '/codes/summaries/bySize'],
        ['GET', '/codes/summaries/by-size/'],
      ] as const)
        assert.equal((await as('boss', method, path, method === 'PUT' ? { size: 1 } : undefined)).status, 404, path)
      const wrong = await as('boss', 'POST', '/codes/summaries/by-size', {})
      assert.equal(wrong.status, 405)
      assert.equal(wrong.headers.allow, 'GET, HEAD, OPTIONS')
      assert.equal((await as('boss', 'OPTIONS', '/codes/summaries/by-size')).headers.allow, 'GET, HEAD, OPTIONS')
      assert.equal((await get('boss', '/codes/summaries/by-size', { accept: 'text/csv' })).status, 406)
    })

    spec('R236', 'more than 1,000 groups are refused, and those of other accounts do not count', async () => {
      const add = async (who: string, from: number, to: number) => {
        for (let i = from; i < to; i += 50)
          await Promise.all(
            Array.from({ length: Math.min(50, to - i) }, (_, n) => create(who, '/stalls', { name: `many ${i + n}` })),
          )
      }
      const own = (await get('eve', '/stalls/summaries/by-name')).json.data.length
      await add('eve', 0, 1000 - own)
      await create('boss', '/stalls', { name: 'another one' })
      assert.equal((await get('eve', '/stalls/summaries/by-name')).json.data.length, 1000)
      await add('eve', 2000, 2001)
      const refused = await get('eve', '/stalls/summaries/by-name')
      assert.equal(refused.status, 400)
      assert.equal(refused.json.type, 'invalid-query')
      assert.match(refused.json.message, /more than 1000 groups by name\. Filter it/)
      assert.equal((await get('eve', '/stalls/summaries/by-name?name=in:(%22many%201%22)')).json.data.length, 1)
      assert.ok((await get('boss', '/stalls/summaries/by-name')).json.data.length < 10)
    })
  },
  { holders },
)
