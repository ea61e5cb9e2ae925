/** Examples of how writes of nodes with two declarations to one row are merged. The store. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { picked, sides, type Values, versions } from '../help/pairs.ts'
import { places } from '../help/places.ts'

type Write = readonly [side: 'old' | 'now', values: Values]

/** Rows that a node with the new declaration made, the writes of both, and the values that both show at the end. */
const examples: readonly (readonly [
  title: string,
  made: Values,
  writes: readonly Write[],
  old: Values,
  now: Values,
])[] = [
  [
    'a renamed list is as the node of the former declaration wrote it last',
    { words: [] },
    [
      ['now', { words: ['q'] }],
      ['old', { tags: ['a', 'b', 'c'] }],
    ],
    { tags: ['a', 'b', 'c'] },
    { words: ['a', 'b', 'c'] },
  ],
  [
    'a list made from a text is as the node of the former declaration wrote it last',
    { parts: ['q'] },
    [['old', { csv: 'a,b' }]],
    { csv: 'a,b' },
    { parts: ['a', 'b'] },
  ],
  [
    'what the node of the former declaration shows in fewer words stays when it writes another field',
    { price: '1.005', note: 'longer than ten', count: null, power: 'idle', full: 'Ann  Lee' },
    [['old', { tags: ['a'] }]],
    { price: '1.00', note: 'longer tha', count: 0, power: 'off', first: 'Ann', last: ' Lee' },
    { price: '1.005', note: 'longer than ten', count: null, power: 'idle', full: 'Ann  Lee' },
  ],
  [
    'a value that the node of the former declaration changed and changed back is the one that it wrote',
    { price: '1.005', power: 'idle' },
    [
      ['old', { price: '2.00', power: 'on' }],
      ['old', { price: '1.00', power: 'off' }],
    ],
    { price: '1.00', power: 'off' },
    { price: '1.000', power: 'off' },
  ],
  [
    'what only the former declaration knows of an object stays when the other one writes the object',
    { place: { town: 'Rome', country: 'IT' } },
    [
      ['old', { place: { zip: '1' } }],
      ['now', { place: { town: 'Oslo' } }],
    ],
    { place: { city: 'Oslo', zip: '1' } },
    { place: { town: 'Oslo', country: 'IT' } },
  ],
]

const complete: Values = {
  ...{ words: [], parts: [], price: '1.000', note: 'a', count: 0, power: 'on', side: 'left', full: 'Ann' },
  ...{ place: { town: 'Rome', country: 'DE' }, a: [], b: [], code: 'c', metadata: {}, fresh: [] },
}

for (const [store, make] of places)
  describe(`a row that nodes of two declarations write (${store})`, () => {
    for (const [title, made, writes, old, now] of examples)
      test(title, async (t) => {
        const both = await sides(t, await make(t), ...versions())
        const { id } = (await both.now.ask('POST', '/v2/things', { ...complete, ...made })).json
        const look = async (side: 'old' | 'now', path: string, expected: Values) => {
          const { json } = await both[side].ask('GET', `${path}/${id}`)
          assert.deepEqual(picked(json, expected as never), expected)
        }
        for (const [side, values] of writes) {
          const { status, json } = await both[side].ask('PATCH', `${side === 'old' ? '' : '/v2'}/things/${id}`, values)
          assert.equal(status, 200, JSON.stringify(json))
        }
        await look('now', '/v2/things', now)
        await look('old', '/things', old)
        await both.end()
        await look('now', '/v2/things', now)
      })
  })
