/** Operations: a POST below a collection or an item runs its handler and answers the output. R88, R108, R224. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { type Answer, type Door, doors, spec } from '../help/door.ts'

const declared = service({
  name: 'shop',
  scopes: { 'orders:remind': 'Remind customers' },
  errors: { 'too-many': { status: 409, parents: ['conflict'] } },
  resources: {
    prices: { key: 'code', fields: { code: f.text(), price: f.integer({ min: 0 }) }, access: 'public' },
    books: {
      key: 'code',
      fields: { code: f.text({ max: 20 }) },
      access: 'public',
      operations: { counts: { at: 'collection', output: { count: f.integer() } } },
    },
    notes: { prefix: 'not', fields: { orderId: f.ref('orders', { optional: true }) }, access: 'public' },
    orders: {
      prefix: 'ord',
      fields: { note: f.text({ default: '' }), reminders: f.integer({ default: 0, readOnly: true }) },
      access: 'public',
      operations: {
        quotes: {
          at: 'collection',
          input: { code: f.text(), quantity: f.integer({ min: 1, max: 100 }), fault: f.text({ optional: true }) },
          output: { total: f.decimal({ scale: 2 }), note: f.text({ optional: true }) },
        },
        reminders: { at: 'item', output: { count: f.integer() }, access: 'orders:remind' },
        remarks: { at: 'item', input: { about: f.ref('orders') } },
        removals: { at: 'item' },
      },
    },
  },
})

const api = declared.handlers({
  books: {
    async counts({ list }) {
      return { count: (await list('books')).length }
    },
  },
  orders: {
    async quotes({ input: { code, quantity, fault }, get, create, refuse }) {
      const found = await get('prices', code)
      if (!found) throw refuse('too-many', { pointer: '/code' })
      create('notes', {})
      if (fault === 'throw') throw new Error('broken')
      if (fault === 'output') return { total: 'much' }
      return { total: `${found.price * quantity}.00` }
    },
    async reminders({ item, set }) {
      set({ reminders: item.reminders + 1 })
      return { count: item.reminders + 1 }
    },
    remarks({ input, create }) {
      create('notes', { orderId: input.about })
    },
    removals({ item, remove }) {
      remove('orders', item.id)
    },
  },
})

const holders = { reminder: { scopes: ['orders:remind'] } }

doors(
  'operations',
  api,
  (door: Door) => {
    const ask = (path: string, json?: object, headers: Record<string, string> = {}): Promise<Answer> =>
      door.send('POST', path, { headers, ...(json && { json }) })
    const notes = async () => (await door.send('GET', '/notes?limit=100')).json.data.length as number

    spec('R88', 'an operation on a collection answers 200 with its output', async () => {
      await ask('/prices', { code: 'pen', price: 3 })
      const before = await notes()
      const { status, json } = await ask('/orders/quotes', { code: 'pen', quantity: 2 })
      assert.deepEqual([status, json], [200, { total: '6.00', note: null }])
      assert.equal(await notes(), before + 1)
    })

    spec('R108', 'a repeated key gets the first output, and nothing is written again', async () => {
      const before = await notes()
      const key = { 'idempotency-key': 'quote-1' }
      const body = { code: 'pen', quantity: 3 }
      const all = await Promise.all([1, 2, 3].map(() => ask('/orders/quotes', body, key)))
      await door.send('PATCH', '/prices/pen', { json: { price: 4 } })
      const late = await ask('/orders/quotes', body, key)
      for (const { status, json } of [...all, late])
        assert.deepEqual([status, json], [200, { total: '9.00', note: null }])
      assert.equal(late.headers['idempotency-replayed'], 'true')
      assert.equal(await notes(), before + 1)
      const other = await ask('/orders/quotes', { ...body, quantity: 4 }, key)
      assert.deepEqual([other.status, other.json.type], [422, 'idempotency-key-payload-mismatch'])
    })

    spec('R88 R154', 'the input is checked like a body', async () => {
      const { status, json } = await ask('/orders/quotes', { code: 'pen', quantity: 0, colour: 'red' })
      assert.deepEqual(
        [status, json.errors.map((one: { pointer: string }) => one.pointer)],
        [400, ['/quantity', '/colour']],
      )
      assert.equal((await ask('/orders/quotes')).json.type, 'body-required')
    })

    spec(
      'R160 R227',
      'a refusal has its declared type; a throw and a wrong output are 500, and nothing is written',
      async () => {
        const before = await notes()
        const refused = await ask('/orders/quotes', { code: 'cup', quantity: 1 })
        assert.deepEqual(
          [refused.status, refused.json.type, refused.json.errors[0].pointer],
          [409, 'too-many', '/code'],
        )
        for (const [fault, cause] of [
          ['throw', /orders\.quotes failed: broken/],
          ['output', /orders\.quotes failed: Its output is not as declared: total/],
        ] as const) {
          const key = { 'idempotency-key': fault }
          const broken = await ask('/orders/quotes', { code: 'pen', quantity: 1, fault }, key)
          assert.equal(broken.status, 500)
          assert.doesNotMatch(broken.text, /broken|output/)
          const logged = door.errors.splice(0).map((one) => String((one as { err?: Error }).err))
          assert.match(logged.join(), cause)
          const retried = await ask('/orders/quotes', { code: 'pen', quantity: 1 }, key) // the key was not used
          assert.equal(retried.status, 200)
        }
        assert.equal(await notes(), before + 2)
      },
    )

    spec('R88 R125', 'an operation on an item sees the item, and its precondition holds', async () => {
      const made = await ask('/orders', {})
      const path = made.headers.location as string
      const as = door.as('reminder')
      assert.equal((await ask(`${path}/reminders`)).status, 401)
      const key = { ...as, 'idempotency-key': 'remind-1' }
      const first = await ask(`${path}/reminders`, undefined, { ...key, 'if-match': made.headers.etag as string })
      assert.deepEqual([first.status, first.json], [200, { count: 1 }])
      const stale = await ask(`${path}/reminders`, undefined, { ...as, 'if-match': made.headers.etag as string })
      assert.equal(stale.status, 412)
      const again = await ask(`${path}/reminders`, undefined, { ...key, 'if-match': made.headers.etag as string })
      assert.deepEqual([again.status, again.json], [200, { count: 1 }])
      const all = await Promise.all([1, 2, 3, 4].map(() => ask(`${path}/reminders`, undefined, as)))
      assert.deepEqual(all.map(({ json }) => json.count).sort(), [2, 3, 4, 5])
      assert.equal((await door.send('GET', path)).json.reminders, 5)
      const absent = await ask('/orders/ord_00000000000000000000000000/reminders', undefined, as)
      assert.equal(absent.status, 404)
    })

    spec('R88', 'a handler that writes nothing leaves the item as it was, and one may remove it', async () => {
      const made = await ask('/orders', {})
      const path = made.headers.location as string
      assert.deepEqual((await ask(`${path}/remarks`, { about: made.json.id })).json, {})
      assert.equal((await door.send('GET', path)).headers.etag, made.headers.etag)
      const nobody = await ask(`${path}/remarks`, { about: 'ord_00000000000000000000000000' })
      assert.deepEqual([nobody.status, nobody.json.errors[0].pointer], [400, '/about'])
      const other = await ask('/orders', {})
      const removal = `${other.headers.location}/removals`
      const key = { 'idempotency-key': 'remove-1' }
      assert.equal((await ask(removal, undefined, key)).status, 200)
      assert.equal((await door.send('GET', other.headers.location as string)).status, 410)
      assert.equal((await ask(removal, undefined, key)).headers['idempotency-replayed'], 'true')
    })

    spec('R224', 'links name the operations that the caller may call', async () => {
      const made = await ask('/orders', {})
      const path = made.headers.location as string
      assert.deepEqual(Object.keys(made.json._links), ['self', 'remarks', 'removals'])
      const seen = await door.send('GET', path, { headers: door.as('reminder') })
      assert.deepEqual(seen.json._links.reminders, `${path}/reminders`)
    })

    spec('R12', 'the URL of an operation is no item', async () => {
      const options = await door.send('OPTIONS', '/orders/quotes')
      assert.deepEqual([options.status, options.headers.allow], [204, 'OPTIONS, POST'])
      assert.equal((await door.send('GET', '/books/counts')).status, 405)
      const taken = await ask('/books', { code: 'counts' })
      assert.deepEqual([taken.status, taken.json.errors[0].pointer], [400, '/code'])
      await ask('/books', { code: 'one' })
      assert.deepEqual((await ask('/books/counts')).json, { count: 1 })
    })
  },
  { holders },
)

test('R88: an older version has the operations that it had', async () => {
  const fields = { name: f.text() }
  const operations = { counts: { at: 'collection', output: { count: f.integer() } }, checks: { at: 'item' } } as const
  const two = service({
    name: 'shop',
    errors: { unchecked: { status: 409, parents: ['conflict'] } },
    resources: { customers: { fields, operations, access: 'public' } },
    versions: { v1: { released: '2020-01-01' }, v2: { released: '2021-01-01' } },
  })
    .change('v2', 'customers', {
      about: 'Checks are new.',
      was: 'clients',
      operations: { added: ['checks'] },
      errors: { odd: 'unchecked' },
    })
    .handlers({
      customers: {
        create({ input, refuse }) {
          if (input.name === 'Odd') throw refuse('unchecked', { pointer: '/name' })
        },
        counts: () => ({ count: 7 }),
        checks() {},
      },
    })
  const { call, close } = testing(two)
  const ask = async (path: string) => (await call(path, { method: 'POST', json: {} })).status
  const made = await call('/v2/customers', { method: 'POST', json: { name: 'Ann' } })
  const path = (made.headers.get('location') as string).replace('/v2', '')
  assert.deepEqual(await (await call('/v1/clients/counts', { method: 'POST' })).json(), { count: 7 })
  assert.deepEqual(
    [await ask(`/v2${path}/checks`), await ask(`/v1${path.replace('customers', 'clients')}/checks`)],
    [200, 404],
  )
  const refused = await call('/v1/clients', { method: 'POST', json: { name: 'Odd' } })
  const { type, errors } = (await refused.json()) as { type: string; errors: { type: string }[] }
  assert.deepEqual([type, errors.map((one) => one.type)], ['odd', ['odd']])
  await close()
})

test('R88: operations without their handlers do not start', () => {
  assert.throws(() => testing(declared), /4\. handlers\.orders\.remarks(.|\n)*async remarks\(\{ item, input \}\)/)
  const half = { orders: { remarks: () => {} } }
  assert.throws(
    () => declared.handlers(half as never),
    /handlers\.orders\.quotes: The declared operation has no handler/,
  )
})
