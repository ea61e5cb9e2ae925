/** Proves that stored rows keep their values when fields of a declaration come, go, or change. The store. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f } from 'bylaw'
import { asked, freshFile, rows, things } from '../help/file.ts'

const post = (json: unknown) => ['POST', '/things', json] as const
const list = ['GET', '/things'] as const

describe('fields from declaration to declaration', () => {
  test('a new field is answered with its default, null where it is optional or required', async (t) => {
    const file = freshFile(t)
    await asked(file, things({ name: f.text() }), post({ name: 'a' }))
    const more = {
      name: f.text(),
      note: f.text({ optional: true }),
      size: f.integer({ default: 3, filter: true }),
      price: f.decimal({ scale: 2, default: '1' }),
      tags: f.list(f.text()),
      code: f.text(),
    }
    const [listed, found] = await asked({ file, allowMisfits: true }, things(more), list, ['GET', '/things?size=3'])
    const { id, createdAt, updatedAt, ...fields } = listed?.json.data[0] ?? {}
    assert.ok(id && createdAt && updatedAt)
    assert.deepEqual(fields, { name: 'a', note: null, size: 3, price: '1.00', tags: [], code: null })
    assert.equal(found?.json.data.length, 1)
  })

  test('fields inside of objects and lists are added and removed too', async (t) => {
    const file = freshFile(t)
    const line = { text: f.text(), old: f.text() }
    await asked(
      file,
      things({ place: f.object({ city: f.text(), zip: f.text() }), lines: f.list(f.object(line)) }),
      post({ place: { city: 'Rome', zip: '1' }, lines: [{ text: 'x', old: 'y' }] }),
    )
    const place = f.object({ city: f.text({ filter: true }), hall: f.text({ default: 'A' }) })
    const lines = f.list(f.object({ text: f.text(), count: f.integer({ default: 1 }) }))
    const allowLoss = ['things.place.zip', 'things.lines.*.old']
    const [answer] = await asked({ file, allowLoss }, things({ place, lines }), ['GET', '/things?place.city=Rome'])
    const [row] = answer?.json.data ?? []
    assert.deepEqual(row?.place, { city: 'Rome', hall: 'A' })
    assert.deepEqual(row?.lines, [{ text: 'x', count: 1 }])
  })

  test('a field that is no longer declared is no longer answered, and the step says so', async (t) => {
    const file = freshFile(t)
    const [made] = await asked(file, things({ name: f.text(), note: f.text() }), post({ name: 'a', note: 'secret' }))
    const dropped = { file, allowLoss: ['things.note'] }
    const [read] = await asked(dropped, things({ name: f.text() }), ['GET', `/things/${made?.json.id}`])
    assert.deepEqual(Object.keys(read?.json), ['id', 'name', 'createdAt', 'updatedAt'])
    assert.doesNotMatch(JSON.stringify(rows(file, 'SELECT * FROM things')), /secret/)
  })

  test('a renamed field keeps its values, its filter and its uniqueness, through several renames', async (t) => {
    const file = freshFile(t)
    const [a] = await asked(file, things({ a: f.text({ unique: true, filter: true }) }), post({ a: 'x' }))
    const b = things({ b: f.text({ unique: true, filter: true, was: 'a' }) })
    const [, clash] = await asked(file, b, ['GET', '/things?b=x'], post({ b: 'x' }))
    assert.equal(clash?.status, 409)
    assert.equal(clash?.json.errors[0].pointer, '/b')
    const c = things({ c: f.text({ unique: true, filter: true, was: 'b' }), d: f.text({ default: 'new' }) })
    const [found] = await asked(file, c, ['GET', '/things?c=x'])
    assert.deepEqual([found?.json.data[0].id, found?.json.data[0].d], [a?.json.id, 'new'])
    const still = things({ c: f.text({ was: 'b' }), e: f.text({ default: 'newer' }) })
    const [later] = await asked({ file, allowLoss: ['things.d'] }, still, post({ c: 'y' }), list)
    assert.equal(later?.json.c, 'y')
    assert.deepEqual(
      rows(file, 'SELECT c, e FROM things_view ORDER BY c').map((row) => ({ ...row })),
      [
        { c: 'x', e: 'newer' },
        { c: 'y', e: 'newer' },
      ],
    )
  })

  test('a renamed write-only field keeps its values', async (t) => {
    const file = freshFile(t)
    await asked(file, things({ name: f.text(), pin: f.text({ writeOnly: true }) }), post({ name: 'a', pin: '1234' }))
    await asked(file, things({ name: f.text(), code: f.text({ writeOnly: true, was: 'pin' }) }))
    assert.deepEqual(
      rows(file, 'SELECT hidden FROM things').map(({ hidden }) => hidden),
      ['{"code":"1234"}'],
    )
  })

  test('a row that another declaration wrote meanwhile is answered in the form of this one', async (t) => {
    const file = freshFile(t)
    const api = things({
      name: f.text({ filter: true }),
      size: f.integer({ default: 3 }),
      pin: f.text({ writeOnly: true, optional: true }),
    })
    const [made] = await asked(file, api, post({ name: 'a', size: 1 }))
    rows(
      file,
      `UPDATE things SET shape = 7, hidden = NULL, doc = json_remove(json_set(doc, '$.other', 1, '$.pin', '1234'), '$.size')`,
    )
    const answers = await asked(
      file,
      api,
      ['GET', `/things/${made?.json.id}`],
      ['GET', '/things?name=a'],
      ['PATCH', `/things/${made?.json.id}`, { name: 'b' }],
    )
    const [read, listed, changed] = answers.map(({ json }) => json)
    for (const one of [read, listed.data[0], changed]) {
      assert.deepEqual(Object.keys(one), ['id', 'name', 'size', 'createdAt', 'updatedAt'])
      assert.equal(one.size, 3)
    }
    assert.deepEqual(
      rows(file, 'SELECT shape, hidden, by_name FROM things').map((row) => ({ ...row })),
      [{ shape: 1, hidden: '{"pin":"1234","*":{"7":{"other":1}}}', by_name: 'b' }],
    )
  })

  test('a field that becomes write-only is no longer answered and keeps its values, and back', async (t) => {
    const file = freshFile(t)
    const open = things({ name: f.text(), pin: f.text() })
    const [made] = await asked(file, open, post({ name: 'a', pin: '1234' }))
    const item = ['GET', `/things/${made?.json.id}`] as const
    const [closed, listed] = await asked(file, things({ name: f.text(), pin: f.text({ writeOnly: true }) }), item, list)
    assert.doesNotMatch(JSON.stringify([closed?.json, listed?.json]), /1234|pin/)
    assert.doesNotMatch(
      JSON.stringify(rows(file, 'SELECT doc FROM things UNION ALL SELECT sql FROM sqlite_schema')),
      /1234|pin/,
    )
    const [again] = await asked(file, open, item)
    assert.equal(again?.json.pin, '1234')
  })

  test('decimals are answered with the current scale', async (t) => {
    const file = freshFile(t)
    const priced = (scale: number) =>
      things({ price: f.decimal({ scale, filter: 'range' }), all: f.list(f.decimal({ scale })) })
    await asked(file, priced(2), post({ price: '5', all: ['1.5'] }), post({ price: '-0.25', all: [] }))
    const [finer] = await asked(file, priced(3), ['GET', '/things?price[gte]=5&price[lte]=5.000'])
    assert.deepEqual(
      finer?.json.data.map(({ price, all }: { price: string; all: string[] }) => [price, all]),
      [['5.000', ['1.500']]],
    )
    const [back] = await asked(file, priced(2), ['GET', '/things?price[lte]=-0.25'])
    assert.deepEqual(
      back?.json.data.map(({ price }: { price: string }) => price),
      ['-0.25'],
    )
    await assert.rejects(
      asked(file, priced(1)),
      /1 row of things would not fit `price`.* price must have at most 1 digits after the point \(thg_/,
    )
    const [kept] = await asked(file, priced(2), list)
    assert.equal(kept?.json.data.length, 2)
  })

  test('a decimal of more digits than numbers have moves to another kind of column and back', async (t) => {
    const file = freshFile(t)
    const priced = (precision: number) =>
      things(
        {
          price: f.decimal({ precision, scale: 2, filter: 'range', sort: true }),
          name: f.text({ default: '', sort: true }),
        },
        { sorts: { dearest: ['-price', 'name'] } },
      )
    await asked(file, priced(18), post({ price: '-5' }), post({ price: '10' }), post({ price: '9' }))
    for (const precision of [30, 18, 25]) {
      const [sorted] = await asked(file, priced(precision), ['GET', '/things?sort=price&price[gte]=-5'])
      assert.deepEqual(
        sorted?.json.data.map(({ price }: { price: string }) => price),
        ['-5.00', '9.00', '10.00'],
      )
    }
    await assert.rejects(
      asked(file, priced(3)),
      /1 row of things would not fit `price`.* price must have at most 1 digits before the point/,
    )
  })

  test('a field compared without case finds older rows', async (t) => {
    const file = freshFile(t)
    await asked(file, things({ name: f.text({ filter: true }) }), post({ name: 'Ann' }))
    const [folded] = await asked(file, things({ name: f.text({ filter: true, fold: true }) }), [
      'GET',
      '/things?name=aNN',
    ])
    assert.equal(folded?.json.data.length, 1)
    const [exact] = await asked(file, things({ name: f.text({ filter: true }) }), ['GET', '/things?name=ann'])
    assert.equal(exact?.json.data.length, 0)
  })

  test('another kind of field is refused with both kinds, while there are rows', async (t) => {
    const file = freshFile(t)
    const before = things({ size: f.text(), place: f.object({ zip: f.text() }), all: f.list(f.text()) })
    await asked(file, before)
    await asked(file, things({ size: f.integer() }))
    await asked(file, before, post({ size: '1', place: { zip: '1' }, all: [] }))
    const refused = [
      [{ size: f.integer() }, 'size was stored as text and is declared as integer now'],
      [{ breadth: f.integer({ was: 'size' }) }, 'breadth was stored as text and is declared as integer now'],
      [{ place: f.object({ zip: f.integer() }) }, 'place.zip was stored as text and is declared as integer now'],
      [{ all: f.list(f.integer()) }, 'all.* was stored as text and is declared as integer now'],
    ] as const
    for (const [fields, words] of refused)
      await assert.rejects(asked(file, things(fields)), (error: Error) => {
        assert.ok(error.message.includes(words), error.message)
        assert.match(error.message, /it has rows, which would be lost\. Declare a new resource beside the old one/)
        return true
      })
    const [kept] = await asked(file, before, list)
    assert.equal(kept?.json.data[0].size, '1')
  })

  test('identifiers of another form are refused while there are rows', async (t) => {
    const file = freshFile(t)
    const fields = { name: f.text() }
    await asked(file, things(fields), post({ name: 'a' }))
    await assert.rejects(
      asked(file, things(fields, { prefix: 'oth' })),
      /had ids that begin with thg_ and are declared with ids that begin with oth_/,
    )
    await assert.rejects(
      asked(file, things(fields, { key: 'name', prefix: undefined })),
      /are declared with the key name now/,
    )
    const [kept] = await asked(file, things(fields), list)
    assert.equal(kept?.json.data.length, 1)
  })

  test('tags of one shape never match rows of another, also when a shape returns', async (t) => {
    const file = freshFile(t)
    const one = things({ name: f.text(), note: f.text({ optional: true }) })
    const two = things({ name: f.text() })
    const [made] = await asked(file, one, post({ name: 'a', note: 'x' }))
    const item = ['GET', `/things/${made?.json.id}`] as const
    const [second] = await asked({ file, allowLoss: ['things.note'] }, two, item)
    const [third] = await asked(file, one, item)
    assert.equal(third?.json.note, null)
    const tags = [made, second, third].map((answer) => answer?.headers.get('etag'))
    assert.equal(new Set(tags).size, 3, tags.join())
    const [changed] = await asked(file, one, ['PATCH', item[1], { note: 'y' }, { 'if-match': tags[2] as string }])
    assert.equal(changed?.status, 200)
  })
})
