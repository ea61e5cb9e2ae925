/** Tag: which values change a tag, and which do not. Part 7, conditional read. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import type { Resource } from '../resources/resource.ts'
import { tagOf } from './tag.ts'
import type { View } from './view.ts'

const { resources } = service({
  name: 'bank',
  resources: { homes: { fields: { city: f.text(), pin: f.text({ writeOnly: true }) }, access: 'public' } },
})
const homes = resources.get('homes') as Resource
const view: View = {
  ...{
    major: 1,
    hash: 'abcdef',
    mode: 'strong',
    required: false,
    permitted: new Set<string>(),
    closed: new Set(),
    unreadable: new Set(),
    masked: new Set(),
  },
  ...{
    joined: [{ resource: homes, masked: new Set() }],
    selected: null,
    permitsOn: () => true,
    account: null,
    seal: { secret: '', account: null, text: '' },
  },
}
const doc = (more: object) =>
  JSON.stringify({ id: 'hom_1', city: 'Rome', pin: '1', createdAt: '2026-01-01T00:00:00.000Z', ...more })
const key = { secret: 's', restoredAt: 0 }
const tag = (
  text: string,
  {
    revision = 1,
    account = null as string | null,
    ...more
  }: Partial<typeof key> & { revision?: number; account?: string | null } = {},
) =>
  tagOf(
    { ...view, account, seal: { secret: '', account: null, text: '' } },
    { revision: 7, joined: [{ doc: text, revision }] },
    { ...key, ...more },
  )

test('a tag does not depend on the content of another row, so values cannot be guessed', () => {
  const one = tag(doc({}))
  assert.match(one, /^7-1-abcdef[0-9a-f]{16}$/)
  for (const more of [{ pin: '2' }, { city: 'Bonn' }, { updatedAt: '2026-01-02T00:00:00.000Z' }])
    assert.equal(tag(doc(more)), one, JSON.stringify(more))
})

test('a tag depends on the row, its creation, account and state, and on the secret and the last restore of the store', () => {
  const all = [
    tag(doc({})),
    tag(doc({ id: 'hom_2' })),
    tag(doc({ createdAt: '2026-01-02T00:00:00.000Z' })),
    tag(doc({}), { revision: 2 }),
    tag(doc({}), { account: 'a' }),
    tag(doc({}), { account: 'b' }),
    tag(doc({}), { secret: 't' }),
    ...[1, 2].map((restoredAt) => tag(doc({}), { restoredAt })),
    tagOf(view, { revision: 7 }, { ...key, restoredAt: 1 }),
    tagOf(view, { revision: 7, joined: [null] }, key),
    tagOf(view, { revision: 7 }, key),
    ...['a', 'b'].map((account) => tagOf({ ...view, account }, { revision: 7 }, key)),
  ]
  assert.equal(new Set(all).size, all.length)
})

test('many accounts have many tags', () => {
  const all = Array.from({ length: 20_000 }, (_, i) => tagOf({ ...view, account: `acc_${i}` }, { revision: 1 }, key))
  assert.equal(new Set(all).size, all.length)
})

test('a view that two stores serve has a tag for each', () => {
  const own = { ...view, account: 'a' }
  const [first, second] = ['s', 't'].map((secret) => tagOf(own, { revision: 1 }, { ...key, secret }))
  assert.notEqual(first, second)
  assert.equal(tagOf(own, { revision: 1 }, key), first)
})
