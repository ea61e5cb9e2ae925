/** Part 7 of the contract: a list is read again only after a change. */
import assert from 'node:assert/strict'
import { doors, spec } from '../help/door.ts'
import { shop } from '../help/shop.ts'
import { holders, tenants } from '../help/tenants.ts'

doors('repeated lists', shop, (door) => {
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

  spec('R5 R139 R140', 'a list below a parent that was deleted meanwhile is gone, with any tag', async () => {
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
  })

  spec('R139 R146', 'a repeated list is the same, in any coding, until it changes', async () => {
    for (let i = 0; i < 20; i++) await made('/warehouses', { name: `Warehouse ${i} of many` })
    const path = '/warehouses?page_size=100'
    const ask = (coding: string, method = 'GET') => door.send(method, path, { headers: { 'accept-encoding': coding } })
    let before = await door.send('GET', path)
    for (const name of ['one more', 'and another']) {
      for (const coding of ['gzip', 'br', 'identity', 'gzip', 'br', 'zstd', 'identity', 'zstd']) {
        const { text, headers, status } = await ask(coding)
        assert.deepEqual([status, text], [200, before.text])
        assert.equal(headers['content-encoding'], coding === 'identity' ? undefined : coding)
        assert.equal(headers.etag, before.headers.etag?.replace(/"$/, coding === 'identity' ? '"' : `+${coding}"`))
        const head = await ask(coding, 'HEAD')
        assert.deepEqual([head.status, head.text, head.headers.etag], [200, '', headers.etag])
      }
      await made('/warehouses', { name })
      const after = await door.send('GET', path)
      assert.equal(after.json.data.length, before.json.data.length + 1)
      before = after
    }
  })
})

doors(
  'repeated lists of several callers',
  tenants,
  (door) => {
    spec('R143 R170', 'each caller gets the list that is theirs', async () => {
      const names = async (who: string): Promise<string[]> => {
        const { json } = await door.send('GET', '/deals?sort=name', { headers: door.as(who) })
        return json.data.map(({ name }: { name: string }) => name)
      }
      for (const who of ['ann', 'bob'])
        await door.send('POST', '/deals', { headers: door.as(who), json: { name: `of ${who}` } })
      for (let i = 0; i < 3; i++)
        for (const who of ['ann', 'bob', 'ann']) assert.deepEqual(await names(who), [`of ${who}`])
    })
  },
  { holders },
)
