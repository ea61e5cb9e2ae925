/** Commands know the base path of a service. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { folder, run } from '../help/command.ts'

const declaration = `import { f, service } from 'bylaw'
export default service({
  name: 'shop',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  resources: {
    orders: { prefix: 'ord', fields: { total: f.integer({ sort: true, filter: true }) }, access: 'public' },
  },
  settings: { server: { basePath: '/api' } },
}).change('v2', 'orders', { about: '\`total\` was \`sum\`.', renamed: { sum: 'total' } })
`

const said = async (...words: string[]) => {
  const { code, stdout, stderr } = await run(words, { cwd: folder({ 'api.ts': declaration }) })
  return { code, text: stdout + stderr }
}

it('verify tries a service below a base path', async () => {
  const { code, text } = await said('verify', 'api.ts')
  assert.equal(code, 0, text)
})

it('explain takes the whole path, and refuses others', async () => {
  const database = ['--database', 'sqlite::memory:']
  assert.match(
    (await said('explain', 'api.ts', 'GET', '/api/v2/orders', ...database)).text,
    /served by v2[\s\S]*All checks/,
  )
  assert.match((await said('explain', 'api.ts', 'GET', '/api/healthz', ...database)).text, /access\s+passes\s+public/)
  assert.match((await said('explain', 'api.ts', 'GET', '/orders', ...database)).text, /404 route-not-found/)
})

it('routes shows whole paths', async () => {
  assert.match((await said('routes', 'api.ts')).text, /^GET\s+\/api\/orders\/\{id\}\s+read/m)
})
