/** Declarations that do not compile, with the place of each error; nothing here runs. Part 2, fields. */
import type { Declaration } from 'bylaw'
import { f, service } from 'bylaw'
import type { CheckedDeclaration } from '../../src/resources/infer-faults.ts'
import type { Equal, Proof } from './equal.ts'

/** A field has the options of its kind, and no others. */
export const options = [
  // @ts-expect-error no such option
  f.text({ mx: 3 }),
  // @ts-expect-error no such option beside one that there is
  f.text({ max: 3, mx: 3 }),
  // @ts-expect-error a number
  f.text({ max: '3' }),
  // @ts-expect-error true or false
  f.email({ optional: 'yes' }),
  // @ts-expect-error an integer has no pattern
  f.integer({ min: 1, pattern: '1' }),
  // @ts-expect-error the default is a number
  f.integer({ default: 'a' }),
  // @ts-expect-error bounds of strings are strings
  f.bigint({ min: 1 }),
  // @ts-expect-error no scale
  f.decimal(),
  // @ts-expect-error no scale
  f.decimal({ precision: 4 }),
  // @ts-expect-error no such option
  f.decimal({ scale: 2, scales: 2 }),
  // @ts-expect-error a default as it travels
  f.decimal({ scale: 2, default: 1.5 }),
  // @ts-expect-error the default is true or false
  f.boolean({ default: 'false' }),
  // @ts-expect-error no such filter
  f.text({ filter: 'lik' }),
  // @ts-expect-error only texts are matched
  f.integer({ filter: ['range', 'like'] }),
  // @ts-expect-error without an order there is no range
  f.boolean({ filter: 'range' }),
  // @ts-expect-error without an order there is no sorting
  f.duration({ sort: true }),
  // @ts-expect-error no filter
  f.metadata({ filter: true }),
  // @ts-expect-error values are strings
  f.metadata({ default: { a: 1 } }),
  // @ts-expect-error not one of the values
  f.enum(['a', 'b'], { default: 'c' }),
  // @ts-expect-error no such option
  f.enum(['a', 'b'], { defualt: 'a' }),
  // @ts-expect-error no such rule
  f.ref('orders', { onDelete: 'forget' }),
  // @ts-expect-error no item is sure to exist
  f.ref('orders', { default: 'ord_1' }),
  // @ts-expect-error not an item
  f.list(f.integer(), { default: ['a'] }),
  // @ts-expect-error lists are not sorted by
  f.list(f.integer(), { sort: true }),
  // @ts-expect-error a member has another type
  f.object({ a: f.text() }, { default: { a: 1 } }),
  // @ts-expect-error a required member is missing
  f.object({ a: f.text(), b: f.text() }, { default: { a: '' } }),
  // @ts-expect-error an object is not unique
  f.object({ a: f.text() }, { unique: true }),
  // @ts-expect-error no such option
  f.concept('money', { optionl: true }),
  // @ts-expect-error not a field
  f.list('text'),
]

const fields = { name: f.text({ sort: true }), place: f.object({ city: f.text() }) }

/** Names must refer to existing parts. */
export const names = [
  service({
    name: 'a',
    // @ts-expect-error no such concept
    concepts: { money: f.object({ currency: f.concept('curency') }) },
    resources: {
      orders: {
        fields: {
          name: f.text(),
          // @ts-expect-error no such resource
          customerId: f.ref('custmers'),
          // @ts-expect-error no such resource, inside an object
          place: f.object({ cityId: f.ref('cities') }),
          // @ts-expect-error no such resource, inside a list
          friends: f.list(f.ref('friends')),
          // @ts-expect-error no such concept
          price: f.concept('mony'),
          // @ts-expect-error a default that the concept does not have
          money: f.concept('money', { default: 'a' }),
        },
        access: 'public',
      },
    },
  }),
  service({
    name: 'b',
    scopes: { 'orders:read': 'Read orders' },
    resources: {
      orders: {
        // @ts-expect-error no such resource
        parent: 'custmers',
        // @ts-expect-error no such field
        key: 'nme',
        fields,
        // @ts-expect-error no such scope
        access: 'order:read',
      },
      customers: {
        parent: {
          // @ts-expect-error no such resource
          resource: 'order',
          // @ts-expect-error no such member
          deletion: 'cascade',
        },
        // @ts-expect-error service-made names are no keys
        key: 'id',
        fields,
        access: {
          read: 'orders:read',
          // @ts-expect-error no such scope
          write: 'orders:write',
          // @ts-expect-error no such operation
          remov: 'public',
        },
        // @ts-expect-error no such field
        order: ['-createdAt', 'nme'],
        sorts: {
          // @ts-expect-error no such field in the object
          place: ['place.city', '-place.street'],
          // @ts-expect-error an object is not sorted by
          whole: ['place'],
        },
        summaries: {
          // @ts-expect-error no such field
          names: { group: ['nme'] },
          // @ts-expect-error no such field of the object
          days: { group: [{ day: 'createdOn' }], sum: ['place.street'] },
        },
        history: {
          // @ts-expect-error no such scope
          read: 'audit',
          // @ts-expect-error no such member
          keep: 'P30D',
        },
        // @ts-expect-error no such field
        indexes: [['name', 'customerId']],
        // @ts-expect-error no such field
        uniques: [['name', 'email']],
      },
    },
  }),
]

