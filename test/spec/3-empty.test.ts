/** Part 3 of the contract: pages that have become empty. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'

doors(
  'cursors when a whole page is deleted',
  service({ name: 'points', resources: { points: { fields: { v: f.integer({ sort: true }) }, access: 'public' } } }),
  (door) => {
    spec('R75 R84 R86', 'an empty page links to both sides, including the row at its position', async () => {
      for (let v = 1; v <= 6; v++) await door.send('POST', '/points', { json: { v } })
      const page = async (cursor: string) => (await door.send('GET', `/points?sort=v&limit=2&cursor=${cursor}`)).json
      const gone = async (rows: { id: string }[]) => {
        for (const { id } of rows) await door.send('DELETE', `/points/${id}`)
      }
      const values = ({ data }: { data: { v: number }[] }) => data.map(({ v }) => v)
      const first = await page('')
      const second = await page(first.pagination.nextCursor)
      await gone(first.data)
      const before = await page(second.pagination.prevCursor)
      assert.deepEqual([before.data, before.pagination.prevCursor, before.pagination.hasMore], [[], null, true])
      assert.deepEqual(values(await page(before.pagination.nextCursor)), [3, 4])
      const third = await page(second.pagination.nextCursor)
      await gone(third.data)
      const after = await page(second.pagination.nextCursor)
      assert.deepEqual([after.data, after.pagination.nextCursor, after.pagination.hasMore], [[], null, false])
      assert.deepEqual(values(await page(after.pagination.prevCursor)), [3, 4])
      await gone(second.data)
      const none = await page(second.pagination.nextCursor)
      assert.deepEqual(none.pagination, { limit: 2, nextCursor: null, prevCursor: null, hasMore: false })
    })
  },
)
