/** Proves that the columns of fields of older versions have the values of the current changes, for all rows. The store. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { openMigration } from '../../src/terminal/open.ts'
import { alive, nodeOn, type Place, places } from '../help/places.ts'

const first = f.text({ max: 100, filter: true, sort: true })
const versions = { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } }

const before = service({
  name: 'people',
  versions: { v1: versions.v1 },
  settings: { resource: { id: 'client' } },
  resources: { people: { prefix: 'per', fields: { first, last: f.text({ default: '' }) }, access: 'public' } },
}) as unknown as Service

type Named = { readonly name: string }
type Reported = Record<string, unknown>
const split = ({ name }: Named) => ({ first: name.split(' ')[0] ?? '', last: name.split(' ').slice(1).join(' ') })
const shouted = (now: Named) => ({ ...split(now), first: split(now).first.toUpperCase() })

/** A service whose people have one name, with the given `response` and other parts of the change. */
function people(response: (now: Named) => Reported = split, change: Reported = {}, more: Reported = {}): Service {
  const made = service({
    name: 'people',
    versions: { ...versions, ...more },
    settings: { resource: { id: 'client' } },
    resources: { people: { prefix: 'per', fields: { name: f.text({ filter: true, sort: true }) }, access: 'public' } },
  } as never) as unknown as { change: (version: string, resource: string, change: object) => Service }
  return made.change('v2', 'people', {
    about: '`name` replaces `first` and `last`.',
    removed: { first, last: f.text({ default: '' }) },
    added: ['name'],
    request: (old: { first: string; last: string }) => ({ name: `${old.first} ${old.last}`.trim() }),
    response,
    ...change,
  })
}

/** The same with one more version, in which people are called persons and the name is renamed. */
function persons(): Service {
  const made = service({
    name: 'people',
    versions: { ...versions, v3: { released: '2026-06-01' } },
    settings: { resource: { id: 'client' } },
    resources: {
      persons: {
        prefix: 'per',
        fields: { whole: f.text({ filter: true, sort: true }), note: f.text({ default: '' }) },
        access: 'public',
      },
    },
  } as never) as unknown as { change: (version: string, resource: string, change: object) => typeof made } & Service
  return made
    .change('v3', 'persons', {
      about: '`name` is `whole`, with a note.',
      was: 'people',
      renamed: { name: 'whole' },
      added: ['note'],
    })
    .change('v2', 'people', {
      about: '`name` replaces `first` and `last`.',
      removed: { first, last: f.text({ default: '' }) },
      added: ['name'],
      request: (old: { first: string; last: string }) => ({ name: `${old.first} ${old.last}`.trim() }),
      response: split,
    })
}

async function node(t: TestContext, { url }: Place, api: Service) {
  const { ask: reported, close: stop } = nodeOn({ url }, api)
  t.after(stop)
  const ask = async (method: string, path: string, json?: object) => {
    const { status, json: answer } = await reported(method, path, json)
    assert.ok(status < 300, `${method} ${path}: ${JSON.stringify(answer)}`)
    return answer
  }
  const ids = async (query: string): Promise<string> =>
    (await ask('GET', `/v1/people?${query}`)).data.map(({ id }: { id: string }) => id.replace('per_', '')).join(' ')
  const put = (id: string, name: string) => ask('PUT', `/v2/people/per_${id}`, { name })
  await ask('GET', '/v1/people')
  return { ask, ids, put, stop }
}

async function apply({ url }: Place, api: Service) {
  const migration = await openMigration(api, url)
  try {
    const about = migration.steps.map((step) => step.about)
    return { about, ...(await migration.apply()) }
  } finally {
    migration.close()
  }
}

/** Nodes of both declarations on one database; `end` stops the former ones, so that the change finishes. */
async function sides(t: TestContext, place: Place, was: Service, is: Service) {
  const old = await node(t, place, was)
  await alive(place)
  assert.deepEqual((await apply(place, is)).waitsFor, ['old'])
  const young = await node(t, place, is)
  const end = async () => {
    await old.stop()
    await place.rows('DELETE FROM bylaw_nodes')
    assert.deepEqual((await apply(place, is)).left, [])
  }
  return { old, young, end }
}

const columns = async (place: Place): Promise<string[]> => {
  const [row] = await place.rows(`SELECT value FROM bylaw_meta WHERE name = 'layout'`)
  return Object.keys(JSON.parse(row?.value as string).tables.people.columns).filter((name) => name.includes('first'))
}

