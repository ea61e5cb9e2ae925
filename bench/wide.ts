/** The service of the benchmark of many indexes: shipments with 17 fields to filter or to sort by. */
import { f, service } from 'bylaw'

export default service({
  name: 'freight',
  resources: {
    shipments: {
      prefix: 'shp',
      fields: {
        status: f.enum(['planned', 'sent', 'arrived', 'lost'], { filter: true }),
        kind: f.enum(['letter', 'parcel', 'pallet'], { filter: true }),
        express: f.boolean({ filter: true }),
        country: f.country({ filter: true, sort: true }),
        currency: f.currency({ filter: true }),
        city: f.text({ max: 100, filter: true, sort: true }),
        customer: f.text({ max: 100, filter: true, sort: true }),
        reference: f.text({ max: 50, filter: true }),
        email: f.email({ filter: true }),
        priority: f.integer({ filter: 'range', sort: true }),
        parcels: f.integer({ filter: 'range', sort: true }),
        weight: f.integer({ filter: 'range', sort: true }),
        total: f.decimal({ scale: 2, filter: 'range', sort: true }),
        tax: f.decimal({ scale: 2, filter: 'range' }),
        insured: f.decimal({ scale: 2, filter: 'range' }),
        pickedUpAt: f.timestamp({ filter: 'range', sort: true }),
        dueAt: f.timestamp({ filter: 'range', sort: true }),
        note: f.text({ max: 1000 }),
      },
      access: 'public',
    },
  },
})
