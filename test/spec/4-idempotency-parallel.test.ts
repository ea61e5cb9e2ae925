/** Part 4 of the contract, idempotency of POST: parallel requests with one key, failures in between, and processes that end. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { type Answer, doors, overSocket, spec } from '../help/door.ts'
import { freshFile } from '../help/file.ts'
import { count, fresh, keyOf, keyService, nothing, post, posted } from '../help/key-service.ts'
import { type Running, startService } from '../help/process.ts'

const times = <T>(count: number, make: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => make(n)))

/** Asserts that one request created an item and that all others refer to it. */
function onlyOne(answers: readonly Answer[]): string {
  const made = answers.filter(({ status }) => status === 201)
  assert.equal(made.length, 1)
  const id = made[0]?.json.id
  for (const { status, json } of answers) if (status !== 201) assert.deepEqual([status, json.old_id], [409, id])
  return id
}

doors('the same key at the same time', keyService, (door) => {
  spec('R102', 'of 50 parallel POSTs with one key one creates, and all others name its item', async () => {
    const key = fresh()
    const before = await count(door, '/orders')
    const answers = await times(50, () => post(door, '/orders', { note: 'a' }, key))
    onlyOne(answers)
    for (const { status, json } of answers) if (status === 409) assert.equal(json.type, 'idempotency-key-reused')
    assert.equal(await count(door, '/orders'), before + 1)
  })

  spec(
    'R102 R97',
    'of 50 parallel POSTs with different payloads one creates, with the key in header or body',
    async () => {
      const key = fresh()
      const answers = await times(50, (n) =>
        n % 2
          ? post(door, '/orders', { amount: n }, `"${key}"`)
          : post(door, '/orders', { amount: n, idempotencyKey: key }),
      )
      onlyOne(answers)
      const types = new Set(answers.filter(({ status }) => status === 409).map(({ json }) => json.type))
      assert.deepEqual([...types], ['idempotency-key-payload-mismatch'])
    },
  )

  spec('R102 R100', 'below different owners too', async () => {
    const key = fresh()
    const shelves = await times(5, async () => (await posted(door, '/shelves', { name: 'S' })).json.id as string)
    const answers = await times(20, (n) => post(door, `/shelves/${shelves[n % 5]}/slots`, { number: 1 }, key))
    onlyOne(answers)
    const counts = await Promise.all(shelves.map((shelf) => count(door, `/shelves/${shelf}/slots`)))
    assert.deepEqual(counts.sort(), [0, 0, 0, 0, 1])
  })

  spec('R102', 'concurrent requests with different keys do not interfere', async () => {
    const keys = Array.from({ length: 40 }, fresh)
    const answers = await Promise.all(
      [...keys, ...keys, ...keys].map((key) => post(door, '/orders', { note: key }, key)),
    )
    for (let i = 0; i < keys.length; i++) onlyOne([answers[i], answers[i + 40], answers[i + 80]] as Answer[])
  })

  spec('R102 R103', 'parallel POSTs that fail do not use the key up', async () => {
    const key = fresh()
    const bad = { customerId: 'cus_00000000000000000000000000' }
    for (const { status } of await times(20, () => post(door, '/orders', bad, key))) assert.equal(status, 400)
    const mixed = await times(20, (n) => post(door, '/orders', n % 4 === 0 ? {} : bad, key))
    const made = mixed.find(({ status }) => status === 201)
    assert.ok(made)
    for (const { status, json } of mixed) if (status === 409) assert.equal(json.old_id, made.json.id)
    assert.deepEqual(
      [...new Set(mixed.map(({ status }) => status))].filter((one) => ![201, 400, 409].includes(one)),
      [],
    )
  })
})

