/** Handlers of older versions, of accounts and of the clock: they see the newest form, and the rows of one account. R226. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { type Door, doors, spec } from '../help/door.ts'

const seen: object[] = []

const shop = service({
  name: 'shop',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  errors: { 'title-taken': { parents: ['conflict'], status: 409 } },
  resources: {
    authors: { prefix: 'aut', fields: { country: f.text({ default: 'IT' }) }, access: 'public' },
    books: {
      prefix: 'boo',
      fields: { title: f.text({ filter: true }), authorId: f.ref('authors', { optional: true }) },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: { placements: { from: ['draft'], to: 'placed' } },
      },
      access: 'public',
    },
  },
})
  .change('v2', 'books', {
    about: 'The title was called name, the country moved to authors, and clients wrote the status.',
    renamed: { name: 'title' },
    moved: { country: { by: 'authorId', to: 'country', field: f.text({ optional: true }) } },
    retyped: { status: f.enum(['draft', 'placed'], { default: 'draft' }) },
    transitions: { written: { placed: 'placements' } },
  })
  .handlers({
    authors: {
      change: ({ input }) => {
        seen.push({ author: input })
      },
    },
    books: {
      async write({ next, list, refuse }) {
        const same = await list('books', { where: { title: next.title } })
        if (same.some(({ id }) => id !== next.id)) throw refuse('title-taken', { pointer: '/title' })
      },
      change: ({ input }) => {
        seen.push({ change: input })
      },
      placements: ({ item, next }) => {
        seen.push({ from: item?.status, to: next.status })
      },
    },
  })

doors('handlers and older versions', shop, (door: Door) => {
  spec('R226', 'a PATCH of an older version runs the handlers of every row and transition that it writes', async () => {
    const author = (await door.send('POST', '/v2/authors', { json: {} })).json.id
    const { id } = (await door.send('POST', '/v1/books', { json: { name: 'A', authorId: author } })).json
    seen.length = 0
    const changed = await door.send('PATCH', `/v1/books/${id}`, {
      json: { name: 'B', country: 'FR', status: 'placed' },
    })
    assert.deepEqual([changed.status, changed.json.status], [200, 'placed'], changed.text)
    const { updatedAt: _, ...input } = (seen.find((one) => 'change' in one) as { change: object }).change as Record<
      string,
      unknown
    >
    assert.deepEqual(input, { title: 'B', status: 'placed' })
    assert.ok(seen.some((one) => JSON.stringify(one) === '{"from":"draft","to":"placed"}'))
    assert.equal((seen.find((one) => 'author' in one) as { author: { country: string } }).author.country, 'FR')
    const taken = await door.send('POST', '/v1/books', { json: { name: 'B' } })
    assert.deepEqual([taken.status, taken.json.type, taken.json.errors[0].pointer], [409, 'title-taken', '/name'])
  })
})

const vault = service({
  name: 'vault',
  resources: {
    files: {
      prefix: 'fil',
      owner: 'accountId',
      fields: { text: f.text({ default: '' }), copies: f.integer({ default: 0 }) },
      states: {
        field: 'status',
        initial: 'open',
        transitions: { closings: { from: ['open'], to: 'closed', after: 'P1D' } },
      },
      access: 'authenticated',
    },
  },
}).handlers({
  files: {
    async create({ next, list, get, set, caller }) {
      set({ copies: (await list('files')).length, text: `${caller.account} ${await get('files', next.text)}` })
    },
    async closings({ list, set, caller }) {
      set({ copies: (await list('files')).length, text: `${caller.id}` })
    },
  },
})

test('R170 R223 R226: handlers see the rows of one account, also those of the clock', async (t) => {
  const { call, pass, close } = testing(vault, { log: { error: console.error, warn: console.error, info: () => {} } })
  t.after(close)
  const made = async (account: string, text: string) =>
    (await call('/files', { method: 'POST', json: { text }, as: { account } })).json() as Promise<{
      id: string
      copies: number
      text: string
    }>
  const first = await made('north', 'fil_01h455vb4pex5vsknk084sn02q')
  const other = await made('south', first.id)
  assert.deepEqual([other.copies, other.text], [0, 'south null'])
  assert.equal((await made('north', first.id)).copies, 1)
  await pass('P2D')
  const closed = (await (await call(`/files/${other.id}`, { as: { account: 'south' } })).json()) as {
    status: string
    copies: number
    text: string
  }
  assert.deepEqual([closed.status, closed.copies, closed.text], ['closed', 1, 'null'])
})

const paper = service({
  name: 'paper',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  settings: { batches: 5 },
  resources: {
    orders: {
      prefix: 'ord',
      fields: { note: f.text({ default: '' }) },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: {
          placements: { from: ['draft'], to: 'placed' },
          cancellations: { from: ['placed'], to: 'cancelled' },
        },
        writable: { change: ['placed'], remove: ['placed'] },
      },
      access: 'public',
    },
    lines: { prefix: 'lin', parent: { resource: 'orders', while: ['placed'] }, fields: {}, access: 'public' },
    wishes: { prefix: 'wis', fields: { what: f.text(), orderId: f.ref('orders') }, access: 'public' },
  },
})
  .change('v2', 'orders', {
    about: 'Purchases are orders, sent ones are placed, voids cancellations.',
    was: 'purchases',
    mapped: { status: { sketched: 'draft', sent: 'placed' } },
    transitions: { renamed: { voids: 'cancellations' } },
  })
  .handlers({
    wishes: {
      create({ next, change, move, remove, create }) {
        if (next.what === 'change') change('orders', next.orderId, { note: 'a' })
        if (next.what === 'move') move('orders', next.orderId, 'cancellations')
        if (next.what === 'remove') remove('orders', next.orderId)
        if (next.what === 'line') create('lines', { orderId: next.orderId })
      },
    },
  })

doors('states that handlers may not write in', paper, (door: Door) => {
  spec('R50', 'a 409 of a handler has the names of the version that was asked', async () => {
    const { id } = (await door.send('POST', '/v2/orders', { json: {} })).json
    const said = async (version: string, what: string) => {
      const one = { what, orderId: id }
      const { status, json, text } = await door.send('POST', `/${version}/wishes`, { json: one })
      assert.deepEqual([status, json.type], [409, 'invalid-state'], text)
      const request = { method: 'POST', path: '/wishes', body: one }
      const batch = await door.send('POST', `/${version}/batches`, { json: { operations: [request] } })
      assert.equal(batch.status, 409, batch.text)
      assert.ok(batch.text.includes(json.message), batch.text)
      return json.message
    }
    const states = (from: string, to: string) => ({
      change: `is ${from} and cannot be changed; that is possible while it is ${to}.`,
      remove: `is ${from} and cannot be removed; that is possible while it is ${to}.`,
      line: `is ${from} and what belongs to it cannot be written; that is possible while it is ${to}.`,
    })
    for (const [what, text] of Object.entries(states('draft', 'placed')))
      assert.equal(await said('v2', what), `Order ${text}`)
    assert.equal(
      await said('v2', 'move'),
      'Order is draft and cancellations are not possible; that is possible while it is placed.',
    )
    for (const [what, text] of Object.entries(states('sketched', 'sent')))
      assert.equal(await said('v1', what), `Purchase ${text}`)
    assert.equal(
      await said('v1', 'move'),
      'Purchase is sketched and voids are not possible; that is possible while it is sent.',
    )
  })
})
