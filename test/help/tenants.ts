/** A service whose items belong to accounts, with every shape of a resource, and callers of two accounts. */
import { f, service } from 'bylaw'

const tenantService = (exports: boolean) =>
  service({
    name: 'tenants',
    scopes: { 'deals:read': 'Read deals', 'deals:write': 'Change deals' },
    resources: {
      products: {
        prefix: 'prd',
        fields: { name: f.text({ sort: true, filter: true }) },
        access: 'authenticated',
        embed: ['reviews'],
      },
      deals: {
        prefix: 'dea',
        owner: 'accountId',
        fields: {
          name: f.text({ max: 100, filter: 'like', sort: true }),
          code: f.text({ unique: true, filter: true, optional: true }),
          productId: f.ref('products', { optional: true, filter: true }),
          twinId: f.ref('deals', { optional: true }),
          labels: f.list(f.ref('deals')),
        },
        uniques: [['name', 'productId']],
        history: { read: 'authenticated' },
        exports,
        summaries: { names: { group: ['name', 'productId'] } },
        embed: ['product.reviews', 'twin.seats', 'parts'],
        access: { read: 'deals:read', write: 'deals:write' },
      },
      parts: {
        prefix: 'par',
        parent: { resource: 'deals', onDelete: 'cascade' },
        fields: { text: f.text({ max: 100, filter: true, sort: true }), ...(exports && { scan: f.file() }) },
        history: { read: 'authenticated' },
        exports,
        summaries: { texts: { group: ['text'] } },
        embed: ['deal.twin'],
        access: 'authenticated',
      },
      seats: {
        parent: { resource: 'deals', onDelete: 'cascade' },
        key: 'number',
        fields: { number: f.text({ max: 8 }), note: f.text({ max: 100, optional: true }) },
        history: { read: 'authenticated' },
        exports,
        summaries: { notes: { group: ['note'] } },
        embed: true,
        access: 'authenticated',
      },
      tags: {
        key: 'name',
        owner: 'accountId',
        fields: { name: f.text({ max: 20 }), hue: f.text({ optional: true }), ...(exports && { scan: f.file() }) },
        history: { read: 'deals:read' },
        access: 'authenticated',
      },
      reviews: {
        prefix: 'rev',
        owner: 'accountId',
        parent: 'products',
        fields: { text: f.text({ max: 100 }) },
        exports,
        summaries: { texts: { group: ['text', 'productId'] } },
        embed: ['product.reviews'],
        access: 'authenticated',
      },
    },
  })

export const tenants = tenantService(false)
/** The same with exports of its lists, and with files. */
export const exportedTenants = tenantService(true)

const scopes = ['deals:read', 'deals:write']

/** Two callers of one account, two of another (one of them can only read), and one without an account. */
export const holders = {
  ann: { account: 'acc_a', scopes },
  amy: { account: 'acc_a', scopes },
  bob: { account: 'acc_b', scopes },
  bea: { account: 'acc_b', scopes: ['deals:read'] },
  nil: { account: null, scopes },
} as const

/** Headers that differ between answers to the same request. */
const passing = new Set(['request-id', 'date', 'server-timing', 'connection', 'keep-alive'])

/** Everything in an answer that could reveal data, with `{id}` instead of the given id. */
export function known(
  answer: { status: number; headers: Readonly<Record<string, string>>; text: string },
  id: string,
): string {
  const headers = Object.entries(answer.headers).filter(([name]) => !passing.has(name))
  return JSON.stringify([answer.status, headers.sort(), answer.text]).replaceAll(id, '{id}')
}
