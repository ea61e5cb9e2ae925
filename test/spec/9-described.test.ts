/** Part 9, versioning, and contract section 13: the description of each version, where it stands and what it says. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'

const described = service({
  name: 'described',
  resources: {
    orders: {
      prefix: 'ord',
      fields: { note: f.text({ optional: true }), total: f.decimal({ scale: 2, filter: 'range', sort: true }) },
      access: 'public',
    },
  },
})

doors('description', described, (door) => {
  spec('R214', 'each version has an OpenAPI document that the root and the catalog lead to', async () => {
    const root = await door.send('GET', '/')
    assert.equal(root.status, 200)
    assert.match(root.headers.link ?? '', /<\/openapi\.json>; rel="service-desc"/)
    assert.equal(root.json._links['service-desc'], '/openapi.json')
    for (const path of ['/openapi.json', '/openapi/v1.json']) {
      const { status, headers, json } = await door.send('GET', path)
      assert.equal(status, 200)
      assert.equal(headers['content-type'], 'application/json')
      assert.equal(json.openapi, '3.1.1')
      assert.deepEqual([json.info.title, json.info.version], ['described', '1.0.0'])
    }
    const catalog = await door.send('GET', '/.well-known/api-catalog')
    assert.match(catalog.headers['content-type'] ?? '', /^application\/linkset\+json/)
    assert.deepEqual(JSON.parse(catalog.text).linkset[1], {
      anchor: '/v1',
      'service-desc': [{ href: '/openapi/v1.json', type: 'application/json' }],
    })
  })

  spec('R218', 'the document has a strong tag, and is not sent to who has it', async () => {
    const first = await door.send('GET', '/openapi.json')
    assert.match(first.headers.etag ?? '', /^"[^"]+"$/)
    const again = await door.send('GET', '/openapi.json', {
      headers: { 'if-none-match': first.headers.etag as string },
    })
    assert.deepEqual([again.status, again.text], [304, ''])
    const head = await door.send('HEAD', '/openapi.json')
    assert.deepEqual([head.status, head.headers.etag, head.text], [200, first.headers.etag, ''])
  })

  spec('R216', 'operations have names that stay', async () => {
    const { json } = await door.send('GET', '/openapi.json')
    const ids = Object.values(json.paths as object).flatMap((item) =>
      Object.values(item as object).flatMap((one) => (one as { operationId?: string }).operationId ?? []),
    )
    const all = ['list', 'get', 'create', 'replace', 'update', 'delete', 'options', 'options-of-item']
    assert.deepEqual(ids.toSorted(), all.map((name) => `orders.${name}`).toSorted())
  })
})
