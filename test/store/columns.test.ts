/** Proves that index columns, indexes and views follow the declaration, in all steps or none. The store. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Declaration, f, service } from 'bylaw'
import { openSqlite, openSqliteMigration } from '../../src/sqlite/open.ts'
import { asked, freshFile, rows, things } from '../help/file.ts'

const post = (json: unknown) => ['POST', '/things', json] as const
const list = ['GET', '/things'] as const
const indexes = (file: string) =>
  rows(
    file,
    "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'things' AND sql IS NOT NULL ORDER BY name",
  ).map(({ name }) => name)
const plain = (file: string, text: string) => rows(file, text).map((row) => ({ ...row }))
const collections = (api: ReturnType<typeof things>) => [...api.resources.values()].map(({ collection }) => collection)

describe('index columns and views', () => {
  test('a new filter finds old rows, and a removed one drops its column', async (t) => {
    const file = freshFile(t)
    await asked(
      file,
      things({ name: f.text(), size: f.integer() }),
      post({ name: 'a', size: 1 }),
      post({ name: 'b', size: 2 }),
    )
    const filtered = things({ name: f.text({ filter: true }), size: f.integer({ filter: 'range', sort: true }) })
    const [found, sorted] = await asked(
      file,
      filtered,
      ['GET', '/things?name=b&size[gte]=2'],
      ['GET', '/things?sort=size&order=desc'],
    )
    assert.deepEqual(
      found?.json.data.map(({ name }: { name: string }) => name),
      ['b'],
    )
    assert.deepEqual(
      sorted?.json.data.map(({ size }: { size: number }) => size),
      [2, 1],
    )
    assert.ok(indexes(file).includes('index__things__by_size'))
    const [refused] = await asked(file, things({ name: f.text(), size: f.integer() }), ['GET', '/things?name=b'])
    assert.equal(refused?.status, 400)
    const columns = rows(file, "SELECT name FROM pragma_table_info('things')").map(({ name }) => name)
    assert.deepEqual(columns, ['id', 'revision', 'shape', 'doc', 'hidden', 'by_createdAt', 'by_updatedAt'])
    assert.deepEqual(indexes(file), ['index__things__by_createdAt', 'index__things__by_updatedAt'])
  })

  test('a new unique field is refused if rows clash, and nothing changes', async (t) => {
    const file = freshFile(t)
    const before = things({ name: f.text(), size: f.integer() })
    await asked(file, before, post({ name: 'a', size: 1 }), post({ name: 'a', size: 1 }))
    const schema = () => plain(file, 'SELECT name, sql FROM sqlite_schema ORDER BY name')
    const kept = [schema(), plain(file, 'SELECT * FROM things'), plain(file, 'SELECT * FROM bylaw_meta')]
    const unique = { name: f.text({ unique: true, filter: true }), count: f.integer({ was: 'size', filter: true }) }
    await assert.rejects(asked(file, things(unique)), /several rows have the same name\. Change them first/)
    const together = { uniques: [['name', 'size']] }
    await assert.rejects(asked(file, things({ name: f.text(), size: f.integer() }, together)), /the same name and size/)
    assert.deepEqual([schema(), plain(file, 'SELECT * FROM things'), plain(file, 'SELECT * FROM bylaw_meta')], kept)
    const [first] = (await asked(file, before, list)).map(({ json }) => json.data[0].id)
    await asked(file, before, ['DELETE', `/things/${first}`])
    const [, clash] = await asked(file, things(unique), list, post({ name: 'a', count: 2 }))
    assert.equal(clash?.status, 409)
  })

  test('the view has every readable field, typed, and follows the declaration', async (t) => {
    const file = freshFile(t)
    const fields = {
      name: f.text(),
      paid: f.boolean(),
      price: f.decimal({ scale: 2 }),
      serial: f.bigint(),
      size: f.integer(),
      place: f.object({ city: f.text() }),
      tags: f.list(f.text()),
      pin: f.text({ writeOnly: true }),
    }
    const sent = {
      name: 'a',
      paid: true,
      price: '5.50',
      serial: '42',
      size: 7,
      place: { city: 'Rome' },
      tags: ['x'],
      pin: '1234',
    }
    await asked(file, things(fields), post(sent))
    const [row] = plain(file, 'SELECT * FROM things_view')
    const { id, createdAt, updatedAt, ...shown } = row as Record<string, unknown>
    assert.match(String(id), /^thg_/)
    assert.deepEqual(shown, {
      name: 'a',
      paid: 1,
      price: 5.5,
      serial: 42,
      size: 7,
      place: '{"city":"Rome"}',
      tags: '["x"]',
    })
    const allowLoss = ['paid', 'price', 'serial', 'place', 'tags', 'pin']
    await asked({ file, allowLoss }, things({ label: f.text({ was: 'name' }), size: f.integer() }))
    assert.deepEqual(Object.keys(plain(file, 'SELECT * FROM things_view')[0] ?? {}), [
      'id',
      'label',
      'size',
      'createdAt',
      'updatedAt',
    ])
  })

  test('a resource that is no longer declared keeps its rows until it is declared again', async (t) => {
    const file = freshFile(t)
    const [made] = await asked(file, things({ name: f.text() }), post({ name: 'a' }))
    const other = service({
      name: 'tests',
      resources: { others: { prefix: 'oth', fields: { a: f.text() }, access: 'public' } },
    })
    const [gone] = await asked(file, other, list)
    assert.equal(gone?.status, 404)
    const [back] = await asked(file, things({ name: f.text({ filter: true }) }), ['GET', '/things?name=a'])
    assert.equal(back?.json.data[0].id, made?.json.id)
  })

  test('similar names of columns, tables and indexes do not collide', async (t) => {
    const file = freshFile(t)
    const resources = {
      sheep: {
        prefix: 'shp',
        plural: true,
        fields: {
          dogs_name: f.text({ filter: true }),
          a_b: f.text({ filter: true }),
          a: f.text({ filter: true }),
          b: f.text({ filter: true }),
        },
        indexes: [['a', 'b']],
        access: 'public',
      },
      'sheep-dogs': { prefix: 'dog', fields: { name: f.text({ filter: true }) }, access: 'public' },
    }
    const api = service({ name: 'tests', resources, settings: { naming: 'snake' } } as unknown as Declaration)
    const [found] = await asked(file, api as ReturnType<typeof things>, ['GET', '/sheep-dogs?name=a'])
    assert.equal(found?.status, 200)
  })

  test('children are unique below their owner, with an id or a composite key', async (t) => {
    const file = freshFile(t)
    const slots = {
      parent: 'halls',
      key: 'number',
      fields: { number: f.text(), code: f.text() },
      uniques: [['hallId', 'code']],
      access: 'public',
    }
    const desks = {
      prefix: 'dsk',
      parent: 'halls',
      fields: { code: f.text() },
      uniques: [['hallId', 'code']],
      access: 'public',
    }
    const api = service({
      name: 'tests',
      resources: { halls: { prefix: 'hal', fields: {}, access: 'public' }, slots, desks },
    } as unknown as Declaration) as ReturnType<typeof things>
    const [one, two] = await asked(file, api, ['POST', '/halls', {}], ['POST', '/halls', {}])
    const at = ({ json }: { json: { id: string } }, kind: string) => `/halls/${json.id}/${kind}`
    assert.ok(one && two)
    const answers = await asked(
      file,
      api,
      ['POST', at(one, 'slots'), { number: '1', code: 'x' }],
      ['POST', at(one, 'slots'), { number: '2', code: 'x' }],
      ['POST', at(two, 'slots'), { number: '2', code: 'x' }],
      ['POST', at(one, 'desks'), { code: 'x' }],
      ['POST', at(one, 'desks'), { code: 'x' }],
      ['POST', at(two, 'desks'), { code: 'x' }],
    )
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 409, 201, 201, 409, 201],
    )
    assert.deepEqual(
      answers[1]?.json.errors.map(({ pointer }: { pointer: string }) => pointer),
      ['/hallId', '/code'],
    )
  })

  test('a plan names every step and what would be lost, and changes nothing', async (t) => {
    const file = freshFile(t)
    await asked(
      file,
      things({ name: f.text(), note: f.text(), size: f.integer({ filter: true }) }),
      post({ name: 'a', note: 'b', size: 1 }),
    )
    const next = collections(things({ label: f.text({ was: 'name', filter: true }), size: f.integer() }))
    const migration = openSqliteMigration(`sqlite:${file}`, { collections: next }, { allowLoss: ['things.note'] })
    assert.deepEqual(
      migration.steps.map(({ about }) => about),
      [
        'add by_label to things',
        'index the rows of things that old nodes write',
        'index things',
        'rewrite the rows of things in advance',
        'refuse writes of rows of things in the former shape',
        'rewrite the rows of things; values of note go to bylaw_dropped, if --allow-loss names the field',
        'drop indexes of things that serve no list',
        'drop unused columns of things and update its view',
      ],
    )
    assert.deepEqual(migration.steps[6]?.sql, ['DROP INDEX IF EXISTS "index__things__by_size"'])
    assert.deepEqual(migration.steps[7]?.sql.slice(0, 3), [
      'DROP INDEX IF EXISTS "lagging__things"',
      'ALTER TABLE "things" DROP COLUMN "by_size"',
      'DROP VIEW IF EXISTS "things_view"',
    ])
    assert.equal(plain(file, 'SELECT name FROM things_view')[0]?.name, 'a')
    migration.apply()
    migration.close()
    const done = openSqliteMigration(`sqlite:${file}`, { collections: next })
    assert.deepEqual(done.steps, [])
    done.close()
    assert.deepEqual(plain(file, 'SELECT label, size FROM things_view'), [{ label: 'a', size: 1 }])
  })

  test('thousands of rows are rewritten, each once', async (t) => {
    const file = freshFile(t)
    const [made] = await asked(file, things({ name: f.text() }), post({ name: 'a' }))
    rows(
      file,
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
      INSERT INTO things SELECT printf('thg_%026d', i), 1, 1, replace(doc, '${made?.json.id}', printf('thg_%026d', i)), NULL, by_createdAt, by_updatedAt FROM things, n`,
    )
    const [counted] = await asked(
      file,
      things({ name: f.text({ filter: true }), size: f.integer({ default: 4, filter: true }) }),
      ['GET', '/things?name=a&size=4&limit=1'],
    )
    assert.equal(counted?.json.pagination.totalRecords, 2501)
    assert.deepEqual(plain(file, 'SELECT count(*) AS n, count(DISTINCT id) AS ids FROM things_view WHERE size = 4'), [
      { n: 2501, ids: 2501 },
    ])
  })

  test('a shared table of a later release is added to older files', async (t) => {
    const file = freshFile(t)
    const api = things({ name: f.text() })
    const [made] = await asked(file, api, post({ name: 'a' }))
    rows(file, 'DROP TABLE bylaw_keys')
    rows(file, `UPDATE bylaw_meta SET value = replace(value, '"bylaw_tombstones","bylaw_keys"', '"bylaw_tombstones"')`)
    const key = { 'idempotency-key': 'k1' }
    const [again, read] = await asked(
      file,
      api,
      ['POST', '/things', { name: 'b' }, key],
      ['GET', `/things/${made?.json.id}`],
    )
    assert.deepEqual([again?.status, read?.status], [201, 200])
    assert.equal(rows(file, 'SELECT * FROM bylaw_keys').length, 1)
  })

  test('a service that requires an up-to-date schema names the missing steps', async (t) => {
    const file = freshFile(t)
    const api = collections(things({ name: f.text() }))
    const required = () => openSqlite(`sqlite:${file}`, api, 'require')
    assert.throws(required, /It has no tables of a service yet\. Run `bylaw migrate plan`/)
    await asked(file, service({ name: 'other', resources: { others: { fields: {}, access: 'public' } } }))
    assert.throws(
      required,
      /does not match the declaration\. Missing:\n(.*\n)* {2}- create things\n(.*\n)*Run `bylaw migrate plan`/,
    )
    await asked(file, things({ name: f.text() }))
    await required().close()
    for (const one of [things({ name: f.text(), note: f.text() }), things({ name: f.text() })]) {
      assert.throws(() => openSqlite(`sqlite:${file}`, collections(one), 'require'), /rewrite the rows of things/)
      await asked(file, one)
      await openSqlite(`sqlite:${file}`, collections(one), 'require').close()
    }
  })
})
