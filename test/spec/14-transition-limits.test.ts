/** Transitions count in quotas, and their URLs name POST in `Allow` and to preflights, in every version. R12, R174, R181. */
import assert from 'node:assert/strict'
import { service } from 'bylaw'
import { doors, spec } from '../help/door.ts'

const app = 'https://app.example.com'
const shop = service({
  name: 'shop',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2025-06-01' } },
  resources: {
    orders: {
      prefix: 'ord',
      fields: {},
      states: {
        field: 'status',
        initial: 'draft',
        transitions: {
          placements: { from: ['draft'], to: 'placed' },
          pauses: { from: ['placed'], to: 'placed' },
          expiries: { from: ['draft'], to: 'placed', after: 'P7D' },
        },
      },
      access: 'public',
    },
  },
  settings: { cors: { origins: [app] }, versions: { carriers: ['path'] } },
  tiers: { anonymous: { hourly: 20 } },
}).change('v2', 'orders', {
  about: 'Submissions are called placements, orders can be paused, and are not printed.',
  transitions: {
    added: ['pauses'],
    renamed: { submissions: 'placements' },
    withdrawn: { prints: { from: ['placed'], to: 'placed', refused: 410 } },
  },
})

const paths = { v1: ['submissions', 'prints'], v2: ['placements', 'pauses'] }
const others = { v1: ['placements', 'pauses', 'expiries'], v2: ['submissions', 'prints', 'expiries'] }
const asking = { origin: app, 'access-control-request-method': 'POST' }

doors('limits of transitions', shop, (door) => {
  spec('R174', 'a preflight of a transition names POST in the versions that have it', async () => {
    const { id } = (await door.send('POST', '/v2/orders', { json: {} })).json
    for (const version of ['v1', 'v2'] as const) {
      const at = (name: string) => `/${version}/orders/${id}/${name}`
      for (const name of paths[version]) {
        const preflight = await door.send('OPTIONS', at(name), { headers: asking })
        assert.deepEqual([preflight.status, preflight.headers['access-control-allow-methods']], [204, 'OPTIONS, POST'])
      }
      for (const name of others[version])
        assert.equal((await door.send('OPTIONS', at(name), { headers: asking })).status, 404, at(name))
    }
  })

  spec(
    'R12 R50a',
    'OPTIONS and refused methods answer `Allow` with POST, and no header makes a GET a transition',
    async () => {
      const { id } = (await door.send('POST', '/v2/orders', { json: {} })).json
      for (const path of [`/v1/orders/${id}/submissions`, `/v1/orders/${id}/prints`, `/v2/orders/${id}/placements`]) {
        const options = await door.send('OPTIONS', path)
        assert.deepEqual([options.status, options.headers.allow], [204, 'OPTIONS, POST'])
        const headers = { 'x-http-method-override': 'POST' }
        const read = await door.send('GET', path, { headers })
        assert.deepEqual([read.status, read.headers.allow], [405, 'OPTIONS, POST'])
      }
      assert.equal((await door.send('GET', `/v2/orders/${id}`)).json.status, 'draft')
    },
  )
})

doors('quotas of transitions', shop, (door) => {
  spec('R181', 'a transition counts in the quota, done or refused, in every version', async () => {
    const { id } = (await door.send('POST', '/v1/orders', { json: {} })).json
    const left = async (path: string) => {
      const { status, headers } = await door.send('POST', path)
      return [status, /r=(\d+)/.exec(headers.ratelimit ?? '')?.[1]]
    }
    assert.deepEqual(await left(`/v1/orders/${id}/submissions`), [200, '18'])
    assert.deepEqual(await left(`/v2/orders/${id}/placements`), [409, '17'])
    assert.deepEqual(await left(`/v1/orders/${id}/prints`), [410, '16'])
    for (let n = 16; n > 0; n--) await left(`/v2/orders/${id}/pauses`)
    assert.deepEqual(await left(`/v2/orders/${id}/pauses`), [429, '0'])
    assert.deepEqual(await left(`/v1/orders/${id}/submissions`), [429, '0'])
  })
})
