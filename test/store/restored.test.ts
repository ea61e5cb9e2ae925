/** After a restore no strong tag belongs to two contents, cursors from before are refused, and events get higher numbers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { count, f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { type Node, nodeOn, places } from '../help/places.ts'
import { backUp, recordRestore } from '../help/restoring.ts'

const api = service({
  name: 'shop',
  events: true,
  resources: {
    orders: {
      prefix: 'ord',
      fields: { note: f.text(), lineCount: f.integer({ derived: count('order-lines') }) },
      access: 'public',
      settings: { resource: { id: 'client' } },
    },
    'order-lines': {
      prefix: 'lin',
      parent: { resource: 'orders', onDelete: 'cascade' },
      fields: { text: f.text() },
      access: 'public',
    },
    countries: {
      key: 'code',
      fields: { code: f.text({ max: 9 }), name: f.text({ default: '' }) },
      access: 'public',
      settings: { resource: { putRevives: 'on' } },
    },
  },
})

const paths = [
  ...['/orders/ord_a', '/orders/ord_b', '/orders/ord_new', '/countries/de', '/countries/fr'],
  ...[
    '/orders',
    '/orders?limit=1',
    '/orders?sort=createdAt',
    '/countries?limit=1',
    '/orders/ord_a/order-lines',
    '/orders/ord_b/order-lines',
  ],
  ...['/events', '/events?limit=2'],
]

interface Seen {
  readonly tag: string
  readonly content: string
}

/** The tag and the content of each path. */
async function look({ ask }: Node): Promise<ReadonlyMap<string, Seen>> {
  const all = new Map<string, Seen>()
  for (const path of paths) {
    const { status, headers, json } = await ask('GET', path)
    if (status === 200) all.set(path, { tag: headers.get('etag') as string, content: JSON.stringify(json) })
  }
  return all
}

/** Fails if a path had the same tag with another content before. */
function compare(all: ReadonlyMap<string, Seen>, known: Map<string, string>): void {
  for (const [path, { tag, content }] of all) {
    const before = known.get(`${path} ${tag}`)
    assert.ok(before === undefined || before === content, `${path} ${tag} belongs to ${before} and ${content}`)
    known.set(`${path} ${tag}`, content)
  }
}

async function did(node: Node, wanted: number, ...request: Parameters<Node['ask']>) {
  const answer = await node.ask(...request)
  assert.equal(answer.status, wanted, `${request[0]} ${request[1]}: ${JSON.stringify(answer.json)}`)
  return answer
}

/** Sends the same requests with other values, so that revisions are equal and contents differ. */
async function change(node: Node, note: string): Promise<void> {
  await did(node, 200, 'PATCH', '/orders/ord_a', { note })
  await did(node, 200, 'PATCH', '/orders/ord_a', { note: `${note}!` })
  await did(node, 201, 'POST', '/orders', { id: 'ord_new', note })
  await did(node, 201, 'POST', '/orders/ord_a/order-lines', { text: note })
  await did(node, 204, 'DELETE', '/countries/de')
  await did(node, 201, 'PUT', '/countries/de', { name: note })
  await did(node, 201, 'PUT', '/countries/fr', { name: note })
}

/** All events, page by page. */
async function eventsOf(
  node: Node,
  limit = 100,
): Promise<readonly { id: string; sequence: number; data: { id: string } }[]> {
  const all = []
  for (let [cursor, more, pages] = ['', true, 0]; more; pages++) {
    const { json } = await did(node, 200, 'GET', `/events?limit=${limit}&cursor=${cursor}`)
    all.push(...json.data)
    cursor = json.pagination.nextCursor
    more = json.pagination.hasMore
    assert.ok(pages < 50, 'the pages have an end')
  }
  return all
}

