import assert from 'node:assert/strict'
import { before } from 'node:test'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'

/** A band and a label are made of what not everybody sees. */
const paid = service({
  name: 'paid',
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' } },
  scopes: { pay: 'See pay' },
  resources: {
    people: {
      prefix: 'per',
      fields: { name: f.text(), pay: f.integer({ read: 'pay', default: 0 }) },
      access: 'authenticated',
    },
  },
}).change('v2', 'people', {
  about: '`band` is not told any more, nor `label`.',
  removed: {
    band: f.enum(['low', 'high'], { optional: true, read: 'pay', filter: true, sort: true }),
    label: f.enum(['plain', 'rich'], { default: 'plain', filter: true }),
  },
  response: ({ name, pay }) => ({
    band: pay === null ? null : pay > 5 ? ('high' as const) : ('low' as const),
    label: name === 'x' && (pay ?? 0) > 5 ? ('rich' as const) : ('plain' as const),
  }),
})

doors(
  'fields of before that are made of what not everybody sees',
  paid,
  (door) => {
    const list = (query: string, holder: string) =>
      door.send('GET', `/v1/people?${query}`, { headers: door.as(holder) })
    before(async () => {
      for (const [name, pay] of [
        ['x', 9],
        ['y', 1],
        ['z', 7],
      ])
        await door.send('POST', '/v2/people', { json: { name, pay }, headers: door.as('seer') })
    })
    const namesIn = ({ json, text }: Awaited<ReturnType<typeof list>>) => {
      assert.ok(json.data, text)
      return json.data.map(({ name }: { name: string }) => name)
    }

    spec('R169 R194', 'are asked by those who see them, and found by what those are shown', async () => {
      assert.deepEqual(namesIn(await list('band=high&sort=band', 'seer')), ['x', 'z'])
      for (const query of ['band=high', 'sort=band', 'band[null]=true'])
        assert.equal((await list(query, 'other')).status, 403, query)
    })

    spec('R169 R194', 'tell nobody by where rows stand what is not shown to all', async () => {
      const [first] = (await list('label=plain', 'other')).json.data
      assert.deepEqual([first.name, first.label], ['x', 'plain'])
      assert.deepEqual(namesIn(await list('label=rich', 'other')), [])
      assert.deepEqual(namesIn(await list('label=rich', 'seer')), [])
    })
  },
  { holders: { seer: { scopes: ['pay'] }, other: {} } },
)
