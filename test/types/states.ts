/** The types of states, transitions and derived fields as they are inferred, and declarations that do not compile; nothing here runs. */
import {
  type CreateInput,
  count,
  f,
  input,
  now,
  type Patch,
  type Row,
  resource,
  type SortName,
  type StateName,
  service,
  sum,
  type TransitionInput,
  type TransitionName,
  times,
} from 'bylaw'
import type { Equal, Proof } from './equal.ts'

const shop = service({
  name: 'shop',
  scopes: { 'orders:ship': 'Ship orders' },
  resources: {
    orders: {
      fields: {
        note: f.text({ optional: true }),
        total: f.decimal({ scale: 2, derived: sum('lines', 'amount') }),
        lineCount: f.integer({ derived: count('lines') }),
        placedAt: f.timestamp({ optional: true, readOnly: true }),
        carrier: f.text({ optional: true, readOnly: true }),
      },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: {
          placements: { from: ['draft'], to: 'placed', set: { placedAt: now } },
          shipments: {
            from: ['placed'],
            to: 'shipped',
            access: 'orders:ship',
            input: { carrier: f.text(), weight: f.integer({ optional: true }) },
            set: { carrier: input('carrier') },
          },
        },
      },
      access: 'public',
    },
    lines: resource({
      parent: { resource: 'orders', while: ['draft'] },
      fields: { quantity: f.integer(), price: f.decimal({ scale: 2 }), amount: f.decimal({ scale: 2, derived: true }) },
      derived: {
        amount: (line) => {
          type Given = Proof<Equal<typeof line, { readonly quantity: number; readonly price: string }>>
          void (0 as unknown as Given)
          return times(line.price, line.quantity)
        },
      },
      access: 'public',
    }),
  },
})
type Shop = typeof shop

export type States = Proof<Equal<StateName<Shop, 'orders'>, 'draft' | 'placed' | 'shipped'>>
export type Transitions = Proof<Equal<TransitionName<Shop, 'orders'>, 'placements' | 'shipments'>>
export type Shipment = Proof<
  Equal<TransitionInput<Shop, 'orders', 'shipments'>, { readonly carrier: string; readonly weight?: number | null }>
>
export type Status = Proof<Equal<Row<Shop, 'orders'>['status'], 'draft' | 'placed' | 'shipped'>>
export type Links = Proof<
  Equal<Row<Shop, 'orders'>['_links'], { readonly self: string; readonly [name: string]: string } | undefined>
>
export type Total = Proof<Equal<Row<Shop, 'orders'>['total'], string>>
export type Create = Proof<Equal<CreateInput<Shop, 'orders'>, { readonly note?: string | null }>>
export type Change = Proof<Equal<Patch<Shop, 'orders'>, { readonly note?: string | null }>>
export type LineInput = Proof<Equal<CreateInput<Shop, 'lines'>, { readonly quantity: number; readonly price: string }>>
export type Sorts = Proof<Equal<SortName<Shop, 'orders'>, 'createdAt' | 'updatedAt' | 'status'>>

const open = { fields: { note: f.text() }, access: 'public' } as const
const states = { field: 'status', initial: 'draft' } as const

service({
  name: 'a',
  resources: {
    orders: {
      ...open,
      // @ts-expect-error: there is no field `nota`
      states: { ...states, transitions: { closures: { from: ['draft'], to: 'closed', set: { nota: 'x' } } } },
    },
  },
})
service({
  name: 'a',
  resources: {
    orders: {
      ...open,
      states: {
        ...states,
        // @ts-expect-error: there is no input `reason`
        transitions: { closures: { from: ['draft'], to: 'closed', set: { note: input('reason') } } },
      },
    },
  },
})
service({
  name: 'a',
  resources: {
    orders: {
      ...open,
      // @ts-expect-error: there is no scope `orders:close`
      states: { ...states, transitions: { closures: { from: ['draft'], to: 'closed', access: 'orders:close' } } },
    },
  },
})
service({
  name: 'a',
  resources: {
    orders: {
      ...open,
      // @ts-expect-error: `form` is not known
      states: { ...states, transitions: { closures: { form: ['draft'], from: ['draft'], to: 'closed' } } },
    },
  },
})

resource({
  fields: { price: f.integer(), twice: f.integer({ derived: true }) },
  // @ts-expect-error: there is no field `prize`
  derived: { twice: ({ prize }) => prize },
  access: 'public',
})
resource({
  fields: { price: f.integer(), twice: f.integer({ derived: true }) },
  // @ts-expect-error: the field is a number
  derived: { twice: ({ price }) => `${price}` },
  access: 'public',
})

const older = service({
  name: 'a',
  versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-06-01' } },
  resources: {
    orders: {
      fields: {},
      states: {
        ...states,
        transitions: {
          closures: { from: ['draft'], to: 'closed', input: { reason: f.text({ max: 5 }) } },
          expiries: { from: ['draft'], to: 'closed', after: 'P1D' },
        },
        writable: { change: ['draft'] },
      },
      access: 'public',
    },
  },
})
older.change('v2', 'orders', {
  about: 'As `bylaw check` proposes it.',
  retyped: { status: f.enum(['draft', 'closed'], { default: 'draft' }) },
  transitions: {
    withdrawn: { ends: { from: ['draft'], to: 'closed', refused: 410 } },
    changed: {
      closures: {
        from: ['draft', 'closed'],
        input: {
          retyped: { reason: f.text({ max: 9 }) },
          request: (old) => ({ reason: [...old.reason].slice(0, 5).join('') }),
        },
      },
      expiries: { after: 'P7D' },
    },
    written: { closed: 'closures' },
  },
  writable: { change: null },
})
// @ts-expect-error: 404 is not a status of a refusal
older.change('v2', 'orders', { about: 'x', transitions: { withdrawn: { ends: { from: [], to: 'a', refused: 404 } } } })
