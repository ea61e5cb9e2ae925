/** Items that belong to accounts: the items of other accounts seem not to exist. Part 5, authentication. */
import assert from 'node:assert/strict'
import { type Answer, type Door, doors, type Sent, spec } from '../help/door.ts'
import { holders, known, tenants } from '../help/tenants.ts'

const unknown = 'dea_01h455vb4pex5vsknk084sn02q'

doors(
  'items of accounts',
  tenants,
  (door: Door) => {
    const as = (
      who: keyof typeof holders,
      method: string,
      path: string,
      { headers, ...sent }: Sent = {},
    ): Promise<Answer> => door.send(method, path, { ...sent, headers: { ...door.as(who), ...headers } })
    const made = async (who: keyof typeof holders, path: string, json: object): Promise<string> => {
      const answer = await as(who, 'POST', path, { json })
      assert.equal(answer.status, 201, answer.text)
      return answer.json.id
    }

    spec('R170', 'an item of another account is answered like a missing one', async () => {
      const id = await made('ann', '/deals', { name: 'Bridge' })
      assert.equal((await as('amy', 'GET', `/deals/${id}`)).status, 200)
      const requests: [string, string, Sent?][] = [
        ['GET', ''],
        ['HEAD', ''],
        ['GET', '', { headers: { 'if-none-match': '"1-1-000000"' } }],
        ['GET', '', { headers: { 'if-none-match': '*' } }],
        ['GET', '', { headers: { 'if-match': '*' } }],
        ['OPTIONS', ''],
        ['PATCH', '', { json: { name: 'Mine' } }],
        ['PATCH', '', { json: { nonsense: 1 } }],
        ['PATCH', '', { json: { name: 'Mine' }, headers: { 'if-match': '"1-1-000000"' } }],
        ['PATCH', '', { json: { name: 'Mine' }, headers: { 'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' } }],
        ['PUT', '', { json: { name: 'Mine' }, headers: { 'if-match': '*' } }],
        ['DELETE', ''],
        ['DELETE', '', { headers: { 'if-match': '*' } }],
        ['GET', '/parts'],
        ['GET', '/parts?page=2'],
        ['POST', '/parts', { json: { text: 'x' } }],
        ['POST', '/parts', { json: { nonsense: 'x' } }],
        ['POST', '/parts', { json: { text: 'x' }, headers: { 'idempotency-key': 'k' } }],
        ['GET', '/seats'],
        ['GET', '/seats/1'],
        ['PUT', '/seats/1', { json: { number: '1' } }],
        ['DELETE', '/seats/1'],
        ['POST', '/seats', { json: { number: '1' } }],
      ]
      for (const [method, below, sent] of requests) {
        const foreign = await as('bob', method, `/deals/${id}${below}`, sent)
        const none = await as('bob', method, `/deals/${unknown}${below}`, sent)
        assert.equal(known(foreign, id), known(none, unknown), `${method} ${below}`)
        if (method !== 'OPTIONS')
          assert.ok([404, 412].includes(foreign.status), `${method} ${below}: ${foreign.status}`)
      }
      assert.equal((await as('ann', 'GET', `/deals/${id}`)).json.name, 'Bridge')
    })

    spec('R54 R170', 'lists, totals and filters know the own items only', async () => {
      await made('ann', '/deals', { name: 'Secret plan', code: 'A1' })
      const before = (await as('bob', 'GET', '/deals')).json.pagination.totalRecords
      await made('ann', '/deals', { name: 'Secret plan 2', code: 'A2' })
      const own = await made('bob', '/deals', { name: 'Own plan' })
      const list = (await as('bob', 'GET', '/deals')).json
      assert.equal(list.pagination.totalRecords, before + 1)
      assert.doesNotMatch(JSON.stringify(list), /Secret/)
      for (const query of ['code=A1', 'name[like]=Secret%25', 'code=in:(A1,A2)', `id=${unknown}`])
        assert.deepEqual((await as('bob', 'GET', `/deals?${query}`)).json.data, [], query)
      assert.deepEqual(
        (await as('bob', 'GET', `/deals?id=${own}`)).json.data.map((one: { id: string }) => one.id),
        [own],
      )
      assert.doesNotMatch((await as('bob', 'GET', '/deals?sort=name&limit=2&offset=0')).text, /Secret/)
      assert.equal((await as('ann', 'GET', '/deals?code=A1')).json.data.length, 1)
      assert.equal((await as('amy', 'GET', '/deals?code=A1')).json.data.length, 1)
    })

    spec('R85', 'a cursor carries no rights: it shows the rows of its current caller', async () => {
      for (const name of ['c1', 'c2', 'c3', 'c4']) await made('ann', '/deals', { name })
      for (const name of ['b1', 'b2', 'b3', 'd1']) await made('bob', '/deals', { name })
      const first = (await as('ann', 'GET', '/deals?sort=name&limit=2&cursor=')).json
      const cursor = first.pagination.nextCursor
      const stolen = await as('bob', 'GET', `/deals?sort=name&limit=100&cursor=${cursor}`)
      assert.equal(stolen.status, 200, stolen.text)
      assert.ok(stolen.json.data.length > 0)
      for (const { id } of stolen.json.data) assert.equal((await as('bob', 'GET', `/deals/${id}`)).status, 200)
      assert.equal((await as('ann', 'GET', `/deals?sort=name&limit=2&cursor=${cursor}`)).json.data.length, 2)
    })

    spec('R170', 'unique values and keys are unique for each account', async () => {
      await made('ann', '/deals', { name: 'One', code: 'same' })
      await made('bob', '/deals', { name: 'One', code: 'same' })
      assert.equal((await as('bob', 'POST', '/deals', { json: { name: 'Two', code: 'same' } })).status, 409)
      await made('ann', '/tags', { name: 'red', hue: 'of ann' })
      assert.equal((await as('bob', 'GET', '/tags/red')).status, 404)
      assert.equal((await as('bob', 'PUT', '/tags/red', { json: { name: 'red', hue: 'of bob' } })).status, 201)
      assert.equal((await as('ann', 'GET', '/tags/red')).json.hue, 'of ann')
      assert.equal((await as('ann', 'DELETE', '/tags/red')).status, 204)
      assert.equal((await as('bob', 'GET', '/tags/red')).json.hue, 'of bob')
      assert.equal((await as('bob', 'POST', '/tags', { json: { name: 'red' } })).status, 409)
    })

    spec('R110', 'an id that another account uses cannot be created, and does not exist', async () => {
      const id = await made('ann', '/deals', { name: 'Taken' })
      const answer = await as('bob', 'PUT', `/deals/${id}`, { json: { name: 'Mine' } })
      assert.equal(answer.status, 404)
      assert.equal(known(answer, id), known(await as('bob', 'PATCH', `/deals/${unknown}`, { json: {} }), unknown))
      const free = 'dea_01h455vb4pex5vsknk084sn02r'
      assert.equal((await as('bob', 'PUT', `/deals/${free}`, { json: { name: 'Mine' } })).status, 201)
      assert.equal((await as('ann', 'PUT', `/deals/${free}`, { json: { name: 'Mine' } })).status, 404)
      assert.equal((await as('ann', 'GET', `/deals/${id}`)).json.name, 'Taken')
    })

    spec('R110 R137', 'an id whose item another account deleted is answered like a missing one', async () => {
      const id = await made('ann', '/deals', { name: 'Gone' })
      assert.equal((await as('ann', 'DELETE', `/deals/${id}`)).status, 204)
      assert.equal((await as('bob', 'PUT', `/deals/${id}`, { json: { name: 'Mine' } })).status, 201)
      assert.equal((await as('ann', 'GET', `/deals/${id}`)).status, 410)
      assert.equal((await as('ann', 'PUT', `/deals/${id}`, { json: { name: 'Again' } })).status, 410)
      assert.equal((await as('bob', 'GET', `/deals/${id}`)).json.name, 'Mine')
    })

    spec('R137', '410 is only for callers who could have seen the item', async () => {
      const id = await made('ann', '/deals', { name: 'Gone' })
      assert.equal((await as('ann', 'DELETE', `/deals/${id}`)).status, 204)
      for (const method of ['GET', 'DELETE', 'PATCH']) {
        const sent = method === 'PATCH' ? { json: {} } : {}
        const foreign = await as('bob', method, `/deals/${id}`, sent)
        assert.equal(foreign.status, 404)
        assert.equal(known(foreign, id), known(await as('bob', method, `/deals/${unknown}`, sent), unknown))
      }
      assert.equal((await as('ann', 'GET', `/deals/${id}`)).status, 410)
      assert.equal((await as('amy', 'GET', `/deals/${id}/parts`)).status, 410)
      assert.equal((await as('bob', 'GET', `/deals/${id}/parts`)).status, 404)
    })

    spec('R170', 'a reference to an item of another account is refused as missing', async () => {
      const id = await made('ann', '/deals', { name: 'Referred' })
      for (const json of [
        { name: 'x', twinId: id },
        { name: 'x', labels: [id] },
      ]) {
        const foreign = await as('bob', 'POST', '/deals', { json })
        const none = await as('bob', 'POST', '/deals', {
          json: JSON.parse(JSON.stringify(json).replaceAll(id, unknown)),
        })
        assert.equal(foreign.status, 400)
        assert.equal(known(foreign, id), known(none, unknown))
        assert.equal((await as('amy', 'POST', '/deals', { json: { ...json, name: JSON.stringify(json) } })).status, 201)
      }
    })

    spec('R170', 'children belong to the account of their parent', async () => {
      const deal = await made('ann', '/deals', { name: 'With parts' })
      const part = await made('ann', `/deals/${deal}/parts`, { text: 'wheel' })
      await made('amy', `/deals/${deal}/seats`, { number: '1' })
      const none = 'par_01h455vb4pex5vsknk084sn02q'
      for (const method of ['GET', 'DELETE']) {
        const foreign = await as('bob', method, `/parts/${part}`)
        assert.equal(foreign.status, 404)
        assert.equal(known(foreign, part), known(await as('bob', method, `/parts/${none}`), none))
      }
      assert.deepEqual((await as('bob', 'GET', '/parts')).json.data, [])
      assert.deepEqual((await as('bob', 'GET', `/parts?dealId=${deal}`)).json.data, [])
      assert.equal((await as('amy', 'GET', `/parts?dealId=${deal}`)).json.data.length, 1)
      assert.equal((await as('amy', 'GET', `/deals/${deal}/seats/1`)).status, 200)
      assert.equal((await as('ann', 'DELETE', `/deals/${deal}`)).status, 204)
      assert.equal((await as('ann', 'GET', `/parts/${part}`)).status, 410)
      assert.equal((await as('bob', 'GET', `/parts/${part}`)).status, 404)
    })

    spec('R170 R138', 'a shared item has children of several accounts, and each account sees its own', async () => {
      const product = await made('nil', '/products', { name: 'Lamp' })
      const review = await made('ann', `/products/${product}/reviews`, { text: 'bright' })
      await made('bob', `/products/${product}/reviews`, { text: 'dim' })
      await made('ann', '/deals', { name: 'Lamps', productId: product })
      const texts = async (who: 'ann' | 'bob') =>
        (await as(who, 'GET', `/products/${product}/reviews`)).json.data.map((one: { text: string }) => one.text)
      assert.deepEqual([await texts('ann'), await texts('bob')], [['bright'], ['dim']])
      assert.equal((await as('bob', 'GET', `/reviews/${review}`)).status, 404)
      const kept = await as('bob', 'DELETE', `/products/${product}`)
      assert.equal(kept.status, 409)
      assert.equal(kept.json.type, 'has-dependents')
    })

    spec('R100', 'an idempotency key belongs to its account', async () => {
      const headers = { 'idempotency-key': 'order-7' }
      const first = await as('ann', 'POST', '/deals', { json: { name: 'Keyed' }, headers })
      assert.equal(first.status, 201)
      const other = await as('bob', 'POST', '/deals', { json: { name: 'Keyed too' }, headers })
      assert.equal(other.status, 201)
      const again = await as('amy', 'POST', '/deals', { json: { name: 'Keyed' }, headers })
      assert.deepEqual([again.status, again.json.old_id], [409, first.json.id])
      assert.equal((await as('bob', 'POST', '/deals', { json: { name: 'x' }, headers })).json.old_id, other.json.id)
    })

    spec(
      'R48, R170',
      'the account of an item is not a field: it is not answered, accepted or usable in filters',
      async () => {
        const id = await made('ann', '/deals', { name: 'Plain' })
        assert.doesNotMatch((await as('ann', 'GET', `/deals/${id}`)).text, /account|acc_a/i)
        for (const [method, path] of [
          ['POST', '/deals'],
          ['PUT', `/deals/${id}`],
          ['PATCH', `/deals/${id}`],
        ] as const) {
          const answer = await as('ann', method, path, { json: { name: 'x', accountId: 'acc_b' } })
          assert.deepEqual([answer.status, answer.json.errors[0].type], [400, 'unknown-field'], method)
        }
        for (const query of ['accountId=acc_a', 'account=acc_a', 'sort=accountId', 'sort=account'])
          assert.equal((await as('ann', 'GET', `/deals?${query}`)).status, 400, query)
      },
    )

    spec('R168 R170', 'a caller without an account is refused before anything is looked up', async () => {
      for (const [method, path] of [
        ['GET', '/deals'],
        ['GET', `/deals/${unknown}`],
        ['POST', '/tags'],
        ['GET', '/parts'],
      ] as const) {
        const answer = await as('nil', method, path, method === 'POST' ? { json: { name: 'x' } } : {})
        assert.deepEqual([answer.status, answer.json.type], [403, 'access-denied'], path)
        assert.match(answer.json.message, /belong to accounts/)
      }
      assert.equal((await as('nil', 'GET', '/products')).status, 200)
      assert.equal((await door.send('GET', '/deals')).status, 401)
    })

    spec(
      'R170',
      'a write to an item that the caller may only read is 403, whichever account it belongs to',
      async () => {
        const [own, foreign] = [
          await made('bob', '/deals', { name: 'Own' }),
          await made('ann', '/deals', { name: 'Foreign' }),
        ]
        assert.equal((await as('bea', 'GET', `/deals/${own}`)).status, 200)
        for (const id of [own, foreign, unknown])
          assert.equal((await as('bea', 'PATCH', `/deals/${id}`, { json: { name: 'x' } })).status, 403)
      },
    )

    spec('R139 R143', 'the tag of one account for a list is not valid for another', async () => {
      await made('ann', '/deals', { name: 'Listed' })
      const tag = (await as('ann', 'GET', '/deals')).headers.etag as string
      const headers = { 'if-none-match': tag }
      assert.equal((await as('ann', 'GET', '/deals', { headers })).status, 304)
      assert.equal((await as('bob', 'GET', '/deals', { headers })).status, 200)
      assert.equal((await as('ann', 'GET', '/deals', { headers })).status, 304)
      const answer = await as('bob', 'GET', '/deals')
      assert.match(answer.headers['cache-control'] as string, /^private/)
    })
  },
  { holders },
)
