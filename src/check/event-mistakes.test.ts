/** Event mistakes: `events` of another form, reserved names, and types that would have two meanings. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { open, orders, shop, table } from '../../test/help/mistakes.ts'

const states = (to: string) => ({
  states: { field: 'status', initial: 'draft', transitions: { changes: { from: ['draft'], to } } },
})

const webhooks = { events: true, settings: { events: { webhooks: true } } }

table('events', [
  ['on the service', () => shop({ orders: open }, { events: true }), ''],
  ['on a resource', () => orders({ events: true }), ''],
  ['off for a resource', () => shop({ orders: { ...open, events: false } }, { events: true }), ''],
  ['another form', () => shop({ orders: open }, { events: 'on' }), 'events', 'Write events: true or events: false.'],
  ['another form on a resource', () => orders({ events: { stream: true } }), 'resources.orders.events', 'events: true'],
  [
    'names of the service',
    () => shop({ orders: open, events: open, 'webhook-endpoints': open, 'webhook-deliveries': open }, webhooks),
    'resources.events, resources.webhook-endpoints, resources.webhook-deliveries',
    'leave out `events`',
  ],
  [
    'the name of reactions',
    () => shop({ orders: open, reactions: open }, { events: true, settings: { events: { reactions: true } } }),
    'resources.reactions',
    'leave out `events.reactions` of the settings',
  ],
  ['this name without the setting', () => shop({ orders: open, reactions: open }, { events: true }), ''],
  ['these names without webhooks', () => shop({ orders: open, 'webhook-endpoints': open }, { events: true }), ''],
  ['these names without events', () => shop({ events: open, 'webhook-endpoints': open }), ''],
  [
    'a state with the name of another change',
    () => orders({ events: true, ...states('updated') }),
    'resources.orders.states.transitions.changes.to',
    'the type of another change',
  ],
  ['the same without events', () => orders(states('updated')), ''],
  [
    'settings',
    () => shop({ orders: open }, { events: true, settings: { events: { stream: true, retention: 'PT1S' } } }),
    '',
  ],
  [
    'a retention that is none',
    () => shop({ orders: open }, { settings: { events: { retention: 'soon' } } }),
    'settings.events.retention',
    "'forever'",
  ],
  [
    'a retention below a second',
    () => shop({ orders: open }, { settings: { events: { retention: 'PT0.9S' } } }),
    'settings.events.retention',
    'of at least 1 s',
  ],
])

test('a reserved name is refused with its URL', () => {
  const [found] = shop({ 'webhook-endpoints': open }, webhooks)
  assert.equal(found?.reason, '`/webhook-endpoints` is the URL of webhook-endpoints, but a resource has it.')
})

const audited = (history: unknown, more: object = {}) => orders({ history, ...more })
const at = 'resources.orders.history'

table('history', [
  ['for readers', () => audited({ read: 'public' }), ''],
  ['for a time', () => audited({ read: 'authenticated', retention: 'P730D' }), ''],
  ['another form', () => audited(true), at, "history: { read: 'authenticated' }"],
  ['without readers', () => audited({}), `${at}.read`, 'no scope missing'],
  ['an unknown scope', () => audited({ read: 'audit' }), `${at}.read`, '"audit"'],
  ['an unknown member', () => audited({ read: 'public', retain: 'P1D' }), `${at}.retain`, 'read or retention'],
  ...(['P2Y', 'for ever', 7, 'PT0S'] as const).map(
    (retention) =>
      [`the retention ${retention}`, () => audited({ read: 'public', retention }), `${at}.retention`, 'P730D'] as const,
  ),
  ['for ever', () => audited({ read: 'public', retention: 'forever' }), ''],
  [
    'an operation of that name',
    () => audited({ read: 'public' }, { operations: { revisions: { at: 'item' } } }),
    at,
    'an operation is called so',
  ],
  [
    'a transition of that name',
    () =>
      audited(
        { read: 'public' },
        { states: { field: 'status', initial: 'a', transitions: { revisions: { from: ['a'], to: 'b' } } } },
      ),
    at,
    'a transition is called so',
  ],
  [
    'a resource of that name below it',
    () => shop({ orders: { ...open, history: { read: 'public' } }, revisions: { ...open, parent: 'orders' } }),
    at,
    'a resource below it is called so',
  ],
  [
    'a resource of that name elsewhere',
    () => shop({ orders: { ...open, history: { read: 'public' } }, revisions: open }),
    '',
  ],
])

test('R219: all mistakes in a history are reported at once', () =>
  assert.deepEqual(
    audited({ read: 'no', retention: 5, more: 1 }).map(({ place }) => place),
    [`${at}.read`, `${at}.retention`, `${at}.more`],
  ))
