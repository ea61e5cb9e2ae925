/** Part 4 of the contract, path rules: the URLs of a service, and how they are matched. */

import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { nobody } from '../../src/flow/caller.ts'
import type { Plan } from '../../src/flow/plan.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import { openSqlite } from '../../src/sqlite/open.ts'
import { type Door, doors, spec } from '../help/door.ts'
import { shop } from '../help/shop.ts'
import { answers, message } from '../help/wire.ts'

const open = { fields: { name: f.text() }, access: 'public' } as const
const id = (prefix: string, digit: number): string => `${prefix}_${String(digit).padStart(26, '0')}`

async function statuses(door: Door, paths: readonly string[], method = 'GET'): Promise<number[]> {
  const found: number[] = []
  for (const path of paths) found.push((await door.send(method, path)).status)
  return found
}

async function all(door: Door, paths: readonly string[], status: number, type: string): Promise<void> {
  for (const path of paths) {
    const answer = await door.send('GET', path)
    assert.equal(answer.status, status, path)
    assert.equal(answer.json.type, type, path)
  }
}

const order = async (door: Door): Promise<string> => {
  const json = { name: 'Ann', email: `${crypto.randomUUID()}@example.com`, country: 'IT' }
  const customer = await door.send('POST', '/customers', { json })
  const made = await door.send('POST', '/orders', { json: { customerId: customer.json.id, currency: 'EUR' } })
  assert.equal(made.status, 201, made.text)
  return made.headers.location as string
}
const line = { description: 'Tea', quantity: 1, unitPrice: '2.00' }

doors('names in paths', shop, (door) => {
  spec('R2', 'a name that is no plural noun in kebab-case is refused at start, with a better one', () => {
    const declared = (name: string) => () => service({ name: 'shop', resources: { [name]: open } })
    assert.throws(declared('shippingAddress'), /shippingAddress.*shipping-addresses/s)
    assert.throws(declared('shipping_addresses'), /shipping-addresses/)
    assert.throws(declared('Orders'), /orders/)
    assert.throws(declared('order'), /orders/)
    assert.throws(declared('cancel-orders'), /cancel/)
    declared('shipping-addresses')()
  })
  spec('R2', 'the verbs are a setting', () => {
    const declared = (verbs: string[]) => () =>
      service({ name: 'shop', resources: { 'ship-orders': open }, settings: { path: { verbs } } })
    assert.throws(declared(['ship']), /ship-orders.*`ship`/s)
    declared([])()
  })
  spec('R3', 'a suffix selects nothing', async () => {
    const path = await order(door)
    assert.deepEqual(await statuses(door, ['/orders.json', '/orders.xml', '/orders.']), [404, 404, 404])
    assert.deepEqual(await statuses(door, [`${path}.json`, `${path}.`, `${path}%2Ejson`]), [404, 404, 404])
    const plain = await door.send('GET', '/orders', { headers: { accept: 'application/json' } })
    assert.equal(plain.status, 200)
    assert.equal(plain.headers['content-type'], 'application/json')
  })
})

doors('children', shop, (door) => {
  spec('R4', 'a child with an id has its own URL only', async () => {
    const path = await order(door)
    const made = await door.send('POST', `${path}/order-lines`, { json: line })
    assert.equal(made.status, 201)
    assert.match(made.headers.location ?? '', /^\/order-lines\/lin_[0-9a-z]{26}$/)
    assert.equal((await door.send('GET', made.headers.location as string)).json.id, made.json.id)
    await all(door, [`${path}/order-lines/${made.json.id}`], 404, 'route-not-found')
  })
  spec('R4', 'it has a flat list, which is filtered by its parent, and is created below its parent only', async () => {
    const [one, other] = [await order(door), await order(door)]
    const made = await door.send('POST', `${one}/order-lines`, { json: line })
    await door.send('POST', `${other}/order-lines`, { json: line })
    const list = await door.send('GET', `/order-lines?orderId=${one.split('/')[2]}`)
    assert.deepEqual(list.json.data, [made.json])
    assert.equal(made.json.orderId, one.split('/')[2])
    const refused = await door.send('POST', '/order-lines', { json: { ...line, orderId: made.json.orderId } })
    assert.equal(refused.status, 405)
    assert.equal(refused.headers.allow, 'GET, HEAD, OPTIONS')
  })
  spec('R4', 'a child with a composite key has a URL below its parent only', async () => {
    const [one, other] = [`/warehouses/${id('whs', 1)}`, `/warehouses/${id('whs', 2)}`]
    for (const path of [one, other]) await door.send('PUT', path, { json: { name: 'A' } })
    const made = await door.send('POST', `${other}/slots`, { json: { number: '9', capacity: 5 } })
    assert.equal(made.headers.location, `${other}/slots/9`)
    assert.equal(made.json.id, '9')
    assert.equal(made.json.number, '9')
    assert.equal(made.json.warehouseId, id('whs', 2))
    assert.deepEqual(await statuses(door, [`${other}/slots/9`, `${one}/slots/9`]), [200, 404])
    await all(door, ['/slots', '/slots/9', '/slots/9/', `${other}/slots/9/slots`], 404, 'route-not-found')
    assert.deepEqual(await statuses(door, ['/slots'], 'POST'), [404])
  })
  spec('R5', 'a list below a missing or deleted parent answers as the parent would', async () => {
    const path = `/warehouses/${id('whs', 3)}`
    assert.deepEqual(await statuses(door, [path, `${path}/slots`, `${path}/slots/9`]), [404, 404, 404])
    await door.send('PUT', path, { json: { name: 'A' } })
    const empty = await door.send('GET', `${path}/slots`)
    assert.deepEqual([empty.status, empty.json.data], [200, []])
    await door.send('DELETE', path)
    assert.deepEqual(await statuses(door, [path, `${path}/slots`, `${path}/slots/9`]), [410, 410, 410])
    const lines = `/orders/${id('ord', 3)}/order-lines`
    assert.deepEqual(
      await statuses(door, [lines, '/orders/foo/order-lines', '/orders/cus_1/order-lines']),
      [404, 404, 404],
    )
    assert.equal((await door.send('POST', lines, { json: line })).status, 404)
  })
})

