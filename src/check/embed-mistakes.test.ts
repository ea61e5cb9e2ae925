import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, service } from 'bylaw'
import { declarationMistakes } from './declaration-mistakes.ts'

/** The mistakes of a shop whose orders declare this. */
function mistakes(embed: unknown, fields: object = {}, more: object = {}): string[] {
  const customers = { fields: { regionId: f.ref('regions', { optional: true }) }, access: 'public' }
  const regions = { fields: { name: f.text() }, access: 'public' }
  const hidden = { plural: true, fields: { name: f.text() }, methods: ['create'], access: 'public' }
  const lines = { parent: 'orders', fields: { note: f.text() }, access: 'public' }
  const refs = {
    customerId: f.ref('customers'),
    hiddenId: f.ref('hidden'),
    pinId: f.ref('regions', { writeOnly: true }),
  }
  const orders = { fields: { ...refs, ...fields }, embed, access: 'public' }
  const declared = { name: 'shop', resources: { regions, customers, hidden, orders, 'order-lines': lines }, ...more }
  return declarationMistakes(declared).map(({ place, reason, mend }) => `${place}: ${reason} ${mend}`)
}
const at = 'resources.orders.embed'
const other = { optional: true, ownMeaning: 'another one' } as const

describe('names to embed', () => {
  test('R232: are true, or names of references, of the parent and of lists, two deep', () => {
    for (const embed of [true, ['customer'], ['customer.region', 'orderLines.order', 'orderLines'], undefined])
      assert.deepEqual(mistakes(embed), [])
    assert.deepEqual(
      mistakes(['order_lines'], {}, { settings: { naming: 'snake' } }).filter((one) => one.startsWith(at)),
      [],
    )
  })

  test('R232: other values and names are refused, and the message lists the allowed ones', () => {
    const form = "Write true, or names as embed: ['customer', 'lines.product'], or leave it out."
    for (const [embed, says] of [
      [false, 'false'],
      [[], 'an empty list'],
      ['customer', '"customer"'],
      [[1], 'a list'],
    ] as const) {
      const [one = '', ...rest] = mistakes(embed)
      assert.deepEqual(rest, [])
      assert.match(one, new RegExp(`^${at.replaceAll('.', '\\.')}: \`embed\` is .*`), says)
      assert.ok(one.endsWith(form), one)
    }
    assert.deepEqual(
      mistakes(['custmer', 'customer.region.x', 'customer', 'customer', 'hidden', 'pin', 'customer.orders']),
      [
        `${at}: orders has nothing called \`custmer\` that can be embedded: names are those of references, of the parent and of lists of children. Did you mean \`customer\`? Allowed: customer or orderLines.`,
        `${at}: \`customer.region.x\` is 3 deep; at most two are allowed. Write \`customer.region\`.`,
        `${at}: \`customer\` is there twice. Leave one of them out.`,
        `${at}: orders has nothing called \`hidden\` that can be embedded: names are those of references, of the parent and of lists of children. Allowed: customer or orderLines.`,
        `${at}: orders has nothing called \`pin\` that can be embedded: names are those of references, of the parent and of lists of children. Allowed: customer or orderLines.`,
        `${at}: customers has nothing called \`orders\` that can be embedded: names are those of references, of the parent and of lists of children. Allowed: region.`,
      ],
    )
  })

  test('R232: two of one name are refused', () => {
    const fields = { customer: f.ref('customers', other), orderLinesId: f.ref('regions', other) }
    const [first, second] = mistakes(true, fields)
    assert.equal(second, undefined)
    assert.equal(
      first,
      `${at}: \`customer\` would be the name of the field \`customerId\` and of the field \`customer\`. Write another name for one of them.`,
    )
    assert.deepEqual(mistakes(['orderLines'], fields), [
      `${at}: \`orderLines\` would be the name of the field \`orderLinesId\` and of the list of \`order-lines\`. Write another name for one of them.`,
    ])
    assert.deepEqual(mistakes(undefined, fields), [])
  })

  test('R232: mistakes elsewhere do not hide those of names', () => {
    const found = mistakes(['nope'], { bad: { kind: 'nope' }, customer: f.ref('nowhere') })
    assert.ok(found.some((one) => one.startsWith(`${at}: orders has nothing called \`nope\``)))
  })

  test('R232 R219: the service refuses to start', () => {
    const declared = {
      name: 'shop',
      resources: { notes: { fields: { text: f.text() }, embed: ['author'], access: 'public' } },
    }
    assert.throws(() => service(declared as never), /resources\.notes\.embed/)
  })
})
