/** Erased values are gone from records in older forms, of other accounts and other items, from timers and from keys. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Declaration, f, type Service, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { DeliveryRun } from '../../src/deliveries/run-deliveries.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import type { Store } from '../../src/flow/store.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import type { Service as MadeService } from '../../src/service.ts'
import { openStore } from '../../src/terminal/open.ts'
import { endingAfter, erased, tablesWith } from '../help/erasing.ts'
import { alive, applied, nodeOn, places } from '../help/places.ts'
import { sink } from '../help/sinks.ts'

const optional = { optional: true, personal: true } as const

const shop = service({
  name: 'shop',
  events: true,
  settings: { events: { webhooks: true } },
  resources: { guests: { fields: { name: f.text(optional) }, access: 'public' } },
})

const notesWith = (own: object): Service =>
  service({
    name: 'notes',
    resources: { notes: { fields: { text: f.text(optional), ...own }, access: 'public' } },
  } as never) as never

for (const [name, place] of places)
  describe(`what an erasure finds on ${name}`, () => {
    test('the same key in another account is another item', async (t) => {
      const at = await place(t)
      const shops = service({
        name: 'shops',
        events: true,
        resources: {
          members: {
            key: 'code',
            owner: 'shopId',
            fields: { code: f.text({ max: 10 }), name: f.text(optional) },
            history: { read: 'authenticated' },
            access: 'authenticated',
          },
        },
      })
      const { call, close } = testing(shops, { database: at.url })
      t.after(close)
      for (const account of ['a', 'b']) {
        const json = { code: 'x"1', name: `of ${account}` }
        const made = await call('/members', { method: 'POST', as: { account }, json })
        assert.equal(made.status, 201, await made.text())
      }
      const { counts } = await erased(shops, at, 'members', { id: 'x"1', account: 'a' })
      assert.deepEqual(counts, { members: { items: 1, events: 1, revisions: 1 } })
      assert.deepEqual(await tablesWith('of a', at), [])
      assert.deepEqual((await tablesWith('of b', at)).toSorted(), ['bylaw_history', 'bylaw_outbox', 'members'])
    })

    test('older forms of records are emptied too', async (t) => {
      const at = await place(t)
      const people = (fields: Declaration['resources'][string]['fields']): Service =>
        service({
          name: 'people',
          events: true,
          resources: { people: { plural: true, prefix: 'per', fields, access: 'public', history: { read: 'public' } } },
        } as Declaration)
      const old = nodeOn(at, people({ surname: f.text(), phone: f.text({ optional: true }), town: f.text() }))
      const { json } = await old.ask('POST', '/people', { surname: 'marked', phone: 'marked', town: 'Oslo' })
      await old.close()
      const young = people({ lastName: f.text({ ...optional, was: 'surname' }), town: f.text() })
      const node = nodeOn(at, young, ['people.phone'])
      t.after(node.close)
      assert.equal((await node.ask('GET', `/people/${json.id}`)).json.lastName, 'marked')
      assert.ok((await tablesWith('marked', at)).includes('bylaw_dropped'))
      const { counts } = await erased(young, at, 'people', { id: json.id })
      assert.deepEqual(counts, { people: { items: 1, events: 1, revisions: 1, 'dropped values': 1 } })
      assert.deepEqual(await tablesWith('marked', at), [])
      const [, first] = (await node.ask('GET', `/people/${json.id}/revisions`)).json.data
      assert.deepEqual([first.type, first.changes.lastName, first.changes.town], ['created', null, 'Oslo'])
    })

    test('values that have moved to another item since are emptied where they were recorded before', async (t) => {
      const at = await place(t)
      const shop = (v2: boolean): Service => {
        const made = service({
          name: 'shop',
          events: true,
          ...(v2 && { versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } } }),
          resources: {
            accounts: { prefix: 'acc', fields: v2 ? { phone: f.text(optional) } : {}, access: 'public' },
            orders: {
              prefix: 'ord',
              fields: { accountId: f.ref('accounts'), ...(!v2 && { phone: f.text({ optional: true }) }) },
              access: 'public',
              history: { read: 'public' },
            },
          },
        } as Declaration)
        if (!v2) return made
        interface Changing {
          readonly change: (version: string, resource: string, change: object) => Changing
        }
        return (made as unknown as Changing)
          .change('v2', 'orders', { about: 'Moved.', moved: { phone: { by: 'accountId', to: 'phone' } } })
          .change('v2', 'accounts', { about: 'New.', added: ['phone'] }) as unknown as Service
      }
      const old = nodeOn(at, shop(false))
      const account = (await old.ask('POST', '/accounts', {})).json.id
      const order = (await old.ask('POST', '/orders', { accountId: account, phone: 'marked' })).json.id
      await old.close()
      const node = nodeOn(at, shop(true))
      t.after(node.close)
      assert.equal((await node.ask('GET', `/v2/accounts/${account}`)).json.phone, 'marked')
      await node.ask('PATCH', `/v2/orders/${order}`, {})
      const { counts } = await erased(shop(true), at, 'accounts', { id: account })
      assert.deepEqual(counts, { accounts: { items: 1, events: 2, revisions: 1 } })
      assert.deepEqual(await tablesWith('marked', at), [])
      assert.equal((await node.ask('GET', `/v1/orders/${order}`)).json.phone, null)
    })

    test('a receiver that answers after the erasure leaves no value behind', async (t) => {
      const at = await place(t)
      const { call, pass, close } = testing(shop, { database: at.url })
      const post = async (path: string, json: object) => {
        const as = { scopes: ['webhook-endpoints:write'] }
        const answer = await call(path, { method: 'POST', as, json })
        assert.equal(answer.status, 201)
        return ((await answer.json()) as { id: string }).id
      }
      let counts = {}
      const received: string[] = []
      const { url } = await sink(t, async (request, response) => {
        const chunks: Buffer[] = []
        for await (const chunk of request) chunks.push(chunk)
        const body = Buffer.concat(chunks).toString()
        if (received.push(body) === 1)
          ({ counts } = await erased(shop as unknown as Service, at, 'guests', { id: JSON.parse(body).data.id }))
        response.writeHead(500).end(body)
      })
      await post('/webhook-endpoints', { url: url.replace('hooks.example', '127.0.0.1'), eventTypes: ['guest.*'] })
      await post('/guests', { name: 'marked' })
      await pass('PT1S')
      assert.deepEqual(counts, { guests: { items: 1, events: 1, deliveries: 1 } })
      assert.deepEqual(await tablesWith('marked', at), [])
      await pass('PT1H')
      await close()
      assert.match(received[0] ?? '', /marked/)
      const later = received.slice(1).map((one) => JSON.parse(one))
      assert.ok(
        later.some(({ type }) => type === 'guest.created') && later.some(({ type }) => type === 'guest.updated'),
      )
      assert.ok(later.every(({ data }) => data.name === null))
    })

    test('events that a process has read before the erasure become no deliveries', async (t) => {
      const at = await place(t)
      const { call, close } = testing(shop, { database: at.url })
      const as = { scopes: ['webhook-endpoints:write'] }
      const hook = { url: 'http://127.0.0.1:9/', eventTypes: ['guest.*'] }
      assert.equal((await call('/webhook-endpoints', { method: 'POST', as, json: hook })).status, 201)
      const made = await call('/guests', { method: 'POST', json: { name: 'marked' } })
      const { id } = (await made.json()) as { id: string }
      await close()
      const whole = shop as unknown as MadeService
      const store = await openStore(whole, at.url, 'require')
      t.after(() => store.close())
      const world = serviceWorld(realWorld, store)
      const log = { error: () => {}, warn: () => {}, info: () => {} }
      await store.execute({ do: 'number' })
      let isRead = false
      const execute: Store['execute'] = async (plan) => {
        const outcome = await store.execute(plan)
        if (plan.do === 'events' && !isRead) {
          isRead = true
          await erased(shop as unknown as Service, at, 'guests', { id })
        }
        return outcome
      }
      const sender = { send: () => assert.fail('Nothing is sent.'), close: () => {} } as never
      const { resources, events, writer } = whole
      const run = new DeliveryRun({ resources, events, writer, store: { ...store, execute }, world, log, sender })
      await run.dispatch()
      assert.ok(isRead)
      assert.deepEqual(await tablesWith('marked', at), [])
      await store.execute({ do: 'number' })
      await run.dispatch()
      assert.equal((await at.rows('SELECT id FROM webhook_deliveries')).length, 2)
      assert.deepEqual(await tablesWith('marked', at), [])
    })

    test('reasons for which transitions by the clock were put off are emptied', async (t) => {
      const at = await place(t)
      const tasks = service({
        name: 'tasks',
        resources: {
          tasks: endingAfter('P1D'),
        },
      })
      const node = nodeOn(at, tasks as unknown as Service)
      t.after(node.close)
      const { json } = await node.ask('POST', '/tasks', { text: 'marked' })
      await at.rows("UPDATE bylaw_timers SET tries = 1, failure = 'It is marked.'")
      const { counts } = await erased(tasks as unknown as Service, at, 'tasks', { id: json.id })
      assert.deepEqual(counts, { tasks: { items: 1, reasons: 1 } })
      assert.deepEqual(await tablesWith('marked', at), [])
    })

    test('a repeated key is refused as before, and no digest of its payload is kept', async (t) => {
      const at = await place(t)
      const notes = service({
        name: 'notes',
        resources: { notes: { fields: { text: f.text(optional) }, access: 'public' } },
      })
      const node = nodeOn(at, notes as unknown as Service)
      t.after(node.close)
      const again = () => node.ask('POST', '/notes', { text: 'marked' }, { 'idempotency-key': 'one' })
      const { id } = (await again()).json
      const { counts } = await erased(notes as unknown as Service, at, 'notes', { id })
      assert.deepEqual(counts, { notes: { items: 1, 'idempotency keys': 1 } })
      const [key] = await at.rows('SELECT fingerprint, answer FROM bylaw_keys')
      assert.deepEqual({ ...key }, { fingerprint: '', answer: null })
      const { status, json } = await again()
      assert.deepEqual([status, json.type, json.old_id], [409, 'idempotency-key-reused', id])
    })

    test('while nodes of another declaration may write, it is refused', async (t) => {
      const at = await place(t)
      const old = nodeOn(at, notesWith({}))
      const { json } = await old.ask('POST', '/notes', { text: 'marked' })
      await alive(at)
      const next = notesWith({ size: f.integer({ default: 0 }) })
      await applied(at, next)
      for (const api of [next, notesWith({})])
        await assert.rejects(erased(api, at, 'notes', { id: json.id }), /not finished.*migrate apply/)
      assert.deepEqual(await tablesWith('marked', at), ['notes'])
      await old.close()
    })

    for (const phases of ['has begun', 'was finished'])
      test(`if a change of the database ${phases} since the start of the command, it is refused`, async (t) => {
        const at = await place(t)
        const next = notesWith({ nickname: f.text(optional) })
        const old = nodeOn(at, notesWith({}))
        t.after(old.close)
        const { json } = await old.ask('POST', '/notes', {})
        if (phases === 'has begun') await alive(at)
        const change = async () => {
          await applied(at, next)
          const node = nodeOn(at, next)
          assert.equal((await node.ask('PATCH', `/notes/${json.id}`, { nickname: 'marked' })).status, 200)
          await node.close()
        }
        await assert.rejects(
          erased(notesWith({}), at, 'notes', { id: json.id }, { before: change }),
          /newest declaration/,
        )
        await old.close()
        await at.rows('DELETE FROM bylaw_nodes')
        await applied(at, next)
        await erased(next, at, 'notes', { id: json.id })
        assert.deepEqual(await tablesWith('marked', at), [])
      })
  })
