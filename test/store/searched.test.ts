/** Proves that the words of rows are kept by every write, filled when they are declared later, and found by an index. R235. The store. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { type Field, f } from 'bylaw'
import { audited } from '../help/audited.ts'
import { office, officeEvents } from '../help/event-office.ts'
import { things } from '../help/file.ts'
import { alive, applied, nodeOn, type Place, places } from '../help/places.ts'
import { randomBelow } from '../help/searched-texts.ts'

const names = (json: { data: readonly { name?: string; label?: string }[] }) =>
  json.data.map(({ name, label }) => name ?? label).sort()

/** A node, and the names of the rows that it finds. */
function searcher(t: TestContext, place: Place, fields: Record<string, Field>) {
  const node = nodeOn(place, things(fields))
  t.after(node.close)
  const find = async (words: string) => {
    const { status, json } = await node.ask('GET', `/things?search=${encodeURIComponent(words)}`)
    assert.equal(status, 200, JSON.stringify(json))
    return names(json)
  }
  const add = async (json: object) => (await node.ask('POST', '/things', json)).json.id as string
  return { ...node, find, add }
}

const plain = { name: f.text(), note: f.text({ optional: true }) }
const onName = { ...plain, name: f.text({ search: true }) }
const onBoth = { ...onName, note: f.text({ optional: true, search: true }) }

for (const [store, make] of places) {
  describe(`words of rows on ${store}`, () => {
    test('R235: rows from before are found once their fields are searched, and each change of these', async (t) => {
      const place = await make(t)
      const first = searcher(t, place, plain)
      for (let i = 0; i < 620; i++) await first.add({ name: `Näme ${i}`, note: `nöte ${i % 2 === 0 ? 'even' : 'odd'}` })
      await first.close()
      const second = searcher(t, place, onName)
      assert.deepEqual(await second.find('name 619'), ['Näme 619'])
      assert.deepEqual(await second.find('even'), [])
      await place.rows(store === 'SQLite' ? 'VACUUM' : 'VACUUM FULL things')
      assert.deepEqual(await second.find('name 618'), ['Näme 618'])
      const id = await second.add({ name: 'Näme new', note: 'even' })
      await second.close()
      const third = searcher(t, place, onBoth)
      assert.deepEqual(await third.find('EVEN 618'), ['Näme 618'])
      assert.deepEqual(await third.find('new even'), ['Näme new'])
      await third.ask('PATCH', `/things/${id}`, { note: 'odd' })
      assert.deepEqual(await third.find('new even'), [])
      await third.close()
      const fourth = searcher(t, place, { name: plain.name, note: onBoth.note })
      assert.deepEqual(await fourth.find('new'), [])
      assert.equal((await fourth.ask('GET', '/things?search=even')).json.pagination.totalRecords, 310)
      await fourth.ask('DELETE', `/things/${id}`)
      await fourth.close()
      const fifth = searcher(t, place, plain)
      assert.equal((await fifth.ask('GET', '/things?search=even')).status, 400)
      await fifth.add({ name: 'later even' })
      await fifth.close()
      const sixth = searcher(t, place, { label: f.text({ was: 'name', search: true }), note: onBoth.note })
      assert.deepEqual(await sixth.find('later'), ['later even'])
      assert.deepEqual(await sixth.find('name 617 odd'), ['Näme 617'])
    })

    test('R235: another folding makes the words of all rows again', async (t) => {
      const place = await make(t)
      const first = searcher(t, place, onName)
      await first.add({ name: 'Beta' })
      const path = `/things/${await first.add({ name: 'Alpha' })}`
      const tag = (await first.ask('GET', path)).headers.get('etag')
      await first.close()
      // As an older release, or another version of Node, would have left it.
      await place.rows(`UPDATE bylaw_meta SET value = replace(value, '"search 1.', '"search 0.')`)
      await place.rows(`UPDATE things SET words_name = ' stale'`)
      const second = searcher(t, place, onName)
      assert.deepEqual([await second.find('alpha'), await second.find('stale')], [['Alpha'], []])
      assert.equal((await second.ask('GET', path)).headers.get('etag'), tag, 'the item has not changed')
      const again = await applied(place, things(onName))
      assert.deepEqual(again.left, [])
    })

    test('R235: nodes of both declarations find the rows of each other in a rolling upgrade', async (t) => {
      const place = await make(t)
      const old = searcher(t, place, onName)
      const one = await old.add({ name: 'one', note: 'first' })
      await alive(place)
      const after = { label: f.text({ was: 'name', search: true }), note: onBoth.note }
      await applied(place, things(after))
      const young = searcher(t, place, after)
      await old.add({ name: 'two', note: 'second' })
      await young.add({ label: 'three', note: 'third' })
      await old.ask('PATCH', `/things/${one}`, { name: 'one again' })
      assert.deepEqual([await young.find('two second'), await young.find('again first')], [['two'], ['one again']])
      assert.deepEqual([await old.find('three'), await old.find('again')], [['three'], ['one again']])
      await place.rows('DELETE FROM bylaw_nodes')
      assert.deepEqual((await applied(place, things(after))).left, [])
      assert.deepEqual([await young.find('two second'), await young.find('third')], [['two'], ['three']])
    })

    test('R235: handlers, transitions, timers, operations, batches and cascades keep the words', async (t) => {
      const { ask, pass, look, close } = audited(office, await make(t), { resources: officeEvents })
      t.after(close)
      const did = async (...request: Parameters<typeof ask>) => {
        const answer = await ask(...request)
        assert.ok(answer.status < 300, `${request[0]} ${request[1]}: ${JSON.stringify(answer.json)}`)
        return answer.json
      }
      const found = async (path: string) => (await did('GET', path)).data.map(({ id }: { id: string }) => id)
      const customer = (await did('POST', '/customers', { name: 'with a diary' })).id
      assert.equal((await found('/diaries?search=diary')).length, 1)
      const { id } = await did('POST', '/orders', { customerId: customer, note: 'alpha' })
      await did('PATCH', `/orders/${id}`, [{ op: 'replace', path: '/note', value: 'beta' }], {
        'content-type': 'application/json-patch+json',
      })
      assert.deepEqual([await found('/orders?search=alpha'), await found('/orders?search=beta')], [[], [id]])
      await did('POST', `/orders/${id}/placements`)
      assert.equal((await found(`/diaries?search=placed%20${id}`)).length, 1)
      const waiting = (await did('POST', '/orders', { note: 'gamma' })).id
      await pass('P8D')
      await look()
      assert.equal((await did('GET', `/orders/${waiting}`)).status, 'expired')
      assert.deepEqual(await found('/orders?search=gamma'), [waiting])
      await did('POST', '/batches', {
        operations: [
          { method: 'POST', path: '/orders', body: { customerId: customer, note: 'delta' }, as: 'made' },
          { method: 'PATCH', path: '/orders/$made.id', body: { note: 'epsilon' } },
          { method: 'PATCH', path: `/orders/${id}`, body: { note: 'zeta' } },
        ],
      })
      assert.deepEqual([await found('/orders?search=delta'), await found('/orders?search=beta')], [[], []])
      assert.equal((await found('/orders?search=epsilon')).length, 1)
      const from = (await did('POST', '/orders', { note: 'eta' })).id
      const to = (await did('POST', '/orders', { note: 'theta' })).id
      await did('POST', '/orders/merges', { from, to })
      assert.deepEqual([await found('/orders?search=eta'), await found('/orders?search=theta')], [[], [to]])
      await did('DELETE', `/customers/${customer}`)
      assert.deepEqual([await found('/orders?search=epsilon'), await found('/orders?search=zeta')], [[], []])
    })
  })
}

