/** Files on both stores: fields that are added, renamed and dropped, handlers, and contents that revisions keep. The store. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { memoryContents } from '../../src/contents/memory.ts'
import type { ContentStore } from '../../src/flow/world.ts'
import { standIn } from '../help/bucket.ts'
import { undrop } from '../help/drops.ts'
import { type FileNode, fileNode } from '../help/file-node.ts'
import { places } from '../help/places.ts'

const shop = (fields: object, more: object = {}): Service =>
  service({ name: 'shop', resources: { orders: { prefix: 'ord', fields, access: 'public', ...more } } } as never)

const pdf = Buffer.from('%PDF-1.4 an invoice')

/** Contents that know how many there are. */
function countedContents(): ContentStore & { readonly names: Set<string> } {
  const [names, own] = [new Set<string>(), memoryContents()]
  return {
    ...{ ...own, names },
    write: (name, ...rest) => own.write(name, ...rest).then(() => void names.add(name)),
    remove: (name) => own.remove(name).then(() => void names.delete(name)),
  }
}

for (const [name, make] of places)
  describe(name, () => {
    test('R237: a content of a revision that was removed before a longer retention is 404', async (t) => {
      const [place, contents] = [await make(t), countedContents()]
      const kept = (retention: string) => shop({ invoice: f.file() }, { history: { read: 'public', retention } })
      const before = await fileNode(kept('P3D'), place, contents)
      const { id } = (await (await before.send('POST', '/orders', {})).json()) as { id: string }
      for (let i = 0; i < 2; i++) await before.send('PUT', `/orders/${id}/invoice`, Buffer.from(`%PDF-1.${i}`))
      await before.close()
      const after = await fileNode(kept('P30D'), place, contents)
      await after.sweep(5)
      const statuses = []
      for (const revision of [2, 3])
        statuses.push((await after.send('GET', `/orders/${id}/revisions/${revision}/invoice`)).status)
      assert.deepEqual([statuses, after.errors], [[404, 200], []])
      await after.close()
    })

    test('R193: a file can be declared later, renamed, and dropped', async (t) => {
      const place = await make(t)
      const contents = countedContents()
      const first = await fileNode(shop({ note: f.text({ optional: true }) }), place, contents)
      const { id } = (await (await first.send('POST', '/orders', {})).json()) as { id: string }
      assert.equal((await first.send('PUT', `/orders/${id}/invoice`, pdf)).status, 404)
      await first.close()
      const second = await fileNode(shop({ note: f.text({ optional: true }), invoice: f.file() }), place, contents)
      assert.equal(((await (await second.send('GET', `/orders/${id}`)).json()) as { invoice: null }).invoice, null)
      assert.equal((await second.send('PUT', `/orders/${id}/invoice`, pdf)).status, 201)
      await second.close()
      const third = await fileNode(
        shop({ note: f.text({ optional: true }), bill: f.file({ was: 'invoice', max: 5 }) }),
        place,
        contents,
      )
      const shown = (await (await third.send('GET', `/orders/${id}`)).json()) as { bill: { href: string } }
      assert.equal(shown.bill.href, `/orders/${id}/bill`)
      assert.equal(await (await third.send('GET', shown.bill.href)).text(), String(pdf))
      assert.equal((await third.send('PUT', `/orders/${id}/bill`, pdf)).status, 413)
      await third.close()
      const last = await fileNode(shop({ note: f.text({ optional: true }) }), place, contents, ['orders.bill'])
      assert.equal((await last.send('GET', `/orders/${id}/bill`)).status, 404)
      assert.equal((await last.send('PATCH', `/orders/${id}`, { note: 'a' })).status, 200)
      await last.close()
    })

    test('R237: contents go when the last revision that has them is forgotten', async (t) => {
      const place = await make(t)
      for (const [history, left] of [
        [{ read: 'public' }, 2],
        [{ read: 'public', retention: 'P3D' }, 0],
      ] as const) {
        const contents = countedContents()
        const node = await fileNode(shop({ invoice: f.file() }, { history }), place, contents)
        const { id } = (await (await node.send('POST', '/orders', {})).json()) as { id: string }
        for (const one of ['first', 'second'])
          await node.send('PUT', `/orders/${id}/invoice`, Buffer.from(`%PDF-1.4 ${one}`))
        await node.send('DELETE', `/orders/${id}`)
        await node.sweep(3)
        assert.equal(contents.names.size, 2)
        await node.sweep(5)
        assert.equal(contents.names.size, left)
        await node.close()
      }
    })

    test('R193: contents of a dropped field go when its values can no longer be put back, and stay if they are', async (t) => {
      const place = await make(t)
      const contents = countedContents()
      const fields = { invoice: f.file(), scan: f.file(), photo: f.file() }
      const first = await fileNode(shop(fields), place, contents)
      const { id } = (await (await first.send('POST', '/orders', {})).json()) as { id: string }
      for (const name of Object.keys(fields)) await first.send('PUT', `/orders/${id}/${name}`, pdf)
      await first.close()
      const { photo } = fields
      const dropping = await fileNode(shop({ photo }), place, contents, ['orders.invoice', 'orders.scan'])
      await dropping.sweep(29)
      assert.equal(contents.names.size, 3)
      await dropping.close()
      const again = shop({ photo, invoice: f.file() })
      const second = await fileNode(again, place, contents)
      const [back, gone] = await undrop(place, again)
      assert.deepEqual([back, gone], ['orders.invoice: put back', 'orders.scan: is not declared'])
      await second.sweep(40)
      assert.equal(contents.names.size, 2)
      for (const name of ['invoice', 'photo'])
        assert.equal(await (await second.send('GET', `/orders/${id}/${name}`)).text(), String(pdf))
      await second.close()
      const late = shop({ ...fields })
      await (await fileNode(late, place, contents)).close()
      assert.deepEqual(await undrop(place, late), ['orders.scan: is a file whose content is not there any more'])
    })

    test('R34: nodes share a bucket, and any of them sweeps it', async (t) => {
      const place = await make(t)
      const bucket = await standIn()
      t.after(bucket.close)
      const api = shop({ invoice: f.file() })
      const nodes = [
        await fileNode(api, place, await bucket.contents()),
        await fileNode(api, place, await bucket.contents()),
      ]
      const [one, other] = nodes as [FileNode, FileNode]
      const { id } = (await (await one.send('POST', '/orders', {})).json()) as { id: string }
      for (const text of ['%PDF-1.4 first', '%PDF-1.4 second']) {
        assert.ok((await one.send('PUT', `/orders/${id}/invoice`, Buffer.from(text))).ok)
        assert.equal(await (await other.send('GET', `/orders/${id}/invoice`)).text(), text)
      }
      assert.equal(bucket.objects.size, 2)
      await other.sweep(2)
      assert.equal(bucket.objects.size, 1)
      assert.equal(await (await one.send('GET', `/orders/${id}/invoice`)).text(), '%PDF-1.4 second')
      await other.send('DELETE', `/orders/${id}`)
      await one.sweep(2)
      assert.equal(bucket.objects.size, 0)
      for (const node of nodes) await node.close()
    })

    test('R225: handlers decide about uploads, and write no file themselves', async (t) => {
      const place = await make(t)
      const contents = countedContents()
      const api = service({
        name: 'shop',
        errors: { empty: { status: 409, parents: ['conflict'] } },
        resources: {
          orders: {
            prefix: 'ord',
            fields: { note: f.text({ optional: true }), invoice: f.file(), copy: f.file() },
            access: 'public',
          },
        },
      })
      const handled = api.handlers({
        orders: {
          change({ next, set, refuse }) {
            if (next.invoice?.length === 0) throw refuse('empty')
            // @ts-expect-error: it is a file
            if (next.note === 'clear') set({ invoice: null })
            // @ts-expect-error: it is a file
            if (next.note === 'copy') set({ copy: next.invoice })
            if (next.note === 'dry') set({ copy: { ...next.invoice, href: 'dry' } } as object)
          },
        },
      })
      const node = await fileNode(handled, place, contents)
      const { id } = (await (await node.send('POST', '/orders', {})).json()) as { id: string }
      const read = async () => (await (await node.send('GET', `/orders/${id}`)).json()) as Record<string, unknown>
      assert.equal((await node.send('PUT', `/orders/${id}/invoice`, Buffer.alloc(0))).status, 409)
      assert.equal((await node.send('PUT', `/orders/${id}/invoice`, pdf)).status, 201)
      assert.ok((await read()).invoice)
      const before = await read()
      for (const note of ['copy', 'clear', 'dry']) {
        assert.equal((await node.send('PATCH', `/orders/${id}`, { note })).status, 500)
        const message = String(node.errors.at(-1))
        assert.match(message, /(copy|invoice) is a file, which PUT and DELETE of its URL write/)
      }
      assert.deepEqual(await read(), before)
      await node.sweep(2)
      assert.equal(contents.names.size, 1)
      await node.close()
    })
  })
