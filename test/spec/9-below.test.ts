import assert from 'node:assert/strict'
import { before } from 'node:test'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'

/** Seats of halls, which belong to accounts: two fields of a seat became one, and its color moved to its row. */
const halls = service({
  name: 'halls',
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' } },
  settings: { resource: { id: 'client' } },
  resources: {
    halls: { prefix: 'hal', owner: 'houseId', fields: {}, access: 'authenticated' },
    rows: {
      prefix: 'row',
      owner: 'houseId',
      fields: { color: f.text({ optional: true, filter: true, sort: true }) },
      access: 'authenticated',
    },
    seats: {
      parent: 'halls',
      key: 'number',
      fields: { number: f.text({ max: 9 }), place: f.text({ max: 50 }), rowId: f.ref('rows', { optional: true }) },
      access: 'authenticated',
    },
  },
}).change('v2', 'seats', {
  about: '`place` is side and level, and the color is that of the row.',
  removed: {
    side: f.text({ max: 20, filter: true, sort: true }),
    level: f.integer({ optional: true, filter: 'range' }),
  },
  added: ['place'],
  moved: { color: { by: 'rowId', to: 'color' } },
  request: ({ side, level }) => ({ place: level === null ? side : `${side} ${level}` }),
  response: ({ place }) => {
    const [side = '', level] = place.split(' ')
    return { side, level: level === undefined ? null : Number(level) }
  },
})

doors(
  'removed fields of children, in accounts',
  halls,
  (door) => {
    const send = (as: string, method: string, path: string, json?: object) =>
      door.send(method, path, { headers: door.as(as), ...(json && { json }) })
    before(async () => {
      for (const as of ['north', 'south']) {
        await send(as, 'POST', '/v2/rows', { id: `row_${as}`, color: 'red' })
        for (const hall of [`hal_${as}`, `hal_${as}2`]) {
          await send(as, 'POST', '/v2/halls', { id: hall })
          const seats = [
            ['1', 'left 3', `row_${as}`],
            ['2', 'right', null],
            ['3', 'left 1', null],
          ]
          for (const [number, place, rowId] of seats) {
            const { status, text } = await send(as, 'POST', `/v2/halls/${hall}/seats`, { number, place, rowId })
            assert.equal(status, 201, text)
          }
        }
      }
      await send('north', 'PATCH', '/v1/halls/hal_north/seats/3', { color: 'blue' })
    })

    const seen = async (query: string, hall = 'hal_north') => {
      const { json, text } = await send('north', 'GET', `/v1/halls/${hall}/seats?${query}`)
      assert.ok(json.data, text)
      return json.data.map(({ number, color }: Record<string, string>) => `${number} ${color}`)
    }

    spec('R170 R194', 'are filtered, sorted and shown with the values of the joined rows', async () => {
      assert.deepEqual(await seen('side=left'), ['1 red', '3 blue'])
      assert.deepEqual(await seen('side=left&level[gte]=2', 'hal_north2'), ['1 red'])
      assert.deepEqual(await seen('level[null]=true'), ['2 null'])
      assert.deepEqual(await seen('sort=side&order=desc'), ['2 null', '3 blue', '1 red'])
      assert.deepEqual(await seen('color=blue'), ['3 blue'])
      if (door.store !== 'Citus') assert.deepEqual(await seen('sort=color&nulls=first'), ['2 null', '3 blue', '1 red'])
      assert.equal((await send('north', 'GET', '/v1/halls/hal_south/seats?side=left')).status, 404)
    })
  },
  { holders: { north: { account: 'acc_north' }, south: { account: 'acc_south' } } },
)
