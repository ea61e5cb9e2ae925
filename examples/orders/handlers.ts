/** The behaviour of the example: lines have the price of their product, placing an order takes stock, and orders are exported. */
import { plus } from 'bylaw'
import api from './api.ts'

export default api.handlers({
  'order-lines': {
    async write({ next, get, set }) {
      const product = await get('products', next.productId)
      if (product) set({ unitPrice: product.price })
    },
  },
  orders: {
    async placements({ item, list, change, refuse }) {
      const lines = await list('order-lines', { parent: item.id })
      if (lines.length === 0) throw refuse('order-empty')
      for (const { productId, quantity } of lines)
        change('products', productId, ({ stock }) => {
          if (stock < quantity) throw refuse('out-of-stock')
          return { stock: stock - quantity }
        })
    },
    async exports({ input: { from }, pages, log }) {
      let [count, total] = [0, '0.00']
      for await (const page of pages('orders', from === null ? {} : { where: { dueOn: { gte: from } } }))
        for (const order of page) [count, total] = [count + 1, plus(total, order.total)]
      log.info('Orders were exported.', { count }) // a real one would write them to a file
      return { count, total }
    },
  },
})
