/** Contract section 5: access rules that depend on the item, on every way to its content. R170. */
import assert from 'node:assert/strict'
import { type Door, doors, type Sent, spec } from '../help/door.ts'
import { desk } from '../help/ruled-desk.ts'

const holders = {
  ann: { account: 'north' },
  bob: { account: 'north' },
  boss: { account: 'north', scopes: ['all', 'tell'] },
  far: { account: 'south', scopes: ['all'] },
}

doors(
  'row rules',
  desk,
  (door: Door) => {
    const send = (who: string, method: string, path: string, json?: unknown, more: Sent = {}) =>
      door.send(method, path.startsWith('/v') ? path : `/v2${path}`, {
        ...(json !== undefined && { json }),
        ...more,
        headers: { ...door.as(who), ...more.headers },
      })
    const get = (who: string, path: string, headers = {}) => send(who, 'GET', path, undefined, { headers })
    let made = 0
    const order = async (assignee: string, more: object = {}) => {
      const json = { title: `T${made++}`, amount: 5, assigneeId: `key:${assignee}`, ...more }
      const answer = await send('boss', 'POST', '/orders', json)
      assert.equal(answer.status, 201, answer.text)
      return answer.json
    }
    const nobody = 'ord_01h455vb4pex5vsknk084sn02q'
    const idsOf = (answer: { json: { data: { id: string }[] } }) => answer.json.data.map(({ id }) => id)
    /** Asserts that a hidden id and an unknown one are answered in the same way, except for the id. */
    const asUnknown = async (who: string, method: string, path: (id: string) => string, id: string, json?: unknown) => {
      const [hidden, unknown] = [await send(who, method, path(id), json), await send(who, method, path(nobody), json)]
      assert.equal(hidden.status, 404, `${method} ${path(id)} ${hidden.text}`)
      assert.equal(hidden.text.replaceAll(id, nobody), unknown.text)
    }

    spec('R170', 'a row outside of the rule is answered like an unknown id, by every operation', async () => {
      const [mine, other] = [await order('ann'), await order('bob')]
      assert.equal((await get('ann', `/orders/${mine.id}`)).status, 200)
      assert.equal((await get('boss', `/orders/${other.id}`)).status, 200)
      assert.equal((await get('far', `/orders/${other.id}`)).status, 404)
      const paths: [string, string, unknown?][] = [
        ['GET', ''],
        ['PATCH', '', { title: 'x' }],
        ['PATCH', '', { title: 5 }],
        ['DELETE', ''],
        ['POST', '/closures', {}],
        ['POST', '/handovers', { to: 'key:ann' }],
        ['GET', '/lines'],
        ['POST', '/lines', { text: 'x', assigneeId: 'key:ann' }],
        ['GET', '/revisions'],
        ['GET', '/revisions/1'],
      ]
      for (const [method, below, json] of paths)
        await asUnknown('ann', method, (id) => `/orders/${id}${below}`, other.id, json)
      const put = { title: 'x', amount: 1, assigneeId: 'key:ann' }
      assert.equal((await send('ann', 'PUT', `/orders/${other.id}`, put)).status, 404)
      assert.equal((await get('boss', `/orders/${other.id}`)).json.title, other.title)
    })

    spec(
      'R170',
      'lists, totals, cursors, filters, or, search, summaries and exports have the rows of the rule alone',
      async () => {
        const mine = [await order('ann', { title: 'apple one' }), await order('ann', { title: 'apple two', amount: 7 })]
        await order('bob', { title: 'apple three', amount: 100 })
        const ids = mine.map(({ id }) => id)
        const filter = 'title[like]=apple%25'
        for (const query of [
          filter,
          `${filter}&sort=amount`,
          'search=apple&sort=amount',
          `or=(title=apple%2520one;title=apple%2520two;title=apple%2520three)&sort=amount`,
          `${filter}&assigneeId=in:(key:ann,key:bob)`,
        ]) {
          const page = await get('ann', `/orders?${query}`)
          assert.deepEqual(idsOf(page), ids, `${query} ${page.text}`)
          assert.equal(page.json.pagination.totalRecords ?? 2, 2)
        }
        assert.equal((await get('boss', `/orders?${filter}`)).json.data.length, 3)
        assert.deepEqual(idsOf(await get('ann', `/orders?${filter}&assigneeId=key:bob`)), [])
        const first = await get('ann', `/orders?${filter}&limit=1&cursor=`)
        const { nextCursor } = first.json.pagination
        const second = await get('ann', `/orders?${filter}&limit=1&cursor=${nextCursor}`)
        assert.deepEqual([...idsOf(first), ...idsOf(second)], ids)
        assert.equal(second.json.pagination.nextCursor, null)
        const summary = await get('ann', `/orders/summaries/by-status?${filter}`)
        assert.deepEqual(
          summary.json.data.map((one: { count: number; sumAmount: string }) => [one.count, one.sumAmount]),
          [[2, '12']],
        )
        const csv = await get('ann', `/orders?${filter}`, { accept: 'text/csv' })
        assert.equal(csv.text.trim().split('\r\n').length, 3, csv.text)
        // a cursor of another caller finds no row of that caller
        const stolen = (await get('boss', `/orders?${filter}&limit=1&cursor=`)).json.pagination.nextCursor
        for (const one of (await get('bob', `/orders?${filter}&limit=5&cursor=${stolen}`)).json.data)
          assert.equal(one.assigneeId, 'key:bob')
      },
    )

    spec(
      'R170',
      'an alternative for values of the item joins the others, also below another parameter `or`',
      async () => {
        const customers = []
        for (const [name, agentId] of [
          ['pear 1', 'key:ann'],
          ['pear 2', 'key:bob'],
          ['pear 3', null],
        ])
          customers.push((await send('boss', 'POST', '/customers', { name, agentId })).json.id)
        const [hers, his, free] = customers
        for (const query of ['search=pear', 'search=pear&limit=5']) {
          assert.deepEqual(idsOf(await get('ann', `/customers?${query}`)).sort(), [hers, free].sort())
          assert.deepEqual(idsOf(await get('bob', `/customers?${query}`)).sort(), [his, free].sort())
        }
        const seen = idsOf(await get('ann', `/customers?limit=100`))
        assert.ok(seen.includes(hers) && seen.includes(free) && !seen.includes(his))
      },
    )

    spec(
      'R170',
      'a row that may be read and not changed is 403, and so is a write that would leave the rule',
      async () => {
        const mine = await order('ann')
        assert.equal((await send('ann', 'PATCH', `/orders/${mine.id}`, { title: 'y' })).status, 200)
        for (const [method, path, json] of [
          ['PATCH', '', { assigneeId: 'key:bob' }],
          ['PUT', '', { title: 'x', amount: 1, assigneeId: 'key:bob' }],
          ['POST', '/handovers', { to: 'key:bob' }],
        ] as const) {
          const refused = await send('ann', method, `/orders/${mine.id}${path}`, json)
          assert.deepEqual([refused.status, refused.json.type], [403, 'access-denied'], refused.text)
          assert.match(refused.json.message, /assigneeId is the id of the caller/)
        }
        const post = await send('ann', 'POST', '/orders', { title: 'x', assigneeId: 'key:bob' })
        assert.equal(post.status, 403, post.text)
        assert.equal((await send('ann', 'POST', '/orders', { title: 'x', assigneeId: 'key:ann' })).status, 201)
        const v1 = await send('ann', 'PATCH', `/v1/orders/${mine.id}`, { holder: 'key:bob' })
        assert.equal(v1.status, 403)
        assert.match(v1.json.message, /holder is the id/)
        // closed orders may be read and not changed, so the transition to that state is refused too
        assert.equal((await send('ann', 'POST', `/orders/${mine.id}/closures`, {})).status, 403)
        assert.equal((await send('boss', 'POST', `/orders/${mine.id}/closures`, {})).status, 200)
        const closed = await send('ann', 'PATCH', `/orders/${mine.id}`, { title: 'z' })
        assert.deepEqual([closed.status, closed.json.type], [403, 'access-denied'])
        assert.equal((await send('ann', 'DELETE', `/orders/${mine.id}`)).status, 403)
        assert.equal((await get('ann', `/orders/${mine.id}`)).json.title, 'y')
        const { _links: hers } = (await get('ann', `/orders/${mine.id}`)).json
        const { _links: all } = (await get('boss', `/orders/${mine.id}`)).json
        assert.equal('handovers' in hers, false)
        assert.equal('handovers' in all, true)
      },
    )

    spec('R170', 'references, embedded rows and children', async () => {
      const [hers, his] = [
        (await send('boss', 'POST', '/customers', { name: 'c1', agentId: 'key:ann' })).json.id,
        (await send('boss', 'POST', '/customers', { name: 'c2', agentId: 'key:bob' })).json.id,
      ]
      const wrong = await send('ann', 'POST', '/orders', { title: 'x', assigneeId: 'key:ann', customerId: his })
      assert.equal(wrong.status, 400)
      assert.match(wrong.json.cause.message, new RegExp(`Customer ${his} does not exist`))
      const mine = await order('ann', { customerId: his })
      assert.equal((await send('ann', 'PATCH', `/orders/${mine.id}`, { title: 'kept' })).status, 200)
      assert.equal((await send('ann', 'PATCH', `/orders/${mine.id}`, { customerId: hers })).status, 200)
      assert.equal((await send('ann', 'PATCH', `/orders/${mine.id}`, { customerId: his })).status, 400)
      assert.equal((await send('boss', 'PATCH', `/orders/${mine.id}`, { customerId: his })).status, 200)
      for (const [text, to] of [
        ['l1', 'ann'],
        ['l2', 'bob'],
      ])
        assert.equal(
          (await send('boss', 'POST', `/orders/${mine.id}/lines`, { text, assigneeId: `key:${to}` })).status,
          201,
        )
      const { _embedded } = (await get('ann', `/orders/${mine.id}?embed=customer,lines`)).json
      assert.equal(_embedded.customer, null)
      assert.deepEqual(
        _embedded.lines.data.map(({ text }: { text: string }) => text),
        ['l1'],
      )
      const note = (await send('ann', 'POST', '/notes', { text: 'n', orderId: mine.id })).json
      assert.equal((await get('ann', `/notes/${note.id}?embed=order.customer`)).json._embedded.order.id, mine.id)
      assert.equal((await get('bob', `/notes/${note.id}?embed=order.customer`)).json._embedded.order, null)
      const listed = (await get('bob', `/notes?embed=order`)).json.data.find(
        (one: { id: string }) => one.id === note.id,
      )
      assert.equal(listed._embedded.order, null)
      assert.equal((await send('bob', 'POST', '/notes', { text: 'n', orderId: mine.id })).status, 400)
      // a cascade needs the right to remove all rows of the other resource
      assert.equal((await send('boss', 'DELETE', `/notes/${note.id}`)).status, 204)
      assert.equal((await send('ann', 'DELETE', `/orders/${mine.id}`)).status, 403)
      assert.equal((await send('boss', 'DELETE', `/orders/${mine.id}`)).status, 204)
      assert.equal((await get('boss', `/orders/${mine.id}`)).status, 410)
      assert.equal((await get('ann', `/orders/${mine.id}`)).status, 404)
    })

    spec('R170', 'events and revisions are those of the rows of the rule, as they were', async () => {
      const start = (await get('boss', '/events?limit=1&cursor=')).json
      let cursor = start.pagination.nextCursor
      for (;;) {
        const page = (await get('boss', `/events?cursor=${cursor}`)).json
        cursor = page.pagination.nextCursor
        if (!page.pagination.hasMore) break
      }
      const row = await order('bob')
      assert.equal((await send('boss', 'PATCH', `/orders/${row.id}`, { title: 'second' })).status, 200)
      assert.equal((await send('boss', 'PATCH', `/orders/${row.id}`, { assigneeId: 'key:ann' })).status, 200)
      const seenBy = async (who: string) => (await get(who, `/events?item=${row.id}&limit=100`)).json.data
      assert.equal((await seenBy('boss')).length, 3)
      const [hers, ...more] = await seenBy('ann')
      assert.equal(more.length, 0)
      const his = await seenBy('bob')
      assert.equal(his.length, 2)
      assert.equal((await get('ann', `/events/${hers.id}`)).status, 200)
      assert.equal((await get('ann', `/events/${his[0].id}`)).status, 404)
      const list = await get('ann', `/orders/${row.id}/revisions`)
      assert.deepEqual(
        list.json.data.map(({ id, changes }: { id: string; changes: object }) => [id, 'title' in changes]),
        [['3', true]],
      )
      assert.equal((await get('ann', `/orders/${row.id}/revisions/1`)).status, 404)
      assert.equal((await get('ann', `/orders/${row.id}/revisions/3?against=2`)).status, 404)
      assert.equal((await get('ann', `/orders/${row.id}/revisions/3`)).status, 200)
      assert.equal((await get('bob', `/orders/${row.id}/revisions`)).status, 404)
      assert.equal((await get('boss', `/orders/${row.id}/revisions`)).json.data.length, 3)
      assert.equal((await send('boss', 'DELETE', `/orders/${row.id}`)).status, 204)
      assert.equal((await get('ann', `/orders/${row.id}/revisions`)).json.data.length, 2)
      assert.equal((await get('bob', `/orders/${row.id}/revisions`)).status, 404)
    })

    spec('R170', 'keys, batches, dry runs and cached lists of colleagues', async () => {
      const key = { 'idempotency-key': 'row-rule-1' }
      const json = { title: 'keyed', assigneeId: 'key:ann' }
      const made = await send('ann', 'POST', '/orders', json, { headers: key })
      assert.equal(made.status, 201)
      const again = await send('ann', 'POST', '/orders', json, { headers: key })
      assert.deepEqual([again.status, again.json.old_id], [409, made.json.id])
      const other = await send('bob', 'POST', '/orders', { ...json, assigneeId: 'key:bob' }, { headers: key })
      assert.equal(other.status, 201, 'a key belongs to its caller')
      const hidden = other.json.id
      const batch = (operations: object[]) => send('ann', 'POST', '/batches', { operations })
      const refused = await batch([
        { as: 'a', method: 'PATCH', path: `/orders/${made.json.id}`, body: { title: 'b1' } },
        { as: 'b', method: 'PATCH', path: `/orders/${hidden}`, body: { title: 'b2' } },
      ])
      assert.equal(refused.status, 404, refused.text)
      const left = await batch([
        { as: 'a', method: 'PATCH', path: `/orders/${made.json.id}`, body: { assigneeId: 'key:bob' } },
      ])
      assert.equal(left.status, 403, left.text)
      assert.equal((await get('ann', `/orders/${made.json.id}`)).json.title, 'keyed')
      const dry = await send('ann', 'PATCH', `/orders/${hidden}?dryRun=true`, { title: 'x' })
      assert.equal(dry.status, 404)
      for (let turn = 0; turn < 3; turn++)
        for (const who of ['ann', 'bob', 'boss'])
          assert.equal(idsOf(await get(who, '/orders?title=keyed')).length, who === 'boss' ? 2 : 1, who)
      const tag = (await get('ann', '/orders?title=keyed')).headers.etag as string
      assert.equal((await get('bob', '/orders?title=keyed', { 'if-none-match': tag })).status, 200)
    })
  },
  { holders },
)
