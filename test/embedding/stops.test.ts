/** A stop ends each part of a service by itself: one that hangs, or has much to do, keeps back neither the stop nor other parts. */
import assert from 'node:assert/strict'
import { createServer, connect as open, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { f, service } from 'bylaw'
import { toFetch } from 'bylaw/embedding'
import { openedApp } from '../../src/embedding/app.ts'
import { relayEventsEvery } from '../../src/events/event-relay.ts'
import { sweepFilesEvery } from '../../src/files/sweep-files.ts'
import type { Outcome } from '../../src/flow/outcome.ts'
import type { Plan } from '../../src/flow/plan.ts'
import type { Store } from '../../src/flow/store.ts'
import { serviceWorld, trustedClock } from '../../src/flow/world.ts'
import { forgetRevisionsEvery } from '../../src/history/forget-revisions.ts'
import { runDueTimers } from '../../src/timers/run-timers.ts'
import { standIn } from '../help/bucket.ts'
import { openLogged } from '../help/hosts.ts'
import { places } from '../help/places.ts'
import { freshPostgres } from '../help/postgres.ts'
import { listening } from '../help/sinks.ts'
import { remindingNode } from '../help/timer-node.ts'
import { until } from '../help/until.ts'
import { testWorld } from '../help/world.ts'

const notes = { prefix: 'not', fields: { text: f.text() }, access: 'public' } as const
const post = () =>
  new Request('http://localhost/notes', {
    method: 'POST',
    body: '{"text":"a"}',
    headers: { 'content-type': 'application/json' },
  })

/** A service with a reaction and a publisher. */
const publishing = (publish: { readonly publish: () => Promise<void>; readonly close: () => Promise<void> }) =>
  service({
    name: 'publishing',
    events: true,
    versions: { v1: { released: '2025-01-01' } },
    resources: { notes },
    settings: { events: { publish }, limits: { handlerTimeout: 'PT20S' } },
  } as never) as unknown as { handlers: (handlers: object) => never }

const never = new Promise<void>(() => {})
const ended = async () => {}
const reactions = { watch: { on: ['note.created'], run: ended } }

for (const [name, place] of places)
  test(`although the publisher never answers: reactions are handed over at once, and versions are counted, on ${name}`, async (t) => {
    const at = await place(t)
    let isPublishing = false
    const publish = () => {
      isPublishing = true
      return never
    }
    const api = publishing({ publish, close: ended }).handlers({ reactions })
    const { app, lines } = await openLogged(api, { database: at.url })
    t.after(() => app.close())
    const answer = toFetch(app, { addressOf: () => '192.0.2.1' })
    assert.equal((await answer(post())).status, 201)
    const taken = async () => {
      const rows = await at.rows('SELECT name, taken, position FROM bylaw_reactions ORDER BY name')
      return rows.map((row) => [row.name, Number(row.taken) > 0, Number(row.position) > 0])
    }
    await until(async () => isPublishing && (await taken()).every(([, isTaken]) => isTaken))
    let isClosed = false
    const closed = app.close().then(() => {
      isClosed = true
    })
    await until(async () => !(await taken()).at(-1)?.[1])
    assert.ok(!isClosed)
    assert.deepEqual(await taken(), [
      ['events.publish', true, false],
      ['watch', false, true],
    ])
    await closed
    const late = lines.filter(({ level }) => level === 'error').map(({ about }) => about.late)
    assert.deepEqual(late, [['timers, events, reactions and webhooks']])
    const [counted] = await at.rows('SELECT sum(requests) AS requests FROM bylaw_uses')
    assert.equal(Number(counted?.requests), 1)
  })

for (const [how, close] of [
  ['fails', () => Promise.reject(new Error('It has no end.'))],
  ['never ends', () => never],
] as const)
  test(`although the close of the publisher ${how}: another process publishes at once`, async (t) => {
    const at = await (places[0] ?? assert.fail())[1](t)
    let published = 0
    const publish = async () => void published++
    const { app } = await openLogged(publishing({ publish, close }).handlers({ reactions }), { database: at.url })
    assert.equal((await toFetch(app, { addressOf: () => '192.0.2.1' })(post())).status, 201)
    await until(() => published === 1)
    await app.close()
    const rows = await at.rows("SELECT taken FROM bylaw_reactions WHERE name = 'events.publish'")
    assert.deepEqual(
      rows.map(({ taken }) => Number(taken)),
      [0],
    )
  })

/** The URL of a database through a proxy, and a function that lets all bytes get lost from then on; it waits for the first of a query. */
async function losing(t: TestContext) {
  const { url, drop } = await freshPostgres()
  t.after(drop)
  const { hostname, port } = new URL(url)
  let isSilent = false
  let lost = 0
  const pass = (from: Socket, to: Socket, lose: () => void) =>
    from
      .on('error', () => {})
      .on('data', (bytes) => (isSilent ? lose() : to.write(bytes)))
      .on('close', () => to.destroy())
  const proxy = createServer((client) => {
    const server = open(Number(port), hostname)
    pass(client, server, () => void lost++)
    pass(server, client, () => {})
  })
  const host = `127.0.0.1:${await listening(t, proxy)}`
  const silence = async () => {
    isSilent = true
    await until(() => lost > 0)
  }
  return { url: Object.assign(new URL(url), { host }).href, silence }
}

test('although the database does not answer: streams end before the requests under way', async (t) => {
  const { url, silence } = await losing(t)
  const { app } = await openLogged(service({ name: 'notes', events: true, resources: { notes } }) as never, {
    database: url,
  })
  assert.equal((await toFetch(app, { addressOf: () => '192.0.2.1' })(post())).status, 201)
  await silence() // the relay looks for events, and gets no answer
  const since = performance.now()
  await openedApp(app).endStreams()
  assert.ok(performance.now() - since < 10_000)
  await app.close()
  assert.ok(performance.now() - since < 40_000)
})

test('although a bucket does not answer: an upload is broken off completely', async (t) => {
  const bucket = await standIn()
  t.after(bucket.close)
  Object.assign(process.env, bucket.environment)
  const orders = { prefix: 'ord', fields: { scan: f.file() }, access: 'public' } as const
  const { app } = await openLogged(service({ name: 'shop', resources: { orders } }) as never, { files: bucket.place })
  const answer = toFetch(app, { addressOf: () => '192.0.2.1' })
  const headers = { 'content-type': 'application/json' }
  const made = await answer(new Request('http://localhost/orders', { method: 'POST', body: '{}', headers }))
  const { id } = (await made.json()) as { id: string }
  bucket.fault = ({ method }) => (method === 'PUT' ? 'silent' : null)
  const scan = { method: 'PUT', body: 'a scan', headers: { 'content-type': 'text/plain' } }
  const sent = answer(new Request(`http://localhost/orders/${id}/scan`, scan))
  await until(() => bucket.requests.some(({ method, key }) => method === 'PUT' && !key.endsWith('/bylaw')))
  const since = performance.now()
  await app.close({ drain: 'PT0.1S' })
  const { status } = await sent
  assert.equal(status, 503)
  assert.ok(performance.now() - since < 10_000)
})

/** A store whose plans never end, and the world of a service on it. */
function endless() {
  const world = testWorld()
  let steps = 0
  const outcomeOf = ({ do: what }: Plan): Outcome => {
    steps++
    if (what === 'head' || what === 'number') return { is: 'numbered', position: steps, more: true } as Outcome
    if (what === 'table') return { is: 'rows', rows: [{ name: `content-${steps}` }] }
    return what === 'events'
      ? ({ is: 'events', events: [], position: steps } as unknown as Outcome)
      : ({ is: 'swept', more: true } as Outcome)
  }
  const execute: Store['execute'] = async (plan) => {
    await new Promise(setImmediate)
    return outcomeOf(plan)
  }
  const contents = { remove: async () => {} } as never
  const own = serviceWorld(world, { clock: trustedClock(world.now), secret: 'a secret' }, undefined, contents)
  const log = { error: () => {}, warn: () => {}, info: () => {} }
  return { store: { execute } as unknown as Store, world: own, log, pass: world.pass, steps: () => steps }
}

const kept = service({
  name: 'kept',
  resources: { notes: { ...notes, history: { read: 'public', retention: 'P1D' } } },
})

const tasks = {
  'events get positions': (context: ReturnType<typeof endless>) =>
    relayEventsEvery({ ...context, resources: kept.resources, retention: null }).stop,
  'old events are deleted': (context: ReturnType<typeof endless>) => {
    const store = context.store
    const execute: Store['execute'] = (plan) =>
      plan.do === 'head' ? ({ is: 'numbered', position: 1, more: false } as Outcome) : store.execute(plan)
    return relayEventsEvery({ ...context, store: { ...store, execute }, resources: kept.resources, retention: 1 }).stop
  },
  'old revisions are deleted': (context: ReturnType<typeof endless>) =>
    forgetRevisionsEvery({ ...context, resources: kept.resources }),
  'unused contents are removed': (context: ReturnType<typeof endless>) => sweepFilesEvery(context),
}

for (const [what, begin] of Object.entries(tasks))
  test(`while ${what}: it ends between two steps`, async () => {
    const context = endless()
    const stop = begin(context)
    await context.pass(10 * 60_000)
    await until(() => context.steps() > 3)
    await stop()
    const steps = context.steps()
    await new Promise((resolve) => setTimeout(resolve, 20))
    assert.equal(context.steps(), steps)
  })

for (const [name, place] of places)
  test(`while transitions by the clock take place: another process goes on with them at once, on ${name}`, async (t) => {
    const at = await place(t)
    const one = await remindingNode(at.url)
    t.after(one.close)
    for (let i = 0; i < 5; i++) await one.send('POST', '/tasks', { json: { remindAt: '2025-01-01T00:00:00Z' } })
    let asked = 0
    assert.equal(await runDueTimers(one.timers, () => ++asked > 3), 2)
    const other = await remindingNode(at.url)
    t.after(other.close)
    assert.equal(await runDueTimers(other.timers), 3)
  })
