/** Pairs stay linked when a version renames the resource of one of their sides. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { alive, applied, nodeOn, type Place, places } from '../help/places.ts'

const v1 = { v1: { released: '2025-01-01' } }
const versions = { ...v1, v2: { released: '2026-01-01' } }
const access = 'public'
const patients = { prefix: 'pat', fields: { name: f.text() }, access } as const
const tags = { prefix: 'tag', fields: { label: f.text() }, access } as const
const since = f.date({ optional: true })

const former = service({
  ...{ name: 'clinic', events: true, versions: v1 },
  resources: { patients, tags },
  pairs: { taggings: { between: ['patients', 'tags'], fields: { since }, access } },
})
const renamedSecond = service({
  ...{ name: 'clinic', events: true, versions },
  resources: { patients, labels: tags },
  pairs: { taggings: { between: ['patients', 'labels'], fields: { since }, access } },
}).change('v2', 'labels', { about: 'Tags are labels.', was: 'tags' })
const renamedFirst = service({
  ...{ name: 'clinic', events: true, versions },
  resources: { persons: patients, tags },
  pairs: { taggings: { between: ['persons', 'tags'], fields: { since }, access } },
}).change('v2', 'persons', { about: 'Patients are persons.', was: 'patients' })

function opened(t: TestContext, { url }: Place, api: Parameters<typeof testing>[0]) {
  const { call, close } = testing(api, { database: url })
  t.after(close)
  // biome-ignore lint/suspicious/noExplicitAny: answers are read as they are
  const send = async (method: string, path: string, json?: object): Promise<any> => {
    const answer = await call(path, { method, ...(json && { json }) })
    const text = await answer.text()
    assert.ok(answer.ok, `${method} ${path}: ${text}`)
    return text === '' ? null : JSON.parse(text)
  }
  const ids = async (path: string): Promise<string[]> =>
    (await send('GET', path)).data.map(({ id }: { id: string }) => id)
  return { send, ids, close }
}

const sides = [
  ['the second side', renamedSecond, 'patients', 'labels', { patientId: 'pat', labelId: 'tag' }],
  ['the first side', renamedFirst, 'persons', 'tags', { personId: 'pat', tagId: 'tag' }],
] as const

for (const [name, place] of places)
  for (const [side, renamed, first, second, own] of sides)
    test(`R196 R207: pairs stay linked when a version renames ${side}, on ${name}`, async (t) => {
      const on = await place(t)
      const before = opened(t, on, former)
      const { id: ann } = await before.send('POST', '/patients', { name: 'Ann' })
      const { id: vip } = await before.send('POST', '/tags', { label: 'vip' })
      const { id: late } = await before.send('POST', '/tags', { label: 'late' })
      await before.send('PUT', `/patients/${ann}/tags/${vip}`, { since: '2026-01-31' })
      await before.close()

      const { send, ids } = opened(t, on, renamed)
      const [newer, older] = [`/v2/${first}/${ann}/${second}`, `/v1/patients/${ann}/tags`]
      assert.deepEqual([await ids(newer), await ids(older)], [[vip], [vip]])
      assert.deepEqual(await ids(`/v2/${second}/${vip}/${first}`), [ann])
      assert.deepEqual((await send('GET', `${newer}/${vip}`))._pair, { since: '2026-01-31' })
      await send('PUT', `${older}/${late}`)
      await send('DELETE', `${newer}/${vip}`)
      assert.deepEqual([await ids(newer), await ids(older)], [[late], [late]])
      const { data } = await send('GET', '/v2/events?resource=taggings')
      const shown = Object.keys(own).map((one) => data[0].data[one].slice(0, 3))
      assert.deepEqual(shown, Object.values(own))
      await send('DELETE', `/v2/${second}/${late}`)
      assert.deepEqual(await ids(older), [])
    })

/** The declaration of countries, with `isoCode` in place of `code` from v2 on. */
const coded = service({
  ...{ name: 'atlas', versions: v1 },
  resources: { countries: { key: 'code', fields: { code: f.text({ max: 3 }), name: f.text() }, access } },
})
const recoded = service({
  ...{ name: 'atlas', versions },
  resources: { countries: { key: 'isoCode', fields: { isoCode: f.text({ max: 3 }), name: f.text() }, access } },
}).change('v2', 'countries', { about: '`code` is `isoCode`.', renamed: { code: 'isoCode' } })

for (const [name, place] of places) {
  test(`R196: items keep their ids when a version renames their key, on ${name}`, async (t) => {
    const on = await place(t)
    const before = opened(t, on, coded)
    await before.send('PUT', '/countries/IT', { name: 'Italy' })
    await before.close()
    const { send } = opened(t, on, recoded)
    const shown = async (path: string) => {
      const { id, code, isoCode, name: called } = await send('GET', path)
      return [id, code ?? isoCode, called]
    }
    assert.deepEqual(await shown('/v2/countries/IT'), ['IT', 'IT', 'Italy'])
    assert.deepEqual(await shown('/v1/countries/IT'), ['IT', 'IT', 'Italy'])
  })

  test(`R196 R227: nodes of both names link and unlink on one database, on ${name}`, async (t) => {
    const on = await place(t)
    const node = (api: typeof former) => {
      const { ask, close } = nodeOn(on, api as never)
      t.after(close)
      const sent = async (method: string, path: string, json?: object) => {
        const answer = await ask(method, path, json)
        assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.json)}`)
        return answer.json
      }
      const ids = async (path: string) => (await sent('GET', path)).data.map(({ id }: { id: string }) => id)
      return { sent, ids, close }
    }
    const old = node(former)
    const { id: ann } = await old.sent('POST', '/v1/patients', { name: 'Ann' })
    const [vip, late] = [
      (await old.sent('POST', '/v1/tags', { label: 'vip' })).id,
      (await old.sent('POST', '/v1/tags', { label: 'late' })).id,
    ]
    await old.sent('PUT', `/v1/patients/${ann}/tags/${vip}`, {})
    await alive(on)
    assert.deepEqual((await applied(on, renamedSecond as never)).waitsFor, ['old'])
    const young = node(renamedSecond as never)
    await old.sent('PUT', `/v1/patients/${ann}/tags/${late}`, { since: '2026-01-31' })
    assert.deepEqual(await young.ids(`/v2/patients/${ann}/labels`), [vip, late])
    assert.deepEqual(await young.ids(`/v2/labels/${late}/patients`), [ann])
    await young.sent('DELETE', `/v2/patients/${ann}/labels/${vip}`)
    assert.deepEqual(await old.ids(`/v1/patients/${ann}/tags`), [late])
    await young.sent('PUT', `/v2/patients/${ann}/labels/${vip}`, {})
    assert.deepEqual(await old.ids(`/v1/tags/${vip}/patients`), [ann])
    await old.close()
    await on.rows('DELETE FROM bylaw_nodes')
    assert.deepEqual((await applied(on, renamedSecond as never)).left, [])
    assert.deepEqual(await young.ids(`/v1/patients/${ann}/tags`), [vip, late])
    assert.deepEqual((await young.sent('GET', `/v2/patients/${ann}/labels/${late}`))._pair, { since: '2026-01-31' })
  })
}
