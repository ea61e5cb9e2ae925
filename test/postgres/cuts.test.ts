/** The connection between a service and its database is cut after every byte, stalls there, or carries small pieces. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { certificate } from '../help/certificate.ts'
import type { Cluster } from '../help/cluster.ts'
import { pathOf, without } from '../help/programs.ts'
import { steps } from './cut-steps.ts'
import {
  chance,
  fastWorld,
  isWhole,
  type Position,
  positionsOf,
  type Site,
  serverWithPassword,
  sitesOf,
  stride,
  sweep,
  trialOf,
} from './cut-sweep.ts'

let server: Cluster
const folder = mkdtempSync(join(tmpdir(), 'bylaw-cuts-'))
before(async () => {
  const settings: string[] = []
  if (pathOf('openssl')) {
    const { key, cert } = certificate(folder, 'server')
    settings.push('ssl=on', `ssl_cert_file=${cert}`, `ssl_key_file=${key}`)
  }
  server = await serverWithPassword(settings)
})
after(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

const sites = (t: TestContext, count: number, more: Partial<Parameters<typeof sitesOf>[2]> = {}) =>
  sitesOf(t, count, { port: server.port, ...more })
const first = (all: readonly Site[]): Site => all[0] as Site

/** An item, a creation with a key, creations at once, a change and a batch. */
const few = steps.filter(({ name }) => /^(?:an item|a creation with|creations|a change|a batch)/.test(name))
/** The most milliseconds that a trial may take, also on a busy machine. */
const most = 20_000
/** A sweep of all positions takes long. */
const timeout = isWhole ? 7_200_000 : 240_000

/** Tries positions, most of which have to be reached. */
async function tried(t: TestContext, all: readonly Site[], positions: readonly Position[]): Promise<void> {
  const cuts = await sweep(all, positions, most)
  t.diagnostic(`${cuts} of ${positions.length} positions were reached`)
  assert.ok(cuts > positions.length / 2, `${cuts} of ${positions.length} positions were reached`)
}

test('R226: a connection that is cut after any byte costs no write, and none is done twice', { timeout }, async (t) => {
  const all = await sites(t, 6)
  const closed = await positionsOf(first(all), steps, { warm: 2, ending: 'close', fewest: 2 })
  const reset = await positionsOf(first(all), few, { warm: 2, ending: 'reset', every: 8 * stride })
  await tried(t, all, [...closed, ...reset])
})

test('the same for new connections, from the first byte of the login', { timeout }, async (t) => {
  const all = await sites(t, 6)
  const closed = await positionsOf(first(all), isWhole ? few.slice(0, 2) : few, {
    warm: 0,
    ending: 'close',
    every: isWhole ? 1 : 2 * stride,
  })
  await tried(t, all, closed)
})

test('the same over TLS', { timeout, skip: without('openssl') }, async (t) => {
  const all = await sites(t, 6, { parameters: '?sslmode=require' })
  const some = few.slice(0, 2)
  const used = await positionsOf(first(all), some, { warm: 2, ending: 'close' })
  const fresh = await positionsOf(first(all), some, { warm: 0, ending: 'close', every: 4 * stride })
  await tried(t, all, [...used, ...fresh])
})

test('a server whose connections all end after some bytes is an outage', { timeout }, async (t) => {
  const all = await sites(t, 6)
  const where = { ending: 'close', always: true } as const
  const used = await positionsOf(first(all), few, { ...where, warm: 2, every: 4 * stride })
  const fresh = await positionsOf(first(all), few, { ...where, warm: 0, every: 8 * stride })
  await tried(t, all, [...used, ...fresh])
})

test('a connection that stalls after any byte costs no write, and none is done twice', { timeout }, async (t) => {
  const all = await sites(t, 12, { world: fastWorld(10) })
  const used = await positionsOf(first(all), few, { warm: 2, ending: 'stall', every: 4 * stride })
  const fresh = await positionsOf(first(all), few.slice(0, 2), { warm: 0, ending: 'stall', every: 8 * stride })
  await tried(t, all, [...used, ...fresh])
})

test('a connection that carries one byte at a time, or small pieces, is slow and nothing else', {
  timeout,
}, async (t) => {
  const [site] = (await sites(t, 1)) as [Site]
  for (const pieces of [() => 1, () => 1 + chance(7), () => 1 + chance(200)])
    for (const step of steps)
      for (const warm of [0, 2]) {
        const trial = await trialOf(site, step, warm)
        site.proxy.pieces = pieces
        const answers = await trial.send()
        site.proxy.pieces = null
        for (const { status, json } of answers)
          assert.ok(status < 300, `${step.name}: ${status} ${JSON.stringify(json)}`)
        await trial.check(answers, false)
      }
})
