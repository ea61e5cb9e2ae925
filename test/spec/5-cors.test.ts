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
      /authorization, content-type, idempotency-key/,
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

doors('without origins', closed, (door) => {
  spec('R174', 'without allowed origins there are no CORS headers, and no answer varies by origin', async () => {
    const headers = { origin: app, 'access-control-request-method': 'POST' }
    for (const method of ['OPTIONS', 'GET']) {
      const answer = await door.send(method, '/notes', { headers })
      assert.doesNotMatch(JSON.stringify(answer.headers), /access-control|origin/i)
    }
  })
})
