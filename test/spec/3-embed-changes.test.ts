/** Part 3 of the contract: tags and cached lists when something that is embedded changes. */
import assert from 'node:assert/strict'
import { before } from 'node:test'
import { callerGate } from '../../src/corridor/server-context.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import type { Service } from '../../src/service.ts'
import { openStore } from '../../src/terminal/open.ts'
import { doors, spec } from '../help/door.ts'
import { filled, holders, reader, type Shop, shop } from '../help/embed-shop.ts'

const api = shop as unknown as Service

doors(
  'embed and changes',
  shop,
  (door) => {
    const get = reader(door)
    let made: Shop
    before(async () => {
      made = await filled(door)
    })
    const change = async (method: string, path: string, json?: object): Promise<void> => {
      const answer = await door.send(method, path, { ...(json && { json }), headers: door.as('boss') })
      assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`)
    }

    spec(
      'R232 R121 R140',
      'the tag covers embedded items, and 304 is answered only while these are the same',
      async () => {
        const { first, second, customer, region } = made
        const line = (await get('boss', `/orders/${second}/order-lines`)).json.data[0].id
        const paths = [
          `/orders/${first}?embed=customer.region,slots`,
          `/orders/${second}?embed=orderLines,previous`,
          '/orders?sort=total&embed=customer.region,orderLines,previous.slots',
        ]
        const deeds: [deed: () => Promise<void>, changed: boolean[]][] = [
          [() => change('PATCH', `/customers/${customer}`, { name: 'Anna' }), [true, false, true]],
          [() => change('PATCH', `/regions/${region}`, { name: 'South' }), [true, false, true]],
          [() => change('POST', `/orders/${second}/order-lines`, { quantity: 0 }), [false, true, true]],
          [() => change('DELETE', `/order-lines/${line}`), [false, true, true]],
          [() => change('PATCH', `/orders/${first}`, { total: 0 }), [true, true, true]],
          [() => change('DELETE', `/orders/${first}/slots/0`), [true, false, true]],
          [() => change('PATCH', `/orders/${first}`, { customerId: null }), [true, true, true]],
        ]
        for (const [i, [deed, changed]] of deeds.entries()) {
          // Lists are cached from the second request on.
          for (const path of paths) await get('boss', path)
          const before = await Promise.all(paths.map((path) => get('boss', path)))
          await deed()
          for (const [at, path] of paths.entries()) {
            const tag = before[at]?.headers.etag as string
            assert.equal(
              (await get('boss', path, { 'if-none-match': tag })).status,
              changed[at] ? 200 : 304,
              `${i} ${path}`,
            )
            const after = await get('boss', path)
            assert.equal(after.headers.etag === tag, !changed[at])
            assert.equal(after.text === before[at]?.text, !changed[at])
          }
        }
      },
    )

    spec('R232 R126 R130', 'the tag names the state of the item in writes, and there is no date', async () => {
      const path = `/orders/${made.second}`
      const read = await get('boss', `${path}?embed=previous`)
      assert.equal(read.headers['last-modified'], undefined)
      await change('PATCH', `/orders/${made.first}`, { total: 5 })
      const tag = read.headers.etag as string
      const since = { 'if-modified-since': new Date(Date.now() + 60_000).toUTCString() }
      assert.equal((await get('boss', `${path}?embed=previous`, since)).status, 200)
      const patch = (json: object) =>
        door.send('PATCH', path, { json, headers: { ...door.as('boss'), 'if-match': tag } })
      assert.equal((await patch({ total: 7 })).status, 200)
      assert.equal((await patch({ total: 8 })).status, 412)
    })
  },
  { holders },
)

doors(
  'embed and writes of others',
  shop,
  (door) => {
    const get = reader(door)
    spec('R232', 'a cached list has the embedded rows that another process has written', async () => {
      const { first, customer } = await filled(door)
      const other = await openStore(api, door.database, 'apply')
      const world = serviceWorld(realWorld, other)
      const authenticate = callerGate(api, other, world)
      const log = { error: () => {}, warn: () => {}, info: () => {} }
      const through = fetchDoor({ service: api, store: other, world, authenticate, log, open: () => true })
      try {
        for (const name of ['Bob', 'Bea', 'Ben']) {
          for (let i = 0; i < 3; i++) await get('boss', '/orders?embed=customer')
          const headers = { ...door.as('boss'), 'content-type': 'application/merge-patch+json' }
          const request = { method: 'PATCH', headers, body: JSON.stringify({ name }) }
          assert.equal((await through(new Request(`http://localhost/customers/${customer}`, request))).status, 200)
          const list = (await get('boss', '/orders?embed=customer')).json.data
          assert.equal(list.find(({ id }: { id: string }) => id === first)._embedded.customer.name, name)
          assert.equal((await get('boss', `/orders/${first}?embed=customer`)).json._embedded.customer.name, name)
        }
      } finally {
        await other.close()
      }
    })
  },
  { holders, onFile: true, together: true },
)