for (const [name, made] of places)
  describe(`columns of fields that only older versions have (${name})`, () => {
    test('rows from before the version are found, and concurrent writes of both declarations', async (t) => {
      const place = await made(t)
      const one = await node(t, place, before)
      await one.ask('POST', '/v1/people', { id: 'per_1', first: 'Ann', last: 'Lee' })
      await one.ask('POST', '/v1/people', { id: 'per_2', first: 'Bob' })
      const { old, young, end } = await sides(t, place, before, people())
      assert.equal(await young.ids('first=Ann'), '1')
      await young.put('3', 'Ann May')
      await old.ask('PATCH', '/v1/people/per_2', { first: 'Ann' })
      await old.ask('POST', '/v1/people', { id: 'per_4', first: 'Ann' })
      assert.equal(await young.ids('first=Ann'), '1 2 3 4')
      assert.equal(await old.ids('first=Ann'), '1 2 3 4')
      await young.put('1', 'Zoe')
      assert.equal(await young.ids('sort=first&order=desc'), '1 4 3 2')
      assert.equal(await old.ids('sort=first&order=desc'), '1 4 3 2')
      await end()
      assert.equal(await young.ids('first=Ann'), '2 3 4')
      assert.deepEqual(await columns(place), ['by_first:v2'])
      assert.deepEqual((await apply(place, people())).about, [])
    })

    test('a changed function has a new column, which is filled before it is queried', async (t) => {
      const place = await made(t)
      const one = await node(t, place, people())
      await one.put('1', 'Ann')
      await one.put('2', 'ANN')
      const { old, young, end } = await sides(t, place, people(), people(shouted))
      assert.equal(await young.ids('first=ANN'), '1 2')
      assert.equal(await old.ids('first=ANN'), '2')
      await old.put('3', 'Ann')
      assert.equal(await young.ids('first=ANN'), '1 2 3')
      await young.put('3', 'Ann Lee')
      await young.put('4', 'ann')
      assert.equal(await old.ids('first=ANN'), '2 3 4', 'those that the others wrote are found as these show them')
      await end()
      assert.equal(await young.ids('first=ANN'), '1 2 3 4')
      assert.deepEqual(await columns(place), ['by_first:v2__2'])
    })

    test('a newer version keeps the columns of the older ones', async (t) => {
      const place = await made(t)
      const one = await node(t, place, people())
      await one.put('1', 'Ann Lee')
      await one.put('2', 'Bob')
      const { old, young, end } = await sides(t, place, people(), persons())
      await young.ask('PUT', '/v3/persons/per_3', { whole: 'Ann May', note: 'n' })
      await young.ask('PATCH', '/v3/persons/per_2', { whole: 'Ann' })
      await old.put('4', 'Ann Ray')
      await old.put('1', 'Zoe')
      for (const each of [old, young]) {
        assert.equal(await each.ids('first=Ann'), '2 3 4')
        assert.equal(await each.ids('sort=first&order=desc'), '1 4 3 2')
      }
      await end()
      assert.equal(await young.ids('first=Ann'), '2 3 4')
    })

    test('the same function in another formatting has the same column', async (t) => {
      const place = await made(t)
      await (await node(t, place, people())).put('1', 'Ann')
      const again = ({ name: whole }: Named) => {
        const at = whole.indexOf(' ')
        return at < 0 ? { first: whole, last: '' } : { first: whole.slice(0, at), last: whole.slice(at + 1) }
      }
      assert.deepEqual((await apply(place, people(again))).about, [])
    })

    test('values of current fields, and of versions that are not served, need no column', async (t) => {
      const place = await made(t)
      const one = await node(t, place, people())
      await one.put('1', 'Ann')
      const said = { filters: { first: () => null }, sorts: { first: ['name'] } }
      const { old, young, end } = await sides(t, place, people(), people(split, said))
      await young.put('2', 'Ann Lee')
      await young.put('1', 'Bob')
      assert.equal(await old.ids('first=Ann'), '2')
      assert.equal(await young.ids('sort=first'), '2 1')
      await end()
      assert.deepEqual(await columns(place), [])
      const gone = people(split, {}, { v1: { ...versions.v1, retired: 'All were told.' } })
      assert.deepEqual((await apply(place, gone)).about, [])
    })

    test('a plan names the column and the filling of it', async (t) => {
      const place = await made(t)
      await (await node(t, place, before)).ask('POST', '/v1/people', { id: 'per_1', first: 'Ann' })
      const { about } = await apply(place, people())
      const named = (text: string) =>
        assert.ok(
          about.some((one) => one.includes(text)),
          about.join('\n'),
        )
      for (const text of ['by_first:v2 to people', 'rewrite the rows of people in advance', 'index people']) named(text)
    })
  })
