/** Proves that a delivery is stored, sent and recorded once when the store refuses a write or seems to have lost it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { conflictProblem, unknownOutcome } from '../../src/catalog/steps.ts'
import { DeliveryRun } from '../../src/deliveries/run-deliveries.ts'
import { webhookTerms } from '../../src/deliveries/webhook-terms.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import type { Store } from '../../src/flow/store.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { deliveryResource } from '../../src/resources/service-fields.ts'
import type { Service } from '../../src/service.ts'
import { openStore } from '../../src/terminal/open.ts'
import { places } from '../help/places.ts'
import { webhookNode, webhookShop } from '../help/webhooks.ts'

const api = webhookShop as unknown as Service

for (const [name, place] of places)
  test(`R210: a delivery is stored, sent and recorded once when the store refuses each of these at first, on ${name}`, async (t) => {
    const { url } = await place(t)
    const { send } = webhookNode(t, url)
    await send('POST', '/webhook-endpoints', { url: 'http://127.0.0.1:9/', eventTypes: ['order.*'] })
    await send('POST', '/orders', { note: 'a' })
    const store = await openStore(api, url, 'require')
    t.after(store.close)
    const world = serviceWorld(realWorld, store)
    Object.assign(webhookTerms(world), { privateTargets: true, peppers: [store.secret] })
    const log = { error: () => {}, warn: () => {}, info: () => {} }
    await store.execute({ do: 'number' })
    const tries = { sequence: 0, decide: 0 }
    const execute: Store['execute'] = async (plan) => {
      const isStored = plan.do === 'sequence' || (plan.do === 'decide' && plan.read.collection === deliveryResource)
      const count = isStored ? ++tries[plan.do] : 0
      if (count === 1) throw conflictProblem(null)
      const outcome = await store.execute(plan)
      if (count === 2) throw unknownOutcome(null)
      return outcome
    }
    let sent = 0
    const sender = {
      send: async () => {
        sent++
        return { responseStatus: 204, error: null, duration: 1, response: '', retryAfter: null }
      },
      close: () => {},
    }
    const { resources, events, writer } = api
    const run = new DeliveryRun({ resources, events, writer, store: { ...store, execute }, world, log, sender })
    await run.finish()
    const { data } = (await send('GET', '/webhook-deliveries')).body
    assert.deepEqual([sent, tries], [1, { sequence: 3, decide: 3 }])
    assert.deepEqual(
      data.map((one: { status: string; attempts: unknown[] }) => [one.status, one.attempts.length]),
      [['succeeded', 1]],
    )
  })
