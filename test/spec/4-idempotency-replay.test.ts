/** Part 4 of the contract, idempotency of POST: replays of the first answer, for POST and PATCH. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DeclaredSettings, f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'
import { asked, freshFile, things } from '../help/file.ts'
import { fresh, keyOf } from '../help/key-service.ts'

const bank = (idempotency: DeclaredSettings['idempotency']) =>
  service({
    name: 'bank',
    settings: { idempotency: { mode: 'replay', ...idempotency } },
    resources: {
      accounts: {
        prefix: 'acc',
        fields: {
          owner: f.text(),
          balance: f.integer({ default: 0, min: 0 }),
          address: f.object({ city: f.text(), zip: f.text() }, { optional: true }),
          tags: f.list(f.text()),
          pin: f.text({ writeOnly: true, optional: true }),
        },
        access: 'public',
      },
      transfers: { prefix: 'trf', parent: 'accounts', fields: { amount: f.integer({ min: 1 }) }, access: 'public' },
      shelves: { prefix: 'shf', fields: { name: f.text() }, access: 'public' },
      slots: { parent: 'shelves', key: 'number', fields: { number: f.integer() }, access: 'public' },
      drafts: {
        prefix: 'drf',
        fields: { text: f.text() },
        access: 'public',
        settings: { prefer: { minimalOnCreate: true } },
      },
    },
  })

const post = (door: Door, path: string, json: object, key: string): Promise<Answer> =>
  door.send('POST', path, { json, headers: keyOf(key) })

/** The replayed parts of an answer. */
const reported = ({ status, text, headers }: Answer) => ({
  status,
  text,
  headers: ['location', 'content-location', 'etag', 'last-modified', 'content-type'].map((name) => headers[name]),
})

function replayed(again: Answer, first: Answer): void {
  assert.deepEqual(reported(again), reported(first))
  assert.equal(again.headers['idempotency-replayed'], 'true')
  assert.equal(first.headers['idempotency-replayed'], undefined)
}

function mismatched(answer: Answer): void {
  assert.deepEqual([answer.status, answer.json.type], [422, 'idempotency-key-payload-mismatch'], answer.text)
  assert.deepEqual(answer.json.types, ['idempotency-key-payload-mismatch', 'unprocessable', 'client-error', 'error'])
  assert.ok(!('old_id' in answer.json))
  assert.equal(answer.headers['idempotency-replayed'], undefined)
}

const ann = { owner: 'Ann', balance: 5, address: { city: 'Rome', zip: '1' }, tags: ['a', 'b'], pin: '1234' }

