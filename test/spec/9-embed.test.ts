/** Part 9 of the contract: older versions embed rows in their form and under their names. */
import assert from 'node:assert/strict'
import { before } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { contractOf } from '../../src/contract/contract.ts'
import { declarationAt } from '../../src/resources/change.ts'
import { doors, spec } from '../help/door.ts'

const shop = service({
  name: 'shop',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' }, v3: { released: '2026-06-01' } },
  settings: { resource: { links: 'all' } },
  resources: {
    countries: { prefix: 'cou', fields: { code: f.text() }, access: 'public' },
    accounts: {
      prefix: 'acc',
      fields: { plan: f.text({ default: 'free' }), countryId: f.ref('countries', { optional: true }) },
      access: 'public',
    },
    customers: {
      prefix: 'cus',
      fields: { name: f.text(), accountId: f.ref('accounts', { optional: true }) },
      access: 'public',
      embed: ['account.country', 'orders'],
    },
    orders: {
      prefix: 'ord',
      parent: { resource: 'customers', onDelete: 'cascade' },
      fields: {
        total: f.integer({ sort: true }),
        buyerId: f.ref('customers', { optional: true }),
        agentId: f.ref('customers', { optional: true, ownMeaning: 'who sells' }),
      },
      order: ['-total'],
      access: 'public',
      embed: ['customer.account', 'buyer.orders', 'agent'],
      settings: { list: { pageSize: 2 } },
    },
    notes: { prefix: 'not', parent: 'orders', fields: { text: f.text() }, access: 'public', embed: true },
  },
})
  .change('v3', 'customers', {
    about: 'A client is called customer, and `title` is called `name`.',
    was: 'clients',
    renamed: { title: 'name' },
  })
  .change('v3', 'orders', {
    about: '`payerId` is called `buyerId`, and there is an agent.',
    renamed: { payerId: 'buyerId', sum: 'total' },
    added: ['agentId'],
  })
  .change('v2', 'clients', {
    about: 'The country of a client is that of its account.',
    moved: { countryId: { by: 'accountId', to: 'countryId' } },
  })

