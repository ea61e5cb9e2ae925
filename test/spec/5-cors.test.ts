/** CORS: requests from pages of other origins. Part 5, authentication. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'

const app = 'https://app.example.com'
const resources = {
  notes: { prefix: 'not', fields: { text: f.text({ max: 100 }) }, access: 'public' },
} as const
const open = service({ name: 'pages', resources, settings: { cors: { origins: [app] } } })
const closed = service({ name: 'pages', resources })

doors('pages of other origins', open, (door) => {
  const asking = { origin: app, 'access-control-request-method': 'POST' }

  spec('R174', 'a preflight is answered for the path, without credentials', async () => {
    const answer = await door.send('OPTIONS', '/notes', { headers: { ...asking, authorization: 'Bearer nonsense' } })
    assert.equal(answer.status, 204)
    assert.equal(answer.text, '')
    assert.equal(answer.headers['access-control-allow-origin'], app)
    assert.equal(answer.headers['access-control-allow-methods'], 'GET, HEAD, OPTIONS, POST')
    assert.match(
      answer.headers['access-control-allow-headers'] as string,
      /authorization, .*content-type, idempotency-key/,
    )
    const item = await door.send('OPTIONS', '/notes/not_01h455vb4pex5vsknk084sn02q', { headers: asking })
    assert.equal(item.headers['access-control-allow-methods'], item.headers.allow)
  })

  spec('R175', 'an origin that is not listed gets no CORS headers', async () => {
    for (const origin of ['https://evil.example', `${app}.evil.example`, `${app}:444`, 'null']) {
      const preflight = await door.send('OPTIONS', '/notes', { headers: { ...asking, origin } })
      assert.equal(preflight.status, 204)
      const read = await door.send('GET', '/notes', { headers: { origin } })
      assert.equal(read.status, 200)
      for (const { headers } of [preflight, read])
        assert.deepEqual(
          Object.keys(headers).filter((name) => name.startsWith('access-control')),
          [],
          origin,
        )
    }
  })

  spec('R176 R145', 'an allowed page can read every answer, refusals and 304 too, with Vary', async () => {
    const made = await door.send('POST', '/notes', { json: { text: 'a' }, headers: { origin: app } })
    const path = made.headers.location as string
    const tag = made.headers.etag as string
    const answers = [
      made,
      await door.send('GET', path, { headers: { origin: app } }),
      await door.send('GET', path, { headers: { origin: app, 'if-none-match': tag } }),
      await door.send('GET', '/notes?colour=red', { headers: { origin: app } }),
      await door.send('GET', '/nowhere', { headers: { origin: app } }),
      await door.send('DELETE', '/notes', { headers: { origin: app } }),
      await door.send('POST', '/notes', { body: '{', headers: { origin: app, 'content-type': 'application/json' } }),
    ]
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 200, 304, 400, 404, 405, 400],
    )
    for (const { headers, status } of answers) {
      assert.equal(headers['access-control-allow-origin'], app, String(status))
      assert.match(headers['access-control-expose-headers'] as string, /ETag.*Location.*Request-Id.*Retry-After/)
      assert.match(headers.vary as string, /\bOrigin\b/)
      assert.equal(headers['access-control-allow-credentials'], undefined)
    }
    assert.match((await door.send('GET', '/notes')).headers.vary as string, /\bOrigin\b/)
  })
})

/** A service with as many kinds of headers as possible. */
const wide = service({
  name: 'album',
  tiers: { anonymous: { hourly: 100_000 } },
  events: true,
  resources: {
    pictures: {
      prefix: 'pic',
      fields: { content: f.file({ max: 1000, types: ['text/plain'] }) },
      operations: { prints: { at: 'item', asynchronous: true } },
      access: 'public',
    },
  },
  settings: {
    cors: { origins: [app] },
    cache: { groups: true },
    events: { stream: true },
    methods: { query: true },
    patch: { jsonPatch: true },
    serverTiming: true,
  },
}).handlers({ pictures: { prints() {} } })

doors('pages of other origins, with files and more', wide, (door) => {
  const listed = (text: string | undefined) => new Set((text ?? '').toLowerCase().split(', '))
  /** Headers that pages may always read, or that browsers alone are for. */
  const ownOfBrowsers =
    /^(?:access-control-.*|cache-control|content-(?:language|length|security-policy|type)|expires|last-modified|vary)$/
  /** Headers that pages may always send, or that browsers send themselves. */
  const always = /^(?:accept|accept-encoding|accept-language|content-language|origin)$/

  spec('R176', 'a page can read every header that the description has', async () => {
    const { components } = (await door.send('GET', '/openapi.json')).json as unknown as {
      readonly components: { readonly headers: object }
    }
    const exposed = listed(
      (await door.send('GET', '/pictures', { headers: { origin: app } })).headers[
        'access-control-expose-headers'
      ] as string,
    )
    const described = Object.keys(components.headers).map((name) => name.toLowerCase())
    for (const name of ['content-disposition', 'content-range', 'accept-ranges', 'cache-groups', 'ratelimit'])
      assert.ok(described.includes(name), name)
    assert.deepEqual(
      described.filter((name) => !(ownOfBrowsers.test(name) || exposed.has(name))),
      [],
    )
  })

  spec('R174', 'a page can send every header that the description has', async () => {
    const { json } = await door.send('GET', '/openapi.json')
    const described = [...JSON.stringify(json).matchAll(/"name":"([\w-]+)","in":"header"/g)].map(([, name]) =>
      String(name).toLowerCase(),
    )
    assert.ok(described.includes('range') && described.includes('content-disposition'))
    const asking = { origin: app, 'access-control-request-method': 'PUT' }
    const answer = await door.send('OPTIONS', '/pictures/pic_01h455vb4pex5vsknk084sn02q/content', { headers: asking })
    const allowed = listed(answer.headers['access-control-allow-headers'] as string)
    assert.deepEqual(
      [...new Set(described), 'content-encoding', 'if-range', 'tracestate'].filter(
        (name) => !(always.test(name) || allowed.has(name)),
      ),
      [],
    )
  })
})

doors('without origins', closed, (door) => {
  spec('R174', 'without allowed origins there are no CORS headers, and no answer varies by origin', async () => {
    const headers = { origin: app, 'access-control-request-method': 'POST' }
    for (const method of ['OPTIONS', 'GET']) {
      const answer = await door.send(method, '/notes', { headers })
      assert.doesNotMatch(JSON.stringify(answer.headers), /access-control|origin/i)
    }
  })
})
