/** A service with pages of several megabytes. */
import { f, service } from 'bylaw'

export default service({
  name: 'large',
  settings: { methods: { query: true } },
  resources: {
    notes: {
      prefix: 'not',
      plural: true,
      fields: { text: f.text({ max: 10_000 }), tag: f.text({ filter: true, default: 'a' }) },
      access: 'public',
      settings: { list: { maxPageSize: 1000 } },
    },
  },
})
