/** Part 4 of the contract, idempotency of POST: the order of the checks around a key, and its scope. */
import assert from 'node:assert/strict'
import { doors, spec } from '../help/door.ts'
import { count, fresh, keyOf, keyService, nothing, post, posted, refused } from '../help/key-service.ts'

doors('the reach of a key', keyService, (door) => {
  spec('R99', 'a used key is reported before violations of fields', async () => {
    const key = fresh()
    const { json } = await posted(door, '/orders', {}, key)
    const missing = { customerId: 'cus_00000000000000000000000000' }
    for (const payload of [{ amount: -1 }, { unknown: 1 }, { id: nothing }, missing]) {
      const again = await refused(post(door, '/orders', payload, key), 409, 'idempotency-key-payload-mismatch')
      assert.equal(again.json.old_id, json.id)
    }
    await refused(post(door, '/orders', { idempotencyKey: 7, amount: -1 }), 400, 'idempotency-key-invalid')
  })

  spec('R99', 'a used key is reported before a value that is in use', async () => {
    const ann = { name: 'Ann', email: 'ann@example.com' }
    const { json } = await posted(door, '/customers', ann, 'ann')
    assert.equal(
      (await refused(post(door, '/customers', ann, 'ann'), 409, 'idempotency-key-reused')).json.old_id,
      json.id,
    )
    await refused(post(door, '/customers', ann, 'bob'), 409, 'already-exists')
    const red = { id: 'clr_red', name: 'Red' }
    await posted(door, '/colours', red, 'red')
    await refused(post(door, '/colours', red, 'red'), 409, 'idempotency-key-reused')
    await refused(post(door, '/colours', red, 'blue'), 409, 'already-exists')
  })

  spec('R99 R1', 'checks that come before the key are reported before it', async () => {
    const key = fresh()
    const line = `/orders/${(await posted(door, '/orders', {})).json.id}/order-lines`
    await posted(door, line, { text: 'a' }, key)
    const headers = { ...keyOf(key), 'content-type': 'application/json' }
    await refused(door.send('POST', line, { headers, body: '{' }), 400, 'malformed-json')
    await refused(door.send('POST', `${line}?a=1`, { headers, body: '{}' }), 400, 'invalid-query')
    await refused(post(door, `/orders/${nothing}/order-lines`, { text: 'a' }, key), 404, 'resource-not-found')
    await refused(post(door, `/orders/${nothing}/order-lines`, { text: 1 }, '"'), 404, 'resource-not-found')
    await refused(
      door.send('POST', line, { headers: { ...headers, 'if-none-match': '*' }, body: '{}' }),
      412,
      'precondition-failed',
    )
  })

  spec('R100', 'collections have spaces of their own', async () => {
    const key = fresh()
    const order = await posted(door, '/orders', {}, key)
    const customer = await posted(door, '/customers', { name: 'Bob' }, key)
    assert.equal((await post(door, '/orders', {}, key)).json.old_id, order.json.id)
    assert.equal((await post(door, '/customers', { name: 'Bob' }, key)).json.old_id, customer.json.id)
  })

  spec('R100', 'lists below different owners share a space', async () => {
    const key = fresh()
    const [one, other] = [(await posted(door, '/orders', {})).json.id, (await posted(door, '/orders', {})).json.id]
    const { json } = await posted(door, `/orders/${one}/order-lines`, { text: 'a' }, key)
    const again = await refused(
      post(door, `/orders/${other}/order-lines`, { text: 'a' }, key),
      409,
      'idempotency-key-reused',
    )
    assert.equal(again.json.old_id, json.id)
    assert.equal(again.headers.link, `</order-lines/${json.id}>; rel="related"`)
    assert.equal(await count(door, `/orders/${other}/order-lines`), 0)
  })

  spec('R100 R4', 'an item with a composite key is named with its parent', async () => {
    const key = fresh()
    const [one, other] = [
      (await posted(door, '/shelves', { name: 'A' })).json.id,
      (await posted(door, '/shelves', { name: 'B' })).json.id,
    ]
    await posted(door, `/shelves/${one}/slots`, { number: 9 }, key)
    for (const shelf of [one, other]) {
      const again = await refused(
        post(door, `/shelves/${shelf}/slots`, { number: 9 }, key),
        409,
        'idempotency-key-reused',
      )
      assert.equal(again.json.old_id, '9')
      assert.equal(again.headers.link, `</shelves/${one}/slots/9>; rel="related"`)
    }
    await posted(door, `/shelves/${other}/slots`, { number: 9 }, fresh())
  })

  spec('R105', 'the id of a 409 leads to the resource', async () => {
    const key = fresh()
    const { text } = await posted(door, '/orders', { note: 'lost' }, key)
    const { json, headers } = await post(door, '/orders', { note: 'lost' }, key)
    assert.equal((await door.send('GET', `/orders/${json.old_id}`)).text, text)
    assert.equal((await door.send('GET', /<(.+)>/.exec(headers.link as string)?.[1] as string)).text, text)
  })

  spec('R107', 'where a key is required a POST without one is refused', async () => {
    const answer = await refused(post(door, '/payments', { note: 'a' }), 400, 'idempotency-key-missing')
    assert.match(answer.headers.link ?? '', /^<[^>]+>; rel="describedby"$/)
    assert.match(answer.json.message, /Idempotency-Key.*idempotencyKey/)
    assert.equal(await count(door, '/payments'), 0)
    await refused(post(door, '/payments', { note: 1 }), 400, 'idempotency-key-missing')
    await posted(door, '/payments', { note: 'a' }, fresh())
    await posted(door, '/payments', { note: 'a', idempotencyKey: fresh() })
    assert.doesNotMatch(
      (await refused(post(door, '/cheques', { note: 'a' }), 400, 'idempotency-key-missing')).json.message,
      /field/,
    )
  })

  spec('R108', 'on other methods the header is ignored', async () => {
    const key = fresh()
    const { json, headers } = await posted(door, '/orders', { note: 'a' }, key)
    const path = headers.location as string
    const broken = keyOf('"open')
    for (const sent of [keyOf(key), broken]) {
      for (const note of ['b', 'c']) {
        assert.equal((await door.send('PUT', path, { json: { note }, headers: sent })).json.note, note)
        assert.equal(
          (await door.send('PATCH', path, { json: { note: `${note}!` }, headers: sent })).json.note,
          `${note}!`,
        )
      }
      for (const method of ['GET', 'HEAD']) assert.equal((await door.send(method, path, { headers: sent })).status, 200)
      assert.equal((await door.send('OPTIONS', path, { headers: sent })).status, 204)
    }
    const changed = await door.send('PATCH', path, { json: { idempotencyKey: key } })
    assert.deepEqual([changed.status, changed.json.cause.type], [400, 'unknown-field'])
    assert.equal((await door.send('DELETE', path, { headers: broken })).status, 204)
    assert.equal((await post(door, '/orders', { note: 'a' }, key)).json.old_id, json.id)
    const made = await door.send('PUT', '/customers/cus_01h455vb4pex5vsknk084sn02q', {
      json: { name: 'Put' },
      headers: keyOf(key),
    })
    assert.equal(made.status, 201)
  })
})
