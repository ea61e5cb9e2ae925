/** A bank whose handlers move money between accounts, and add up all balances. */
import { f, service } from 'bylaw'

export default service({
  name: 'bank',
  errors: { 'balance-too-low': { parents: ['conflict'], status: 409 } },
  resources: {
    accounts: {
      prefix: 'acc',
      fields: { balance: f.integer({ min: 0 }), branch: f.text({ filter: true, default: 'main' }) },
      access: 'public',
    },
    transfers: {
      prefix: 'trf',
      fields: { from: f.ref('accounts'), to: f.ref('accounts'), amount: f.integer({ min: 1 }) },
      access: 'public',
    },
    reports: { prefix: 'rep', fields: { total: f.integer({ default: 0, readOnly: true }) }, access: 'public' },
  },
}).handlers({
  transfers: {
    async create({ input: { from, to, amount }, get, change, refuse }) {
      const payer = await get('accounts', from)
      if (!payer || payer.balance < amount) throw refuse('balance-too-low')
      change('accounts', from, ({ balance }) => ({ balance: balance - amount }))
      change('accounts', to, ({ balance }) => ({ balance: balance + amount }))
    },
  },
  reports: {
    async create({ list, set }) {
      const accounts = await list('accounts', { where: { branch: 'main' } })
      set({ total: accounts.reduce((sum, { balance }) => sum + balance, 0) })
    },
  },
})
