/** Files of an embedded service: uploads and downloads pass through each host as they do through `bylaw serve`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { hosts, startHost } from '../help/hosts.ts'

const shop = service({
  name: 'shop',
  resources: { orders: { prefix: 'ord', fields: { scan: f.file({ max: 20_000_000 }) }, access: 'public' } },
  settings: { server: { basePath: '/shop/api' }, limits: { body: 1000 } },
}) as unknown as Service

for (const name of Object.keys(hosts))
  test(`R178: a file passes through ${name}`, async (t) => {
    const { url, close } = await startHost(name, shop)
    t.after(close)
    const at = `${url}/shop/api/orders`
    const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
    const { id } = (await (await fetch(at, json)).json()) as { id: string }
    for (const length of [0, 10, 5_000_000]) {
      const body = new Uint8Array(length).fill(97)
      const headers = { 'content-type': 'application/x-own' }
      const sent = await fetch(`${at}/${id}/scan`, { method: 'PUT', headers, body })
      assert.ok(sent.status < 300, await sent.text())
      const read = await fetch(`${at}/${id}/scan`)
      assert.equal(read.headers.get('content-type'), 'application/x-own')
      assert.deepEqual(new Uint8Array(await read.arrayBuffer()), body)
    }
    const part = await fetch(`${at}/${id}/scan`, { headers: { range: 'bytes=0-1' } })
    assert.deepEqual([part.status, await part.text()], [206, 'aa'])
  })
