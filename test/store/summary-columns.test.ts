/** Proves that summaries which are declared later find the values of old rows. The store. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { f, type Service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { asked, freshFile, rows, things } from '../help/file.ts'
import { alive, applied, type Place, places } from '../help/places.ts'

const post = (json: unknown) => ['POST', '/things', json] as const
const indexes = (file: string) =>
  rows(
    file,
    "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'things' AND sql IS NOT NULL ORDER BY name",
  ).map(({ name }) => name)

test('R236: a new summary counts old rows; a field that only summaries read has a column without an index', async (t) => {
  const file = freshFile(t)
  const fields = { kind: f.enum(['a', 'b']), size: f.decimal({ scale: 1 }), place: f.object({ row: f.integer() }) }
  const one = (kind: string, size: string) => post({ kind, size, place: { row: 7 } })
  await asked(file, things(fields), one('a', '1.5'), one('a', '2'), one('b', '-3'))
  const bySize = { group: ['kind', 'place.row'], sum: ['size'] }
  const get = ['GET', '/things/summaries/by-size'] as const
  const [found] = await asked(file, things(fields, { summaries: { bySize } }), get)
  assert.deepEqual(
    found?.json.data.map(({ id, ...group }: { id: string }) => group),
    [
      { kind: 'a', placeRow: 7, count: 2, sumSize: '3.5' },
      { kind: 'b', placeRow: 7, count: 1, sumSize: '-3.0' },
    ],
  )
  assert.deepEqual(indexes(file), ['index__things__by_createdAt', 'index__things__by_updatedAt'])
  const indexed = things(fields, { summaries: { bySize }, indexes: [['kind', 'place.row', 'size']] })
  const [again] = await asked(file, indexed, get)
  assert.deepEqual(again?.json, found?.json)
  assert.deepEqual(indexes(file), [
    'index__things__by_createdAt',
    'index__things__by_kind__by_place.row__by_size',
    'index__things__by_updatedAt',
  ])
  const renamed = { ...fields, weight: f.decimal({ scale: 1, was: 'size' }) }
  const { size: _, ...left } = renamed
  const byWeight = { group: ['kind'], max: ['weight'] }
  const [other, gone] = await asked(
    file,
    things(left, { summaries: { byWeight } }),
    ['GET', '/things/summaries/by-weight'],
    get,
  )
  assert.deepEqual(
    other?.json.data.map(({ maxWeight }: { maxWeight: string }) => maxWeight),
    ['2.0', '-3.0'],
  )
  assert.equal(gone?.status, 404)
})

/** A node of a declaration on a database. */
async function node(t: TestContext, { url }: Place, api: Service) {
  const { call, close } = testing(api, { database: url })
  t.after(close)
  const ask = async (method: string, path: string, json?: object) => {
    const response = await call(path, { method, ...(json && { json }) })
    const text = await response.text()
    return { status: response.status, json: text === '' ? null : JSON.parse(text) }
  }
  await ask('GET', '/things')
  return ask
}

for (const [name, made] of places)
  test(`R236: a summary counts what nodes of the former declaration write meanwhile (${name})`, async (t) => {
    const place = await made(t)
    const fields = { kind: f.enum(['a', 'b']), size: f.decimal({ scale: 1, optional: true }) }
    const old = await node(t, place, things(fields))
    await old('POST', '/things', { kind: 'a', size: '1.5' })
    await alive(place)
    const after = things(fields, { summaries: { bySize: { group: ['kind'], sum: ['size'], min: ['size'] } } })
    assert.deepEqual((await applied(place, after)).waitsFor, ['old'])
    const young = await node(t, place, after)
    const { json } = await old('POST', '/things', { kind: 'a', size: '2' })
    await young('POST', '/things', { kind: 'b' })
    const groups = async () => (await young('GET', '/things/summaries/by-size')).json.data
    const expected = (count: number, sum: string, least: string) => [
      { id: 'kind=a', kind: 'a', count, sumSize: sum, minSize: least },
      { id: 'kind=b', kind: 'b', count: 1, sumSize: '0.0', minSize: null },
    ]
    assert.deepEqual(await groups(), expected(2, '3.5', '1.5'))
    await old('PATCH', `/things/${json.id}`, { size: '-7' })
    assert.deepEqual(await groups(), expected(2, '-5.5', '-7.0'))
    await place.rows('DELETE FROM bylaw_nodes')
    assert.deepEqual((await applied(place, after)).left, [])
    assert.deepEqual(await groups(), expected(2, '-5.5', '-7.0'))
  })
