/** Contract section 13: where the pages are, and who may read them. */
import assert from 'node:assert/strict'
import { f, type Service, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'
import { browser, linksOf, page } from '../help/html-pages.ts'

const closed = service({
  name: 'closed',
  resources: { notes: { fields: { text: f.text() }, access: 'authenticated' } },
  settings: { openapi: { public: 'off' } },
})

doors(
  'pages of a service whose description is private',
  closed as unknown as Service,
  (door) => {
    spec('R214', 'only known callers get the pages; the root stays public as JSON', async () => {
      for (const path of ['/docs', '/docs/v1', '/problems', '/problems/conflict', '/']) {
        const { status, json } = await door.send('GET', path, { headers: { accept: browser } })
        assert.deepEqual([status, json.type], [401, 'credentials-missing'], path)
        const known = await door.send('GET', path, { headers: { accept: browser, ...door.as('reader') } })
        assert.deepEqual([known.status, known.headers['cache-control']], [200, 'private, no-cache'])
        assert.match(known.headers.vary ?? '', /Authorization/)
      }
      assert.equal((await door.send('GET', '/')).json.name, 'closed')
    })
  },
  { holders: { reader: {} } },
)

const named = (paths?: { docs: string }) =>
  service({
    name: 'named',
    resources: {
      docs: { fields: { text: f.text() }, access: 'public', prefix: 'doc' },
      problems: { fields: { text: f.text() }, access: 'public', plural: true },
    },
    ...(paths && { settings: { server: { paths } } }),
  }) as unknown as Service

doors('pages whose path a resource has', named(), (door) => {
  spec('R4 R214', 'the resource keeps its path and the page moves', async () => {
    assert.equal((await door.send('POST', '/docs', { json: { text: 'a' } })).status, 201)
    assert.deepEqual((await door.send('GET', '/problems')).json.data, [])
    assert.ok(linksOf(await page(door, '/-/docs')).includes('/-/problems/invalid-query'))
    assert.ok(linksOf(await page(door, '/-/problems/invalid-query')).includes('/-/docs#docs.list'))
    assert.equal((await door.send('GET', '/docs/v1')).status, 404)
  })
})

doors('pages with a path of their own', named({ docs: '/help/reference' }), (door) => {
  spec('R214', 'the setting server.paths names the path', async () => {
    await page(door, '/help/reference')
    await page(door, '/help/reference/v1')
    assert.deepEqual((await door.send('GET', '/docs')).json.data, [])
  })
})

spec('R219', 'a path that the service or the other page has is refused', () => {
  for (const docs of ['/openapi', '/v1/docs', 'docs', '/Docs', '/docs/'])
    assert.throws(() => named({ docs }), /server\.paths\.docs[\s\S]*'\/reference'/, docs)
  assert.throws(() => named({ docs: '/problems' }), /server\.paths\.problems[\s\S]*Write another path/)
})
