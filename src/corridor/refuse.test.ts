/** Refuse: a failure reveals nothing internal, unless the server exposes causes. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testWorld } from '../../test/help/world.ts'
import { catalogue } from '../errors/catalogue.ts'
import { Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import { serviceWorld, trustedClock, type World } from '../flow/world.ts'
import { service } from '../service.ts'
import { refuse } from './refuse.ts'

const call = { headers: {}, id: 'r-1' } as unknown as Call
const shop = service({ name: 'shop', resources: { notes: { fields: {}, access: 'public' } } })
const log = { error: () => {}, warn: () => {}, info: () => {} }
const worldOf = (world: World) => serviceWorld(world, { clock: trustedClock(world.now), secret: 'a secret' })
const bodyOf = (thrown: unknown, exposed: boolean) =>
  JSON.parse(
    String(
      refuse(call, { service: { ...shop, errors: catalogue }, log, exposed, world: worldOf(testWorld()) }, thrown).body,
    ),
  )

test('R157: a failure names its request and nothing else', () => {
  const body = bodyOf(new TypeError('secret of line 7'), false)
  assert.equal(body.requestId, 'r-1')
  assert.doesNotMatch(JSON.stringify(body), /secret|TypeError/)
})

test('R157: with exposeInternals the cause is a nested error', () => {
  const body = bodyOf(new TypeError('secret of line 7'), true)
  assert.deepEqual([body.type, body.cause.type, body.requestId], ['internal-error', 'internal-error', 'r-1'])
  assert.match(body.cause.message, /TypeError: secret of line 7/)
  const outage = bodyOf(new Problem('dependency-unavailable', 'The store rests.', { cause: new Error('disk') }), true)
  assert.match(outage.cause.message, /disk/)
})

test('R161: an outage is logged once with its cause, for any number of requests', () => {
  const lines: Record<string, unknown>[] = []
  const own = { ...log, error: (about: object) => void lines.push(about as Record<string, unknown>) }
  const world = testWorld()
  const context = { service: { ...shop, errors: catalogue }, log: own, world: worldOf(world) }
  const meet = (message: string) =>
    refuse(call, context, new Problem('dependency-unavailable', message, { cause: new Error(`${message} disk`) }))
  for (let n = 0; n < 1000; n++)
    for (const one of ['The store rests.', 'The issuer rests.']) assert.equal(meet(one).status, 503)
  assert.deepEqual(
    lines.map(({ err, refused }) => [(err as Error).message, refused]),
    [
      ['The store rests. disk', 1],
      ['The issuer rests. disk', 1],
    ],
  )
  world.tick(1000)
  assert.deepEqual(
    lines.slice(2).map(({ type, refused }) => [type, refused]),
    [
      ['dependency-unavailable', 999],
      ['dependency-unavailable', 999],
    ],
  )
})
