/** Mistakes in `pairs`, with their places and fixes. Part 2, resources. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f } from '../fields/field.ts'
import { caller } from '../resources/states.ts'
import { service } from '../service.ts'
import { declarationMistakes } from './declaration-mistakes.ts'

const resource = (more: object = {}) => ({ fields: { name: f.text() }, access: 'public', ...more })
const pair = (more: object = {}) => ({ between: ['orders', 'tags'], access: 'public', ...more })

/** The mistakes of a service with pairs, as `place: reason mend`. */
const mistakes = (pairs: unknown, resources: object = {}): string[] =>
  declarationMistakes({
    name: 'shop',
    scopes: { staff: 'See all' },
    resources: { orders: resource(), tags: resource(), ...resources },
    pairs,
  }).map(({ place, reason, mend }) => `${place}: ${reason} ${mend}`)

const only = (pairs: unknown, resources: object, ...patterns: RegExp[]): void => {
  const found = mistakes(pairs, resources)
  for (const [i, pattern] of patterns.entries()) assert.match(found[i] ?? '', pattern)
  assert.equal(found.length, patterns.length, found.join('\n'))
}

test('R219: pairs with nothing wrong, in every form', () => {
  only({ 'order-tags': pair() }, {})
  only({ 'order-tags': pair({ access: { read: 'public', write: 'staff' } }) }, {})
  only({ marks: pair({ fields: { role: f.text({ read: 'staff', optional: true }), on: f.date() } }) }, {})
  only({}, {})
})

