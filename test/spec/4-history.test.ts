/** Contract section 13: the history of items, their revisions and the differences between them. R237. */
import assert from 'node:assert/strict'
import { f, service, sum } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const shop = service({
  name: 'shop',
  scopes: { audit: 'Read revisions', costs: 'See costs' },
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  settings: { batches: 10 },
  resources: {
    orders: {
      prefix: 'ord',
      fields: {
        note: f.text({ max: 100, optional: true }),
        place: f.object({ town: f.text(), street: f.text({ optional: true }) }, { optional: true }),
        cost: f.integer({ default: 0, read: 'costs' }),
        secret: f.text({ optional: true, writeOnly: true }),
        total: f.integer({ derived: sum('lines', 'amount') }),
      },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: { placements: { from: ['draft'], to: 'placed' } },
      },
      access: 'public',
      history: { read: 'audit' },
    },
    lines: {
      prefix: 'lin',
      parent: { resource: 'orders', onDelete: 'cascade' },
      fields: { amount: f.integer() },
      access: 'public',
      history: { read: 'public' },
    },
    seats: {
      parent: { resource: 'orders', onDelete: 'cascade' },
      key: 'number',
      fields: { number: f.text({ max: 8 }), hue: f.text() },
      access: 'public',
      history: { read: 'public' },
    },
    plain: { prefix: 'pla', plural: true, fields: { text: f.text() }, access: 'public' },
  },
}).change('v2', 'orders', {
  about: 'Other names.',
  renamed: { remark: 'note' },
  mapped: { status: { open: 'draft', sent: 'placed' } },
})

interface Entry {
  readonly id: string
  readonly at: string
  readonly by: string | null
  readonly type: string
  readonly changes: Readonly<Record<string, unknown>>
}

const holders = { clerk: { scopes: ['costs'] }, auditor: { scopes: ['audit'] }, chief: { scopes: ['audit', 'costs'] } }

