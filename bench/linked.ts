/** Orders with links to their transitions, and the same orders without links. */
import { f, service } from 'bylaw'

const orders = (links: 'actions' | 'none') =>
  ({
    plural: true,
    fields: {
      note: f.text(),
      total: f.decimal({ scale: 2 }),
      country: f.country(),
      tags: f.list(f.text()),
    },
    states: {
      field: 'status',
      initial: 'draft',
      transitions: {
        placements: { from: ['draft'], to: 'placed' },
        cancellations: { from: ['draft', 'placed'], to: 'cancelled' },
      },
    },
    settings: { resource: { links } },
    access: 'public',
  }) as const

export default service({ name: 'shop', resources: { linked: orders('actions'), plain: orders('none') } })
