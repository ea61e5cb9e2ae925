/** Part 8 of the contract: maxima, declared and default ones. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'

const resources = { bags: { fields: { label: f.text(), items: f.list(f.integer()) }, access: 'public' } } as const

doors('maxima', service({ name: 'shop', resources }), (door) => {
  spec(
    'R177',
    'lists have at most 1,000 items and texts 10,000 characters unless declared; a refusal changes nothing',
    async () => {
      const { json } = await door.send('POST', '/bags', {
        json: { label: 'x'.repeat(10_000), items: Array(1000).fill(1) },
      })
      const path = `/bags/${json.id}`
      for (const [change, type] of [
        [{ items: Array(1001).fill(1) }, 'too-many-items'],
        [{ label: '😀'.repeat(10_001) }, 'too-long'],
      ] as const) {
        const refused = await door.send('PATCH', path, { json: { label: 'new', ...change } })
        assert.deepEqual([refused.status, refused.json.cause.type], [400, type])
      }
      assert.deepEqual((await door.send('GET', path)).json, json)
    },
  )
})
