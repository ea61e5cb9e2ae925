/** Part 7 of the contract: conditional reads, and the headers for caches. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'

const fields = { name: f.text({ filter: true, sort: true }), price: f.integer({ default: 0 }) }

const market = service({
  name: 'market',
  resources: {
    goods: { prefix: 'gds', plural: true, fields, access: 'public' },
    parts: { prefix: 'prt', parent: 'goods', fields, access: 'public' },
    news: { prefix: 'nws', plural: true, fields, access: 'public', settings: { cache: { maxAge: 'PT5M' } } },
    drafts: { prefix: 'drf', fields, access: 'public', settings: { cache: { scope: 'private' } } },
    mine: {
      prefix: 'min',
      plural: true,
      fields,
      access: 'public',
      settings: { cache: { scope: 'private', maxAge: 'PT1H' } },
    },
    posters: { prefix: 'pst', fields, access: 'public', settings: { cache: { scope: 'public' } } },
    moments: { prefix: 'mom', fields, access: 'public', settings: { cache: { maxAge: 'PT0.5S' } } },
  },
})

const created = (door: Door, collection = 'goods', name = 'A'): Promise<Answer> =>
  door.send('POST', `/${collection}`, { json: { name } })

const placeOf = async (door: Door, collection = 'goods'): Promise<string> =>
  (await created(door, collection)).headers.location as string

/** The headers of the service, without those of the connection and the time. */
function reported({ headers }: Answer): Record<string, string> {
  const { date, connection, 'keep-alive': _, 'request-id': id, ...rest } = headers
  assert.ok(date !== undefined && id !== undefined && connection !== 'upgrade')
  return rest
}

doors('conditional reads', market, (door) => {
  spec('R139 R140', 'a 304 has no content and only the headers that caches need', async () => {
    const path = await placeOf(door)
    for (const target of [path, '/goods', '/goods?name=A&sort=name', `${path}/parts`])
      for (const method of ['GET', 'HEAD']) {
        const whole = await door.send('GET', target)
        const answer = await door.send(method, target, { headers: { 'if-none-match': whole.headers.etag as string } })
        assert.deepEqual([answer.status, answer.text], [304, ''], target)
        const kept = ['cache-control', 'etag', ...(target === path ? [] : ['link']), 'vary', 'version']
        assert.deepEqual(Object.keys(reported(answer)).sort(), kept, target)
        for (const name of kept) assert.equal(answer.headers[name], whole.headers[name], name)
      }
  })

  spec('R141', 'If-None-Match compares weakly, and takes lists and *', async () => {
    const path = await placeOf(door)
    for (const target of [path, '/goods']) {
      const etag = (await door.send('GET', target)).headers.etag as string
      for (const value of [etag, `W/${etag}`, `"x", ${etag}`, `W/"x",W/${etag}`, '*']) {
        const answer = await door.send('GET', target, { headers: { 'if-none-match': value } })
        assert.deepEqual([answer.status, answer.headers.etag], [304, etag], value)
      }
      for (const value of ['"x"', `"x${etag.slice(1)}`, '"*"'])
        assert.equal((await door.send('GET', target, { headers: { 'if-none-match': value } })).status, 200, value)
    }
  })

  spec('R139', 'a changed item is sent whole, with a new tag', async () => {
    const path = await placeOf(door)
    for (const target of [path, '/goods']) {
      const before = await door.send('GET', target)
      await door.send('PATCH', path, { json: { price: Number(before.text.length) } })
      const after = await door.send('GET', target, { headers: { 'if-none-match': before.headers.etag as string } })
      assert.equal(after.status, 200)
      assert.notEqual(after.headers.etag, before.headers.etag)
      assert.notEqual(after.text, before.text)
    }
  })

  spec('R148', 'the tag of a list changes with its content, and not otherwise', async () => {
    const [one, two] = [await placeOf(door, 'news'), await placeOf(door, 'news')]
    const lists = [
      '/news',
      '/news?page=1&page_size=1',
      '/news?page=2&page_size=1',
      '/news?limit=1',
      '/news?cursor=&limit=1',
    ]
    const tags = () => Promise.all(lists.map(async (path) => (await door.send('GET', path)).headers.etag))
    const first = await tags()
    assert.deepEqual(await tags(), first)
    assert.equal(new Set(first).size, first.length)
    await door.send('PATCH', one, { json: {} })
    await placeOf(door, 'goods')
    assert.deepEqual(await tags(), first)
    await door.send('PATCH', two, { json: { price: 5 } })
    const second = await tags()
    assert.deepEqual(
      second.map((tag, i) => tag === first[i]),
      [false, true, false, true, true],
    )
    await door.send('DELETE', two)
    const third = await tags()
    assert.deepEqual(
      third.map((tag, i) => tag === second[i]),
      [false, false, false, false, false],
    )
  })
})