test('R219: the form of a pair', () => {
  only(7, {}, /^pairs: `pairs` is 7\. Write an object/)
  only({ marks: null }, {}, /^pairs\.marks: It is null\. Write an object, as \{ between/)
  only(
    { marks: pair({ betwen: 1 }) },
    {},
    /^pairs\.marks\.betwen: `betwen` is not known here\. Did you mean `between`\?/,
  )
  for (const between of [undefined, 'orders', [], ['orders'], ['orders', 'tags', 'orders']])
    only({ marks: pair({ between }) }, {}, /^pairs\.marks\.between: `between` is .* Write the names of two resources/)
  only(
    { marks: pair({ between: ['orders', 'tag'] }) },
    {},
    /^pairs\.marks\.between: There is no resource "tag"\. Did you mean `tags`/,
  )
  only({ marks: pair({ between: ['orders', 5] }) }, {}, /^pairs\.marks\.between: There is no resource 5/)
  only({ mark: pair() }, {}, /^pairs\.mark: The name is not a plural/)
  only({ orders: pair() }, {}, /^pairs\.orders: A resource has the same name/)
  only({ marks: pair({ access: undefined }) }, {}, /^pairs\.marks\.access: .* declares no `access`/)
  only({ marks: pair({ access: { read: 'public' } }) }, {}, /^pairs\.marks\.access: No rule of `access` covers/)
  only({ marks: pair({ access: 'boss' }) }, {}, /^pairs\.marks\.access: There is no scope "boss"/)
  only(
    { marks: pair({ access: { read: 'public', write: 'public', remove: 'public' } }) },
    {},
    /^pairs\.marks\.access\.remove: `remove` is not known here/,
  )
})

test('R219: pairs of a resource with itself, and several pairs of the same two', () => {
  only(
    { marks: pair({ between: ['tags', 'tags'] }) },
    {},
    /^pairs\.marks\.between: Both sides are `tags`.* as parentId and childId: f\.ref\('tags'\)/,
  )
  only(
    { marks: pair(), likes: pair({ between: ['tags', 'orders'] }) },
    {},
    /^pairs\.likes\.between: `marks` are pairs of the same two resources and have the same URLs\. Declare one of them/,
  )
})

test('R219: sides that cannot be one', () => {
  const slots = { ...resource(), parent: 'orders', key: 'name' }
  only({ marks: pair({ between: ['slots', 'tags'] }) }, { slots }, /^pairs\.marks\.between: .* composite key/)
  only(
    { marks: pair() },
    { tags: resource({ methods: ['read', 'create'] }) },
    /^pairs\.marks\.between: .* `tags`, whose `methods` lack `list`\. Add `list` to the methods of `tags`/,
  )
  only(
    { marks: pair(), likes: pair({ between: ['marks', 'tags'] }) },
    {},
    /^pairs\.likes\.between: There is no resource "marks"/,
  )
  only({ marks: pair() }, { lines: resource({ parent: 'marks' }) }, /^resources\.lines\.parent: .* composite key/)
  only({ marks: pair() }, { lines: { ...resource(), fields: { markId: f.ref('marks' as never) } } }, /composite key/)
})

test('R219: fields of a pair', () => {
  only({ marks: pair({ fields: 3 }) }, {}, /^pairs\.marks\.fields: `fields` is 3/)
  only({ marks: pair({ fields: { role: 1 } }) }, {}, /^pairs\.marks\.fields\.role: It is 1, not a field/)
  for (const name of ['orderId', 'tagId', 'id', 'createdAt'])
    assert.match(
      mistakes({ marks: pair({ fields: { [name]: f.text() } }) }).join('\n'),
      new RegExp(`pairs\\.marks\\.fields\\.${name}: `),
    )
  for (const options of [{ filter: true }, { sort: true, max: 9 }, { unique: true }, { search: true }])
    only(
      { marks: pair({ fields: { role: f.text(options as never) } }) },
      {},
      /^pairs\.marks\.fields\.role: `\w+` has no meaning here/,
    )
  only(
    { marks: pair({ fields: { by: f.ref('tags') } }) },
    {},
    /^pairs\.marks\.fields\.by: A field of a pair cannot be a reference/,
  )
  only({ marks: pair({ fields: { by: f.list(f.ref('tags')) } }) }, {}, /cannot be a reference/)
  only({ marks: pair({ fields: { scan: f.file() } }) }, {}, /cannot be a file/)
  only(
    { marks: pair({ fields: { role: f.text({ read: 'boss', optional: true } as never) } }) },
    {},
    /^pairs\.marks\.fields\.role: .*not a declared scope/,
  )
})

test('R170 R219: pairs of items of accounts are not public', () => {
  only(
    { marks: pair() },
    { tags: resource({ owner: 'accountId', access: 'authenticated' }) },
    /^pairs\.marks\.access: The items belong to accounts.* Write 'authenticated'/,
  )
})

test('R170: rules that depend on the item', () => {
  const mine = [{ where: { name: caller } }]
  const access = { read: mine, write: 'authenticated' }
  for (const side of ['orders', 'tags'])
    only(
      { marks: pair({ access: 'authenticated' }) },
      { [side]: resource({ access }) },
      new RegExp(`^pairs\\.marks\\.between: The rule to read \`${side}\` depends on the item`),
    )
  only(
    { marks: pair({ fields: { name: f.text() }, access }) },
    {},
    /^pairs\.marks\.access: A rule of a pair depends on/,
  )
  only({ marks: pair() }, { tags: resource({ access: { read: 'public', write: mine } }) })
})

test('R219: names that have the URL of a list already', () => {
  const move = { from: ['a'], to: 'b' }
  const has = (what: string) =>
    new RegExp(`^pairs\\.marks\\.between: \`/orders/\\{id\\}/tags\` is the URL of ${what} already`)
  only(
    { marks: pair() },
    { orders: resource({ states: { field: 'state', initial: 'a', transitions: { tags: move } } }) },
    has('the transition `tags`'),
  )
  only(
    { marks: pair() },
    { orders: resource({ operations: { tags: { at: 'item', output: {} } } }) },
    has('the operation `tags`'),
  )
  only({ marks: pair() }, { tags: resource({ parent: 'orders' }) }, has('the list of `tags`'))
  only({ marks: pair() }, { orders: resource({ fields: { tags: f.file() } }) }, has('the file `tags`'))
  only({ marks: pair() }, { orders: resource({ fields: { marks: f.file() } }) })
  const revisions = { orders: resource({ history: { read: 'public' } }), revisions: resource() }
  only(
    { marks: pair({ between: ['revisions', 'orders'] }) },
    revisions,
    /`\/orders\/\{id\}\/revisions` is the URL of its revisions already/,
  )
})

test('R219: names of links and of embed', () => {
  const links = { settings: { resource: { links: 'all' } } }
  const fields = { tags: f.ref('tags') }
  assert.match(
    mistakes({ marks: pair() }, { orders: { ...resource(links), fields } }).join('\n'),
    /called `tags`, as that of the list of `tags`/,
  )
  assert.match(
    mistakes({ marks: pair() }, { orders: { ...resource({ embed: true }), fields } }).join('\n'),
    /resources\.orders\.embed: `tags` would be the name of the field `tags` and of the list of `tags`/,
  )
  only(
    { marks: pair() },
    { orders: resource({ embed: ['tags', 'tags.orders'] }), tags: resource({ embed: ['orders.tags'] }) },
  )
  only({ marks: pair() }, { orders: resource({ embed: ['tag'] }) }, /^resources\.orders\.embed: .*Did you mean `tags`/)
})

test('R219: names below one path are unique in every version', () => {
  const api = service({
    ...{ name: 'shop', versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } } },
    resources: {
      orders: { fields: { name: f.text() }, access: 'public', operations: { quotes: { at: 'item', output: {} } } },
      tags: { fields: { name: f.text() }, access: 'public' },
    },
    pairs: { marks: { between: ['orders', 'tags'], access: 'public' } },
  })
  const named = (was: string) =>
    api.change('v2', 'orders', {
      about: 'An operation had another name.',
      operations: { renamed: { [was]: 'quotes' } },
    })
  assert.ok(named('offers').resources)
  assert.throws(
    () => named('tags').resources,
    /v1: pairs\.marks\.between: .* is the URL of the operation `tags` already/,
  )
})