test('R235: SQLite finds all rows, also after it has renumbered them several times', async (t) => {
  const [[, make]] = places as [(typeof places)[number]]
  const place = await make(t)
  const { find, add, ask } = searcher(t, place, onName)
  const seed = Number(process.env.BYLAW_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
  const below = randomBelow(seed)
  const ids = new Map<string, string>()
  const named = (n: number) => `row x${String(n).padStart(3, '0')}`
  for (let n = 0; n < 90; n++) {
    const [name, any = ''] = [named(n), [...ids.keys()][below(ids.size || 1)]]
    const deed = below(6)
    if (deed < 3 || ids.size < 2) ids.set(name, await add({ name }))
    else if (deed === 3) {
      await ask('DELETE', `/things/${ids.get(any)}`)
      ids.delete(any)
    } else if (deed === 4) {
      await ask('PATCH', `/things/${ids.get(any)}`, { name })
      ids.set(name, ids.get(any) as string)
      ids.delete(any)
    } else {
      // As VACUUM may do: gaps are closed, and the order stays.
      await place.rows(
        'UPDATE things SET rowid = -places.place FROM (SELECT rowid AS was, row_number() OVER (ORDER BY rowid) AS place FROM things) AS places WHERE things.rowid = was',
      )
      await place.rows('UPDATE things SET rowid = -rowid')
    }
    const says = `seed ${seed}, step ${n}`
    const { json } = await ask('GET', '/things?search=row&page_size=100')
    assert.deepEqual(names(json), [...ids.keys()].sort(), says)
    for (const one of [...ids.keys()].slice(-3)) assert.deepEqual(await find(one), [one], says)
  }
})
