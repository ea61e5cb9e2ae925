/** Row rules against a model: every list has the rows of the rule alone, and rows outside of it change no answer. Part 5. R170. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { freshPostgres } from '../help/postgres.ts'
import { desk } from '../help/ruled-desk.ts'
import { runsOf } from '../help/runs.ts'
import { type Reply, type Request, type World, worldOf } from '../help/worlds.ts'

const seed = Number(process.env.BYLAW_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
const callers = {
  ann: { account: 'north' },
  bob: { account: 'north' },
  boss: { account: 'north', scopes: ['all', 'tell'] },
}
type Who = keyof typeof callers

const stores: readonly (readonly [string, number, () => Promise<{ url: string; drop: () => Promise<void> }>])[] = [
  ['SQLite', runsOf(60), async () => ({ url: 'sqlite::memory:', drop: async () => {} })],
  ['PostgreSQL', runsOf(16), freshPostgres],
]

interface Row {
  readonly title: string
  readonly amount: number
  readonly assigneeId: string
  readonly closed: boolean
  readonly agentId: string | null
}
const rowOf = (assigneeId: string): fc.Arbitrary<Row> =>
  fc.record({
    title: fc.constantFrom('red', 'red box', 'blue', 'blue box'),
    amount: fc.nat(4),
    assigneeId: fc.constant(assigneeId),
    closed: fc.boolean(),
    agentId: fc.constantFrom('key:ann', 'key:bob', null),
  })
const mine = fc.array(rowOf('key:ann'), { minLength: 1, maxLength: 6 })
const others = fc.array(rowOf('key:bob'), { maxLength: 6 })

const orderFilters = [
  'title=red',
  'title[like]=%25box',
  'amount[gte]=2',
  'amount=in:(0,1,3)',
  'assigneeId=key:bob',
  'assigneeId=in:(key:ann,key:bob)',
  'search=box',
  'or=(title=red;amount[gte]=3)',
  'or=(assigneeId=key:bob;amount=1;title=blue)',
]
const sorts = ['', 'sort=amount', 'sort=amount&order=desc', 'sort=title&order=desc']
const orderQueries = fc
  .tuple(fc.subarray(orderFilters, { maxLength: 2 }), fc.constantFrom(...sorts))
  .filter(([filters]) => new Set(filters.map((one) => one.split('=', 1)[0])).size === filters.length)
  .map(([filters, sort]) => `/v2/orders?${[...filters, ...(sort === '' ? [] : [sort])].join('&')}`)
const customerFilters = ['size[gte]=2', 'agentId=key:bob', 'or=(size=1;agentId=key:ann)', 'search=blue']
const customerQueries = fc
  .tuple(fc.subarray(customerFilters, { maxLength: 2 }), fc.constantFrom('', 'sort=size', 'sort=size&order=desc'))
  .map(([filters, sort]) => `/v2/customers?${[...filters, ...(sort === '' ? [] : [sort])].join('&')}`)

type Item = Readonly<Record<string, unknown>> & { readonly id: string }
const allowedTo =
  (who: Who) =>
  (item: Item): boolean =>
    'assigneeId' in item ? item.assigneeId === `key:${who}` : item.agentId === `key:${who}` || item.agentId === null

async function create(world: World<Who>, row: Row): Promise<string> {
  const { title, amount, assigneeId, closed, agentId } = row
  const send = (method: string, path: string, json: object) => world.send('boss', { method, path, json })
  const order = await send('POST', '/v2/orders', { title, amount, assigneeId })
  assert.equal(order.status, 201, order.text)
  if (closed) await send('POST', `/v2/orders/${order.json.id}/closures`, {})
  else await send('PATCH', `/v2/orders/${order.json.id}`, { title: `${title} ` })
  assert.equal((await send('POST', '/v2/customers', { name: title, size: amount, agentId })).status, 201)
  return order.json.id
}

/** All items of a list, read by cursor. */
async function walked(world: World<Who>, who: Who, query: string, limit: number): Promise<Item[]> {
  const items: Item[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path: string = `${query}${query.endsWith('?') ? '' : '&'}limit=${limit}&cursor=${cursor}`
    const page: Reply = await world.send(who, { method: 'GET', path })
    assert.equal(page.status, 200, `${path} ${page.text}`)
    items.push(...page.json.data)
    cursor = page.json.pagination.nextCursor
  }
  return items
}

