/** Proves that nodes of a release without merged writes never run with another declaration if rows would lose values. The store. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Field, f } from 'bylaw'
import { things } from '../help/file.ts'
import { sides, versions } from '../help/pairs.ts'
import { applied, nodeOn, type Place, places } from '../help/places.ts'

const running = ({ rows, now }: Place, node: string) =>
  rows(`INSERT INTO bylaw_nodes VALUES ('${node}', 'another', ${now})`)
const versionIn = async ({ rows }: Place): Promise<number> =>
  JSON.parse((await rows(`SELECT value FROM bylaw_meta WHERE name = 'layout'`))[0]?.value as string).layout
const says =
  /Nodes of an earlier release of bylaw run with another declaration: far:1\. .* overwrite each other's writes to things/

const safe: readonly (readonly [title: string, before: Record<string, Field>, after: Record<string, Field>])[] = [
  ['a field is new', { name: f.text() }, { name: f.text(), size: f.integer({ default: 1, filter: true }) }],
  ['a text has another name', { name: f.text() }, { label: f.text({ was: 'name' }) }],
  [
    'elements of a list say more',
    { all: f.list(f.object({ a: f.text() })) },
    { all: f.list(f.object({ a: f.text(), b: f.text({ default: '' }) })) },
  ],
]
const unsafe: readonly (readonly [title: string, before: Record<string, Field>, after: Record<string, Field>])[] = [
  ['a list has another name', { tags: f.list(f.text()) }, { words: f.list(f.text(), { was: 'tags' }) }],
  [
    'an object with a list says more',
    { place: f.object({ tags: f.list(f.text()) }) },
    { place: f.object({ tags: f.list(f.text()), city: f.text({ default: '' }) }) },
  ],
]

for (const [store, make] of places)
  describe(`nodes of an earlier release (${store})`, () => {
    for (const [title, before, after] of safe)
      test(`run together with those of another declaration if ${title}`, async (t) => {
        const place = await make(t)
        const old = nodeOn(place, things(before))
        t.after(old.close)
        await old.ask('GET', '/things')
        await running(place, 'far:1')
        assert.deepEqual((await applied(place, things(after))).waitsFor, ['far:1'])
        assert.equal(await versionIn(place), 2)
      })

    for (const [title, before, after] of unsafe)
      test(`keep a change from beginning where ${title}`, async (t) => {
        const place = await make(t)
        const old = nodeOn(place, things(before))
        t.after(old.close)
        await old.ask('GET', '/things')
        await running(place, 'far:1')
        const layout = await place.rows(`SELECT value FROM bylaw_meta WHERE name = 'layout'`)
        await assert.rejects(() => applied(place, things(after)), says)
        await assert.rejects(async () => {
          const young = nodeOn(place, things(after))
          t.after(() => young.close().catch(() => {}))
          await young.ask('GET', '/things')
        }, says)
        assert.deepEqual(await place.rows(`SELECT value FROM bylaw_meta WHERE name = 'layout'`), layout)
        await place.rows('DELETE FROM bylaw_nodes')
        await running(place, 'far+2:1')
        assert.deepEqual((await applied(place, things(after))).waitsFor, ['far+2:1'])
        assert.equal(await versionIn(place), 4, 'earlier releases do not start between the phases of such a change')
      })

    test('keep a node from starting in the middle of a change that they began', async (t) => {
      const place = await make(t)
      const [before, after] = versions()
      const both = await sides(t, place, before, after)
      await both.now.close()
      await running(place, 'far:1')
      await assert.rejects(async () => {
        const young = nodeOn(place, after)
        t.after(() => young.close().catch(() => {}))
        await young.ask('GET', '/things')
      }, says)
      await both.end()
      assert.equal(await versionIn(place), 2, 'every release starts behind the change')
    })
  })
