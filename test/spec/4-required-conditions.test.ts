/** Part 4 of the contract, update and concurrency: which requests need a condition with `concurrency.required`. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const shop = service({
  name: 'shop',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2025-06-01' } },
  settings: { concurrency: { required: true }, batches: 5, versions: { carriers: ['path'] } },
  resources: {
    orders: {
      prefix: 'ord',
      fields: { note: f.text({ default: '' }) },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: {
          placements: { from: ['draft'], to: 'placed' },
          pauses: { from: ['placed'], to: 'placed' },
        },
      },
      operations: { reminders: { at: 'item', output: { count: f.integer() } } },
      access: 'public',
    },
  },
})
  .change('v2', 'orders', {
    about: 'Submissions are called placements.',
    transitions: { renamed: { submissions: 'placements' } },
  })
  .handlers({ orders: { reminders: () => ({ count: 1 }) } })

doors('required conditions', shop, (door: Door) => {
  const post = (path: string, headers: Record<string, string> = {}, json: unknown = {}) =>
    door.send('POST', path, { json, headers })
  const order = async () => `/orders/${(await post('/v2/orders')).json.id}`

  spec(
    'R129 R221',
    'transitions and operations need no condition in any version, and evaluate those that are sent',
    async () => {
      const at = await order()
      const stale = { 'if-match': '"x"' }
      assert.equal((await post(`/v1${at}/submissions`, stale)).status, 412)
      assert.equal((await post(`/v2${at}/placements`, { 'if-match': 'x' })).status, 400)
      assert.equal((await post(`/v1${at}/submissions`)).json.status, 'placed')
      assert.equal((await post(`/v2${at}/pauses`)).status, 200)
      assert.equal((await post(`/v2${at}/pauses`, { 'idempotency-key': 'one' })).status, 200)
      assert.deepEqual((await post(`/v2${at}/reminders`)).json, { count: 1 })
      assert.equal((await post(`/v2${at}/reminders`, stale)).status, 412)
      assert.equal((await door.send('PATCH', `/v2${at}`, { json: { note: 'x' } })).status, 428)
    },
  )

  spec('R129 R229', 'the same holds for members of batches', async () => {
    const at = await order()
    const mismatch = 'the description does not list the bodies of members'
    const batch = (one: object) => door.send('POST', '/v2/batches', { json: { operations: [one] }, mismatch })
    assert.equal((await batch({ method: 'POST', path: `${at}/placements` })).status, 200)
    assert.equal((await batch({ method: 'POST', path: `${at}/reminders` })).status, 200)
    assert.equal((await batch({ method: 'DELETE', path: at })).status, 428)
  })

  spec('R129 R215', 'only methods that need a condition are described with 428', async () => {
    const { paths } = (await door.send('GET', '/openapi.json')).json
    const statuses = (path: RegExp, method: string) => {
      const [name = ''] = Object.keys(paths).filter((one) => path.test(one))
      return Object.keys(paths[name][method].responses)
    }
    for (const path of [/placements$/, /reminders$/]) assert.ok(!statuses(path, 'post').includes('428'))
    for (const method of ['put', 'patch', 'delete'])
      assert.ok(statuses(/orders\/\{\w+\}$/, method).includes('428'), method)
  })
})
