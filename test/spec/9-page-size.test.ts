/** Contract section 13: the size of the reference page of a large service. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import type { Service } from '../../src/service.ts'
import { doors, spec } from '../help/door.ts'

const manyResources = service({
  name: 'many',
  resources: Object.fromEntries(
    Array.from({ length: 30 }, (_, i) => {
      const letters = String.fromCharCode(97 + (i % 26), 97 + Math.floor(i / 26))
      const name = `${letters}-things`
      const states = { open: 'draft', transitions: ['placements', 'shipments', 'returns'] }
      return [
        name,
        {
          prefix: `t${letters}`,
          fields: {
            name: f.text({ max: 100, filter: 'like', sort: true, description: `What people call one of ${name}.` }),
            amount: f.decimal({ scale: 2, filter: 'range', sort: true }),
            dueOn: f.date({ optional: true, filter: 'range' }),
            mail: f.email({ optional: true, filter: true }),
            tags: f.list(f.text({ max: 40 }), { max: 10, default: [] }),
          },
          states: {
            field: 'status',
            initial: states.open,
            transitions: Object.fromEntries(
              states.transitions.map((one, at, all) => [one, { from: [all[at - 1] ?? states.open], to: one }]),
            ),
          },
          access: 'public',
        } as const,
      ]
    }),
  ),
}) as unknown as Service

doors('the page of a service with 30 resources', manyResources, (door) => {
  spec('R214', 'it has at most 100 kB compressed', async () => {
    const { bytes, text } = await door.send('GET', '/docs', { headers: { 'accept-encoding': 'gzip' } })
    assert.equal(text.match(/class="op"/g)?.length, 30 * 9)
    assert.ok(bytes.length < 100_000, String(bytes.length))
  })
})