for (const [name, make] of places) {
  test(`R121, R122, R148: after a restore no strong tag names two contents on ${name}`, async (t) => {
    const place = await make(t)
    const known = new Map<string, string>()
    let node = nodeOn(place, api)
    for (const id of ['ord_a', 'ord_b']) await did(node, 201, 'POST', '/orders', { id, note: id })
    await did(node, 201, 'POST', '/countries', { code: 'de' })
    compare(await look(node), known)
    await node.close()
    const restore = await backUp(place)
    for (const round of [1, 2, 3]) {
      node = nodeOn(place, api)
      await change(node, `round ${round}`)
      const lost = await look(node)
      compare(lost, known)
      await node.close()
      await restore()
      await recordRestore(place, api)
      node = nodeOn(place, api)
      const found = await look(node)
      compare(found, known)
      for (const [path, { tag }] of lost) {
        const now = found.get(path)?.tag
        if (now === undefined) continue
        await did(node, 200, 'GET', path, undefined, { 'if-none-match': tag })
        await did(node, 412, 'GET', path, undefined, { 'if-match': tag })
        await did(node, 304, 'GET', path, undefined, { 'if-none-match': now })
      }
      const { tag } = lost.get('/orders/ord_a') as Seen
      await did(node, 412, 'PATCH', '/orders/ord_a', { note: 'blind' }, { 'if-match': tag })
      await did(node, 412, 'DELETE', '/orders/ord_a', undefined, { 'if-match': tag })
      await change(node, `after ${round}`)
      compare(await look(node), known)
      for (const [path, one] of lost) await did(node, 200, 'GET', path, undefined, { 'if-none-match': one.tag })
      await did(node, 412, 'PATCH', '/orders/ord_a', { note: 'blind' }, { 'if-match': tag })
      await node.close()
      await restore()
      await recordRestore(place, api)
    }
  })

  test(`R130: dates from before a restore prove nothing on ${name}`, async (t) => {
    const place = await make(t)
    const node = nodeOn(place, api)
    const made = await did(node, 201, 'POST', '/orders', { id: 'ord_a', note: 'a' })
    await node.close()
    await recordRestore(place, api)
    const { call, pass, close } = testing(api, { database: place.url })
    t.after(close)
    await pass('PT1H')
    const date = new Date(Math.ceil(Date.parse(made.json.updatedAt) / 1000) * 1000 + 1000).toUTCString()
    const read = await call('/orders/ord_a', { headers: { 'if-modified-since': date } })
    assert.equal(read.status, 200)
    const headers = { 'if-unmodified-since': date }
    assert.equal((await call('/orders/ord_a', { method: 'PATCH', json: { note: 'blind' }, headers })).status, 412)
    const later = { 'if-modified-since': new Date(Date.parse(date) + 60_000).toUTCString() }
    assert.equal((await call('/orders/ord_a', { headers: later })).status, 304)
  })

  test(`R82, R230: cursors from before a restore are refused, and new ones hold on ${name}`, async (t) => {
    const place = await make(t)
    let node = nodeOn(place, api)
    for (const id of ['ord_a', 'ord_b', 'ord_c']) await did(node, 201, 'POST', '/orders', { id, note: id })
    const before: string[] = []
    for (const path of ['/orders?sort=createdAt&limit=1', '/events?limit=1', '/events?limit=100']) {
      const { json } = await did(node, 200, 'GET', path)
      before.push(`${path}&cursor=${json.pagination.nextCursor}`)
    }
    for (const path of before) await did(node, 200, 'GET', path)
    await node.close()
    await recordRestore(place, api)
    node = nodeOn(place, api)
    for (const path of before) {
      const { json } = await did(node, 400, 'GET', path)
      assert.match(JSON.stringify(json), /cursor-expired.*before the database was restored/)
    }
    const first = await did(node, 200, 'GET', '/orders?sort=createdAt&limit=1')
    const next = await did(
      node,
      200,
      'GET',
      `/orders?sort=createdAt&limit=1&cursor=${first.json.pagination.nextCursor}`,
    )
    assert.equal(next.json.data[0].id, 'ord_b')
    await node.close()
    await recordRestore(place, api)
    node = nodeOn(place, api)
    t.after(() => node.close())
    await did(node, 400, 'GET', `/orders?sort=createdAt&limit=1&cursor=${first.json.pagination.nextCursor}`)
  })

  test(`R206, R230: after a restore events go on with higher numbers, and none is passed on ${name}`, async (t) => {
    const place = await make(t)
    let node = nodeOn(place, api)
    await did(node, 201, 'POST', '/orders', { id: 'ord_a', note: 'a' })
    await did(node, 201, 'POST', '/countries', { code: 'de' })
    const kept = await eventsOf(node)
    assert.deepEqual(
      kept.map(({ sequence }) => sequence),
      [1, 1],
    )
    await node.close()
    const restore = await backUp(place)
    const positions = async () => {
      const all = await place.rows('SELECT position, event FROM bylaw_positions ORDER BY position')
      return all.map(({ position }) => Number(position))
    }
    let [highest, position] = [1, 2]
    for (const round of [1, 2]) {
      node = nodeOn(place, api)
      await change(node, `lost ${round}`)
      const lost = await eventsOf(node)
      highest = Math.max(highest, ...lost.map(({ sequence }) => sequence))
      position = (await positions()).at(-1) as number
      await node.close()
      await restore()
      await recordRestore(place, api)
      node = nodeOn(place, api)
      assert.deepEqual(await eventsOf(node), kept)
      const end = await did(node, 200, 'GET', '/events')
      assert.equal(end.json.pagination.hasMore, false)
      await change(node, `round ${round}`)
      const all = await eventsOf(node)
      assert.deepEqual(all.slice(0, 2), kept)
      const fresh = all.slice(2)
      assert.ok(fresh.every(({ sequence }) => sequence > highest && Number.isSafeInteger(sequence)))
      assert.ok((await positions()).slice(2).every((one) => one > position && Number.isSafeInteger(one)))
      const followed = await did(node, 200, 'GET', `/events?limit=100&cursor=${end.json.pagination.nextCursor}`)
      assert.deepEqual(followed.json.data, fresh)
      assert.deepEqual(await eventsOf(node, 1), all)
      const ofA = fresh.filter(({ data }) => data.id === 'ord_a').map(({ sequence }) => sequence)
      assert.deepEqual(
        ofA,
        ofA.toSorted((a, b) => a - b),
      )
      assert.equal(new Set(ofA).size, ofA.length)
      await node.close()
      highest = Math.max(highest, ...all.map(({ sequence }) => sequence))
      await restore()
      await recordRestore(place, api)
    }
  })

  test(`a restore is not recorded while a node serves, nor in an empty database, on ${name}`, async (t) => {
    const place = await make(t)
    await assert.rejects(async () => recordRestore(place, api), /no tables of a service yet. Restore it first/)
    const node = nodeOn(place, api)
    await did(node, 200, 'GET', '/orders')
    await node.close()
    await place.rows(`INSERT INTO bylaw_nodes VALUES ('web-1:7', 'any', ${place.now})`)
    await assert.rejects(async () => recordRestore(place, api), /web-1:7\. Stop them, and run this command again/)
    await place.rows(`UPDATE bylaw_nodes SET seen = seen - 60000`)
    await recordRestore(place, api)
    assert.deepEqual(await place.rows('SELECT node FROM bylaw_nodes'), [])
  })
}