doors('reading paths', shop, (door) => {
  spec('R6', 'matching is exact: case counts, and empty segments are segments', async () => {
    const path = await order(door)
    const wrong = ['/Orders', '/ORDERS', '//orders', '/orders//', '///', `/orders/${path}`, '/orders;a=1', '/orders,']
    await all(door, wrong, 404, 'route-not-found')
    await all(
      door,
      [path.replace('ord_', 'ORD_'), path.toUpperCase().replace('/ORDERS', '/orders')],
      404,
      'resource-not-found',
    )
    await all(door, ['/orders/order-lines', '/order-lines/order-lines'], 404, 'resource-not-found')
  })
  spec('R7', 'a trailing slash is 404', async () => {
    await all(door, ['/orders/', '/orders/?limit=5', `${await order(door)}/`], 404, 'route-not-found')
    assert.deepEqual(await statuses(door, ['/orders/'], 'OPTIONS'), [404])
  })
  spec('R8', 'each segment is decoded once, after the path was split', async () => {
    const path = await order(door)
    assert.deepEqual(
      await statuses(door, ['/%6Frders', path.replace('_', '%5F'), path.replace('_', '%5f')]),
      [200, 200, 200],
    )
    await all(
      door,
      ['/orders/a%2Fb', '/orders/a%252Fb', '/orders/%25', '/orders/%2525', '/orders/%00'],
      404,
      'resource-not-found',
    )
    await all(door, [`/orders%2F${path.split('/')[2]}`, '/%2Forders', '/orders%3Flimit=1'], 404, 'route-not-found')
    await all(door, [path.replace('_', '%255F'), `${path}+`, `${path}%20`], 404, 'resource-not-found')
  })
  spec('R8', 'malformed escapes, and bytes that are not UTF-8, are 400 on any path', async () => {
    for (const part of [
      '%',
      '%z',
      '%zz',
      '%F',
      '%FF',
      '%C3',
      '%C3%28',
      '%C0%AF',
      '%E2%82',
      '%ED%A0%80',
      '%u0041',
      '%F5%80%80%80',
    ]) {
      const paths = [`/orders/${part}`, `/orders/a${part}b`, `/nope/${part}`, `/${part}`, `/orders/x/${part}/y`]
      await all(door, paths, 400, 'invalid-url-encoding')
    }
    const answer = await door.send('GET', '/orders/%FF')
    assert.match(answer.json.message, /%25/)
    assert.equal(answer.json.in, 'path')
  })
  spec('R9', 'a text that cannot be an identifier is 404', async () => {
    const [own = ''] = (await order(door)).split('/').slice(2)
    const wrong = [
      own.replace('ord', 'cus'),
      own.slice(0, -1),
      `${own}0`,
      own.slice(4),
      `ord_${'z'.repeat(26)}`,
      'ord_',
      '1',
      '~',
      'ord',
    ]
    await all(
      door,
      [...wrong, `ord_8${'0'.repeat(25)}`, `ord_${'u'.repeat(26)}`].map((one) => `/orders/${one}`),
      404,
      'resource-not-found',
    )
    await all(door, [`/orders/${'a'.repeat(3000)}`, `/orders/${'%F0%9F%8D%B5'.repeat(100)}`], 404, 'resource-not-found')
    await all(door, ['/warehouses/foo/slots/1', `/warehouses/${id('whs', 9)}/slots/a`], 404, 'resource-not-found')
  })
})

doors(
  'dot segments on the wire',
  shop,
  (door) => {
    spec('R8', 'dot segments reach nothing, encoded or not', async () => {
      const path = await order(door)
      const dots = ['.', '..', '%2e', '%2E%2e', '.%2E', '%2e%2e%2f']
      for (const dot of dots) {
        const targets = [
          `/orders/${dot}/customers`,
          `/${dot}/orders`,
          `/orders/${dot}`,
          `${path}/${dot}`,
          `${path}/${dot}/${dot}`,
        ]
        for (const target of targets) {
          const [reported] = answers(await door.raw(message(`GET ${target}`, ['Connection: close'])))
          assert.equal(reported?.status, 404, target)
        }
      }
    })
  },
  { socketOnly: true },
)

doors('texts that are not looked up', shop, () => {
  spec('R9', 'the store is not asked for an impossible identifier', async () => {
    const collections = [...shop.resources.values()].map(({ collection }) => collection)
    const store = openSqlite('sqlite::memory:', collections, 'apply')
    const asked: Plan[] = []
    const execute = (plan: Plan) => {
      asked.push(plan)
      return store.execute(plan)
    }
    const log = { error: () => {}, warn: () => {}, info: () => {} }
    const context = {
      service: shop,
      store: { ...store, execute },
      world: serviceWorld(realWorld, store),
      log,
      authenticate: () => nobody,
      open: () => true,
    }
    const door = fetchDoor(context)
    for (const path of [
      '/orders/cus_1',
      `/orders/ord_${'z'.repeat(26)}`,
      '/orders/foo/order-lines',
      '/warehouses/x/slots/1',
    ]) {
      for (const method of ['GET', 'DELETE']) await door(new Request(`http://localhost${path}`, { method }))
    }
    assert.deepEqual(asked, [])
    await door(new Request(`http://localhost/orders/${id('ord', 1)}`))
    assert.equal(asked.length, 1)
    await store.close()
  })
})
