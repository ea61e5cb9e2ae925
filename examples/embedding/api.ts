/** The service that the programs of this folder are built around. */
import { f, service } from 'bylaw'

export default service({
  name: 'orders',
  events: true,
  scopes: { 'orders:write': 'Create and change orders' },
  resources: {
    orders: {
      prefix: 'ord',
      fields: { total: f.decimal({ scale: 2, filter: 'range', sort: true }) },
      access: { read: 'public', write: 'orders:write' },
    },
  },
  settings: { server: { basePath: '/api' }, events: { stream: true } },
})
