/** An erasure empties every record of an item, also after failures and while others write. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { erased, tablesWith } from '../help/erasing.ts'
import { type Place, places } from '../help/places.ts'
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
    circulars: {
      prefix: 'cir',
      fields: {
        text: f.text(optional),
        patientIds: f.list(f.ref('patients', { onDelete: 'cascade' })),
        copies: f.list(f.object({ to: f.ref('patients', { onDelete: 'cascade' }), note: f.text(optional) })),
      },
      history: { read: 'public' },
      access: 'public',
    },
    lists: {
      prefix: 'lis',
      fields: { title: f.text(optional), patientIds: f.list(f.ref('patients')) },
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
  const other = await send('POST', '/patients', { ward: 'C' })
  for (const to of [
    { patientIds: [other.id, id], copies: [] },
    { patientIds: [], copies: [{ to: id, note: `A ${text}` }] },
    { patientIds: [id] },
  ])
    await send('POST', '/circulars', { text: `All ${text}`, copies: [], ...to })
  const [last] = (await send('GET', '/circulars?limit=1')).data as unknown as { id: string }[]
  await send('DELETE', `/circulars/${last?.id}`)
  const doctor = await send('POST', '/doctors', { name: 'Dr. No' })
  await send('PUT', `/patients/${id}/doctors/${doctor.id}`, { note: `He is ${text}` })
  return { id: String(id), call, send, close }
}

for (const [name, place] of places)
  describe(`an erasure on ${name}`, () => {
    test('goes on after a failure at any step', async (t) => {
      const at = await place(t)
      for (let failAt = 1, isWhole = false; !isWhole; failAt += name === 'SQLite' ? 1 : 7) {
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
        circulars: { events: 6, revisions: 6 },
        treatments: { events: 2 },
      })
      assert.deepEqual(await tablesWith('marked', at), [])
      assert.equal((await call(`/patients/${id}`)).status, 410)
      await close()
    })

    test('follows references in lists as a removal does', async (t) => {
      const at = await place(t)
      const { id, send, close } = await filled(at, 'marked')
      const list = await send('POST', '/lists', { title: 'marked', patientIds: [id] })
      const { counts } = await erased(clinic, at, 'patients', { id })
      assert.deepEqual(counts.circulars, { items: 2, events: 4, revisions: 4 })
      assert.deepEqual(await tablesWith('marked', at), ['bylaw_outbox', 'lists'])
      const { data } = (await send('GET', '/circulars')) as unknown as { data: Record<string, unknown>[] }
      assert.deepEqual(data.map(({ text, copies }) => [text, copies]).toSorted(), [
        [null, []],
        [null, [{ to: id, note: null }]],
      ])
      assert.equal((await send('GET', `/lists/${list.id}`)).title, 'marked')
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
