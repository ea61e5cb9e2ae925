/** The books of `library.ts`, for callers with an API key and a quota, and with an older version. */
import { f, service } from 'bylaw'
import library from './library.ts'

const { books } = library.declaration.resources

export default service({
  name: 'library',
  versions: { v1: { released: '2026-01-15' }, v2: { released: '2026-11-20' } },
  tiers: { reader: { hourly: 1_000_000_000 } },
  resources: { books: { ...books, access: 'authenticated' } },
}).change('v2', 'books', {
  about: '`name` is called `title`.',
  removed: { name: f.text({ max: 200 }) },
  added: ['title'],
  request: (old) => ({ title: old.name }),
  response: (now) => ({ name: now.title }),
})
