/** The parameter and result types of a change's functions, and changes that do not compile; nothing here runs. Part 9, versions. */
import { f, service } from 'bylaw'
import type { Equal, Proof } from './equal.ts'

const shop = service({
  name: 'shop',
  versions: { v1: { released: '2026-01-15' }, v2: { released: '2026-06-01' }, v3: { released: '2026-11-20' } },
  resources: {
    accounts: { fields: { country: f.country() }, access: 'public' },
    customers: {
      fields: {
        name: f.text(),
        email: f.email(),
        status: f.enum(['active', 'paused', 'closed']),
        accountId: f.ref('accounts'),
        note: f.text({ default: '' }),
      },
      access: 'public',
    },
  },
})

/** The newest change first: each change gets the types that the one before leaves. */
shop
  .change('v3', 'customers', {
    about: 'All kinds of changes at once.',
    removed: { firstName: f.text(), lastName: f.text({ optional: true }) },
    added: ['name', 'note'],
    mapped: { status: { open: 'active' } },
    shown: { status: { paused: 'open' } },
    moved: { country: { by: 'accountId', to: 'country' } },
    request: (old) => {
      type Given = Proof<
        Equal<
          typeof old,
          {
            readonly email: string
            readonly status: 'open' | 'closed'
            readonly accountId: string
            readonly firstName: string
            readonly lastName: string | null
            readonly country: string
          }
        >
      >
      const name: Given extends true ? string : never = `${old.firstName} ${old.lastName}`
      return { name }
    },
    response: ({ name }) => ({ firstName: name }),
  })
  .change('v2', 'customers', {
    about: 'Another name, and another type.',
    was: 'clients',
    renamed: { mail: 'email' },
    retyped: { lastName: f.integer() },
    required: { firstName: 'unknown' },
    request: ({ mail, firstName, lastName }) => ({ lastName: mail + (firstName satisfies string | null) + lastName }),
    response: ({ lastName }) => ({ lastName: Number(lastName) }),
  })
  .change('v2', 'clients', { about: 'The old name.', added: ['mail'], request: () => ({ mail: 'a@example.com' }) })

/** Unknown names, and values of other types. */
export const refused = [
  // @ts-expect-error no such version
  shop.change('v4', 'customers', { about: '' }),
  // @ts-expect-error no such resource
  shop.change('v2', 'customer', { about: '' }),
  // @ts-expect-error no such member
  shop.change('v2', 'customers', { about: '', nonsense: 3 }),
  // @ts-expect-error no such field
  shop.change('v2', 'customers', { about: '', added: ['nam'] }),
  // @ts-expect-error no such field
  shop.change('v2', 'customers', { about: '', renamed: { mail: 'emails' } }),
  // @ts-expect-error no such field
  shop.change('v2', 'customers', { about: '', mapped: { stats: { open: 'active' } } }),
  // @ts-expect-error no such method
  shop.change('v2', 'customers', { about: '', methods: { added: ['delete'] } }),
  // @ts-expect-error no such method
  shop.change('v2', 'customers', { about: '', deprecations: { delete: { deprecated: '2026-12-01' } } }),
  // @ts-expect-error it is not said from when on
  shop.change('v2', 'customers', { about: '', deprecations: { remove: { sunset: '2026-12-01' } } }),
  service({
    name: 'notes',
    resources: {
      notes: {
        fields: { text: f.text() },
        access: 'public',
        // @ts-expect-error no such method
        deprecations: { delete: { deprecated: '2026-12-01' } },
      },
    },
  }),
  // @ts-expect-error the old document has no such field
  shop.change('v2', 'customers', { about: '', added: ['name'], request: (old) => ({ name: old.last }) }),
  // @ts-expect-error a text
  shop.change('v2', 'customers', { about: '', added: ['name'], request: () => ({ name: 3 }) }),
  // @ts-expect-error no value of the enum
  shop.change('v2', 'customers', { about: '', retyped: { status: f.boolean() }, request: () => ({ status: 'open' }) }),
  // @ts-expect-error the old field is missing
  shop.change('v2', 'customers', { about: '', removed: { first: f.text() }, response: () => ({ second: '' }) }),
]

/** Literal types are kept, so that the result of a function for an enum needs no cast. */
export const literal = service({
  name: 'literal',
  versions: { v1: { released: '2026-01-15' }, v2: { released: '2026-06-01' } },
  resources: {
    items: {
      fields: {
        state: f.enum(['on', 'off'], { default: 'on' }),
        place: f.object({ side: f.enum(['left', 'right']), tags: f.list(f.enum(['a', 'b'])) }),
      },
      access: 'public',
    },
  },
}).change('v2', 'items', {
  about: 'Enums instead of other kinds.',
  retyped: { state: f.boolean(), place: f.enum(['west', 'east'], { default: 'west' }) },
  request: ({ state, place }) => ({
    state: state ? 'on' : 'off',
    place: { side: place === 'west' ? 'left' : 'right', tags: ['a'] },
  }),
  response: ({ state, place }) => {
    const name = place.side === 'left' ? 'west' : 'east'
    return { state: state === 'on', place: name }
  },
})

const staff = service({
  name: 'staff',
  versions: { v1: { released: '2026-01-15' }, v2: { released: '2026-06-01' } },
  scopes: { 'staff:pay': 'See what is paid' },
  resources: {
    people: {
      fields: {
        name: f.text(),
        pay: f.integer({ optional: true, read: 'staff:pay' }),
        rank: f.text({ default: '', read: 'staff:pay' }),
      },
      access: 'authenticated',
    },
  },
})

staff.change('v2', 'people', {
  about: 'What a caller does not see is null.',
  removed: { title: f.text({ default: '', read: 'staff:pay' }) },
  added: ['rank'],
  request: ({ title }) => ({ rank: title }),
  response: (now) => {
    type Given = Proof<
      Equal<typeof now, { readonly name: string; readonly pay: number | null; readonly rank: string | null }>
    >
    const title: Given extends true ? string : never = now.rank ?? ''
    // @ts-expect-error: null has to be taken
    now.rank.trim()
    return { title }
  },
})
