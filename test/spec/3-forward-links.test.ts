/** Part 3 of the contract, links of the lists that are only read forward by cursor: events, revisions and reactions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { places } from '../help/places.ts'

const opened = (links: 'header' | 'body' | 'both' | 'none', database: string, more: object = {}) => {
  const api = service({
    name: 'shop',
    events: true,
    versions: { v1: { released: '2025-01-01' }, v2: { released: '2025-02-01' } },
    settings: { list: { links }, events: { reactions: true }, ...more },
    resources: {
      orders: {
        prefix: 'ord',
        fields: { note: f.text({ optional: true }) },
        access: 'public',
        history: { read: 'public' },
      },
    },
  }).handlers({
    reactions: {
      first: { on: ['order.created'], run: () => {} },
      second: { on: ['order.created'], run: () => {} },
      third: { on: ['order.created'], run: () => {} },
    },
  })
  const { call, close } = testing(api, { database })
  const read = async (path: string, method = 'GET') => {
    const answer = await call(path, { method, as: { scopes: ['reactions:read'] } })
    const text = await answer.text()
    // biome-ignore lint/suspicious/noExplicitAny: answers of several shapes
    const json = (text === '' ? {} : JSON.parse(text)) as any
    assert.equal(answer.status, 200, `${path} ${text}`)
    const header = answer.headers.get('link') ?? ''
    const links = Object.fromEntries(
      [...header.matchAll(/<([^>]*)>; rel="([^"]*)"/g)].map(([, url, rel]) => [rel, url]),
    )
    return { json, links, header }
  }
  const filled = async (base = '') => {
    const made = (await (await call(`${base}/orders`, { method: 'POST', json: { note: '0' } })).json()) as {
      id: string
    }
    for (const note of ['1', '2', '3', '4'])
      await call(`${base}/orders/${made.id}`, { method: 'PATCH', json: { note } })
    return made.id
  }
  return { read, filled, close }
}

for (const [name, place] of places)
  test(`R86: each page of these lists links to itself, the first page and the next one (${name})`, async (t) => {
    const { read, filled, close } = opened('header', (await place(t)).url)
    t.after(close)
    const id = await filled()
    for (const [list, count] of [
      ['/events', 5],
      ['/v2/events?type=in:(order.updated,order.created)', 5],
      [`/orders/${id}/revisions`, 5],
      [`/v1/orders/${id}/revisions`, 5],
      ['/reactions', 3],
    ] as const) {
      const start = `${list}${list.includes('?') ? '&' : '?'}limit=2`
      const seen: string[] = []
      let last: Awaited<ReturnType<typeof read>> | undefined
      for (let url: string | undefined = start; url !== undefined; url = last.links.next) {
        last = await read(url)
        seen.push(...last.json.data.map((one: { id?: string; name?: string }) => one.id ?? one.name))
        assert.equal(decodeURIComponent(last.links.self ?? ''), decodeURIComponent(url))
        assert.deepEqual((await read(last.links.first ?? '')).json.data, (await read(start)).json.data)
        assert.equal(last.links.next !== undefined, last.json.pagination.hasMore, url)
        assert.equal((await read(url, 'HEAD')).header, last.header)
        assert.equal(last.json._links, undefined)
      }
      assert.deepEqual([seen.length, new Set(seen).size], [count, count], list)
    }
    assert.deepEqual(Object.keys((await read('/events?limit=100')).links), ['self', 'first'])
    assert.equal((await read('/events?version=v2&limit=2')).links.first, '/events?version=v2&limit=2&cursor=')
  })

test('R86: list.links says where these links are', async (t) => {
  for (const links of ['body', 'both', 'none'] as const) {
    const { read, filled, close } = opened(links, 'sqlite::memory:', { server: { basePath: '/api' } })
    t.after(close)
    const id = await filled('/api')
    for (const path of ['/api/events?limit=2', `/api/orders/${id}/revisions?limit=2`, '/api/reactions?limit=2']) {
      const { json, header, links: own } = await read(path)
      assert.equal(header === '', links !== 'both', path)
      if (links === 'none') assert.equal(json._links, undefined, path)
      else assert.deepEqual(Object.keys(json._links), ['self', 'first', 'next'], path)
      if (links === 'both') assert.deepEqual(json._links, own)
      if (links !== 'none') assert.equal(json._links.self, path)
    }
  }
})
