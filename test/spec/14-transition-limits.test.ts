/** Transitions count in quotas, and preflights of their URLs name POST. R174, R181. */
import assert from 'node:assert/strict'
import { service } from 'bylaw'
import { doors, spec } from '../help/door.ts'

const app = 'https://app.example.com'
const shop = service({
  name: 'shop',
  resources: {
    orders: {
      prefix: 'ord',
      fields: {},
      states: { field: 'status', initial: 'draft', transitions: { placements: { from: ['draft'], to: 'placed' } } },
      access: 'public',
    },
  },
  settings: { cors: { origins: [app] } },
  tiers: { anonymous: { hourly: 3 } },
})

doors('limits of transitions', shop, (door) => {
  spec('R174 R181', 'a transition counts in the quota, done or refused, and its preflight names POST', async () => {
    const { id } = (await door.send('POST', '/orders', { json: {} })).json
    const path = `/orders/${id}/placements`
    const asking = { origin: app, 'access-control-request-method': 'POST' }
    const preflight = await door.send('OPTIONS', path, { headers: asking })
    assert.deepEqual([preflight.status, preflight.headers['access-control-allow-methods']], [204, 'OPTIONS, POST'])
    const answers = [await door.send('POST', path), await door.send('POST', path), await door.send('POST', path)]
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 409, 429],
    )
    assert.match(answers[0]?.headers.ratelimit ?? '', /r=1;/)
  })
})
