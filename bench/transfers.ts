/** Accounts and transfers between them: a handler reads both accounts, and changes both. */
import { f, service } from 'bylaw'

const bank = service({
  name: 'bank',
  errors: { 'balance-too-low': { status: 409, parents: ['conflict'] } },
  resources: {
    accounts: { prefix: 'acc', fields: { balance: f.integer({ min: 0 }) }, access: 'public' },
    transfers: {
      prefix: 'trf',
      fields: { from: f.ref('accounts'), to: f.ref('accounts'), amount: f.integer({ min: 1 }) },
      access: 'public',
    },
  },
})

export default bank.handlers({
  transfers: {
    async create({ input: { from, to, amount }, get, change, refuse }) {
      const [payer, payee] = [await get('accounts', from), await get('accounts', to)]
      if (!payer || !payee || payer.balance < amount) throw refuse('balance-too-low')
      change('accounts', from, { balance: payer.balance - amount })
      change('accounts', to, { balance: payee.balance + amount })
    },
  },
})
