/** The declaration that the benchmarks serve. */
import { f, service } from 'bylaw'

export default service({
  name: 'library',
  resources: {
    books: {
      prefix: 'boo',
      fields: {
        title: f.text({ max: 200, filter: 'like', sort: true }),
        status: f.enum(['draft', 'listed', 'sold'], { filter: true }),
        price: f.decimal({ scale: 2, filter: 'range', sort: true }),
        shelf: f.text({ optional: true, sort: true }),
        blurb: f.text(),
      },
      indexes: [['status', 'price']],
      access: 'public',
    },
  },
})
