/** The service of the benchmark of searches. */
import { f, service } from 'bylaw'

export default service({
  name: 'library',
  resources: {
    books: {
      prefix: 'boo',
      fields: {
        title: f.text({ max: 200, search: true }),
        note: f.text({ max: 2000, search: true }),
        year: f.integer({ sort: true }),
      },
      access: 'public',
    },
  },
})
