/** Part 7 of the contract, caching: what depends on the caller is private, also where everybody may read. R143, R145. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'

const shop = service({
  name: 'shop',
  events: true,
  scopes: { clerks: 'Work in the shop', vaults: 'See vaults' },
  settings: { cache: { maxAge: 'PT5M' }, methods: { query: true } },
  resources: {
    orders: {
      prefix: 'ord',
      fields: { text: f.text() },
      states: {
        field: 'status',
        initial: 'new',
        transitions: { shipments: { from: ['new'], to: 'shipped', access: 'clerks' } },
      },
      embed: true,
      access: 'public',
    },
    lines: {
      prefix: 'lin',
      parent: 'orders',
      fields: { text: f.text() },
      settings: { resource: { links: 'all' } },
      embed: true,
      access: 'public',
    },
    offers: {
      prefix: 'off',
      fields: { text: f.text() },
      settings: { resource: { links: 'all' } },
      access: 'public',
    },
    bids: { prefix: 'bid', parent: 'offers', fields: { text: f.text() }, access: { read: 'clerks', write: 'public' } },
    vaults: { prefix: 'vau', fields: { text: f.text() }, access: { read: 'vaults', write: 'public' } },
    shelves: { prefix: 'she', fields: { text: f.text() }, embed: true, access: 'public' },
  },
  pairs: { storings: { between: ['orders', 'shelves'], access: 'public' } },
})

const open = service({
  name: 'square',
  events: true,
  settings: { cache: { maxAge: 'PT5M' } },
  resources: { stalls: { prefix: 'sta', fields: { text: f.text() }, access: 'public' } },
})

const holders = { clerk: { account: null, scopes: ['clerks', 'vaults'] } }

doors(
  'private answers',
  shop,
  (door) => {
    const made = async (path: string): Promise<string> => {
      const answer = await door.send('POST', path, { json: { text: 'a' }, headers: door.as('clerk') })
      assert.equal(answer.status, 201, answer.text)
      return answer.headers.location as string
    }
    const read = (path: string, headers = {}) => door.send('GET', path, { headers })

    async function isPrivate(path: string): Promise<void> {
      const answers = [await read(path), await read(path, door.as('clerk'))]
      for (const { status, headers } of answers) {
        assert.equal(status, 200, path)
        assert.equal(headers['cache-control'], 'private, max-age=300', path)
        assert.match(headers.vary ?? '', /Authorization/, path)
      }
      assert.notEqual(answers[0]?.text, answers[1]?.text, path)
    }

    async function isPublic(path: string): Promise<void> {
      for (const { headers } of [await read(path), await read(path, door.as('clerk'))]) {
        assert.equal(headers['cache-control'], 'public, max-age=300', path)
        assert.doesNotMatch(headers.vary ?? '', /Authorization/, path)
      }
    }

    spec(
      'R143 R145 R224',
      'links that depend on the caller make items, lists, embedded and paired items private',
      async () => {
        const order = await made('/orders')
        await isPrivate(order)
        await isPrivate('/orders')
        const line = await made(`${order}/lines`)
        await isPrivate(`${line}?embed=order`)
        await isPublic(line)
        await isPublic('/lines')
        const offer = await made('/offers')
        await isPrivate(offer)
        await isPrivate('/offers')
        const shelf = await made('/shelves')
        assert.equal((await door.send('PUT', `${shelf}${order}`)).status, 201)
        await isPrivate(`${shelf}${order}`)
        await isPrivate(`${shelf}/orders`)
        await isPrivate(`${shelf}?embed=orders`)
        await isPublic(`${order}${shelf}`)
        await isPublic(shelf)
      },
    )

    spec(
      'R143 R145 R213',
      'events of resources that not everybody may read make the list of events private',
      async () => {
        await made('/vaults')
        await isPrivate('/events')
        const { json } = await read('/events', door.as('clerk'))
        const path = `/events/${json.data.find((one: { type: string }) => one.type === 'order.created')?.id}`
        for (const { status, headers } of [await read(path), await read(path, door.as('clerk'))])
          assert.deepEqual([status, headers['cache-control']], [200, 'private, max-age=300'])
      },
    )
  },
  { holders },
)

doors('public events', open, (door) => {
  spec('R143', 'events that everybody may read are public', async () => {
    await door.send('POST', '/stalls', { json: { text: 'a' } })
    const { headers } = await door.send('GET', '/events')
    assert.equal(headers['cache-control'], 'public, max-age=300')
    assert.doesNotMatch(headers.vary ?? '', /Authorization/)
  })
})
