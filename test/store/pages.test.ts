/** Proves that the rows and the total of a page are from one snapshot of the file, despite concurrent writes. R54. The store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f } from 'bylaw'
import { testing } from 'bylaw/testing'
import { freshFile, things } from '../help/file.ts'

const api = things({
  name: f.text({ filter: ['like', 'range'], sort: true }),
  count: f.integer({ default: 0, filter: 'range', sort: true }),
})

type Tested = ReturnType<typeof testing>

interface Page {
  readonly data: readonly unknown[]
  readonly pagination: { readonly totalRecords: number }
}

/** Lists without an index, which the thread reads. */
const paths = [
  'name[like]=%25a%25',
  'count[gte]=0&sort=name',
  'name[like]=%25a&sort=count&order=desc',
  'count[lte]=9&sort=name',
]

let count = 0

/** Each page has another size, as a page of an earlier request may come from the cache. */
async function pages({ call }: Tested): Promise<Page[]> {
  const asked = [...paths, ...paths, ...paths].map(async (query) => {
    const response = await call(`/things?page_size=${20 + (count++ % 80)}&${query}`)
    assert.equal(response.status, 200)
    return (await response.json()) as Page
  })
  return Promise.all(asked)
}

test('a page that the thread reads has the total of its own rows, under concurrent writes', async (t) => {
  const database = `sqlite:${freshFile(t)}`
  const [here, there] = [testing(api, { database }), testing(api, { database })]
  t.after(() => Promise.all([here.close(), there.close()]))
  const made = async ({ call }: Tested, json: object) =>
    ((await (await call('/things', { method: 'POST', json })).json()) as { id: string }).id
  for (let n = 0; n < 5; n++) await made(here, { name: `${n}a` })
  for (let round = 0; round < 6; round++) {
    const by = round % 2 === 0 ? here : there
    await pages(here) // the totals are cached from here on
    const asked = pages(here)
    const writes =
      round % 4 < 2
        ? [made(by, { name: 'ba' })]
        : [by.call(`/things/${await made(by, { name: 'ca' })}`, { method: 'DELETE' })]
    await Promise.all(writes)
    for (const { data, pagination } of await asked) assert.equal(pagination.totalRecords, data.length)
  }
})