doors('embed in older versions', shop, (door) => {
  let made: { customer: string; order: string; country: string }
  before(async () => {
    const post = async (path: string, json: object): Promise<string> => {
      const answer = await door.send('POST', `/v3${path}`, { json })
      assert.equal(answer.status, 201, answer.text)
      return answer.json.id
    }
    const country = await post('/countries', { code: 'IT' })
    const account = await post('/accounts', { countryId: country })
    const customer = await post('/customers', { name: 'Ann', accountId: account })
    await post('/customers', { name: 'Bob' })
    const orders = []
    for (const total of [1, 3, 2])
      orders.push(await post(`/customers/${customer}/orders`, { total, buyerId: customer, agentId: customer }))
    const order = orders[1] as string
    await post(`/orders/${order}/notes`, { text: 'a' })
    made = { customer, order, country }
  })
  const get = async (path: string) => (await door.send('GET', path)).json

  /** The names that `embed` can have in a version, by path. */
  const table: [version: string, path: string, names: string][] = [
    ['v3', '/orders', 'customer, customer.account, buyer, buyer.orders, agent'],
    ['v2', '/orders', 'client, client.account, payer, payer.orders'],
    ['v1', '/orders', 'client, client.account, payer, payer.orders'],
    ['v3', '/customers', 'account, account.country, orders'],
    ['v2', '/clients', 'account, account.country, orders'],
    ['v1', '/clients', 'account, account.country, orders, country'],
    ['v1', '/notes', 'order'],
  ]

  spec('R232 R196', 'each version has its own names, also for references that only it has', async () => {
    for (const [version, path, names] of table) {
      const { errors } = await get(`/${version}${path}?embed=nope`)
      assert.match(errors[0].message, new RegExp(`Names: ${names.replaceAll('.', '\\.')}\\.$`), `${version} ${path}`)
    }
  })

  spec('R232 R196', 'embedded items have the form of the version, in items and lists', async () => {
    const { customer, order } = made
    for (const [version, customers, buyer, owner] of [
      ['v3', 'customers', 'buyer', 'customer'],
      ['v2', 'clients', 'payer', 'client'],
      ['v1', 'clients', 'payer', 'client'],
    ]) {
      const at = `/${version}`
      const embed = `${buyer}.orders,${owner}.account`
      const { _embedded, ...own } = await get(`${at}/orders/${order}?embed=${embed}`)
      assert.deepEqual(own, await get(`${at}/orders/${order}`))
      const { _embedded: more, ...found } = _embedded[buyer as string]
      const whole = await get(`${at}/${customers}/${customer}`)
      assert.deepEqual(found, whole)
      const list = await get(`${at}/${customers}/${customer}/orders?page_size=2`)
      assert.deepEqual(more.orders, { data: list.data, hasMore: true })
      const { _embedded: account, ...parent } = _embedded[owner as string]
      assert.deepEqual(parent, whole)
      assert.deepEqual(account.account, await get(`${at}/accounts/${whole.accountId}`))
      const [listed] = (await get(`${at}/orders?embed=${embed}`)).data
      assert.deepEqual(listed._embedded, _embedded)
      assert.deepEqual((await get(`${at}/notes?embed=order`)).data[0]._embedded.order, own)
    }
  })

  spec('R232 R196', 'a reference that another resource has now is embedded where it was', async () => {
    const item = await get(`/v1/clients/${made.customer}?embed=country`)
    assert.equal(item.countryId, made.country)
    assert.deepEqual(item._embedded.country, await get(`/v1/countries/${made.country}`))
    const list = (await get('/v1/clients?embed=country,account.country')).data
    assert.deepEqual(
      list.map((one: { _embedded: { country: { code: string } | null } }) => one._embedded.country?.code ?? null),
      ['IT', null],
    )
  })

  spec('R232 R196', 'the contract of each version has its names', () => {
    const { declaration, changes } = shop as unknown as Service
    for (const [label, resource, names] of [
      ['v3', 'orders', ['agent', 'buyer', 'buyer.orders', 'customer', 'customer.account']],
      ['v2', 'orders', ['client', 'client.account', 'payer', 'payer.orders']],
      ['v1', 'orders', ['client', 'client.account', 'payer', 'payer.orders']],
      ['v1', 'clients', ['account', 'account.country', 'country', 'orders']],
      ['v1', 'notes', ['order']],
    ] as const)
      assert.deepEqual(contractOf(declarationAt(declaration, changes, label)).resources[resource]?.embeds, names, label)
  })

  spec('R232 R121', 'tags of older versions cover embedded items too', async () => {
    for (const path of [
      `/v1/clients/${made.customer}?embed=country`,
      '/v1/clients?embed=country',
      '/v2/clients?embed=account.country',
    ]) {
      const tags = new Set<string | undefined>()
      for (const code of ['A', 'B', 'C']) {
        await door.send('PATCH', `/v3/countries/${made.country}`, { json: { code } })
        for (let i = 0; i < 3; i++) tags.add((await door.send('GET', path)).headers.etag)
      }
      assert.equal(tags.size, 3, path)
    }
  })
})

const broken = service({
  name: 'broken',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  resources: {
    notes: {
      prefix: 'not',
      fields: { text: f.text(), parentId: f.ref('notes', { optional: true }) },
      access: 'public',
      embed: ['parent'],
    },
  },
}).change('v2', 'notes', {
  about: '`body` is called `text`.',
  removed: { body: f.text() },
  added: ['text'],
  request: ({ body }) => ({ text: body }),
  response: ({ text }) => {
    if (text === 'bad') throw new Error('It cannot be shown.')
    return { body: text }
  },
})

doors('embed what a version cannot show', broken, (door) => {
  spec('R232 R197', 'the answer fails, and not with the items around', async () => {
    const post = async (json: object) => (await door.send('POST', '/v2/notes', { json })).json.id
    const bad = await post({ text: 'bad' })
    const good = await post({ text: 'good', parentId: bad })
    for (const path of [`/v1/notes/${good}?embed=parent`, `/v1/notes?id=${good}&embed=parent`]) {
      const { status, json, headers } = await door.send('GET', path)
      assert.deepEqual([status, json.type], [500, 'version-conversion-failed'], path)
      assert.equal(headers.link, undefined)
      assert.match(json.message, /embedded item of notes/)
      door.errors.length = 0
    }
    assert.equal((await door.send('GET', `/v1/notes/${good}`)).json.body, 'good')
    const page = await door.send('GET', '/v1/notes?cursor=&limit=10&embed=parent')
    assert.equal(page.json.pointer, '/data/0')
    assert.match(page.headers.link ?? '', /rel="next"/)
    door.errors.length = 0
    const after = await door.send('GET', (page.headers.link ?? '').match(/<([^>]*)>; rel="next"/)?.[1] ?? '')
    assert.equal(after.status, 500)
    door.errors.length = 0
    assert.equal((await door.send('GET', `/v2/notes/${good}?embed=parent`)).json._embedded.parent.text, 'bad')
  })
})
