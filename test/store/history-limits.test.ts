/** A history that is limited later: its old revisions go, and the contents of files that only they have. R237. The store. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { memoryContents } from '../../src/contents/memory.ts'
import { fileNode } from '../help/file-node.ts'
import { places } from '../help/places.ts'

const read = 'public'
const shop = (history: object | null, fields: object = {}): Service =>
  service({
    name: 'shop',
    resources: {
      orders: {
        ...{ prefix: 'ord', fields: { invoice: f.file(), ...fields }, access: 'public' },
        ...(history && { history }),
      },
      notes: {
        ...{ parent: 'orders', key: 'code', fields: { code: f.text(), scan: f.file() }, access: 'public' },
        ...(history && { history }),
      },
    },
  } as never) as unknown as Service

/** Contents in memory, with the text of each by its name. */
function namedContents() {
  const [texts, own] = [new Map<string, string>(), memoryContents()]
  const contents = {
    ...own,
    write: async (...args: Parameters<typeof own.write>) => {
      const done = await own.write(...args)
      texts.set(args[0], '')
      return done
    },
    remove: async (name: string) => {
      await own.remove(name)
      texts.delete(name)
    },
  }
  return { contents, count: () => texts.size }
}

const pdf = (text: string) => Buffer.from(`%PDF-1.4 ${text}`)

for (const [name, make] of places)
  describe(name, () => {
    test('R237: contents that only forgotten revisions have go if the retention is declared later', async (t) => {
      const place = await make(t)
      const { contents, count } = namedContents()
      const before = await fileNode(shop({ read }), place, contents)
      const made = async (path: string, json: object) =>
        (await (await before.send('POST', path, json)).json()) as { id: string }
      const [kept, gone] = [await made('/orders', {}), await made('/orders', {})]
      await made(`/orders/${kept.id}/notes`, { code: 'a' })
      await made(`/orders/${gone.id}/notes`, { code: 'a' })
      for (const { id } of [kept, gone])
        for (const text of ['first', 'second', 'third']) {
          assert.ok((await before.send('PUT', `/orders/${id}/invoice`, pdf(text))).ok)
          assert.ok((await before.send('PUT', `/orders/${id}/notes/a/scan`, pdf(text))).ok)
        }
      await before.send('DELETE', `/orders/${gone.id}/notes/a`)
      await before.send('DELETE', `/orders/${gone.id}`)
      await before.sweep(400)
      assert.equal(count(), 12)
      await before.close()
      const after = await fileNode(shop({ read, retention: 'P30D' }), place, contents)
      await after.forget(10)
      await after.sweep(20)
      assert.equal(count(), 12)
      await after.forget(31)
      await after.sweep(31)
      assert.equal(count(), 12, 'contents are kept for a day')
      await after.sweep(33)
      assert.equal(count(), 2)
      for (const path of [`/orders/${kept.id}/invoice`, `/orders/${kept.id}/notes/a/scan`])
        assert.equal(await (await after.send('GET', path)).text(), String(pdf('third')))
      assert.deepEqual(after.errors, [])
      await after.close()
    })

    test('R237: a content stays while a dropped value that has it can be put back', async (t) => {
      const place = await make(t)
      const { contents, count } = namedContents()
      const before = await fileNode(shop({ read }, { scan: f.file() }), place, contents)
      const { id } = (await (await before.send('POST', '/orders', {})).json()) as { id: string }
      await before.send('PUT', `/orders/${id}/scan`, pdf('first'))
      await before.close()
      const after = await fileNode(shop({ read, retention: 'P3D' }), place, contents, ['orders.scan'])
      await after.forget(10)
      await after.sweep(12)
      assert.equal(count(), 1)
      await after.close()
    })

    test('R237: a content that a younger revision has stays until that is forgotten', async (t) => {
      const place = await make(t)
      const { contents, count } = namedContents()
      const before = await fileNode(shop({ read }, { note: f.text({ default: '' }) }), place, contents)
      const { id } = (await (await before.send('POST', '/orders', {})).json()) as { id: string }
      await before.send('PUT', `/orders/${id}/invoice`, pdf('first'))
      await before.close()
      await place.rows('UPDATE bylaw_history SET at = at - 864000000')
      const again = await fileNode(shop({ read }, { note: f.text({ default: '' }) }), place, contents)
      await again.send('PATCH', `/orders/${id}`, { note: 'a' })
      await again.send('PUT', `/orders/${id}/invoice`, pdf('second'))
      await again.close()
      const after = await fileNode(
        shop({ read, retention: 'P30D' }, { note: f.text({ default: '' }) }),
        place,
        contents,
      )
      await after.forget(25)
      await after.sweep(28)
      assert.equal(count(), 2)
      await after.forget(31)
      await after.sweep(33)
      assert.equal(count(), 1)
      await after.close()
    })
  })
