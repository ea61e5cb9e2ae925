/** Proves that lists are correct if a field is required now and stored rows have no value for it. The store. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { f, service } from 'bylaw'
import { type Testing, testing } from '../../src/testing.ts'

const files = {
  bare: {},
  optional: { rank: f.integer({ optional: true, sort: true, filter: true }) },
  required: { rank: f.integer({ sort: true, filter: true }) },
}
const declared = (kind: keyof typeof files) =>
  service({
    name: 'rows',
    resources: {
      rows: {
        fields: { name: f.text({ sort: true }), ...files[kind] },
        ...(kind === 'bare' ? {} : { sorts: { ranks: ['-name', 'rank'] } }),
        access: 'public',
      },
    },
  } as never)

function database(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'required-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return `sqlite:${join(folder, 'rows.db')}`
}

async function add({ call }: Testing, ...rows: object[]): Promise<void> {
  for (const json of rows) assert.equal((await call('/rows', { method: 'POST', json })).status, 201)
}

async function names(
  { call }: Testing,
  query: string,
): Promise<{ names: string; next: string | null; prev: string | null }> {
  const { data, pagination } = JSON.parse(await (await call(`/rows?${query}`)).text())
  return {
    names: data.map(({ name }: { name: string }) => name).join(''),
    next: pagination.nextCursor,
    prev: pagination.prevCursor,
  }
}

async function walked(own: Testing, query: string): Promise<string> {
  let [all, cursor]: [string, string | null] = ['', '']
  while (cursor !== null) {
    const page = await names(own, `${query}&limit=1&cursor=${cursor}`)
    all += page.names
    cursor = page.next
  }
  return all
}

async function compare(own: Testing, ...table: (readonly [query: string, names: string])[]): Promise<void> {
  for (const [query, expected] of table) {
    assert.equal((await names(own, query)).names, expected, query)
    assert.equal(await walked(own, query), expected, `${query} by cursors`)
  }
}

for (const before of ['bare', 'optional'] as const) {
  test(`rows that were written when the field was ${before === 'bare' ? 'missing' : 'optional'} are in the place of nulls, and none is missed`, async (t) => {
    const file = database(t)
    const old = testing(declared(before), { database: file, allowMisfits: true })
    await add(old, { name: 'a' }, { name: 'b' })
    await old.close()
    const own = testing(declared('required'), { database: file, allowMisfits: true })
    await add(own, { name: 'c', rank: 2 }, { name: 'd', rank: 1 })
    await compare(
      own,
      ['sort=rank', 'dcab'],
      ['sort=rank&order=desc', 'cdba'],
      ['sort=rank&nulls=first', 'abdc'],
      ['sort=rank&order=desc&nulls=first', 'bacd'],
      ['custom_sort=ranks', 'dcba'],
      ['rank[null]=true', 'ab'],
    )
    await own.close()
  })
}

test('a cursor at such a row continues when the rows have their values', async (t) => {
  const file = database(t)
  const old = testing(declared('optional'), { database: file, allowMisfits: true })
  await add(old, { name: 'a' }, { name: 'b' }, { name: 'c', rank: 1 })
  await old.close()
  const between = testing(declared('required'), { database: file, allowMisfits: true })
  const { next } = await names(between, 'sort=rank&nulls=first&cursor=&limit=1')
  const { data } = JSON.parse(await (await between.call('/rows')).text())
  for (const { id } of data) await between.call(`/rows/${id}`, { method: 'PATCH', json: { rank: 5 } })
  await between.close()
  const own = testing(declared('required'), { database: file, allowMisfits: true })
  assert.equal((await names(own, `sort=rank&nulls=first&cursor=${next}`)).names, 'abc')
  await compare(own, ['sort=rank', 'abc'], ['sort=rank&order=desc', 'cba'])
  await own.close()
})