doors('replay', bank({}), (door) => {
  spec('R98', 'a repeat is given the first answer again', async () => {
    const key = fresh()
    const first = await post(door, '/accounts', ann, key)
    assert.equal(first.status, 201)
    for (let i = 0; i < 3; i++) replayed(await post(door, '/accounts', ann, key), first)
    assert.ok(!first.text.includes('1234'))
  })

  spec('R98', 'payloads are compared by their JSON values, without the key', async () => {
    const key = fresh()
    const first = await post(door, '/accounts', ann, key)
    const turned = { tags: ['a', 'b'], pin: '1234', address: { zip: '1', city: 'Rome' }, owner: 'Ann', balance: 5 }
    replayed(await post(door, '/accounts', turned, `"${key}"`), first)
    replayed(await door.send('POST', '/accounts', { json: { idempotencyKey: key, ...turned } }), first)
    const spaced = JSON.stringify(ann, null, 2).replace('"Ann"', '"\\u0041nn"').replace(': 5', ': 5.0')
    const headers = { ...keyOf(key), 'content-type': 'application/json' }
    replayed(await door.send('POST', '/accounts', { body: spaced, headers }), first)
  })

  spec('R98 R153', 'another payload is refused by 422', async () => {
    const key = fresh()
    const first = await post(door, '/accounts', ann, key)
    const others: object[] = [
      { ...ann, balance: 6 },
      { ...ann, tags: ['b', 'a'] },
      { ...ann, address: { city: 'Rome', zip: '2' } },
      { owner: 'Ann' },
      { ...ann, balance: -1 },
      { ...ann, unknown: 1 },
    ]
    for (const other of others) mismatched(await post(door, '/accounts', other, key))
    replayed(await post(door, '/accounts', ann, key), first)
    assert.equal((await door.send('GET', first.headers.location as string)).text, first.text)
  })

  spec('R98 R169', 'a write-only value is not compared, so that a used key does not tell it', async () => {
    const key = fresh()
    const first = await post(door, '/accounts', ann, key)
    const { pin, ...rest } = ann
    for (const other of [ann, { ...ann, pin: '4321' }, { ...ann, pin: null }, rest])
      replayed(await post(door, '/accounts', other, key), first)
  })

  spec('R98 R104', 'the first answer is replayed after the resource was changed or deleted', async () => {
    const key = fresh()
    const first = await post(door, '/accounts', ann, key)
    const path = first.headers.location as string
    assert.equal((await door.send('PATCH', path, { json: { balance: 7 } })).status, 200)
    replayed(await post(door, '/accounts', ann, key), first)
    assert.equal((await door.send('DELETE', path)).status, 204)
    replayed(await post(door, '/accounts', ann, key), first)
    assert.equal((await door.send('GET', path)).status, 410)
    mismatched(await post(door, '/accounts', { owner: 'Bob' }, key))
  })

  spec('R98 R102', 'of parallel requests one creates, and all have the same answer', async () => {
    const key = fresh()
    const answers = await Promise.all(Array.from({ length: 50 }, () => post(door, '/accounts', ann, key)))
    assert.equal(answers.filter(({ headers }) => headers['idempotency-replayed'] === undefined).length, 1)
    assert.equal(new Set(answers.map((answer) => JSON.stringify(reported(answer)))).size, 1)
    assert.equal(answers[0]?.status, 201)
  })

  spec('R98 R103', 'a refusal is not kept', async () => {
    const key = fresh()
    for (let i = 0; i < 2; i++) assert.equal((await post(door, '/accounts', { owner: 7 }, key)).status, 400)
    const first = await post(door, '/accounts', ann, key)
    replayed(await post(door, '/accounts', ann, key), first)
  })

  spec('R98 R100', 'the replayed answer of a child has its URL', async () => {
    const key = fresh()
    const account = (await post(door, '/accounts', ann, fresh())).headers.location
    const transfer = await post(door, `${account}/transfers`, { amount: 1 }, key)
    replayed(await post(door, `${account}/transfers`, { amount: 1 }, key), transfer)
    mismatched(await post(door, `${account}/transfers`, { amount: 2 }, key))
    const shelf = (await post(door, '/shelves', { name: 'A' }, fresh())).headers.location
    const slot = await post(door, `${shelf}/slots`, { number: 1 }, key)
    assert.equal(slot.headers.location, `${shelf}/slots/1`)
    replayed(await post(door, `${shelf}/slots`, { number: 1 }, key), slot)
  })

  spec('R98 R89', 'an answer without content is given again without content', async () => {
    const key = fresh()
    const headers = { ...keyOf(key), prefer: 'return=minimal' }
    const first = await door.send('POST', '/drafts', { json: { text: 'a' }, headers })
    assert.deepEqual([first.status, first.text], [201, ''])
    replayed(await door.send('POST', '/drafts', { json: { text: 'a' }, headers }), first)
  })

  spec('R98', 'PATCH takes no keys unless it is said to', async () => {
    const key = fresh()
    const path = (await post(door, '/accounts', ann, key)).headers.location as string
    for (const balance of [1, 2]) {
      const answer = await door.send('PATCH', path, { json: { balance }, headers: keyOf(key) })
      assert.deepEqual([answer.status, answer.json.balance], [200, balance])
      assert.equal(answer.headers['idempotency-replayed'], undefined)
    }
  })
})

const patch = (door: Door, path: string, json: object, key: string, headers = {}): Promise<Answer> =>
  door.send('PATCH', path, { json, headers: { ...keyOf(key), ...headers } })

async function account(door: Door): Promise<string> {
  return (await door.send('POST', '/accounts', { json: ann })).headers.location as string
}

