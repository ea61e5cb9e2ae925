/** The relay reads no further events once it is to end, however many wait. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Plan } from '../flow/plan.ts'
import { makeEventFeed } from './event-feed.ts'
import { type RelayContext, relayEvents } from './event-relay.ts'

test('a relay that is to end publishes no further page', async () => {
  const feed = makeEventFeed()
  feed.subscribe({ take: () => {}, beat: () => {}, end: () => {} })
  feed.position = 0
  let pages = 0
  let isEnding = false
  const execute = async (plan: Plan) => {
    if (plan.do === 'head') return { is: 'numbered', position: 2000, more: false }
    assert.ok(plan.do === 'events')
    isEnding = ++pages === 2
    return { is: 'events', events: [], position: plan.after + plan.limit }
  }
  const context = { resources: new Map(), store: { execute }, world: { state: { of: () => feed } } }
  await relayEvents(context as unknown as RelayContext, () => isEnding)
  assert.deepEqual([pages, feed.position], [2, 1000])
})
