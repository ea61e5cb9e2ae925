/** The behaviour of the example: lines have the price of their product, and placing an order takes stock. */
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
  },
})
