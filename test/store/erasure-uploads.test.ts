/** An erasure during an upload leaves no content behind that no row names. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { memoryContents } from '../../src/contents/memory.ts'
import { sweepFiles } from '../../src/files/sweep-files.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import type { Service as MadeService } from '../../src/service.ts'
import { openStore } from '../../src/terminal/open.ts'
import { openContext } from '../help/context.ts'
import { erased } from '../help/erasing.ts'
import { places } from '../help/places.ts'
import { until } from '../help/until.ts'

const shop = service({
  name: 'shop',
  resources: {
    guests: { fields: { scan: f.file({ max: 1000, personal: true }) }, access: 'public' },
  },
}) as unknown as Service

for (const [name, place] of places)
  for (const isSwept of [true, false])
    test(`an upload that ends after the erasure ${isSwept ? 'and a sweep ' : ''}is refused, and removed, on ${name}`, async (t) => {
      const at = await place(t)
      const own = shop as unknown as MadeService
      const store = await openStore(own, at.url, 'apply')
      t.after(() => store.close())
      const contents = memoryContents()
      const names: string[] = []
      const erasing = Promise.withResolvers<void>()
      const write: typeof contents.write = async (content, pieces, most) => {
        names.push(content)
        await erasing.promise
        await contents.write(content, pieces, most)
      }
      const world = serviceWorld(realWorld, store, undefined, { ...contents, write })
      const log = { error: () => {}, warn: () => {}, info: () => {} }
      const door = fetchDoor(openContext(own, store, world, log))
      const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
      const { id } = (await (await door(new Request('http://a/guests', json))).json()) as { id: string }
      const sent = { method: 'PUT', headers: { 'content-type': 'text/plain' }, body: 'marked' }
      const answer = door(new Request(`http://a/guests/${id}/scan`, sent))
      await until(() => names.length > 0)
      await erased(shop, at, 'guests', { id })
      if (isSwept) await sweepFiles({ store, world })
      erasing.resolve()
      const { status } = await answer
      assert.equal(status, 409)
      await sweepFiles({ store, world })
      assert.deepEqual(await at.rows('SELECT * FROM bylaw_files'), [])
      assert.equal(await contents.length(names[0] as string), null)
    })
