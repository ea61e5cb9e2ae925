/** Effects also run on tables: a made-up gapless number, a lease and a log of changes, with two nodes that write at the same time. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { f } from 'bylaw'
import { callerGate } from '../../src/corridor/server-context.ts'
import type { EffectMaker } from '../../src/effects/effect-maker.ts'
import { Problem } from '../../src/errors/problem.ts'
import { rowsIn } from '../../src/flow/outcome.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { type Table, type TableRows, tablePlan } from '../../src/flow/table.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import { serviceWith } from '../../src/service.ts'
import { openStore, serviceTables } from '../../src/terminal/open.ts'
import { type Place, places } from '../help/places.ts'

const series: Table = { name: 'toy_series', columns: { series: 'text', last: 'integer' }, key: ['series'] }
const next = { do: 'add', table: series, sums: ['last'] } as const
const leases: Table = { name: 'toy_leases', columns: { name: 'text', holder: 'text', until: 'integer' }, key: ['name'] }
const acquire = { do: 'insert', table: leases, replaces: { until: { upTo: 'now' } } } as const
const log: Table = { name: 'toy_log', columns: { number: 'integer', text: 'text' }, key: ['number'] }

/** Numbers invoices without gaps. */
const numberInvoices: EffectMaker = {
  resource: 'invoices',
  reads: ({ before }) => (before ? [] : [tablePlan(next, { series: 'invoices', last: 1 })]),
  decide: ({ before, after }, { results }) => {
    if (!before && after) after.number = (results[0] as TableRows).rows[0]?.last
    return []
  },
}

/** Lets one caller change an invoice at a time: the first one has it for a minute. */
const leaseInvoices: EffectMaker = {
  resource: 'invoices',
  reads: ({ key, before, after, time }) =>
    before && after
      ? [tablePlan(acquire, { name: key.id, holder: String(after.editor), until: time + 60_000, now: time })]
      : [],
  decide: ({ before, after }, { results }) => {
    const holder = before && after ? (results[0] as TableRows).rows[0]?.holder : after?.editor
    if (after && holder !== after.editor) throw new Problem('being-edited', `${holder} edits this invoice.`)
    return []
  },
}

/** Logs each new invoice as it is stored: it is the last entry of the list. */
const logInvoices: EffectMaker = {
  resource: 'invoices',
  decide: ({ before, after }) =>
    before || !after
      ? []
      : [tablePlan({ do: 'insert', table: log }, { number: after.number as number, text: after.text as string })],
}

const text = f.text({ unique: true })
const fields = { text, editor: f.text({ default: '' }), number: f.integer({ readOnly: true, optional: true }) }
const shop = serviceWith(
  {
    name: 'shop',
    errors: { 'being-edited': { status: 409 } },
    resources: { invoices: { prefix: 'inv', fields, access: 'public' } },
  },
  { effects: [numberInvoices, leaseInvoices, logInvoices] },
)

async function nodeOn(t: TestContext, { url }: Place) {
  const store = await openStore(shop, url, 'apply', {}, realWorld, [...serviceTables, series, leases, log])
  t.after(store.close)
  const world = serviceWorld(realWorld, store)
  const silent = { error: () => {}, warn: () => {}, info: () => {} }
  const authenticate = callerGate(shop, store, world)
  const call = fetchDoor({ service: shop, store, world, authenticate, log: silent, open: () => true })
  const send = async (method: string, path: string, body: object) => {
    const init = { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const answer = await call(new Request(`http://localhost${path}`, init))
    return { status: answer.status, json: JSON.parse(await answer.text()) }
  }
  const logged = async () =>
    rowsIn(await store.execute(tablePlan({ do: 'find', table: log, where: {}, order: log.key })))
  return { send, logged }
}

for (const [store, make] of places)
  describe(`effects on tables (${store})`, () => {
    test('invoices of two nodes are numbered without gaps, though some are refused', async (t) => {
      const place = await make(t)
      const nodes = [await nodeOn(t, place), await nodeOn(t, place)] as const
      const texts = Array.from({ length: 60 }, (_, i) => `${i % 40}`)
      const answers = await Promise.all(
        texts.map((one, i) => (nodes[i % 2] ?? nodes[0]).send('POST', '/invoices', { text: one })),
      )
      const made = answers.filter(({ status }) => status === 201).map(({ json }) => json)
      assert.equal(answers.filter(({ status }) => status === 409).length, 20)
      const numbers = made.map(({ number }) => number).sort((a, b) => a - b)
      assert.deepEqual(
        numbers,
        Array.from({ length: 40 }, (_, i) => i + 1),
      )
      const byNumber = made.sort((a, b) => a.number - b.number).map((one) => ({ number: one.number, text: one.text }))
      assert.deepEqual(await nodes[0].logged(), byNumber)
    })

    test('of two callers that change an invoice on two nodes, one has the lease', async (t) => {
      const place = await make(t)
      const nodes = [await nodeOn(t, place), await nodeOn(t, place)] as const
      const { json } = await nodes[0].send('POST', '/invoices', { text: 'a' })
      const edit = (i: 0 | 1, editor: string) =>
        nodes[i].send('PATCH', `/invoices/${json.id}`, { editor, text: editor })
      const answers = await Promise.all([edit(0, 'ann'), edit(1, 'ben')])
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409])
      const first = answers.find(({ status }) => status === 200)?.json.editor
      const again = await edit(first === 'ann' ? 1 : 0, first)
      assert.deepEqual([again.status, again.json.number], [200, 1])
      assert.equal((await edit(0, first === 'ann' ? 'ben' : 'ann')).json.type, 'being-edited')
    })
  })
