/** Every caller and every request of pairs: a row of another account, on either side, is answered like one that does not exist. Part 5. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors } from '../help/door.ts'

const fields = { name: f.text({ max: 60 }) }
const api = service({
  name: 'desk',
  scopes: { link: 'Link items' },
  resources: {
    orders: { prefix: 'ord', owner: 'accountId', fields, embed: true, access: 'authenticated' },
    files: { prefix: 'fil', owner: 'accountId', fields, embed: true, access: 'authenticated' },
    tags: { prefix: 'tag', fields, embed: true, access: 'authenticated' },
  },
  pairs: {
    attachments: {
      between: ['files', 'orders'],
      fields: { note: f.text({ optional: true }) },
      access: { read: 'authenticated', write: 'link' },
    },
    'tagged-orders': {
      between: ['tags', 'orders'],
      access: 'authenticated',
      fields: { note: f.text({ optional: true }) },
    },
  },
})
const holders = {
  ann: { account: 'a', scopes: ['link'] },
  amy: { account: 'a', scopes: [] },
  bob: { account: 'b', scopes: ['link'] },
  nil: { scopes: ['link'] },
}
type Who = keyof typeof holders
const sides = [
  ['files', 'orders'],
  ['orders', 'files'],
  ['tags', 'orders'],
  ['orders', 'tags'],
] as const

doors(
  'the matrix of pairs',
  api,
  (door: Door) => {
    const send = (who: Who | null, method: string, path: string, json?: object): Promise<Answer> =>
      door.send(method, path, { ...(json && { json }), headers: who ? door.as(who) : {} })
    const made = async (who: Who, name: string): Promise<string> =>
      (await send(who, 'POST', `/${name}`, { name: `of ${who}` })).json.id
    const unknown = (id: string): string => `${id.slice(0, -8)}00000000`
    /** An answer without what differs between any two requests. */
    const told = ({ status, headers, text }: Answer, ids: readonly string[]): string => {
      const { date: _, 'request-id': __, ...rest } = headers
      return ids.reduce((all, id, i) => all.replaceAll(id, `{${i}}`), JSON.stringify([status, rest, text]))
    }

    for (const [own, other] of sides)
      it(`R170: ${own} and ${other} of others do not exist`, async () => {
        const mine = [await made('ann', own), await made('ann', other)] as const
        const theirs = [await made('bob', own), await made('bob', other)] as const
        assert.equal(
          (await send('bob', 'PUT', `/${own}/${theirs[0]}/${other}/${theirs[1]}`, { note: 'bob' })).status,
          201,
        )
        const isShared = (name: string) => name === 'tags'
        for (const who of ['ann', 'amy', 'nil', null] as const)
          for (const method of ['GET', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'POST', 'PATCH']) {
            const both = [
              [theirs[0], mine[1], isShared(own)],
              [mine[0], theirs[1], isShared(other)],
              [theirs[0], theirs[1], isShared(own) || isShared(other)],
            ] as const
            for (const [a, b, shares] of both) {
              if (shares) continue // an item without an owner exists for everybody
              const none = [a === mine[0] ? a : unknown(a), b === mine[1] ? b : unknown(b)] as const
              const json = method === 'PUT' ? { note: 'x' } : undefined
              const foreign = told(await send(who, method, `/${own}/${a}/${other}/${b}`, json), [a, b])
              const absent = told(await send(who, method, `/${own}/${none[0]}/${other}/${none[1]}`, json), none)
              assert.equal(foreign, absent, `${who} ${method} ${own} ${other}`)
            }
            if (isShared(own)) continue
            const list = told(await send(who, method, `/${own}/${theirs[0]}/${other}`), [theirs[0]])
            const none = unknown(theirs[0])
            assert.equal(
              list,
              told(await send(who, method, `/${own}/${none}/${other}`), [none]),
              `${who} ${method} ${own}`,
            )
          }
        assert.equal((await send('bob', 'GET', `/${own}/${theirs[0]}/${other}/${theirs[1]}`)).json._pair.note, 'bob')
      })

    it('R170: links of others change nothing of an item that all share: no list, total, tag or embedded row', async () => {
      const tag = await made('ann', 'tags')
      const order = await made('ann', 'orders')
      await send('ann', 'PUT', `/tags/${tag}/orders/${order}`)
      const paths = [`/tags/${tag}/orders`, `/tags/${tag}?embed=orders`, `/tags/${tag}`, `/tags/${tag}/orders/${order}`]
      const seen = async () => {
        const all = await Promise.all(paths.map((path) => send('ann', 'GET', path)))
        return all.map((one) => told(one, []))
      }
      const before = await seen()
      for (let i = 0; i < 3; i++)
        assert.equal((await send('bob', 'PUT', `/tags/${tag}/orders/${await made('bob', 'orders')}`)).status, 201)
      assert.deepEqual(await seen(), before)
      const { json } = await send('bob', 'GET', `/tags/${tag}/orders`)
      assert.equal(json.pagination.totalRecords, 3)
      assert.ok(!JSON.stringify(json).includes(order))
    })

    it('R8 R9: hostile ids and bodies are refused, and change nothing', async () => {
      const order = await made('ann', 'orders')
      const file = await made('ann', 'files')
      const hostile = [
        '%00',
        "'%20OR%201=1--",
        '*',
        '%25',
        '..%2F..',
        `${file},${file}`,
        `${file}%20`,
        'x'.repeat(4000),
        '%E2%80%AE',
      ]
      for (const id of hostile) {
        assert.equal((await send('ann', 'GET', `/orders/${order}/files/${id}`)).status, 404, id)
        assert.equal((await send('ann', 'PUT', `/orders/${order}/files/${id}`)).status, 400, id)
        assert.equal((await send('ann', 'PUT', `/files/${id}/orders/${order}`)).status, 404, id)
        assert.equal((await send('ann', 'DELETE', `/orders/${order}/files/${id}`)).status, 404, id)
        assert.equal((await send('ann', 'GET', `/files/${id}/orders`)).status, 404, id)
      }
      const path = `/orders/${order}/files/${file}`
      for (const json of [
        { id: 'x' },
        { fileId: 'fil_1' },
        { orderId: null },
        { accountId: 'b' },
        { __proto__: null, note: 1 },
        [],
        'x',
      ])
        assert.equal((await send('ann', 'PUT', path, json as object)).status, 400, JSON.stringify(json))
      assert.equal((await send('ann', 'GET', path)).status, 404)
      assert.equal((await send('ann', 'PUT', `${path}?x=1`)).status, 400)
      assert.equal((await send('ann', 'GET', `${path}?embed=orders`)).status, 400)
    })
  },
  { holders },
)
