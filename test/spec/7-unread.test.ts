/** Part 7 of the contract: a list that nobody has changed is not read again, and one that somebody has is. */
import assert from 'node:assert/strict'
import { doors, spec } from '../help/door.ts'
import { shop } from '../help/shop.ts'

doors('lists that are asked for again', shop, (door) => {
  const made = async (path: string, json: object): Promise<string> => (await door.send('POST', path, { json })).json.id
  const again = (path: string, etag: string, headers = {}) =>
    door.send('GET', path, { headers: { 'if-none-match': etag, ...headers } })

  spec('R139 R148', 'an unchanged list is 304 each time, and any write to it is seen at once', async () => {
    const warehouse = await made('/warehouses', { name: 'North' })
    for (const write of [
      () => door.send('POST', '/warehouses', { json: { name: 'South' } }),
      () => door.send('PATCH', `/warehouses/${warehouse}`, { json: { name: 'N' } }),
      () => door.send('DELETE', `/warehouses/${warehouse}`),
    ]) {
      const { etag = '' } = (await door.send('GET', '/warehouses')).headers
      assert.equal((await again('/warehouses', etag)).status, 304)
      assert.equal((await again('/warehouses', `"other", ${etag}`)).status, 304)
      assert.equal((await again('/warehouses', etag, { accept: 'application/xml' })).status, 406)
      assert.equal((await again('/warehouses?page_size=7', etag)).status, 200)
      await write()
      const after = await again('/warehouses', etag)
      assert.equal(after.status, 200)
      assert.notEqual(after.headers.etag, etag)
    }
  })

  spec(
    'R5 R139 R140',
    'a list below an owner that was deleted meanwhile is gone, whatever the client has',
    async () => {
      const warehouse = await made('/warehouses', { name: 'East' })
      const path = `/warehouses/${warehouse}/slots`
      const first = await door.send('GET', path)
      const same = await again(path, first.headers.etag ?? '')
      assert.equal(same.status, 304)
      assert.equal(same.text, '')
      assert.deepEqual(
        [same.headers.etag, same.headers.vary, same.headers['cache-control']],
        [first.headers.etag, first.headers.vary, first.headers['cache-control']],
      )
      assert.equal(same.headers['content-type'], undefined)
      await door.send('DELETE', `/warehouses/${warehouse}`)
      assert.equal((await again(path, first.headers.etag ?? '')).status, 410)
    },
  )
})
