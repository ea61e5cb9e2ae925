/** Part 4 of the contract, methods: conditions by date, with several changes in one second. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'

const market = service({
  name: 'market',
  resources: {
    shops: {
      prefix: 'shp',
      fields: { city: f.text({ default: 'Rome' }), name: f.text({ default: 'a' }) },
      access: 'public',
    },
    goods: {
      prefix: 'gds',
      plural: true,
      fields: { shopId: f.ref('shops', { optional: true }), name: f.text({ default: 'a' }) },
      access: 'public',
      settings: { etag: { mode: 'off' } },
    },
    boxes: { prefix: 'box', fields: { name: f.text() }, access: 'public', settings: { resource: { id: 'client' } } },
    lids: { prefix: 'lid', parent: 'boxes', fields: { name: f.text() }, access: 'public' },
  },
  versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-06-01' } },
}).change('v2', 'goods', {
  about: 'The city is that of the shop.',
  moved: { city: { by: 'shopId', to: 'city' } },
})

const start = Date.UTC(2026, 10, 20, 9, 4, 10, 100)
let time = start
const dateAt = (ms: number): string => new Date(time + ms).toUTCString()

const sinceRead = (door: Door, path: string, date: string): Promise<Answer> =>
  door.send('GET', path, { headers: { 'if-modified-since': date } })
const since = (door: Door, method: string, path: string, date: string): Promise<Answer> =>
  door.send(method, path, {
    ...(method === 'PATCH' || method === 'PUT' ? { json: { name: 'mine' } } : {}),
    headers: { 'if-unmodified-since': date },
  })

doors(
  'dates of one second',
  market,
  (door) => {
    async function made(): Promise<readonly string[]> {
      time = start
      const paths = []
      for (const path of ['/goods', '/boxes', '/shops']) {
        const { headers, status, text } = await door.send('POST', path, { json: { name: 'a' } })
        assert.equal(status, 201, text)
        paths.push(headers.location as string)
      }
      const lid = await door.send('POST', `${paths[1]}/lids`, { json: { name: 'a' } })
      return [...paths, lid.headers.location as string]
    }

    spec('R130', 'no date is sent until no other change can have the same one', async () => {
      for (const path of await made()) {
        time = start + 800
        const changed = await door.send('PATCH', path, { json: { name: 'b' } })
        assert.deepEqual([changed.status, changed.headers['last-modified']], [200, undefined])
        for (const passed of [0, 100, 1000, 2000, 2099]) {
          time = start + 800 + passed
          for (const method of ['GET', 'HEAD'])
            assert.equal((await door.send(method, path)).headers['last-modified'], undefined, `${path} ${passed}`)
        }
        time = start + 2900
        for (const method of ['GET', 'HEAD'])
          assert.equal((await door.send(method, path)).headers['last-modified'], 'Fri, 20 Nov 2026 09:04:10 GMT')
        time = start
      }
    })

    spec('R130 R141', 'an item that changed again in the second of its reading is never 304 by that date', async () => {
      for (const path of await made()) {
        time = start
        const date = (await door.send('GET', path)).headers.date as string
        for (const passed of [300, 1500, 2500]) {
          time = start + 200
          assert.equal((await door.send('PATCH', path, { json: { name: `b${passed}` } })).status, 200)
          time = start + passed
          const read = await sinceRead(door, path, date)
          assert.deepEqual([read.status, read.json?.name], [200, `b${passed}`], path)
        }
      }
    })

    spec('R130 R127', 'a date does not allow a write if the item changed again in the same second', async () => {
      for (const method of ['PATCH', 'PUT', 'DELETE'])
        for (const path of await made()) {
          time = start
          const date = (await door.send('GET', path)).headers.date as string
          time = start + 200
          assert.equal((await door.send('PATCH', path, { json: { name: 'other' } })).status, 200)
          for (const passed of [300, 1500, 2500]) {
            time = start + passed
            const refused = await since(door, method, path, date)
            assert.deepEqual([refused.status, refused.json?.type], [412, 'precondition-failed'], `${method} ${path}`)
            assert.equal((await door.send('GET', path, { headers: { 'if-unmodified-since': date } })).status, 412)
          }
          assert.equal((await door.send('GET', path)).json.name, 'other')
        }
    })

    spec('R130', 'a date of the present second or later proves nothing', async () => {
      for (const path of await made()) {
        time = start + 60_000
        for (const ahead of [0, 1000, 3_600_000]) {
          assert.equal((await sinceRead(door, path, dateAt(ahead))).status, 200)
          for (const method of ['GET', 'PATCH', 'PUT', 'DELETE'])
            assert.equal((await since(door, method, path, dateAt(ahead))).status, 412, `${method} ${path} ${ahead}`)
        }
        assert.equal((await sinceRead(door, path, dateAt(-1000))).status, 304)
        assert.equal((await since(door, 'PATCH', path, dateAt(-1000))).status, 200)
      }
    })

    spec('R130', 'invalid dates are ignored, in every version and with every method', async () => {
      const all = ['', 'yesterday', '0', 'Fri, 31 Feb 2026 09:04:10 GMT', new Date(start + 60_000).toISOString()]
      for (const path of (await made()).flatMap((one) => [one, one.replace(/^(\/v\d)?/, '/v1')]))
        for (const date of all) {
          time = start + 60_000
          assert.equal((await sinceRead(door, path, date)).status, 200, `${path} ${date}`)
          for (const method of ['GET', 'PATCH', 'PUT'])
            assert.equal((await since(door, method, path, date)).status, 200, `${method} ${path} ${date}`)
        }
    })

    spec('R130', 'a list is sent again for any date', async () => {
      await made()
      time = start + 60_000
      for (const path of ['/goods', '/v1/goods', '/shops', '/boxes'])
        for (const ahead of [-3_600_000, -1000, 0, 3_600_000]) {
          const { status, headers } = await sinceRead(door, path, dateAt(ahead))
          assert.deepEqual([status, headers['last-modified']], [200, undefined], `${path} ${ahead}`)
        }
    })

    spec('R130 R126', 'in an older version the date of another row that is shown counts too', async () => {
      time = start
      const shop = (await door.send('POST', '/shops', { json: { city: 'Rome' } })).json.id
      const good = await door.send('POST', '/v2/goods', { json: { name: 'a', shopId: shop } })
      const path = `/v1/goods/${good.json.id}`
      time = start + 10_000
      const read = await door.send('GET', path)
      const date = read.headers['last-modified'] as string
      assert.deepEqual([read.json.city, date], ['Rome', 'Fri, 20 Nov 2026 09:04:10 GMT'])
      assert.equal((await door.send('PATCH', `/shops/${shop}`, { json: { city: 'Oslo' } })).status, 200)
      time = start + 20_000
      assert.equal((await sinceRead(door, path, date)).status, 200)
      assert.equal((await since(door, 'PATCH', path, date)).status, 412)
      assert.equal((await since(door, 'PATCH', path, 'Fri, 20 Nov 2026 09:04:20 GMT')).status, 200)
    })
  },
  { now: () => time },
)