doors('failed requests', keyService, (door) => {
  spec('R103', 'a request that was refused leaves its key free for the corrected one', async () => {
    const missing = 'cus_00000000000000000000000000'
    await posted(door, '/customers', { name: 'Ann', email: 'ann@example.com' })
    const rows: [path: string, wrong: object, status: number, right: object][] = [
      ['/orders', { amount: -1 }, 400, { amount: 1 }],
      ['/orders', { id: nothing }, 400, {}],
      ['/orders', { customerId: missing }, 400, {}],
      ['/customers', { name: 'Bob', email: 'ann@example.com' }, 409, { name: 'Bob' }],
    ]
    for (const [path, wrong, status, right] of rows) {
      const key = fresh()
      for (let i = 0; i < 2; i++) {
        const answer = await post(door, path, wrong, key)
        assert.equal(answer.status, status)
        assert.ok(!('old_id' in answer.json))
      }
      const { json } = await posted(door, path, right, key)
      assert.equal((await post(door, path, wrong, key)).json.old_id, json.id)
    }
  })

  spec('R103', 'neither a missing parent nor an unreadable body uses a key up', async () => {
    const key = fresh()
    const headers = { ...keyOf(key), 'content-type': 'application/json' }
    assert.equal((await post(door, `/orders/${nothing}/order-lines`, { text: 'a' }, key)).status, 404)
    const order = (await posted(door, '/orders', {})).json.id
    for (const body of ['{', '[]', '']) {
      assert.equal((await door.send('POST', `/orders/${order}/order-lines`, { headers, body })).status, 400)
    }
    await posted(door, `/orders/${order}/order-lines`, { text: 'a' }, key)
  })
})

doors(
  'clients that disconnect',
  keyService,
  (door) => {
    const head = (key: string, length: number) =>
      `POST /orders HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nIdempotency-Key: ${key}\r\nContent-Length: ${length}\r\n\r\n`

    /** Sends bytes and closes the connection. */
    const aborted = (bytes: string): Promise<void> =>
      new Promise((done) => {
        const socket = connect(door.port, '127.0.0.1', () => socket.write(bytes, () => socket.destroy()))
        socket.on('error', () => {}).on('close', () => done())
      })

    spec('R103', 'a request that breaks off before its end does not use the key up', async () => {
      const key = fresh()
      for (const part of ['', '{', '{"note":']) await aborted(head(key, 20) + part)
      await posted(door, '/orders', { note: 'a' }, key)
    })

    spec('R96 R103', 'a client that did not wait for the answer gets the outcome with the key', async () => {
      const before = await count(door, '/orders')
      for (let i = 0; i < 20; i++) {
        const key = fresh()
        await aborted(`${head(key, 2)}{}`)
        const { status, json } = await post(door, '/orders', {}, key)
        assert.ok(status === 201 || (status === 409 && json.type === 'idempotency-key-reused'))
        assert.equal((await post(door, '/orders', {}, key)).json.old_id, json.id ?? json.old_id)
        assert.equal(await count(door, '/orders'), before + i + 1)
      }
    })
  },
  { socketOnly: true },
)

const shop = new URL('../help/shop.ts', import.meta.url).pathname
const posts = ({ port }: Running, key: string): Promise<Answer> =>
  overSocket(port)('POST', '/warehouses', { json: { name: 'W' }, headers: keyOf(key) })

test('R101 R102: of 50 parallel POSTs with one key to two processes on one file one creates', async (t) => {
  const database = `sqlite:${freshFile(t)}`
  const both = await Promise.all([startService(shop, { database }), startService(shop, { database })])
  try {
    for (let round = 0; round < 5; round++) {
      const key = fresh()
      const id = onlyOne(await times(50, (n) => posts(both[n % 2] as Running, key)))
      for (const { port } of both) assert.equal((await overSocket(port)('GET', `/warehouses/${id}`)).status, 200)
    }
    const [one, other] = await Promise.all(both.map(({ port }) => overSocket(port)('GET', '/warehouses')))
    assert.deepEqual([one?.json.data.length, one?.text], [5, other?.text])
  } finally {
    await Promise.all(both.map(({ stop }) => stop()))
  }
})

test('R101 R104: a key that was used before the process was killed is used after it', async (t) => {
  const database = `sqlite:${freshFile(t)}`
  const keys = Array.from({ length: 10 }, fresh)
  const first = await startService(shop, { database })
  const made = await Promise.all(keys.map((key) => posts(first, key)))
  const removed = made[0]?.json.id
  assert.equal((await overSocket(first.port)('DELETE', `/warehouses/${removed}`)).status, 204)
  await first.stop('SIGKILL')
  const second = await startService(shop, { database })
  try {
    for (const [i, key] of keys.entries()) {
      const { status, json } = await posts(second, key)
      assert.deepEqual([status, json.old_id], [409, made[i]?.json.id])
      const found = await overSocket(second.port)('GET', `/warehouses/${json.old_id}`)
      assert.equal(found.status, json.old_id === removed ? 410 : 200)
    }
    assert.equal((await overSocket(second.port)('GET', '/warehouses')).json.data.length, 9)
  } finally {
    await second.stop()
  }
})
