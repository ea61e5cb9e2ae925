/** Personal fields are emptied in every record of an item, in each form that was stored, and after failures. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { type Declaration, f, type Service, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { erased, tablesWith } from '../help/erasing.ts'
import { alive, applied, nodeOn, type Place, places } from '../help/places.ts'
import { sql } from '../help/postgres.ts'
import { freshCitus, planned, watched } from '../help/spread.ts'

const optional = { optional: true, personal: true } as const

const clinic = service({
  name: 'clinic',
  events: true,
  scopes: { 'patients:pii': 'See names' },
  settings: { idempotency: { mode: 'replay' } },
  resources: {
    patients: {
      prefix: 'pat',
      fields: {
        name: f.text({ ...optional, read: 'patients:pii' }),
        email: f.email({ ...optional, unique: true }),
        ward: f.text({ default: 'A' }),
      },
      history: { read: 'public' },
      access: 'public',
      operations: { reports: { at: 'item', input: { text: f.text() }, asynchronous: true } },
    },
    visits: {
      prefix: 'vis',
      parent: { resource: 'patients', onDelete: 'cascade' },
      fields: { reason: f.text(optional), day: f.date() },
      history: { read: 'public' },
      access: 'public',
    },
    doctors: { prefix: 'doc', fields: { name: f.text() }, access: 'public' },
  },
  pairs: { treatments: { between: ['patients', 'doctors'], fields: { note: f.text(optional) }, access: 'public' } },
})
const handled = clinic.handlers({ patients: { reports: async () => {} } })

/** A patient with records of all kinds, whose values contain a text. */
async function filled(at: Pick<Place, 'url'>, text: string) {
  const { call, close } = testing(handled, { database: at.url })
  const send = async (method: string, path: string, json?: object, headers = {}) => {
    const as = { scopes: ['patients:pii'] }
    const answer = await call(path, { method, as, headers, ...(json && { json }) })
    assert.ok(answer.status < 300, `${method} ${path}: ${await answer.clone().text()}`)
    return answer.status === 204 ? {} : ((await answer.json()) as Record<string, never>)
  }
  const body = { name: `Ann ${text}`, email: `${text}@example.com` }
  const { id } = await send('POST', '/patients', body, { 'idempotency-key': `key-${text}` })
  await send('PATCH', `/patients/${id}`, { name: `Bea ${text}` })
  await send('PATCH', `/patients/${id}`, { ward: 'B' })
  const visits = []
  for (const day of ['2026-01-01', '2026-01-02'])
    visits.push(await send('POST', `/patients/${id}/visits`, { reason: `A ${text}`, day }))
  await send('DELETE', `/visits/${visits[1]?.id}`)
  const doctor = await send('POST', '/doctors', { name: 'Dr. No' })
  await send('PUT', `/patients/${id}/doctors/${doctor.id}`, { note: `He is ${text}` })
  return { id: String(id), call, send, close }
}

