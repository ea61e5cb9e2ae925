/** Part 3 of the contract: `embed`, items and lists that are answered in the items that lead to them. */
import assert from 'node:assert/strict'
import { before } from 'node:test'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'
import { filled, holders, reader, type Shop, shop } from '../help/embed-shop.ts'

doors(
  'embed',
  shop,
  (door) => {
    const get = reader(door)
    let made: Shop
    before(async () => {
      made = await filled(door)
    })

    spec('R232', 'references, the parent and lists are answered as they are read alone', async () => {
      const { first, customer, region } = made
      const own = (await get('boss', `/orders/${first}`)).json
      const { _embedded, ...item } = (
        await get('boss', `/orders/${first}?embed=customer.region,slots,orderLines,previous`)
      ).json
      assert.deepEqual(item, own)
      assert.deepEqual(Object.keys(_embedded), ['customer', 'slots', 'orderLines', 'previous'])
      const { _embedded: inner, ...buyer } = _embedded.customer
      assert.deepEqual(buyer, (await get('boss', `/customers/${customer}`)).json)
      assert.deepEqual(inner, { region: (await get('boss', `/regions/${region}`)).json })
      assert.equal(_embedded.previous, null)
      for (const [name, list] of [
        ['slots', 'slots'],
        ['orderLines', 'order-lines'],
      ] as const) {
        const { data, pagination } = (await get('boss', `/orders/${first}/${list}`)).json
        assert.deepEqual(_embedded[name], { data, hasMore: pagination.hasMore })
      }
      assert.deepEqual(
        _embedded.orderLines.data.map((one: { quantity: number | null }) => one.quantity),
        [5, 2, 1],
      )
      assert.equal(_embedded.orderLines.hasMore, true)
    })

    spec('R232', 'every item of a list has its embedded items, two levels deep', async () => {
      const { first, second } = made
      const names = 'customer,orderLines.order,previous.slots'
      const list = (await get('boss', `/orders?sort=total&embed=${names}`)).json.data
      for (const [i, id] of [first, second].entries())
        assert.deepEqual(list[i], (await get('boss', `/orders/${id}?embed=${names}`)).json)
      const [a, b] = list
      assert.deepEqual([a._embedded.previous, b._embedded.customer], [null, null])
      const previous = b._embedded.previous
      assert.deepEqual(
        [previous.id, previous._embedded.slots.data.length, previous._embedded.slots.hasMore],
        [first, 2, true],
      )
      assert.deepEqual(
        a._embedded.orderLines.data.map((one: { _embedded: { order: { id: string } } }) => one._embedded.order.id),
        [first, first, first],
      )
      const slot = (await get('boss', `/orders/${first}/slots?embed=order`)).json.data[0]
      assert.equal(slot._embedded.order.total, 1)
      assert.equal(slot._links.order, `/orders/${first}`)
      assert.deepEqual((await get('boss', '/orders?total[gte]=3&embed=customer')).json.data, [])
    })

    spec('R232 R15', 'HEAD has the tag of GET, and QUERY takes the parameter in its content', async () => {
      const path = `/orders/${made.first}?embed=customer`
      const read = await get('boss', path)
      const head = await door.send('HEAD', path, { headers: door.as('boss') })
      assert.equal(head.headers.etag, read.headers.etag)
      const headers = { ...door.as('boss'), 'content-type': 'application/x-www-form-urlencoded' }
      const list = await door.send('QUERY', '/orders', { body: 'sort=total&embed=customer', headers })
      assert.deepEqual(list.json, (await get('boss', '/orders?sort=total&embed=customer')).json)
      const refused = { ...headers, ...door.as('ann') }
      assert.equal((await door.send('QUERY', '/orders', { body: 'embed=seller', headers: refused })).status, 403)
    })

    spec('R232 R233', '`fields` selects members of the item, not of embedded items', async () => {
      const { id, total, _embedded, ...rest } = (await get('boss', `/orders/${made.first}?fields=total&embed=customer`))
        .json
      assert.deepEqual([id, total, rest], [made.first, 1, {}])
      assert.deepEqual(_embedded.customer, (await get('boss', `/customers/${made.customer}`)).json)
      const [line] = (await get('boss', `/orders/${made.first}/order-lines?fields=id&embed=order`)).json.data
      assert.equal(line._embedded.order.total, 1)
    })

    spec('R232 R83 R86', 'links to pages keep `embed`, and a cursor is valid only with the same `embed`', async () => {
      const first = await get('boss', '/orders?embed=customer&cursor=&limit=1')
      assert.match(first.headers.link ?? '', /<\/orders\?embed=customer&limit=1&cursor=[\w-]+>; rel="next"/)
      const cursor = first.json.pagination.nextCursor
      const next = await get('boss', `/orders?embed=customer&limit=1&cursor=${cursor}`)
      assert.deepEqual(next.json.data[0]._embedded, { customer: null })
      for (const other of ['', '&embed=seller'])
        assert.equal((await get('boss', `/orders?limit=1&cursor=${cursor}${other}`)).json.type, 'invalid-query')
    })

    spec('R232 R154', 'names that are unknown, empty, double or too many are refused', async () => {
      const six = 'customer,seller,backer,previous,slots,orderLines'
      const [unsupported, invalid] = ['unsupported-embed', 'invalid-parameter-value']
      const table: [embed: string, type: string, message: RegExp][] = [
        ['', invalid, /^embed must be names, separated by commas: customer, customer\.region, /],
        ['customer,', invalid, /^embed must be names/],
        ['custmer', unsupported, /^embed cannot have `custmer`\. Did you mean customer\?/],
        ['customer.name', unsupported, /^embed cannot have `customer\.name`/],
        ['customer.region.x', unsupported, /^embed cannot have/],
        ['customerId', unsupported, /^embed cannot have/],
        ['__proto__', unsupported, /^embed cannot have/],
        ['customer,seller,customer', invalid, /^embed has customer twice/],
        [six, invalid, /^embed has 6 names; at most 5/],
      ]
      for (const at of ['/orders', `/orders/${made.first}`]) {
        for (const [embed, type, message] of table) {
          const { status, json } = await get('boss', `${at}?embed=${embed}`)
          const [violation] = json.errors
          assert.deepEqual([status, violation.type, violation.name], [400, type, 'embed'], embed)
          assert.match(violation.message, message)
        }
        const twice = await get('boss', `${at}?embed=customer&embed=customer`)
        assert.equal(twice.json.errors[0].type, 'repeated-parameter')
        assert.equal((await get('boss', `${at}?embed=${six.replace(',orderLines', '')}`)).status, 200)
      }
      for (const at of ['/words', '/staff'])
        assert.equal((await get('boss', `${at}?embed=orders`)).json.errors[0].type, 'unknown-parameter')
      const patch = await door.send('PATCH', `/orders/${made.first}?embed=customer`, { json: {} })
      assert.equal(patch.json.errors[0].type, 'unknown-parameter')
    })

    spec('R232 R165 R169', 'a caller cannot embed what it may not read', async () => {
      for (const at of ['/orders', `/orders/${made.first}`]) {
        const refused = await get('ann', `${at}?embed=previous,seller`)
        assert.deepEqual([refused.status, refused.json.type, refused.json.scope], [403, 'insufficient-scope', 'staff'])
        assert.match(refused.headers['www-authenticate'] ?? '', /scope="staff"/)
        const field = await get('ann', `${at}?embed=backer`)
        assert.deepEqual([field.status, field.json.scope, field.json.name], [403, 'costs', 'embed'])
        assert.match(field.json.message, / backer /)
        for (const name of ['seller', 'backer', 'customer'])
          assert.equal((await get(null, `${at}?embed=${name}`)).status, 401, name)
        assert.equal((await get('boss', `${at}?embed=seller,backer`)).status, 200)
        assert.equal((await get(null, `${at}?embed=orderLines`)).status, 200)
      }
      for (const at of ['/regions', `/regions/${made.region}`]) {
        assert.equal((await get(null, `${at}?embed=offices`)).status, 401)
        assert.equal((await get('nil', `${at}?embed=offices`)).json.type, 'access-denied')
        assert.equal((await get('ann', `${at}?embed=offices`)).status, 200)
      }
    })

    spec('R232 R170', 'embedded items have no rows and fields that the caller may not see', async () => {
      const at = `/orders/${made.first}?embed=customer,orderLines`
      const [ann, boss] = [await get('ann', at), await get('boss', at)]
      assert.equal(boss.json._embedded.customer.limit, 7)
      assert.equal(boss.json._embedded.orderLines.data[0].cost, 3)
      assert.ok(!('limit' in ann.json._embedded.customer))
      assert.ok(!('cost' in ann.json._embedded.orderLines.data[0]))
      for (const one of [ann, boss]) assert.doesNotMatch(one.text, /secret/)
      for (const [who, names] of [
        ['ann', ['of a']],
        ['eve', []],
      ] as const) {
        const item = await get(who, `/regions/${made.region}?embed=offices`)
        const [listed] = (await get(who, '/regions?embed=offices')).json.data
        for (const { offices } of [item.json._embedded, listed._embedded]) {
          assert.deepEqual(
            offices.data.map(({ name }: { name: string }) => name),
            names,
          )
          assert.equal(offices.hasMore, false)
        }
      }
    })

    spec('R232 R55', 'a field with the name of the parameter is filtered with [eq]', async () => {
      await door.send('POST', '/words', { json: { text: 'a', embed: 'b' } })
      assert.equal((await get(null, '/words?embed[eq]=b')).json.data.length, 1)
      assert.equal((await get(null, '/words?embed=b')).status, 400)
    })

    spec('R232 R143', 'an answer whose embedded items depend on the caller is private', async () => {
      const headers = async (path: string) => (await get('boss', path)).headers
      for (const at of ['/regions', `/regions/${made.region}`]) {
        assert.equal((await headers(at))['cache-control'], 'no-cache')
        assert.equal((await headers(`${at}?embed=offices`))['cache-control'], 'private, no-cache')
        assert.match((await headers(`${at}?embed=offices`)).vary ?? '', /Authorization/)
      }
      for (let i = 0; i < 3; i++)
        assert.equal((await headers(`/regions?embed=offices`))['cache-control'], 'private, no-cache')
    })

    spec('R232 R147', 'an answer is in the cache groups of all embedded items', async () => {
      for (const at of ['/orders', `/orders/${made.first}`]) {
        assert.equal((await get('boss', at)).headers['cache-groups'], '"orders"')
        for (let i = 0; i < 3; i++) {
          const { headers } = await get('boss', `${at}?embed=customer.region,previous`)
          assert.equal(headers['cache-groups'], '"orders", "customers", "regions"')
        }
      }
    })

    spec('R232 R48', '`_embedded` in a body is ignored like `_links`', async () => {
      const at = `/orders/${made.second}`
      const read = (await get('boss', `${at}?embed=previous.slots`)).json
      const put = await door.send('PUT', at, { json: read, headers: door.as('boss') })
      assert.equal(put.status, 200, put.text)
      assert.ok(!('_embedded' in put.json))
      const patch = await door.send('PATCH', at, { json: { total: 2, _embedded: 7 }, headers: door.as('boss') })
      assert.equal(patch.status, 200, patch.text)
      const created = await door.send('POST', '/orders', {
        json: { total: 9, _embedded: {} },
        headers: door.as('boss'),
      })
      assert.equal(created.json.errors[0].type, 'read-only-field')
      // Nothing can be embedded in staff.
      const staff = await door.send('PATCH', `/staff/${made.seller}`, { json: { _embedded: {} } })
      assert.equal(staff.status, 400)
    })
  },
  { holders },
)

const snake = service({
  name: 'snake',
  resources: {
    books: { fields: { title: f.text() }, embed: true, access: 'public' },
    'book-copies': { parent: 'books', fields: { shelf: f.text() }, access: 'public' },
  },
  settings: { naming: 'snake' },
})

doors('embed with naming: snake', snake, (door) => {
  spec('R232', 'the page of a list has the names of the service', async () => {
    const { id } = (await door.send('POST', '/books', { json: { title: 'Emma' } })).json
    const url = `/books/${id}`
    assert.equal((await door.send('POST', `${url}/book-copies`, { json: { shelf: 'A' } })).status, 201)
    const { data, pagination } = (await door.send('GET', `${url}/book-copies`)).json
    const { _embedded } = (await door.send('GET', `${url}?embed=book_copies`)).json
    assert.deepEqual(_embedded, { book_copies: { data, has_more: pagination.has_more } })
    const { components } = (await door.send('GET', '/openapi.json')).json
    const described = JSON.stringify(components.schemas)
    assert.deepEqual([described.includes('"hasMore"'), described.includes('["data","has_more"]')], [false, true])
  })
})
