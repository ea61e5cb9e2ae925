/** Proves that dropped values are copied with their rights, deleted with their row, and restored if nothing was written since. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Declaration, f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { add, copies, drop, during, type Fields, refusal, undrop } from '../help/drops.ts'
import { things } from '../help/file.ts'
import { alive, applied, nodeOn, places } from '../help/places.ts'

const text = f.text()
const optional = f.text({ optional: true })

for (const [name, made] of places)
  describe(`dropped values (${name})`, () => {
    test('are found in every kind of field, and each one has to be allowed', async (t) => {
      const place = await made(t)
      const all: Fields = {
        name: f.text({ unique: true, filter: true }),
        pin: f.text({ writeOnly: true }),
        count: f.integer({ filter: 'range', sort: true }),
        on: f.boolean(),
        state: f.enum(['a', 'b']),
        tags: f.list(text),
        at: f.object({ city: text, zip: text }),
        lines: f.list(f.object({ a: text, b: f.object({ c: f.integer(), d: f.integer({ optional: true }) }) })),
        meta: f.metadata(),
        big: f.bigint(),
      }
      const row = { name: 'n', pin: '12', count: 0, on: false, state: 'a', tags: ['t'], at: { city: 'R', zip: '1' } }
      await add(place, things(all), {
        ...row,
        lines: [{ a: 'x', b: { c: 0, d: null } }],
        meta: { k: 'v' },
        big: '9007199254740993',
      })
      const left = {
        at: f.object({ city: text }),
        lines: f.list(f.object({ a: text, b: f.object({ d: f.integer({ optional: true }) }) })),
      }
      const gone = ['name', 'pin', 'count', 'on', 'state', 'tags', 'at.zip', 'lines.*.b.c', 'meta', 'big']
      const said = await refusal(place, things(left))
      for (const one of gone) assert.ok(said.includes(`--allow-loss things.${one}`), one)
      assert.match(
        await refusal(place, things(left), gone.slice(1)),
        /because:\n {2}- things\.name is.*\n.*\n.*--allow-loss things\.name$/,
      )
      await drop(place, left, ...gone)
      assert.equal((await copies(place)).length, gone.length)
      assert.deepEqual(await undrop(place, things(all)).catch(String), await undrop(place, things(all)).catch(String))
      await drop(place, all)
      assert.deepEqual(
        new Set((await undrop(place, things(all))).map((one) => one.split(': ')[1])),
        new Set(['put back']),
      )
      const back = await during(
        place,
        things(all),
        async (ask) => (await ask('GET', '/things?name=n&count=0')).json.data[0],
      )
      const { id: _, createdAt: _c, updatedAt: _u, ...shown } = back
      const { pin: _p, ...sent } = row
      assert.deepEqual(shown, {
        ...sent,
        lines: [{ a: 'x', b: { c: 0, d: null } }],
        meta: { k: 'v' },
        big: '9007199254740993',
      })
      assert.deepEqual(await copies(place), [])
    })

    test('are restored only if the field was not written since, and the rest is reported', async (t) => {
      const place = await made(t)
      const whole = { name: text, other: optional }
      const [a, b, c, d] = await add(
        place,
        things(whole),
        ...['1', '2', '3', '4'].map((other) => ({ name: 'n', other })),
      )
      await drop(place, { name: text }, 'other')
      await during(place, things(whole), async (ask) => {
        assert.equal((await ask('GET', `/things/${a}`)).json.other, null)
        await ask('PATCH', `/things/${a}`, { name: 'm' })
        await ask('PATCH', `/things/${b}`, { other: 'new' })
        await ask('PUT', `/things/${c}`, { name: 'n', other: 'new' })
        await ask('PATCH', `/things/${c}`, { other: null })
      })
      assert.deepEqual(await undrop(place, things(whole)), [
        'things.other: put back',
        'things.other: put back',
        'things.other: was written since',
        'things.other: was written since',
      ])
      const rows = await during(place, things(whole), async (ask) =>
        Promise.all([a, b, c, d].map(async (id) => (await ask('GET', `/things/${id}`)).json.other)),
      )
      assert.deepEqual(rows, ['1', 'new', null, '4'])
      assert.deepEqual(await copies(place), ['other "2"', 'other "3"'])
    })

    test('are restored into a renamed field, and not into a list that was changed', async (t) => {
      const place = await made(t)
      const before = { name: text, lines: f.list(f.object({ a: text, b: text })) }
      const lines = [
        { a: '1', b: 'x' },
        { a: '2', b: 'y' },
      ]
      const [first, second] = await add(place, things(before), { name: 'n', lines }, { name: 'm', lines })
      const less = { lines: f.list(f.object({ a: text })) }
      await drop(place, less, 'name', 'lines.*.b')
      await during(place, things(less), (ask) => ask('PATCH', `/things/${second}`, { lines: [{ a: '2' }, { a: '1' }] }))
      const after = { title: f.text({ was: 'name' }), lines: f.list(f.object({ a: text, b: text })) }
      await drop(place, after)
      assert.deepEqual(await undrop(place, things(after)), [
        'things.lines.*.b: lies in a list or an object that was changed since',
        'things.lines.*.b: put back',
        'things.name: put back',
        'things.name: put back',
      ])
      const [one, two] = await during(place, things(after), async (ask) =>
        Promise.all([first, second].map(async (id) => (await ask('GET', `/things/${id}`)).json)),
      )
      assert.deepEqual([one.title, one.lines, two.title], ['n', lines, 'm'])
    })

    test('are not restored if more callers could see them, or if they clash', async (t) => {
      const place = await made(t)
      const scopes = { pii: 'Personal data.' }
      const api = (fields: Fields) =>
        service({
          name: 'tests',
          scopes,
          resources: { things: { prefix: 'thg', fields, access: 'public' } },
        } as Declaration)
      const { call, close } = testing(
        api({
          name: text,
          code: f.text({ unique: true }),
          born: f.text({ read: 'pii', optional: true }),
          pin: f.text({ writeOnly: true }),
        }),
        { database: place.url },
      )
      const json = { name: 'a', code: 'c', born: '1', pin: '2' }
      assert.equal((await call('/things', { method: 'POST', json, as: { scopes: ['pii'] } })).status, 201)
      await close()
      await during(place, api({ name: text }), (ask) => ask('GET', '/things'), ['code', 'born', 'pin'])
      const [kept] = await place.rows(`SELECT rights FROM bylaw_dropped WHERE field = 'born'`)
      assert.deepEqual(JSON.parse(String(kept?.rights)), { hidden: false, read: ['pii'], write: [] })
      const open = api({ name: text, code: f.text({ unique: true, optional: true }), born: optional, pin: optional })
      await during(place, open, (ask) => ask('POST', '/things', { name: 'b', code: 'c' }))
      const wider = 'may be seen or written by more callers than when it was dropped'
      assert.deepEqual(await undrop(place, open), [
        `things.born: ${wider}`,
        'things.code: has to be unique, and another row has the value',
        `things.pin: ${wider}`,
      ])
    })

    test('are deleted with the row, in any way', async (t) => {
      const place = await made(t)
      const fields = { owner: { name: text, note: optional }, item: { text, note: optional } }
      const api = ({ owner, item }: { owner: Fields; item: Fields }) =>
        service({
          name: 'tests',
          resources: {
            things: { prefix: 'thg', fields: owner, access: 'public' },
            items: { parent: { resource: 'things', onDelete: 'cascade' }, key: 'text', fields: item, access: 'public' },
            marks: {
              prefix: 'mrk',
              fields: { thingId: f.ref('things', { onDelete: 'cascade' }), ...item },
              access: 'public',
            },
          },
        } as Declaration)
      const ids = await during(place, api(fields), async (ask) => {
        const own: string[] = []
        for (const note of ['1', '2']) {
          const { id } = (await ask('POST', '/things', { name: 'n', note })).json
          assert.equal((await ask('PUT', `/things/${id}/items/k`, { text: 'k', note })).status, 201)
          assert.equal((await ask('POST', '/marks', { thingId: id, text: 'm', note })).status, 201)
          own.push(id)
        }
        return own
      })
      const less = api({ owner: { name: text }, item: { text } })
      await during(place, less, (ask) => ask('GET', '/things'), ['things.note', 'items.note', 'marks.note'])
      assert.equal((await copies(place)).length, 6)
      await during(place, less, async (ask) => assert.equal((await ask('DELETE', `/things/${ids[0]}`)).status, 204))
      assert.deepEqual(await copies(place), ['note "2"', 'note "2"', 'note "2"'])
      await during(place, less, (ask) => ask('DELETE', `/things/${ids[1]}/items/k`))
      assert.equal((await copies(place)).length, 2)
    })

    test('are deleted with a row by a node that started before the first value was dropped', async (t) => {
      const place = await made(t)
      const whole = { name: text, note: optional, size: f.integer() }
      const less = { name: f.text({ filter: true }), size: f.integer() }
      await add(place, things(whole), { name: 'a', size: 1 }, { name: 'b', size: 1 })
      await alive(place) // a node with the former declaration
      const node = nodeOn(place, things(less))
      t.after(node.close)
      assert.equal((await node.ask('GET', '/things')).json.data.length, 2)
      const former = nodeOn(place, things(whole))
      const { data } = (await former.ask('GET', '/things')).json
      for (const { id } of data) assert.equal((await former.ask('PATCH', `/things/${id}`, { note: 'n' })).status, 200)
      await former.close()
      await place.rows(`DELETE FROM bylaw_nodes WHERE node = 'old'`)
      await applied(place, things(less), ['note'])
      assert.deepEqual(await copies(place), ['note "n"', 'note "n"'])
      assert.equal((await node.ask('DELETE', `/things/${data[0].id}`)).status, 204)
      assert.deepEqual(await copies(place), ['note "n"'])
    })

    test('belong to the account of their row', async (t) => {
      const place = await made(t)
      const api = (fields: Fields) =>
        service({
          name: 'tests',
          scopes: {},
          resources: {
            things: {
              fields,
              owner: 'accountId',
              key: 'name',
              access: 'authenticated',
            },
          },
        } as unknown as Declaration)
      const node = (fields: Fields, allowLoss: string[] = []) =>
        testing(api(fields), { database: place.url, allowLoss })
      const one = node({ name: text, note: optional })
      for (const account of ['x', 'y']) {
        const { status } = await one.call('/things', {
          method: 'POST',
          json: { name: 'same', note: account },
          as: { account },
        })
        assert.equal(status, 201)
      }
      await one.close()
      const two = node({ name: text }, ['note'])
      assert.equal((await two.call('/things/same', { method: 'DELETE', as: { account: 'x' } })).status, 204)
      await two.close()
      const kept = await place.rows('SELECT account, value FROM bylaw_dropped')
      assert.deepEqual(
        kept.map(({ account, value }) => [account, value]),
        [['y', '"y"']],
      )
    })

    test('are removed after their retention', async (t) => {
      const place = await made(t)
      const api = (fields: Fields, retention?: string) =>
        service({
          name: 'tests',
          ...(retention && { settings: { dropped: { retention } } }),
          resources: { things: { prefix: 'thg', fields, access: 'public' } },
        } as Declaration)
      await add(place, api({ name: text, note: text }), { name: 'a', note: 'b' })
      await during(place, api({ name: text }), (ask) => ask('GET', '/things'), ['note'])
      const age = (days: number) => place.rows(`UPDATE bylaw_dropped SET time = time - ${days * 86_400_000}`)
      await age(29)
      await during(place, api({ name: text }), (ask) => ask('GET', '/things'))
      assert.equal((await copies(place)).length, 1)
      await age(2)
      await during(place, api({ name: text }, 'forever'), (ask) => ask('GET', '/things'))
      assert.equal((await copies(place)).length, 1)
      await during(place, api({ name: text }), (ask) => ask('GET', '/things'))
      assert.equal((await copies(place)).length, 0)
    })
  })