for (const [name, place] of places)
  describe(`an erasure on ${name}`, () => {
    test('goes on after a failure at any step', async (t) => {
      const at = await place(t)
      for (let failAt = 1, isWhole = false; !isWhole; failAt++) {
        const text = `marked${failAt}x`
        const { id, close } = await filled(at, text)
        await close()
        assert.ok((await tablesWith(text, at)).length > 5)
        isWhole = await erased(clinic, at, 'patients', { id }, { failAt }).then(
          () => true,
          (error: Error) => {
            assert.equal(error.message, 'The process was killed.')
            return false
          },
        )
        await erased(clinic, at, 'patients', { id })
        assert.deepEqual(await tablesWith(text, at), [], `after a failure at step ${failAt}`)
        const { counts } = await erased(clinic, at, 'patients', { id })
        assert.ok(
          Object.values(counts).every((one) => Object.keys(one).length === 0),
          JSON.stringify(counts),
        )
      }
    })

    test('empties the records of a removed item, and a dry run changes nothing', async (t) => {
      const at = await place(t)
      const { id, send, call, close } = await filled(at, 'marked')
      await send('DELETE', `/patients/${id}`)
      const before = await tablesWith('marked', at)
      const dry = await erased(clinic, at, 'patients', { id }, { isDry: true })
      assert.deepEqual(await tablesWith('marked', at), before)
      assert.deepEqual(await erased(clinic, at, 'patients', { id }), dry)
      assert.deepEqual(dry.counts, {
        patients: { events: 4, revisions: 4, 'idempotency keys': 1 },
        visits: { events: 4, revisions: 4 },
        treatments: { events: 2 },
      })
      assert.deepEqual(await tablesWith('marked', at), [])
      assert.equal((await call(`/patients/${id}`)).status, 410)
      await close()
    })

    test('R237: revisions stay, for those who may see what has changed', async (t) => {
      const { url, rows, now } = await place(t)
      const at = { url, rows, now }
      const { id, call, close } = await filled(at, 'marked')
      const listed = async (...scopes: string[]) => {
        const answer = await call(`/patients/${id}/revisions`, { as: { scopes } })
        return ((await answer.json()) as { data: { id: string; by: string }[] }).data.map(
          (one) => `${one.id} ${one.by}`,
        )
      }
      const [seen, all] = [await listed(), await listed('patients:pii')]
      assert.deepEqual([seen.length, all.length], [2, 3])
      await erased(clinic, at, 'patients', { id })
      assert.deepEqual(await listed(), seen)
      assert.deepEqual(await listed('patients:pii'), ['4 command:erase', ...all])
      await close()
    })

    test('an operation that has not ended keeps its input, and is named', async (t) => {
      const at = await place(t)
      const { id, send, call, close } = await filled(at, 'marked')
      const { id: operation } = await send('POST', `/patients/${id}/reports`, { text: 'marked' })
      assert.deepEqual((await erased(clinic, at, 'patients', { id })).unended, [operation])
      assert.deepEqual(await tablesWith('marked', at), ['operations'])
      await call(`/operations/${operation}/cancellations`, { method: 'POST' })
      assert.deepEqual((await erased(clinic, at, 'patients', { id })).unended, [])
      assert.deepEqual(await tablesWith('marked', at), [])
      await close()
    })

    test('changes at the same time do not bring values back', async (t) => {
      const at = await place(t)
      const { id, send, close } = await filled(at, 'marked')
      const wards = Array.from({ length: 20 }, (_, i) => send('PATCH', `/patients/${id}`, { ward: `W${i}` }))
      await Promise.all([...wards, erased(clinic, at, 'patients', { id })])
      await send('PATCH', `/patients/${id}`, { ward: 'last' })
      assert.deepEqual(await tablesWith('marked', at), [])
      await close()
    })

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

    test('reasons for which transitions by the clock were put off are emptied', async (t) => {
      const at = await place(t)
      const tasks = service({
        name: 'tasks',
        resources: {
          tasks: {
            fields: { text: f.text(optional) },
            states: {
              field: 'status',
              initial: 'open',
              transitions: { endings: { from: ['open'], to: 'done', after: 'P1D' } },
            },
            access: 'public',
          },
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
      const notes = (own: object): Service =>
        service({
          name: 'notes',
          resources: { notes: { fields: { text: f.text(optional), ...own }, access: 'public' } },
        } as never) as never
      const old = nodeOn(at, notes({}))
      const { json } = await old.ask('POST', '/notes', { text: 'marked' })
      await alive(at)
      const next = notes({ size: f.integer({ default: 0 }) })
      await applied(at, next)
      await assert.rejects(erased(next, at, 'notes', { id: json.id }), /not finished.*migrate apply/)
      assert.deepEqual(await tablesWith('marked', at), ['notes'])
      await old.close()
    })
  })

test('on a sharded database', async (t: TestContext) => {
  const { url, drop } = await freshCitus()
  t.after(drop)
  await planned(clinic as unknown as Parameters<typeof planned>[0], url)
  const judged = watched(url)
  const at = { url, rows: (text: string) => sql(url, text), now: '' }
  const { id, close } = await filled(at, 'marked')
  await close()
  const { counts } = await erased(clinic, at, 'patients', { id })
  assert.deepEqual(counts.patients, { items: 1, events: 3, revisions: 3, 'idempotency keys': 1 })
  assert.deepEqual(await tablesWith('marked', at), [])
  // It reads all shards, as few operators do, and writes and locks each of them by itself.
  const other = (await judged()).filter(
    (one) => !/ parts: SELECT /.test(one) || / FOR (?:UPDATE|SHARE|NO KEY)/.test(one),
  )
  assert.deepEqual(other, [])
})