const withoutLinks = (items: readonly Item[]) => items.map(({ _links, ...rest }) => rest)

for (const [store, runs, make] of stores)
  describe(`row rules and a model (${store}, seed ${seed})`, () => {
    it('R170 R234 R235: a list has the rows that the rule allows, in the same order, whatever its parameters', async () => {
      const { url, drop } = await make()
      const world = await worldOf<Who>(desk, url, callers)
      try {
        const property = fc.asyncProperty(
          ...([
            mine,
            others,
            fc.array(fc.oneof(orderQueries, customerQueries), { minLength: 4, maxLength: 8 }),
          ] as const),
          fc.integer({ min: 1, max: 4 }),
          async (visible, hidden, queries, limit) => {
            for (const row of [...visible, ...hidden]) await create(world, row)
            for (const query of queries)
              for (const who of ['ann', 'bob'] as const) {
                const all = await walked(world, 'boss', query, 100)
                const expected = withoutLinks(all.filter(allowedTo(who)))
                assert.deepEqual(withoutLinks(await walked(world, who, query, 100)), expected, `${who} ${query}`)
                const short = (await walked(world, who, query, limit)).slice(0, expected.length + 1)
                assert.deepEqual(withoutLinks(short), expected, `${who} ${query} by ${limit}`)
                const counted = await world.send(who, { method: 'GET', path: `${query}&page_size=1` })
                assert.equal(counted.json.pagination.totalRecords, expected.length, `${who} ${query}`)
                if (!query.startsWith('/v2/orders?') || query.includes('sort')) continue
                const path = query.replace('/v2/orders?', '/v2/orders/summaries/by-status?')
                const groups = (await world.send(who, { method: 'GET', path })).json.data as { count: number }[]
                assert.equal(
                  groups.reduce((sum, { count }) => sum + count, 0),
                  expected.length,
                  `${who} ${path}`,
                )
              }
          },
        )
        await fc.assert(property, {
          seed,
          numRuns: Math.ceil(runs / 4),
          endOnFailure: true,
          interruptAfterTimeLimit: 60_000,
        })
      } finally {
        await world.close()
        await drop()
      }
    })

    it('R170 R172: rows outside of the rule change no answer that the caller gets', async () => {
      const property = fc.asyncProperty(
        mine,
        others,
        others,
        fc.array(fc.nat(1000), { minLength: 12, maxLength: 40 }),
        async (visible, a, b, numbers) => {
          const worlds = [await filled(visible, a, b.length), await filled(visible, b, a.length)] as const
          const ids = [...worlds[0].visible, ...(a.length > b.length ? worlds[0] : worlds[1]).hidden, nowhere]
          try {
            const exchanges: string[] = []
            for (const number of numbers) {
              const request = requestOf(number, ids, visible.length)
              const [one, other] = [
                await worlds[0].world.send('ann', request),
                await worlds[1].world.send('ann', request),
              ]
              exchanges.push(`${JSON.stringify(request)} -> ${one.status}`)
              assert.deepEqual(learnt(other), learnt(one), exchanges.join('\n'))
            }
          } finally {
            for (const { close } of worlds) await close()
          }
        },
      )
      await fc.assert(property, { seed, numRuns: runs, endOnFailure: true, interruptAfterTimeLimit: 90_000 })
    })

    const nowhere = 'ord_01h455vb4pex5vsknk084sn02q'

    /** A world with rows; the clock advances as if it also had the rows of the other world. */
    async function filled(visible: readonly Row[], hidden: readonly Row[], more: number) {
      const { url, drop } = await make()
      const world = await worldOf<Who>(desk, url, callers)
      const rows = async (source: string, all: readonly Row[]) => {
        world.drawFrom(source)
        const made: string[] = []
        for (const row of all)
          made.push(await create(world, { ...row, agentId: source === 'seen' ? 'key:ann' : 'key:bob' }))
        return made
      }
      const seen = await rows('seen', visible)
      const outside = await rows('hide', hidden)
      for (let i = 0; i < more * 3; i++) await world.send('boss', { method: 'GET', path: '/v2/customers' })
      world.drawFrom('ann')
      const close = () => world.close().then(drop)
      return { world, visible: seen, hidden: outside, close }
    }
  })

