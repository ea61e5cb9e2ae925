/** Part 4 of the contract, idempotency of POST: keys, their places in requests, and the answers to repeats. */
import assert from 'node:assert/strict'
import { type Declaration, f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'
import { count, fresh, keyService, post, posted, refused } from '../help/key-service.ts'

doors('keys', keyService, (door) => {
  spec('R93', 'a key is read from the header, and is neither stored nor returned', async () => {
    const first = await posted(door, '/orders', { note: 'a' }, fresh())
    const plain = await posted(door, '/orders', { note: 'a' })
    assert.deepEqual(Object.keys(first.json), Object.keys(plain.json))
    assert.equal(first.headers['idempotency-replayed'], undefined)
    assert.equal((await door.send('GET', first.headers.location as string)).text, first.text)
  })

  spec('R93', 'a key is read from the body, and is neither stored nor returned', async () => {
    const key = fresh()
    const { json, headers } = await posted(door, '/orders', { idempotencyKey: key, note: 'a' })
    assert.ok(!('idempotencyKey' in json))
    assert.ok(!(await door.send('GET', headers.location as string)).text.includes(key))
    const again = await refused(
      post(door, '/orders', { note: 'a', idempotencyKey: key }),
      409,
      'idempotency-key-reused',
    )
    assert.equal(again.json.old_id, json.id)
    await refused(post(door, '/orders', { note: 'a' }, key), 409, 'idempotency-key-reused')
  })

  spec('R93', 'only at the top of the body a key is one', async () => {
    const key = fresh()
    const first = await posted(door, '/orders', { metadata: { idempotencyKey: key } })
    assert.equal(first.json.metadata.idempotencyKey, key)
    await posted(door, '/orders', { metadata: { idempotencyKey: key } })
  })

  spec('R93', 'the field has the name that is declared', async () => {
    const { json } = await posted(door, '/memos', { requestKey: 'm1', note: 'a' })
    assert.ok(!('requestKey' in json))
    const again = await refused(post(door, '/memos', { requestKey: 'm1', note: 'a' }), 409, 'idempotency-key-reused')
    assert.equal(again.json.old_id, json.id)
    const other = await post(door, '/memos', { idempotencyKey: 'm2', note: 'a' })
    assert.deepEqual([other.status, other.json.cause.type], [400, 'unknown-field'])
  })

  spec('R93', 'where the field is off its name is free, and the header counts', async () => {
    const { json } = await posted(door, '/letters', { idempotencyKey: 'l1', note: 'a' })
    assert.equal(json.idempotencyKey, 'l1')
    const twice = await posted(door, '/letters', { idempotencyKey: 'l1', note: 'a' }, 'l1')
    const again = await refused(post(door, '/letters', { note: 'b' }, 'l1'), 409, 'idempotency-key-payload-mismatch')
    assert.equal(again.json.old_id, twice.json.id)
  })

  spec('R94', 'keys in both places have to be the same', async () => {
    const [one, other] = [fresh(), fresh()]
    const before = await count(door, '/orders')
    await refused(post(door, '/orders', { idempotencyKey: other }, one), 400, 'idempotency-key-mismatch')
    assert.equal(await count(door, '/orders'), before)
    await posted(door, '/orders', { idempotencyKey: one }, one)
    await posted(door, '/orders', { idempotencyKey: other }, `"${other}"`)
  })

  spec('R95', 'a quoted key and a plain one are the same', async () => {
    for (const key of [
      fresh(),
      'a',
      'k'.repeat(255),
      "!#$%&'()*+,-./:;<=>?@[]^_`{|}~",
      'k1,k2',
      'k1;p=1',
      '?1',
      '42',
    ]) {
      const { id } = (await posted(door, '/orders', {}, key)).json
      for (const same of [`"${key}"`, key]) {
        const again = await refused(post(door, '/orders', {}, same), 409, 'idempotency-key-reused')
        assert.equal(again.json.old_id, id)
      }
      await refused(post(door, '/orders', { idempotencyKey: key }), 409, 'idempotency-key-reused')
    }
  })

  spec('R95', 'keys are compared character by character', async () => {
    const ids = new Set<string>()
    for (const key of ['case', 'CASE', 'case ', 'case.', 'cas'].map((one) => one.trimEnd())) {
      const { status, json } = await post(door, '/orders', {}, key)
      assert.equal(status, key === 'case' && ids.size > 0 ? 409 : 201)
      ids.add(json.id ?? json.old_id)
    }
    assert.equal(ids.size, 4)
  })

  spec('R95', 'a header that is no key is refused and never ignored', async () => {
    const before = await count(door, '/orders')
    const broken = ['', '""', 'k'.repeat(256), `"${'k'.repeat(256)}"`, '"open', 'open"', '"', 'a b', '"a b"', 'a"b']
    for (const key of [...broken, '"a\\"b"', 'a\\b', '"a";p=1', '("a")', 'k1, k2', '"k1", "k2"', 'kä', '"k\u00e9"']) {
      const answer = await refused(post(door, '/orders', {}, key), 400, 'idempotency-key-invalid')
      assert.deepEqual([answer.json.in, answer.json.name], ['header', 'Idempotency-Key'], key)
      assert.deepEqual(answer.json.types.slice(1), [
        'invalid-idempotency-key',
        'invalid-request',
        'client-error',
        'error',
      ])
    }
    assert.equal(await count(door, '/orders'), before)
  })

  spec('R95', 'a field that is no key is refused', async () => {
    for (const key of [1, null, true, '', 'k'.repeat(256), 'a b', '"a"', 'ä', 'a\n', ['a'], { a: 1 }]) {
      const answer = await refused(post(door, '/orders', { idempotencyKey: key }), 400, 'idempotency-key-invalid')
      assert.deepEqual([answer.json.in, answer.json.pointer], ['body', '/idempotencyKey'], String(key))
      await refused(post(door, '/orders', { idempotencyKey: key }, fresh()), 400, 'idempotency-key-invalid')
    }
  })

  spec('R96 R97', 'a used key answers 409 with the id of its item, and creates nothing', async () => {
    const key = fresh()
    const { json } = await posted(door, '/orders', { note: 'a', amount: 1 }, key)
    const before = await count(door, '/orders')
    const again = await post(door, '/orders', { amount: 1, note: 'a' }, key)
    assert.equal(again.status, 409)
    assert.deepEqual(again.json, {
      message: 'A resource was already created with this idempotency key.',
      old_id: json.id,
      type: 'idempotency-key-reused',
      types: ['idempotency-key-reused', 'conflict', 'client-error', 'error'],
    })
    assert.deepEqual(Object.keys(again.json), ['message', 'old_id', 'type', 'types'])
    assert.equal(again.headers.link, `</orders/${json.id}>; rel="related"`)
    assert.equal(again.headers['cache-control'], 'no-store')
    assert.equal(again.headers.location, undefined)
    assert.equal(await count(door, '/orders'), before)
  })

  spec('R96 R97', 'another payload with a used key is reported, and creates nothing', async () => {
    const key = fresh()
    const { json } = await posted(door, '/orders', { note: 'a' }, key)
    const before = await count(door, '/orders')
    for (const payload of [{ note: 'b' }, {}, { note: 'a', amount: 0 }, { note: 'a', metadata: {} }]) {
      const again = await refused(post(door, '/orders', payload, key), 409, 'idempotency-key-payload-mismatch')
      assert.equal(again.json.old_id, json.id)
      assert.deepEqual(again.json.types.slice(1), ['conflict', 'client-error', 'error'])
    }
    assert.equal(await count(door, '/orders'), before)
  })

  spec('R97', 'the body can be the message and the id alone', async () => {
    const { json } = await posted(door, '/invoices', { note: 'a' }, 'i1')
    for (const note of ['a', 'b']) {
      const again = await post(door, '/invoices', { note }, 'i1')
      assert.equal(again.status, 409)
      assert.deepEqual(Object.keys(again.json), ['message', 'old_id'])
      assert.equal(again.json.old_id, json.id)
      assert.equal(typeof again.json.message, 'string')
      assert.equal(again.headers.link, `</invoices/${json.id}>; rel="related"`)
    }
  })

  spec('R96', 'problem+json has the id too', async () => {
    const key = fresh()
    const { json } = await posted(door, '/orders', {}, key)
    const headers = { 'idempotency-key': key, accept: 'application/problem+json, application/json;q=0.5' }
    const again = await door.send('POST', '/orders', { json: {}, headers })
    assert.deepEqual([again.status, again.headers['content-type']], [409, 'application/problem+json'])
    assert.deepEqual([again.json.old_id, again.json.status], [json.id, 409])
  })
})

doors(
  'repeated headers',
  keyService,
  (door) => {
    spec('R95', 'a repeated header is refused, even with the same key', async () => {
      for (const [one, other] of [
        ['k1', 'k2'],
        ['k1', 'k1'],
        ['k1', ''],
        ['"k1"', 'k1'],
      ]) {
        const head = `POST /orders HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n`
        const text = await door.raw(`${head}Idempotency-Key: ${one}\r\nidempotency-key: ${other}\r\n\r\n{}`)
        assert.match(text, /^HTTP\/1\.1 400 /)
        assert.match(text, /"type":"idempotency-key-invalid"/)
      }
    })
    spec('R95', 'white space around a key does not belong to it', async () => {
      const post = (line: string) =>
        door.raw(
          `POST /orders HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n${line}\r\n\r\n{}`,
        )
      assert.match(await post('Idempotency-Key:  \t spaced \t '), /^HTTP\/1\.1 201 /)
      assert.match(await post('IDEMPOTENCY-KEY:"spaced"'), /^HTTP\/1\.1 409 /)
      assert.match(await post('Idempotency-Key: \xa0spaced'), /^HTTP\/1\.1 400 /)
    })
  },
  { socketOnly: true },
)

const snake = service({
  name: 'snake',
  settings: { naming: 'snake' },
  resources: { orders: { prefix: 'ord', fields: { unit_price: f.integer() }, access: 'public' } },
})

doors('names in snake case', snake, (door) => {
  spec('R93', 'the field follows the naming', async () => {
    const { json } = await posted(door, '/orders', { idempotency_key: 's1', unit_price: 1 })
    assert.ok(!('idempotency_key' in json))
    const again = await refused(
      post(door, '/orders', { idempotency_key: 's1', unit_price: 1 }),
      409,
      'idempotency-key-reused',
    )
    assert.equal(again.json.old_id, json.id)
    const camel = await post(door, '/orders', { idempotencyKey: 's2', unit_price: 1 })
    assert.deepEqual([camel.status, camel.json.cause.type], [400, 'unknown-field'])
  })
})

spec('R93', 'a field of the resource with the name of the key does not start', () => {
  const declared = (fields: object, settings: object = {}): Declaration =>
    ({ name: 'a', resources: { orders: { fields, access: 'public', settings } } }) as Declaration
  const wrong = [
    declared({ idempotencyKey: f.text() }),
    declared({ token: f.text() }, { idempotency: { bodyField: 'token' } }),
  ]
  for (const one of wrong) assert.throws(() => service(one), /idempotency key/)
  service(declared({ idempotencyKey: f.text() }, { idempotency: { bodyField: 'off' } }))
})
