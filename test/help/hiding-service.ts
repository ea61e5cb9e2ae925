/** A service that hides data from some callers: by accounts, scopes, write-only fields, and resources that they can only write. */
import { f, type Service, service, sum } from 'bylaw'

/** Risky parts of a declaration. If one is not safe, the service refuses to start, or refuses the request. */
export interface Daring {
  /** Plans have no owner and their changes need a scope; an older version shows their price in customers. */
  readonly sharedPlans?: boolean
  /** Rooms have no owner, and their removal also removes the bookings of all accounts. */
  readonly sharedRooms?: boolean
  /** The removal of a visit needs a scope; the removal of a customer also removes its visits. */
  readonly guardedVisits?: boolean
  /** Customers have values that follow from hidden ones. */
  readonly derived?: boolean
}

// long because: it is one declaration
export function hidingService(
  { sharedPlans, sharedRooms, guardedVisits, derived }: Daring = {},
  exports = false,
): Service {
  const history = { read: 'authenticated' }
  const totals = {
    spent: f.integer({ derived: sum('visits', 'cost'), read: 'pii' }),
    urgent: f.boolean({ derived: true, read: 'pii' }),
  }
  const rooms = {
    rooms: { prefix: 'roo', fields: { name: f.text() }, access: 'authenticated', embed: ['bookings.room'] },
    bookings: {
      prefix: 'boo',
      owner: 'accountId',
      parent: { resource: 'rooms', onDelete: 'cascade' },
      fields: { text: f.text() },
      access: 'authenticated',
    },
  }
  const declared = {
    name: 'clinic',
    settings: { list: { or: true } },
    scopes: { pii: 'See personal data', vip: 'Set ranks', close: 'Remove visits', prices: 'Change prices' },
    versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' }, v3: { released: '2026-06-01' } },
    resources: {
      plans: {
        prefix: 'pln',
        fields: {
          title: f.text(),
          price: f.decimal({ scale: 2, default: '0.00' }),
          cost: f.integer({ default: 0, read: 'pii' }),
        },
        exports,
        summaries: { prices: { sum: ['price'] }, costs: { sum: ['cost'] } },
        history,
        ...(sharedPlans
          ? { access: { read: 'authenticated', write: 'prices' } }
          : { owner: 'accountId', access: 'authenticated' }),
      },
      customers: {
        prefix: 'cus',
        owner: 'accountId',
        fields: {
          name: f.text({ max: 50, filter: 'like', sort: true, search: true }),
          ssn: f.text({ max: 20, optional: true, read: 'pii', filter: true, sort: true }),
          contact: f.object({ city: f.text({ max: 40, filter: true }) }, { optional: true, read: 'pii' }),
          score: f.integer({ default: 0, read: 'pii', filter: 'range', sort: true }),
          rank: f.enum(['plain', 'gold'], { default: 'plain', write: 'vip', filter: true }),
          pin: f.text({ max: 20, optional: true, writeOnly: true }),
          code: f.text({ max: 20, optional: true, writeOnly: true, write: 'vip' }),
          seal: f.text({ max: 20, optional: true, writeOnly: true, immutable: true }),
          planId: f.ref('plans', { filter: true }),
          ...(derived && totals),
        },
        exports,
        summaries: {
          ranks: { group: ['rank', 'planId'] },
          numbers: { group: ['ssn'] },
          towns: { group: ['contact.city'] },
          scores: { group: ['rank'], sum: ['score'], max: ['score'], average: ['score'] },
          ...(derived && { spending: { sum: ['spent'] } }),
        },
        history,
        ...(derived && { derived: { urgent: ({ score }: { score: number }) => score > 5 } }),
        embed: ['plan', 'visits.customer'],
        access: 'authenticated',
      },
      visits: {
        prefix: 'vis',
        parent: { resource: 'customers', onDelete: 'cascade' },
        fields: {
          text: f.text({ filter: true, search: true }),
          cost: f.integer({ default: 0, read: 'pii', filter: 'range' }),
        },
        exports,
        history,
        summaries: { owners: { group: ['customerId'] }, expenses: { group: ['customerId'], sum: ['cost'] } },
        embed: ['customer.plan'],
        access: guardedVisits ? { read: 'authenticated', write: 'authenticated', remove: 'close' } : 'authenticated',
      },
      tags: {
        key: 'name',
        owner: 'accountId',
        fields: {
          name: f.text({ max: 20 }),
          hue: f.text({ optional: true, filter: true, search: true }),
          note: f.text({ max: 99, optional: true, read: 'pii' }),
        },
        exports,
        history,
        summaries: { days: { group: [{ day: 'createdAt' }] }, notes: { group: ['note'] } },
        access: 'authenticated',
      },
      labels: {
        prefix: 'lab',
        owner: 'accountId',
        fields: { text: f.text({ search: true }) },
        access: 'authenticated',
        history,
        settings: { resource: { id: 'client' } },
      },
      drops: {
        prefix: 'drp',
        owner: 'accountId',
        fields: { text: f.text({ search: true }), seal: f.text({ optional: true, immutable: true }) },
        exports,
        access: { read: 'pii', write: 'authenticated' },
        history,
      },
      ...(sharedRooms && rooms),
    },
  } as const
  // The types of optional parts of the declaration cannot be inferred.
  return (service(declared as never) as unknown as { change: (...change: unknown[]) => Changing })
    .change('v3', 'customers', { about: 'A customer is called `name`.', renamed: { title: 'name' } })
    .change('v2', 'customers', {
      about: 'The price of a customer is that of its plan.',
      moved: { price: { by: 'planId', to: 'price' } },
    })
    .change('v2', 'drops', { about: 'The body is called `text`.', renamed: { body: 'text' } })
    .change('v2', 'tags', { about: 'The colour is called `hue`.', renamed: { colour: 'hue' } })
}
type Changing = Service & { change: (...change: unknown[]) => Changing }

export const callers = {
  ann: { account: 'north', scopes: [] },
  amy: { account: 'north', scopes: ['pii', 'vip', 'close', 'prices'] },
  sue: { account: 'south', scopes: [] },
  sam: { account: 'south', scopes: ['pii', 'vip', 'close', 'prices'] },
} as const
export type Who = keyof typeof callers
