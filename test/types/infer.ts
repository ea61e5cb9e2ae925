/** Rows, inputs, patches and names as they are inferred from a declaration; nothing here runs. Part 2, fields. */
import type {
  CreateInput,
  Declaration,
  Field,
  FilterName,
  Patch,
  ReplaceInput,
  ResourceDeclaration,
  ResourceName,
  Row,
  Service,
  SortName,
} from 'bylaw'
import { f, service } from 'bylaw'
import type { Equal, Proof } from './equal.ts'

const shop = service({
  name: 'shop',
  scopes: { 'orders:read': 'Read orders' },
  concepts: {
    country: f.country({ filter: true }),
    money: f.object({ amount: f.decimal({ scale: 2, sort: true }), currency: f.currency({ optional: true }) }),
    labels: f.list(f.text()),
    home: f.concept('country', { optional: true }),
  },
  resources: {
    orders: {
      fields: {
        customerId: f.ref('customers', { filter: true }),
        priority: f.enum(['low', 'high'], { default: 'low', filter: ['ne'], sort: true }),
        price: f.concept('money'),
        limit: f.concept('money', { optional: true }),
        billingCountry: f.concept('country', { sort: true }),
        labels: f.concept('labels'),
        home: f.concept('home'),
        count: f.integer({ min: 1, filter: 'range' }),
        serial: f.bigint({ optional: true, filter: false }),
        paid: f.boolean({ default: false }),
        tags: f.list(f.enum(['new', 'old'])),
        parts: f.list(f.object({ name: f.text(), size: f.integer({ optional: true }) }), { optional: true }),
        place: f.object({
          street: f.text(),
          floor: f.integer({ default: 0 }),
          geo: f.object({ lat: f.decimal({ scale: 6, filter: 'range' }), note: f.text({ optional: true }) }),
        }),
        metadata: f.metadata(),
        score: f.integer({ readOnly: true, optional: true, sort: true }),
        password: f.text({ writeOnly: true }),
        dueOn: f.date({ optional: true, sort: false }),
      },
      order: ['-createdAt', 'price.amount'],
      sorts: { urgency: ['dueOn', '-place.geo.lat'] },
      indexes: [['customerId', '-updatedAt']],
      uniques: [['customerId', 'serial']],
      access: { read: 'orders:read', write: 'authenticated', remove: 'public' },
    },
    customers: { fields: { name: f.text() }, access: 'public', settings: { resource: { id: 'client' } } },
    'order-lines': { parent: 'orders', fields: { text: f.text() }, access: 'public', indexes: [['orderId', 'text']] },
    slots: {
      parent: { resource: 'order-lines', onDelete: 'cascade' },
      key: 'number',
      fields: { number: f.integer({ immutable: true, readOnly: true }), free: f.boolean() },
      access: 'public',
    },
    indices: { fields: {}, access: 'public' },
    points: { parent: 'indices', fields: {}, access: 'public' },
    staff: { plural: true, singular: 'staff-member', fields: {}, access: 'public' },
    shifts: { parent: 'staff', fields: {}, access: 'public' },
  },
})
type Shop = typeof shop

interface Money {
  readonly amount: string
  readonly currency: string | null
}
interface MoneyInput {
  readonly amount: string
  readonly currency?: string | null
}

export type Names = Proof<
  Equal<
    ResourceName<Shop>,
    'orders' | 'customers' | 'order-lines' | 'slots' | 'indices' | 'points' | 'staff' | 'shifts'
  >
>

export type Rows = [
  Proof<
    Equal<
      Row<Shop, 'orders'>,
      {
        readonly id: string
        readonly customerId: string
        readonly priority: 'low' | 'high'
        readonly price: Money
        readonly limit: Money | null
        readonly billingCountry: string
        readonly home: string | null
        readonly labels: readonly string[]
        readonly count: number
        readonly serial: string | null
        readonly paid: boolean
        readonly tags: readonly ('new' | 'old')[]
        readonly parts: readonly { readonly name: string; readonly size: number | null }[] | null
        readonly place: {
          readonly street: string
          readonly floor: number
          readonly geo: { readonly lat: string; readonly note: string | null }
        }
        readonly metadata: Readonly<Record<string, string>>
        readonly score: number | null
        readonly dueOn: string | null
        readonly createdAt: string
        readonly updatedAt: string
      }
    >
  >,
  Proof<
    Equal<
      Row<Shop, 'order-lines'>,
      {
        readonly id: string
        readonly orderId: string
        readonly text: string
        readonly createdAt: string
        readonly updatedAt: string
      }
    >
  >,
  Proof<
    Equal<
      Row<Shop, 'slots'>,
      {
        readonly id: string
        readonly orderLineId: string
        readonly number: number
        readonly free: boolean
        readonly createdAt: string
        readonly updatedAt: string
      }
    >
  >,
  Proof<Equal<Row<Shop, 'points'>['indexId'], string>>,
  Proof<Equal<Row<Shop, 'shifts'>['staffMemberId'], string>>,
]