doors(
  'history',
  shop,
  (door: Door) => {
    const send = (method: string, path: string, json?: unknown, who = 'clerk', headers = {}) =>
      door.send(method, path.startsWith('/v') ? path : `/v2${path}`, {
        ...(json !== undefined && { json }),
        headers: { ...door.as(who), ...headers },
      })
    const made = async (json: object = {}) => {
      const { _links, ...item } = (await send('POST', '/orders', json)).json
      return item
    }
    const read = (path: string, who = 'chief') => send('GET', path, undefined, who)
    const entriesOf = async (path: string, who = 'chief'): Promise<Entry[]> =>
      (await read(`${path}/revisions`, who)).json.data
    const typesOf = async (path: string, who = 'chief') =>
      (await entriesOf(path, who)).map(({ id, type }) => `${id} ${type}`)

    spec(
      'R237',
      'every change is a revision, the newest first, with its time, its caller and what changed',
      async () => {
        const item = await made({ note: 'a', place: { town: 'Rome', street: 'Via' } })
        const path = `/orders/${item.id}`
        const patched = (await send('PATCH', path, { place: { street: null } })).json
        const replaced = (await send('PUT', path, { note: 'c', place: { town: 'Oslo', street: null } }, 'chief')).json
        await send('POST', `${path}/placements`)
        const placed = (await read(path)).json
        await door.send('PATCH', `/v2${path}`, { json: { note: null } })
        await send('DELETE', path)
        const all = await entriesOf(path)
        assert.deepEqual(
          all.map(({ id, type }) => [id, type]),
          [
            ['6', 'deleted'],
            ['5', 'updated'],
            ['4', 'placed'],
            ['3', 'updated'],
            ['2', 'updated'],
            ['1', 'created'],
          ],
        )
        const clerk = all[5]?.by
        assert.equal(typeof clerk, 'string')
        assert.deepEqual(
          all.map(({ by }) => (by === null ? 'nobody' : by === clerk ? 'clerk' : 'chief')),
          ['clerk', 'nobody', 'clerk', 'chief', 'clerk', 'clerk'],
        )
        assert.deepEqual(all[5]?.changes, item)
        assert.equal(all[5]?.at, item.createdAt)
        // Two changes within a millisecond have the same time, which is no difference then.
        const timeOf = (one: typeof item, before: typeof item) =>
          one.updatedAt === before.updatedAt ? {} : { updatedAt: one.updatedAt }
        assert.deepEqual(all[4]?.changes, { place: { street: null }, ...timeOf(patched, item) })
        assert.deepEqual(all[3]?.changes, { note: 'c', place: { town: 'Oslo' }, ...timeOf(replaced, patched) })
        assert.deepEqual(all[2]?.changes, { status: 'placed', ...timeOf(placed, replaced) })
        assert.deepEqual(all[0]?.changes, {})
        for (const [number, was] of [
          [1, item],
          [2, patched],
          [3, replaced],
          [4, placed],
        ]) {
          const { _links, ...shown } = was
          assert.deepEqual((await read(`${path}/revisions/${number}`)).json, shown)
        }
      },
    )

    spec('R237', 'a difference is a merge patch between any two revisions', async () => {
      const item = await made({ note: 'a' })
      const path = `/orders/${item.id}`
      for (const note of ['b', null, 'd']) await send('PATCH', path, { note })
      const differ = async (from: number, to: number) => {
        const answer = await read(`${path}/revisions/${to}?against=${from}`)
        assert.deepEqual([answer.status, answer.headers['content-type']], [200, 'application/merge-patch+json'])
        const { updatedAt, ...rest } = answer.json
        return rest
      }
      assert.deepEqual(await differ(1, 2), { note: 'b' })
      assert.deepEqual(await differ(2, 1), { note: 'a' })
      assert.deepEqual(await differ(2, 3), { note: null })
      assert.deepEqual(await differ(3, 4), { note: 'd' })
      assert.deepEqual(await differ(4, 4), {})
      const accepts = (accept: string) => send('GET', `${path}/revisions/2?against=1`, undefined, 'chief', { accept })
      assert.equal((await accepts('application/json')).status, 406)
      assert.equal((await accepts('application/merge-patch+json')).status, 200)
    })

    spec('R237', 'unknown revisions, items and parameters are refused', async () => {
      const { id } = await made()
      for (const end of ['2', '0', '01', 'x', '99999999999999999999', '1?against=2'])
        assert.equal((await read(`/orders/${id}/revisions/${end}`)).status, 404, end)
      for (const end of [
        '?limit=0',
        '?cursor=x',
        '?other=1',
        '?sort=id',
        '/1?fields=note',
        '/1?against=',
        '/1?against=x',
      ])
        assert.equal((await read(`/orders/${id}/revisions${end}`)).status, 400, end)
      assert.equal((await read('/orders/ord_00000000000000000000000000/revisions')).status, 404)
      assert.equal((await read('/orders/ord_00000000000000000000000000/revisions/1')).status, 404)
      assert.equal((await read('/plain/pla_00000000000000000000000000/revisions')).status, 404)
      assert.equal((await send('POST', `/orders/${id}/revisions`, {}, 'chief')).status, 405)
      const options = await send('OPTIONS', `/orders/${id}/revisions/1`)
      assert.equal(options.headers.allow, 'GET, HEAD, OPTIONS')
      assert.equal((await send('HEAD', `/orders/${id}/revisions`, undefined, 'chief')).status, 200)
    })

    spec('R237 R169', 'the rule of the history is needed', async () => {
      const { id } = await made()
      for (const end of ['', '/1', '/1?against=1']) {
        const path = `/orders/${id}/revisions${end}`
        assert.equal((await door.send('GET', `/v2${path}`)).status, 401)
        assert.equal((await read(path, 'clerk')).status, 403)
        assert.equal((await read(path, 'auditor')).status, 200)
      }
    })

    spec('R237', 'hidden and write-only fields stay hidden, and so do changes of them alone', async () => {
      const { id } = await made({ note: 'a', cost: 5, secret: 'hush-1' })
      const path = `/orders/${id}`
      await send('PATCH', path, { cost: 6 })
      await send('PATCH', path, { secret: 'hush-2' })
      await send('PATCH', path, { cost: 7, note: 'b' })
      assert.deepEqual(await typesOf(path), ['4 updated', '2 updated', '1 created'])
      assert.deepEqual(await typesOf(path, 'auditor'), ['4 updated', '1 created'])
      const seen = await entriesOf(path, 'auditor')
      assert.doesNotMatch(JSON.stringify(seen), /cost|secret|hush/)
      assert.equal((await read(`${path}/revisions/2`, 'auditor')).status, 404)
      assert.equal((await read(`${path}/revisions/4?against=2`, 'auditor')).status, 404)
      assert.equal((await read(`${path}/revisions/2`)).json.cost, 6)
      assert.equal((await read(`${path}/revisions/4`, 'auditor')).json.cost, undefined)
      const { updatedAt: _, ...patch } = (await read(`${path}/revisions/4?against=1`, 'auditor')).json
      assert.deepEqual(Object.keys(patch), ['note'])
    })

    spec('R237 R84', 'the list is read by cursor', async () => {
      const { id } = await made({ note: '0' })
      const path = `/orders/${id}`
      for (const note of ['1', '2', '3', '4']) await send('PATCH', path, { note, cost: 1 })
      const ids: string[] = []
      let cursor = ''
      for (let pages = 0; pages < 9; pages++) {
        const { data, pagination } = (await read(`${path}/revisions?limit=2&cursor=${cursor}`)).json
        ids.push(...data.map((one: Entry) => one.id))
        assert.equal(pagination.hasMore, pagination.nextCursor !== null)
        if (!pagination.hasMore) break
        cursor = pagination.nextCursor
        const other = await made()
        assert.equal((await read(`/orders/${other.id}/revisions?cursor=${cursor}`)).status, 400)
      }
      assert.deepEqual(ids, ['5', '4', '3', '2', '1'])
    })

    spec('R237', 'derived values, cascades and batches are recorded as revisions, and dry runs are not', async () => {
      const { id } = await made()
      const path = `/orders/${id}`
      const line = (await send('POST', `${path}/lines`, { amount: 3 })).json.id
      const dry = [
        await send('PATCH', `${path}?dryRun=true`, { note: 'dry' }),
        await send('DELETE', `${path}?dryRun=true`),
        await send('POST', `${path}/lines?dryRun=true`, { amount: 3 }),
      ]
      assert.deepEqual(
        dry.map(({ status }) => status),
        [200, 204, 201],
      )
      const operations = [
        { method: 'PATCH', path: `/lines/${line}`, body: { amount: 5 } },
        { method: 'PATCH', path, body: { note: 'batched' } },
      ]
      const mismatch = 'the items in answers of batches are not described'
      const batch = await door.send('POST', '/v2/batches', {
        json: { operations },
        headers: door.as('clerk'),
        mismatch,
      })
      assert.equal(batch.status, 200, batch.text)
      await send('PATCH', path, { note: 'batched' })
      assert.deepEqual(await typesOf(path), ['4 updated', '3 updated', '2 updated', '1 created'])
      const [, third, second, first] = await entriesOf(path)
      assert.deepEqual([second?.changes.total, third?.changes.total], [3, 5])
      assert.ok([first, second, third].every((one) => one?.by === first?.by && typeof first?.by === 'string'))
      await send('PUT', `${path}/seats/7`, { hue: 'red' })
      await send('PUT', `${path}/seats/7`, { hue: 'blue' })
      await send('DELETE', path)
      assert.deepEqual(await typesOf(`/lines/${line}`), ['3 deleted', '2 updated', '1 created'])
      assert.deepEqual(await typesOf(`${path}/seats/7`), ['3 deleted', '2 updated', '1 created'])
      assert.equal((await read(`${path}/seats/7/revisions/2`)).json.hue, 'blue')
      assert.equal((await read(`${path}/seats/8/revisions`)).status, 410)
    })

    spec('R237', 'an item that is created again continues its revision numbers', async () => {
      const { id } = await made()
      const path = `/orders/${id}/seats/1`
      await send('PUT', path, { hue: 'red' })
      await send('DELETE', path)
      const again = await send('PUT', path, { hue: 'red' })
      if (again.status === 201) {
        const all = await entriesOf(path)
        assert.deepEqual(
          all.map(({ type }) => type),
          ['created', 'deleted', 'created'],
        )
        assert.equal(all[0]?.changes.hue, 'red')
      } else assert.equal(again.status, 410)
    })

    spec('R237 R194', 'an older version has its own names, and writes of older versions are revisions', async () => {
      const { id } = (await send('POST', '/v1/orders', { remark: 'a' })).json
      await send('PATCH', `/v1/orders/${id}`, { remark: 'b' })
      await send('POST', `/v1/orders/${id}/placements`)
      const path = `/v1/orders/${id}`
      const all = await entriesOf(path)
      assert.deepEqual(
        all.map(({ type }) => type),
        ['sent', 'updated', 'created'],
      )
      assert.deepEqual([all[0]?.changes.status, all[1]?.changes.remark], ['sent', 'b'])
      const first = (await read(`${path}/revisions/1`)).json
      assert.deepEqual([first.remark, first.status, first.note], ['a', 'open', undefined])
      const { updatedAt, ...differs } = (await read(`${path}/revisions/3?against=1`)).json
      assert.deepEqual(differs, { remark: 'b', status: 'sent' })
      assert.deepEqual(
        (await entriesOf(`/v2/orders/${id}`)).map(({ type }) => type),
        ['placed', 'updated', 'created'],
      )
    })
  },
  { holders },
)
