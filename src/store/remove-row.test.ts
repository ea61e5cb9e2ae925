/** Tests tombstones on their table: old ones are swept. The store. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import type { Plan } from '../flow/plan.ts'
import { encodeRow } from '../resources/document.ts'
import { tombstoneTable } from '../sql/statements.ts'
import { openSqlite } from '../sqlite/open.ts'

const day = 86_400_000
const yard = service({
  name: 'yard',
  resources: {
    carts: { prefix: 'crt', fields: { name: f.text() }, access: 'public', settings: { deleted: { retention: 'P1D' } } },
    wagons: { prefix: 'wag', fields: { name: f.text() }, access: 'public' },
  },
})

test('a deletion sweeps some expired tombstones of its collection, and no others', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-'))
  const file = join(folder, 'yard.db')
  const store = openSqlite(
    `sqlite:${file}`,
    [...yard.resources.values()].map(({ collection }) => collection),
    'apply',
  )
  try {
    const gone = async (collection: string, id: string, time: number) => {
      const at = { collection, key: { id, parent: null, account: null }, time }
      const document = {
        id,
        name: 'A',
        createdAt: new Date(time).toISOString(),
        updatedAt: new Date(time).toISOString(),
      }
      const row = encodeRow(yard.resources.get(collection) ?? assert.fail(), document)
      const made = await store.execute({
        do: 'create',
        ...at,
        parent: null,
        row,
        id: 'fresh',
        references: [],
        claim: null,
      })
      const revision = made.is === 'created' ? made.revision : assert.fail()
      const plan: Plan = {
        do: 'decide',
        read: { do: 'read', ...at },
        decide: () => ({ do: 'remove', ...at, revision, takes: new Set() }),
      }
      assert.deepEqual(await store.execute(plan), { is: 'removed' })
    }
    const left = () => {
      const db = new DatabaseSync(file)
      const rows = db.prepare(`SELECT collection || ' ' || id AS name FROM ${tombstoneTable} ORDER BY name`).all()
      db.close()
      return rows.map(({ name }) => name)
    }
    for (let n = 10; n < 25; n++) await gone('carts', `crt_${n}`, n)
    await gone('wagons', 'wag_1', 1)
    assert.equal(left().length, 16)
    await gone('wagons', 'wag_2', 10 * day)
    await gone('carts', 'crt_30', 20 + day)
    assert.deepEqual(
      left(),
      ['crt_20', 'crt_21', 'crt_22', 'crt_23', 'crt_24', 'crt_30']
        .map((id) => `carts ${id}`)
        .concat('wagons wag_1', 'wagons wag_2'),
    )
    await gone('carts', 'crt_31', 22 + day)
    assert.deepEqual(
      left(),
      ['crt_23', 'crt_24', 'crt_30', 'crt_31'].map((id) => `carts ${id}`).concat('wagons wag_1', 'wagons wag_2'),
    )
  } finally {
    await store.close()
    rmSync(folder, { recursive: true })
  }
})