/** Unknown members are refused. */
export const members = [
  service({
    name: 'd',
    settings: {
      auth: {
        tokens: {
          issuer: 'https://login.example.com',
          audience: 'https://api.example.com',
          jwks: 'https://login.example.com/keys',
          // @ts-expect-error no such member of tokens
          algorithm: 'RS256',
          claims: { scopes: 'scope' },
        },
      },
    },
    resources: {},
  }),
  service({
    name: 'c',
    // @ts-expect-error no such member of a service
    ressources: {},
    // @ts-expect-error no such setting
    settings: { naming: 'camel', list: { maxPageSize: 10, maxPagSize: 10 } },
    errors: {
      // @ts-expect-error no such member of an error
      'credit-exceeded': { status: 409, parent: 'conflict' },
    },
    resources: {
      orders: {
        // @ts-expect-error no such member of a resource
        prefx: 'ord',
        fields,
        access: 'public',
        settings: {
          // @ts-expect-error no such setting of a resource
          naming: 'snake',
          deleted: { status: 404 },
        },
      },
    },
  }),
  service({
    name: 'd',
    resources: {
      // @ts-expect-error no access
      orders: { fields },
      // @ts-expect-error no such operation
      customers: { fields, access: 'public', methods: ['raed'] },
      // @ts-expect-error a member of another type
      slots: { fields, access: 'public', prefix: 3 },
    },
  }),
  service({
    name: 'f',
    scopes: { pii: 'See personal data' },
    resources: {
      people: {
        owner: 'accountId',
        fields: {
          ssn: f.text({ optional: true, read: 'pii', write: 'pii' }),
          // @ts-expect-error no such scope
          born: f.date({ optional: true, read: 'pi' }),
          // @ts-expect-error no such scope, beside one that there is
          city: f.text({ optional: true, read: 'pii', write: 'public' }),
        },
        access: 'authenticated',
      },
    },
  }),
  service({
    name: 'g',
    resources: {
      // @ts-expect-error a name
      pets: { owner: 5, fields, access: 'authenticated' },
    },
  }),
  // @ts-expect-error no such value of a setting
  service({ name: 'e', resources: {}, settings: { naming: 'kebab' } }),
  service({
    name: 'f',
    resources: {},
    tiers: {
      free: { hourly: 1000, burst: { quota: 20, window: 'PT1S', partition: 'address' } },
      // @ts-expect-error a number alone is for the hour
      pro: { daily: 1000 },
      large: {
        // @ts-expect-error no such member of a quota
        hourly: { quota: 1000, windw: 'PT1H' },
      },
    },
  }),
  service({
    name: 'g',
    resources: {},
    tiers: {
      free: {
        // @ts-expect-error no such partition
        burst: { quota: 20, window: 'PT1S', partition: 'key' },
        // @ts-expect-error a number
        weekly: { quota: '20', window: 'P7D' },
      },
    },
  }),
]

declare function given<const D extends Declaration>(declaration: D): CheckedDeclaration<D, Declaration>
const reported = given({
  name: 'told',
  naem: 'told',
  resources: {
    orders: {
      parent: 'custmers',
      key: 'nme',
      fields: { name: f.text(), customerId: f.ref('custmers'), price: f.concept('mony') },
      access: 'order:read',
      order: ['name', '-nme'],
    },
  },
})
type Reported = typeof reported
type Orders = Reported['resources']['orders']

/** The message of the compiler contains the reason. */
export type Reasons = [
  Proof<Equal<Reported['naem'], "Error: 'naem' is not known here">>,
  Proof<Equal<Reported['name'], 'told'>>,
  Proof<Equal<Orders['parent'], "Error: no resource 'custmers'">>,
  Proof<Equal<Orders['key'], "Error: no field 'nme'">>,
  Proof<Equal<Orders['access'], "Error: no scope 'order:read'">>,
  Proof<Equal<Orders['order'], readonly ['name', "Error: no field '-nme'"]>>,
  Proof<Equal<Orders['fields']['customerId'], "Error: no resource 'custmers'">>,
  Proof<Equal<Orders['fields']['price'], "Error: no concept 'mony'">>,
]