doors('Cache-Control', market, (door) => {
  spec('R143', 'a successful read has the declared Cache-Control', async () => {
    for (const [collection, expected] of [
      ['goods', 'no-cache'],
      ['news', 'public, max-age=300'],
      ['drafts', 'private, no-cache'],
      ['mine', 'private, max-age=3600'],
      ['posters', 'public, no-cache'],
      ['moments', 'public, max-age=0'],
    ] as const) {
      const path = await placeOf(door, collection)
      for (const target of [path, `/${collection}`])
        for (const method of ['GET', 'HEAD']) {
          const answer = await door.send(method, target)
          assert.equal(answer.headers['cache-control'], expected, `${method} ${target}`)
          assert.match(answer.headers.date ?? '', / GMT$/)
          assert.deepEqual(
            [answer.headers.age, answer.headers.expires, answer.headers.pragma],
            [undefined, undefined, undefined],
          )
        }
    }
  })

  spec('R144', 'answers to writes are not stored', async () => {
    const path = await placeOf(door, 'news')
    for (const [method, target, json, status, prefer] of [
      ['POST', '/news', { name: 'A' }, 201, ''],
      ['PUT', path, { name: 'B' }, 200, ''],
      ['PUT', path, { name: 'C' }, 204, 'return=minimal'],
      ['PUT', '/news/nws_00000000000000000000000000', { name: 'B' }, 201, ''],
      ['PATCH', path, {}, 200, ''],
      ['PATCH', path, {}, 204, 'return=minimal'],
      ['DELETE', path, undefined, 204, ''],
      ['DELETE', path, undefined, 204, ''],
    ] as const) {
      const answer = await door.send(method, target, { headers: { prefer }, ...(json && { json }) })
      assert.deepEqual([answer.status, answer.headers['cache-control']], [status, 'no-store'], `${method} ${target}`)
    }
  })

  spec('R144 R145', 'errors are not cached, and vary by the headers that chose their form', async () => {
    const path = await placeOf(door, 'news')
    const gone = await placeOf(door, 'news')
    await door.send('DELETE', gone)
    for (const [method, target, status, headers] of [
      ['GET', '/news/nws_00000000000000000000000001', 404, {}],
      ['HEAD', '/news/nws_00000000000000000000000001', 404, {}],
      ['GET', '/nowhere', 404, {}],
      ['DELETE', '/news', 405, {}],
      ['GET', gone, 410, {}],
      ['GET', '/news?x=1', 400, {}],
      ['GET', path, 406, { accept: 'text/html' }],
      ['GET', path, 412, { 'if-match': '"x"' }],
      ['PATCH', path, 400, { 'content-type': 'application/json' }],
      ['GET', `/news?name=${'x'.repeat(9000)}`, 414, {}],
    ] as const) {
      const answer = await door.send(method, target, { headers })
      assert.equal(answer.status, status, `${method} ${target.slice(0, 50)}`)
      assert.equal(answer.headers['cache-control'], 'no-store')
      const vary = (answer.headers.vary ?? '').toLowerCase().split(/, */)
      assert.ok(vary.includes('accept') && vary.includes('accept-encoding') && !vary.includes('*'))
    }
  })

  spec('R145', 'Vary is the same on 200, 304 and for every coding', async () => {
    const path = await placeOf(door)
    const whole = await door.send('GET', path)
    assert.match(whole.headers.vary ?? '', /\bAccept-Encoding\b/)
    for (const headers of [
      { 'if-none-match': '*' },
      { accept: 'application/*' },
      { 'accept-encoding': 'identity' },
      { 'accept-encoding': '' },
    ] as Record<string, string>[])
      assert.equal((await door.send('GET', path, { headers })).headers.vary, whole.headers.vary)
    assert.equal((await door.send('GET', '/goods')).headers.vary, whole.headers.vary)
  })

  spec('R10', 'HEAD has the status and the headers of GET, and no content', async () => {
    const path = await placeOf(door)
    const gone = await placeOf(door)
    await door.send('DELETE', gone)
    const etag = (await door.send('GET', path)).headers.etag as string
    for (const [target, headers] of [
      [path, {}],
      ['/goods', {}],
      ['/goods?page_size=1', {}],
      [path, { 'if-none-match': etag }],
      [path, { 'if-match': '"x"' }],
      [path, { accept: 'text/html' }],
      [gone, {}],
      ['/goods/gds_00000000000000000000000000', {}],
      ['/goods?x=1', {}],
    ] as [string, Record<string, string>][]) {
      const identity = { 'accept-encoding': 'identity', 'request-id': 'same', ...headers }
      const [get, head] = [
        await door.send('GET', target, { headers: identity }),
        await door.send('HEAD', target, { headers: identity }),
      ]
      assert.deepEqual([head.status, head.text, reported(head)], [get.status, '', reported(get)], target)
      if (get.status !== 304) assert.equal(head.headers['content-length'], String(Buffer.byteLength(get.text)))
    }
  })
})

