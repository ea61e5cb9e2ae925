/** The service of the benchmark of transitions: doors that can be opened and closed any number of times. */
import { f, service } from 'bylaw'

export default service({
  name: 'house',
  resources: {
    doors: {
      prefix: 'doo',
      fields: { name: f.text({ max: 100 }) },
      states: {
        field: 'state',
        initial: 'closed',
        transitions: { openings: { from: ['closed'], to: 'open' }, closings: { from: ['open'], to: 'closed' } },
      },
      access: 'public',
    },
  },
})