const learnt = ({ status, headers: { date: _, ...headers }, text }: Reply) => ({ status, headers, text })

/**
 * A request of ann, on one of the ids, of which the first ones are hers. PUT is sent to hers alone: to a hidden id it is refused,
 * and to an unused one it creates the item, as docs/security.md says.
 */
function requestOf(number: number, ids: readonly string[], seen: number): Request {
  const version = number % 3 === 0 ? '/v1' : '/v2'
  const id = ids[number % ids.length] as string
  const item = `${version}/orders/${id}`
  const ownItem = `${version}/orders/${ids[number % seen]}`
  const [assignee, to] = [version === '/v1' ? 'holder' : 'assigneeId', `key:${number % 5 === 0 ? 'bob' : 'ann'}`]
  const body = { title: `n${number}`, amount: 1, [assignee]: to }
  const list = `${version}/orders?`
  const key = { 'idempotency-key': `k${number % 4}` }
  const all: readonly Request[] = [
    { method: 'GET', path: item },
    { method: 'GET', path: `${item}?embed=customer,lines` },
    { method: 'GET', path: `${item}/lines` },
    { method: 'GET', path: `${item}/revisions` },
    { method: 'GET', path: `${item}/revisions/1` },
    { method: 'GET', path: `${item}/revisions/2?against=1` },
    { method: 'PATCH', path: item, json: { title: `n${number}` } },
    { method: 'PATCH', path: item, json: { [assignee]: to } },
    { method: 'PATCH', path: item, json: { title: 5 } },
    { method: 'PATCH', path: item, json: { title: 'x' }, headers: { 'if-match': '"old"' } },
    { method: 'PUT', path: ownItem, json: body },
    { method: 'PUT', path: ownItem, json: body, headers: { 'if-none-match': '*' } },
    { method: 'DELETE', path: item },
    { method: 'POST', path: `${item}/closures`, json: {} },
    { method: 'POST', path: `${item}/handovers`, json: { to } },
    { method: 'POST', path: `${item}/lines`, json: { text: 'x', assigneeId: 'key:ann' } },
    { method: 'POST', path: `${version}/orders`, json: body },
    { method: 'POST', path: `${version}/orders`, json: body, headers: key },
    { method: 'POST', path: `${version}/notes`, json: { text: 'x', orderId: id } },
    { method: 'GET', path: `${version}/notes?embed=order` },
    { method: 'PATCH', path: `${item}?dryRun=true`, json: { title: 'dry' } },
    { method: 'GET', path: `${list}limit=2&cursor=` },
    { method: 'GET', path: `${list}page=1&page_size=2` },
    { method: 'GET', path: `${list}sort=amount&order=desc` },
    { method: 'GET', path: `${list}${assignee}=in:(key:ann,key:bob)` },
    { method: 'GET', path: `${list}or=(${assignee}=key:bob;amount[gte]=2)&sort=title` },
    { method: 'GET', path: `${list}search=box` },
    { method: 'GET', path: `${version}/orders/summaries/by-status` },
    { method: 'GET', path: `${version}/orders`, headers: { accept: 'text/csv' } },
    { method: 'GET', path: `${version}/customers?sort=size` },
    { method: 'GET', path: `${version}/customers?search=red` },
    {
      method: 'POST',
      path: `${version}/batches`,
      json: { operations: [{ as: 'a', method: 'PATCH', path: `/orders/${id}`, body: { title: 'b' } }] },
    },
  ]
  return all[(number >> 2) % all.length] as Request
}