const morning = Date.UTC(2026, 10, 20, 9, 4, 0, 999)
let time = morning

doors(
  'the time of the last change',
  market,
  (door) => {
    spec(
      'R130',
      'Last-Modified is the time of the change, cut to the second, and moves with changes only',
      async () => {
        time = morning
        const made = await created(door)
        const path = made.headers.location as string
        assert.equal(made.json.updatedAt, '2026-11-20T09:04:00.999Z')
        assert.equal(made.headers['last-modified'], undefined)
        time += 5000
        assert.equal((await door.send('GET', path)).headers['last-modified'], 'Fri, 20 Nov 2026 09:04:00 GMT')
        const kept = await door.send('PATCH', path, { json: { name: 'A' } })
        assert.equal(kept.headers['last-modified'], 'Fri, 20 Nov 2026 09:04:00 GMT')
        const changed = await door.send('PATCH', path, { json: { name: 'B' } })
        assert.equal(changed.headers['last-modified'], undefined)
        assert.deepEqual(
          [changed.json.createdAt, changed.json.updatedAt],
          [made.json.createdAt, '2026-11-20T09:04:05.999Z'],
        )
        time += 2002
        assert.equal((await door.send('GET', path)).headers['last-modified'], 'Fri, 20 Nov 2026 09:04:05 GMT')
        const since = { 'if-modified-since': 'Fri, 20 Nov 2026 09:04:04 GMT' }
        assert.equal((await door.send('GET', path, { headers: since })).status, 200)
        const now = { 'if-modified-since': 'Fri, 20 Nov 2026 09:04:05 GMT' }
        assert.equal((await door.send('GET', path, { headers: now })).status, 304)
      },
    )

    spec('R130 R143', 'it is never later than Date, even where the clock was turned back', async () => {
      time = morning
      const path = (await created(door)).headers.location as string
      time -= 3_600_000
      for (const answer of [await door.send('GET', path), await door.send('PATCH', path, { json: { name: 'C' } })]) {
        assert.equal(answer.headers['last-modified'], undefined)
        assert.equal(answer.headers.date, 'Fri, 20 Nov 2026 08:04:00 GMT')
      }
      const { createdAt, updatedAt } = (await door.send('GET', path)).json
      assert.ok(updatedAt >= createdAt)
    })
  },
  { now: () => time },
)
