/** A service before a version, with it, and when the first one is left out: nodes of all of them are torture's rolling upgrade. */
import { f, type Service, service } from 'bylaw'

const [name, prefix, access] = ['rolling', 'row', 'public'] as const
const [v1, v2] = [{ released: '2025-01-01' }, { released: '2026-01-01' }]
const title = f.text({ filter: true })
const price = f.decimal({ scale: 2 })
const [first, last] = [f.text({ filter: true }), f.text({ default: '' })]
const fields = { title, words: f.list(f.text()), price: f.decimal({ scale: 3 }), full: f.text() }

export const before = service({
  name,
  versions: { v1 },
  resources: { rows: { prefix, fields: { title, tags: f.list(f.text()), price, first, last }, access } },
}) as unknown as Service

export const both = service({ name, versions: { v1, v2 }, resources: { rows: { prefix, fields, access } } }).change(
  'v2',
  'rows',
  {
    about: '`tags` are `words`, `full` is the whole name, and prices have three digits.',
    renamed: { tags: 'words' },
    removed: { first, last },
    added: ['full'],
    retyped: { price },
    request: ({ first, last, price }) => ({ full: `${first} ${last}`.trim(), price: `${price}0` }),
    response: ({ full, price }) => {
      const [first = '', ...rest] = full.split(' ')
      return { first, last: rest.join(' '), price: price.slice(0, -1) }
    },
  },
) as unknown as Service

export const after = service({
  name,
  versions: { v2 },
  resources: { rows: { prefix, fields, access } },
}) as unknown as Service
