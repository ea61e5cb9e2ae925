/** Accounts and transfers: a handler of transfers reads both accounts and changes them. The handler of an audit takes 5 s. */
import { setTimeout } from 'node:timers/promises'
import { f, service } from 'bylaw'

export const bank = service({
  name: 'bank',
  errors: { 'balance-too-low': { status: 409, parents: ['conflict'] } },
  resources: {
    accounts: { prefix: 'acc', fields: { balance: f.integer({ min: 0 }) }, access: 'public' },
    transfers: {
      prefix: 'trf',
      fields: { from: f.ref('accounts'), to: f.ref('accounts'), amount: f.integer({ min: 1 }) },
      access: 'public',
    },
    audits: {
      prefix: 'aud',
      fields: { account: f.ref('accounts'), balance: f.integer({ default: 0, readOnly: true }) },
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
  audits: {
    async create({ input, get, set }) {
      const account = await get('accounts', input.account)
      await setTimeout(5000)
      set({ balance: account?.balance ?? 0 })
    },
  },
})
