/** Mistakes in the parts of a change about operations, their inputs and outputs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from '../index.ts'

const declared = {
  name: 'shop',
  versions: { v1: { released: '2026-01-15' }, v2: { released: '2026-06-01' } },
  resources: {
    orders: {
      prefix: 'ord',
      fields: {},
      access: 'public',
      operations: {
        quotes: {
          at: 'collection',
          input: { count: f.integer({ min: 1 }), code: f.text({ optional: true }) },
          output: { total: f.integer({ max: 99 }) },
        },
        audits: { at: 'item', output: { ok: f.boolean() } },
        exports: { at: 'collection', asynchronous: true },
      },
    },
  },
}

function mistakes(operations: object): string[] {
  const made = service(declared as never) as unknown as { change: (...given: unknown[]) => { resources: unknown } }
  try {
    void made.change('v2', 'orders', { about: 'It changed.', operations }).resources
    return []
  } catch (error) {
    const all = (error as { mistakes: { place: string; reason: string }[] }).mistakes
    return all.map(({ place, reason }) => `${place.replace('changes.v2.orders.operations.', '')}: ${reason}`)
  }
}

const withdrawn = (one: unknown) => ({ withdrawn: { prices: one } })
const changed = (one: object) => ({ changed: { quotes: one } })
const price = { at: 'collection', input: { count: f.integer({ min: 1 }) }, output: { total: f.integer({ max: 99 }) } }
const cases: readonly (readonly [operations: object, mistake: string])[] = [
  [{ gone: {} }, 'gone: `gone` is not known here.'],
  [{ added: ['quote'] }, 'changes.v2.orders.operations: There is no operation "quote" in v2.'],
  [{ renamed: { prices: 'quote' } }, 'changes.v2.orders.operations: There is no operation "quote" in v2.'],
  [{ renamed: { audits: 'quotes' } }, 'renamed.audits: Before v2 there would be two operations `audits`.'],
  [withdrawn(7), 'withdrawn.prices: It is 7.'],
  [withdrawn({ refused: 410 }), 'withdrawn.prices: `at` is missing.'],
  [withdrawn(price), 'withdrawn.prices: It does not say what its requests get.'],
  [withdrawn({ ...price, refused: 404 }), 'withdrawn.prices: `refused` is 404.'],
  [withdrawn({ ...price, by: 'quote' }), 'withdrawn.prices: There is no operation "quote".'],
  [
    withdrawn({ ...price, at: 'item', by: 'quotes' }),
    'withdrawn.prices: It was at the item, but `quotes` is at the collection.',
  ],
  [
    withdrawn({ ...price, by: 'exports' }),
    'withdrawn.prices: It was at the collection, but `exports` is asynchronous and at the collection.',
  ],
  [
    withdrawn({ ...price, input: {}, by: 'quotes' }),
    'withdrawn.prices: Its requests do not give `quotes` what it needs: `count`.',
  ],
  [
    withdrawn({ ...price, output: { total: f.integer({ max: 9 }) }, by: 'quotes' }),
    'withdrawn.prices: `quotes` does not answer what its consumers expect: `total`.',
  ],
  [changed({ access: 'public' }), 'changed.quotes.access: `access` is not known here.'],
  [changed({ input: { added: ['counts'] } }), 'changed.quotes.input.added: There is no field "counts" in v2.'],
  [
    changed({ input: { added: ['count'] } }),
    'changed.quotes.input.added: Old requests do not contain `count`, which is required.',
  ],
  [
    changed({ input: { retyped: { count: f.integer() } } }),
    'changed.quotes.input.retyped.count: Old values of `count` may not fit the new input.',
  ],
  [
    changed({ output: { removed: { vat: f.integer() } } }),
    'changed.quotes.output.removed.vat: Old answers need a value for it.',
  ],
  [
    changed({ output: { retyped: { total: f.integer({ max: 9 }) } } }),
    'changed.quotes.output.retyped.total: Values of `total` may not fit the old output.',
  ],
]

for (const [operations, mistake] of cases)
  test(`R195: ${mistake}`, () => assert.equal(mistakes(operations)[0], mistake))

test('R195: what fits is accepted', () => {
  assert.deepEqual(mistakes(withdrawn({ ...price, by: 'quotes' })), [])
  assert.deepEqual(mistakes(withdrawn({ ...price, refused: 409 })), [])
  assert.deepEqual(mistakes({ added: ['audits'], renamed: { prices: 'quotes' } }), [])
  assert.deepEqual(mistakes(changed({ output: { retyped: { total: f.integer() } } })), [])
  assert.deepEqual(mistakes(changed({ output: { added: ['total'] }, input: { added: ['code'] } })), [])
})