type OrderInput = {
  readonly customerId: string
  readonly priority?: 'low' | 'high'
  readonly price: MoneyInput
  readonly limit?: MoneyInput | null
  readonly billingCountry: string
  readonly home?: string | null
  readonly labels?: readonly string[]
  readonly count: number
  readonly serial?: string | null
  readonly paid?: boolean
  readonly tags?: readonly ('new' | 'old')[]
  readonly parts?: readonly { readonly name: string; readonly size?: number | null }[] | null
  readonly place: {
    readonly street: string
    readonly floor?: number
    readonly geo: { readonly lat: string; readonly note?: string | null }
  }
  readonly metadata?: Readonly<Record<string, string>>
  readonly dueOn?: string | null
}
type Flat<T> = { [K in keyof T]: T[K] }

export type Inputs = [
  Proof<Equal<CreateInput<Shop, 'orders'>, Flat<OrderInput & { readonly password: string }>>>,
  Proof<Equal<ReplaceInput<Shop, 'orders'>, Flat<OrderInput & { readonly password?: string }>>>,
  Proof<Equal<CreateInput<Shop, 'customers'>, { readonly name: string; readonly id?: string }>>,
  Proof<Equal<ReplaceInput<Shop, 'customers'>, { readonly name: string }>>,
  Proof<Equal<CreateInput<Shop, 'order-lines'>, { readonly text: string }>>,
  Proof<Equal<CreateInput<Shop, 'slots'>, { readonly number: number; readonly free: boolean }>>,
  Proof<Equal<ReplaceInput<Shop, 'slots'>, { readonly number?: number; readonly free: boolean }>>,
]

export type Patches = [
  Proof<
    Equal<
      Patch<Shop, 'orders'>,
      {
        readonly customerId?: string
        readonly priority?: 'low' | 'high'
        readonly price?: { readonly amount?: string; readonly currency?: string | null }
        readonly limit?: { readonly amount?: string; readonly currency?: string | null } | null
        readonly billingCountry?: string
        readonly home?: string | null
        readonly labels?: readonly string[]
        readonly count?: number
        readonly serial?: string | null
        readonly paid?: boolean
        readonly tags?: readonly ('new' | 'old')[]
        readonly parts?: readonly { readonly name: string; readonly size?: number | null }[] | null
        readonly place?: {
          readonly street?: string
          readonly floor?: number
          readonly geo?: { readonly lat?: string; readonly note?: string | null }
        }
        readonly metadata?: Readonly<Record<string, string | null>>
        readonly password?: string
        readonly dueOn?: string | null
      }
    >
  >,
  Proof<Equal<Patch<Shop, 'slots'>, { readonly free?: boolean }>>,
]

type Made = 'createdAt' | 'updatedAt'
export type ListNames = [
  Proof<
    Equal<
      FilterName<Shop, 'orders'>,
      'id' | Made | 'customerId' | 'priority' | 'billingCountry' | 'home' | 'count' | 'place.geo.lat'
    >
  >,
  Proof<
    Equal<SortName<Shop, 'orders'>, Made | 'priority' | 'price.amount' | 'limit.amount' | 'billingCountry' | 'score'>
  >,
  Proof<Equal<FilterName<Shop, 'slots'>, 'id' | Made | 'orderLineId'>>,
  Proof<Equal<SortName<Shop, 'slots'>, Made>>,
]

/** The types of a declaration are those of its service. */
export type Declared = Proof<Equal<Row<Shop['declaration'], 'orders'>, Row<Shop, 'orders'>>>

/** A fetched item can be sent back. R48. */
export const again = (row: Row<Shop, 'orders'>): ReplaceInput<Shop, 'orders'> => row

const snake = service({
  name: 'snake',
  settings: { naming: 'snake', resource: { id: 'client' } },
  resources: {
    'sales-people': { fields: { first_name: f.text() }, access: 'public' },
    'big-visits': { parent: 'sales-people', fields: {}, access: 'public', settings: { resource: { id: 'typeid' } } },
    days: { parent: 'big-visits', fields: {}, access: 'public' },
  },
})
type Snake = typeof snake

export type Snakes = [
  Proof<
    Equal<
      Row<Snake, 'sales-people'>,
      { readonly id: string; readonly first_name: string; readonly created_at: string; readonly updated_at: string }
    >
  >,
  Proof<Equal<FilterName<Snake, 'big-visits'>, 'id' | 'sales_person_id' | 'created_at' | 'updated_at'>>,
  Proof<Equal<SortName<Snake, 'days'>, 'created_at' | 'updated_at'>>,
  Proof<Equal<Row<Snake, 'days'>['big_visit_id'], string>>,
  Proof<Equal<CreateInput<Snake, 'days'>, { readonly id?: string }>>,
  Proof<Equal<keyof CreateInput<Snake, 'big-visits'>, never>>,
]

/** A field without options has a type that declaration files of users can name: no type of `bylaw` that is not exported. */
export type Bare = Proof<
  Equal<Snake['declaration']['resources']['sales-people']['fields']['first_name'], Field<'text', object>>
>

/** Parts that are declared separately, and declarations that are only known at run time. */
export function loose(declaration: Declaration, prefix: string, orders: ResourceDeclaration): readonly Service[] {
  const fields = { name: f.text(), ...(prefix === '' ? {} : { note: f.text() }) }
  return [
    service(declaration),
    service({ name: 'loose', resources: { orders, customers: { prefix, fields, access: prefix, order: [prefix] } } }),
    shop,
  ]
}
