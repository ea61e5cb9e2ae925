import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { count, f, max, service, sum } from 'bylaw'
import { declarationMistakes } from './declaration-mistakes.ts'

const lines = { parent: 'orders', fields: { amount: f.decimal({ scale: 2 }), text: f.text() }, access: 'public' }

/** The mistakes of orders with these fields, and with lines. */
function mistakes(fields: object, more: object = {}, given: object = lines): string[] {
  const resources = { orders: { fields, access: 'public', ...more }, lines: given }
  return declarationMistakes({ name: 'shop', resources }).map(
    ({ place, reason, mend }) => `${place.replace('resources.orders.', '')}: ${reason} ${mend}`,
  )
}
const total = (options: object = {}, derived: object = sum('lines', 'amount')) => ({
  total: f.decimal({ scale: 2, derived, ...options } as never),
})
const first = (...given: Parameters<typeof mistakes>) => mistakes(...given)[0] ?? ''

describe('derived fields', () => {
  test('sound ones have no mistakes', () => {
    assert.deepEqual(mistakes({ ...total(), lineCount: f.integer({ derived: count('lines') }) }), [])
    assert.deepEqual(
      mistakes(
        { price: f.integer(), twice: f.integer({ derived: true }) },
        { derived: { twice: ({ price }: { price: number }) => 2 * price } },
      ),
      [],
    )
  })

  test('aggregates name rows that belong or refer to the item, and a field that fits', () => {
    assert.match(first(total({}, sum('line', 'amount'))), /There is no resource "line"\. Did you mean `lines`\?/)
    assert.match(first(total({}, sum('lines', 'amuont'))), /`lines` has no field "amuont"\. Did you mean `amount`\?/)
    assert.match(
      first(total({}, sum('lines', 'text'))),
      /It is of kind decimal, and its source field is of kind text\. Name a field of kind integer, bigint or decimal\./,
    )
    assert.match(
      first(total({ scale: 1 })),
      /It has 1 digits after the point, and its source field has 2\. Write scale: 2\./,
    )
    const personal = { ...lines, fields: { amount: f.decimal({ scale: 2, default: '0.00', personal: true }) } }
    assert.match(
      first(total(), {}, personal),
      /Its source field is `personal`.* Leave this field out, or leave `personal` out of the source field\./,
    )
    assert.match(first(total({}, max('lines', 'amount'))), /the max is null\. Write optional: true\./)
    assert.match(first(total({ optional: true })), /A sum always has a value\./)
    assert.match(first({ when: f.date({ derived: sum('lines', 'amount') }) }), /A sum cannot be a field of kind date\./)
    const apart = { fields: lines.fields, access: 'public' }
    assert.match(first(total(), {}, apart), /neither belong nor refer to those of `orders`/)
    const twice = { ...apart, fields: { ...lines.fields, fromId: f.ref('orders'), toId: f.ref('orders') } }
    assert.match(first(total(), {}, twice), /by fromId and toId\. Name one of them, as \{ by: 'fromId' \}\./)
    assert.deepEqual(mistakes(total({}, sum('lines', 'amount', { by: 'toId' })), {}, twice), [])
    assert.match(
      first(total({}, sum('lines', 'amount', { by: 'ownId' })), {}, twice),
      /has no reference "ownId" to `orders`/,
    )
  })

  test('functions and fields agree, and a function depends on the item alone', () => {
    const twice = { price: f.integer(), twice: f.integer({ derived: true }) }
    assert.match(first(twice), /no function gives its value\. Write derived: \{ twice: \(item\) => … \}/)
    assert.match(
      first({ price: f.integer() }, { derived: { price: () => 1 } }),
      /`price` is not a field with `derived: true`/,
    )
    assert.match(first(twice, { derived: { twice: 5 } }), /It is 5\. Write a function/)
    let calls = 0
    assert.match(first(twice, { derived: { twice: () => calls++ } }), /gives different values for the same item/)
    assert.match(first({ twice: f.integer({ derived: 'yes' as never }) }), /`derived` is "yes"/)
    assert.match(
      first({ twice: f.integer({ derived: true, immutable: true }) }, { derived: { twice: () => 1 } }),
      /`immutable` would have no effect/,
    )
    assert.match(
      first({ twice: f.integer({ derived: true, personal: true }) }, { derived: { twice: () => 1 } }),
      /`personal` would have no effect/,
    )
  })

  test('derived values do not reveal values that their readers may not read', () => {
    const secret = {
      cost: f.decimal({ scale: 2, read: 'costs:read' } as never),
      rate: f.decimal({ scale: 2, derived: true }),
    }
    const scopes = { 'costs:read': 'Read costs', 'lines:read': 'Read lines' }
    const reported = (resources: object) =>
      declarationMistakes({ name: 'shop', scopes, resources })
        .map(({ reason, mend }) => `${reason} ${mend}`)
        .join('\n')
    const bills = { fields: secret, derived: { rate: ({ cost }: { cost: string }) => cost }, access: 'public' }
    assert.match(
      reported({ bills }),
      /Its function reads `cost`, which can only be read with costs:read\. Write read: 'costs:read'\./,
    )
    const mended = {
      cost: f.decimal({ scale: 2, optional: true, read: 'costs:read' }),
      rate: f.decimal({ scale: 2, optional: true, derived: true, read: 'costs:read' }),
      sure: f.boolean({ derived: true, read: 'costs:read' }),
    }
    const made = { rate: bills.derived.rate, sure: ({ cost }: { cost: string | null }) => cost !== null }
    assert.equal(reported({ bills: { ...bills, fields: mended, derived: made } }), '')
    const guarded = { ...lines, access: { read: 'lines:read', write: 'public' } }
    assert.match(
      reported({ orders: { fields: total(), access: 'public' }, lines: guarded }),
      /reveal items of `lines` that only lines:read can read\. Write read: 'lines:read'/,
    )
    assert.equal(reported({ orders: { fields: total({ read: 'lines:read' }), access: 'public' }, lines: guarded }), '')
    const both = {
      ...guarded,
      fields: { ...lines.fields, amount: f.decimal({ scale: 2, optional: true, read: 'costs:read' }) },
    }
    assert.match(
      reported({ orders: { fields: total({ read: 'costs:read' }), access: 'public' }, lines: both }),
      /reveal items of `lines` that only lines:read can read/,
    )
    const bound = { fields: total({ read: 'costs:read' }), access: guarded.access }
    assert.equal(reported({ orders: bound, lines: guarded }), '')
    assert.equal(reported({ orders: bound, lines: both }), '')
    const hidden = { ...lines, fields: { amount: f.decimal({ scale: 2, writeOnly: true }), text: f.text() } }
    assert.match(
      reported({ orders: { fields: total(), access: 'public' }, lines: hidden }),
      /`writeOnly`, and a derived field would reveal its values/,
    )
    const owned = { fields: { ...lines.fields, orderId: f.ref('orders') }, owner: 'accountId', access: 'authenticated' }
    assert.match(
      reported({ orders: { fields: total(), access: 'authenticated' }, lines: owned }),
      /belong to accounts, and those of `\w+` belong to none/,
    )
  })

  test('functions do not read fields that readers of their field may not read', () => {
    const both = { price: f.integer(), once: f.integer({ derived: true }), twice: f.integer({ derived: true }) }
    const derived = {
      once: ({ price }: { price: number }) => price,
      twice: (item: { once?: number }) => 2 * (item.once ?? 0),
    }
    assert.match(first(both, { derived }), /reads `once`, whose value is that of a function too\./)
  })

  test('totals of totals may not go in a circle', () => {
    const side = (other: string) => ({
      fields: {
        [`${other.slice(0, -1)}Id`]: f.ref(other, { optional: true }),
        total: f.decimal({ scale: 2, derived: sum(other, 'total') }),
      },
      access: 'public',
    })
    const found = declarationMistakes({ name: 'shop', resources: { lefts: side('rights'), rights: side('lefts') } })
    assert.equal(found.length, 1, JSON.stringify(found))
  })

  test('an unknown option in code is reported at start', () => {
    assert.throws(() =>
      service({
        name: 'shop',
        resources: { orders: { fields: { n: f.integer({ derived: 5 } as never) }, access: 'public' } },
      }),
    )
  })
})