doors('replay of PATCH', bank({ methods: ['POST', 'PATCH'] }), (door) => {
  spec('R108 R98', 'a repeated PATCH changes nothing and is given the first answer again', async () => {
    const [path, key] = [await account(door), fresh()]
    const first = await patch(door, path, { balance: 6 }, key)
    assert.deepEqual([first.status, first.json.balance], [200, 6])
    await patch(door, path, { balance: 8 }, fresh())
    replayed(await patch(door, path, { balance: 6 }, key), first)
    replayed(await door.send('PATCH', path, { json: { balance: 6, idempotencyKey: key } }), first)
    assert.equal((await door.send('GET', path)).json.balance, 8)
    mismatched(await patch(door, path, { balance: 7 }, key))
    mismatched(await post(door, '/accounts', { balance: 6 }, key))
    mismatched(await patch(door, await account(door), { balance: 6 }, key))
  })

  spec('R108 R112', 'a PATCH that changes nothing is replayed too, and so is an answer without content', async () => {
    const [path, key] = [await account(door), fresh()]
    const first = await patch(door, path, {}, key)
    await patch(door, path, { balance: 9 }, fresh())
    replayed(await patch(door, path, {}, key), first)
    const quiet = { prefer: 'return=minimal' }
    const [short, other] = [fresh(), await account(door)]
    const bare = await patch(door, other, { balance: 1 }, short, quiet)
    assert.equal(bare.status, 204)
    replayed(await patch(door, other, { balance: 1 }, short, quiet), bare)
  })

  spec('R108 R103', 'a PATCH that was refused leaves its key free', async () => {
    const [path, key] = [await account(door), fresh()]
    assert.equal((await patch(door, path, { balance: -1 }, key)).status, 400)
    assert.equal((await patch(door, path, { balance: 1 }, key, { 'if-match': '"1-1-000000-stale"' })).status, 412)
    assert.equal((await patch(door, '/accounts/acc_00000000000000000000000000', { balance: 1 }, key)).status, 404)
    assert.equal((await patch(door, path, { balance: 1 }, '"')).status, 400)
    const first = await patch(door, path, { balance: 2 }, key)
    assert.equal(first.status, 200)
    mismatched(await patch(door, path, { balance: -1 }, key))
    replayed(await patch(door, path, { balance: 2 }, key), first)
  })

  spec('R108 R1', 'target and conditions come before the key', async () => {
    const [path, key] = [await account(door), fresh()]
    const tag = (await door.send('GET', path)).headers.etag as string
    const first = await patch(door, path, { balance: 6 }, key, { 'if-match': tag })
    assert.equal((await patch(door, path, { balance: 6 }, key, { 'if-match': tag })).status, 412)
    replayed(await patch(door, path, { balance: 6 }, key, { 'if-match': first.headers.etag }), first)
    await door.send('DELETE', path)
    assert.equal((await patch(door, path, { balance: 6 }, key)).status, 410)
  })

  spec('R108 R102', 'of parallel PATCHes with one key one changes', async () => {
    const [path, key] = [await account(door), fresh()]
    const answers = await Promise.all(Array.from({ length: 20 }, () => patch(door, path, { balance: 6 }, key)))
    assert.equal(new Set(answers.map((answer) => JSON.stringify(reported(answer)))).size, 1)
    assert.equal(answers.filter(({ headers }) => headers['idempotency-replayed'] === undefined).length, 1)
  })

  spec('R108', 'PUT and DELETE take no keys', async () => {
    const [path, key] = [await account(door), fresh()]
    await patch(door, path, { balance: 6 }, key)
    const put = await door.send('PUT', path, { json: { ...ann, balance: 3 }, headers: keyOf(key) })
    assert.deepEqual([put.status, put.json.balance], [200, 3])
    assert.equal((await door.send('DELETE', path, { headers: keyOf(key) })).status, 204)
  })
})

doors('one space for all collections', bank({ scope: 'caller', mode: 'conflict' }), (door) => {
  spec('R100', 'a key that was used for one resource is used for all, and leads to its item', async () => {
    const key = fresh()
    const { json, headers } = await post(door, '/accounts', ann, key)
    for (const path of ['/shelves', '/drafts', `${headers.location}/transfers`]) {
      const again = await post(door, path, { name: 'A', text: 'A', amount: 1 }, key)
      assert.deepEqual([again.status, again.json.old_id], [409, json.id], path)
      assert.equal(again.json.type, 'idempotency-key-payload-mismatch')
      assert.equal(again.headers.link, `<${headers.location}>; rel="related"`)
    }
  })
})

doors('one space for all collections, with replay', bank({ scope: 'caller' }), (door) => {
  spec('R100 R98', 'the same payload for another URL counts as another payload', async () => {
    const key = fresh()
    await post(door, '/drafts', {}, fresh())
    const first = await post(door, '/shelves', { name: 'A' }, key)
    mismatched(await post(door, '/drafts', { name: 'A' }, key))
    replayed(await post(door, '/shelves', { name: 'A' }, key), first)
  })
})

test('R98: a key that was used before replay was turned on names its item', async (t) => {
  const file = freshFile(t)
  const [before, after] = [
    things({ text: f.text() }),
    things({ text: f.text() }, { settings: { idempotency: { mode: 'replay' } } }),
  ]
  const request = (text: string) => ['POST', '/things', { text }, keyOf('k1')] as const
  const [first] = await asked(file, before, request('a'))
  const [same, other] = await asked(file, after, request('a'), request('b'))
  assert.deepEqual([same?.status, same?.json.type, same?.json.old_id], [409, 'idempotency-key-reused', first?.json.id])
  assert.equal(other?.status, 422)
})
