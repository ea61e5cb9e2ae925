/** Infer: the service behaves as the types that are inferred from its declaration say. Part 2, fields. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f } from '../fields/field.ts'
import { standardKinds } from '../fields/kinds.ts'
import { type Naming, singularOf } from '../formats/naming.ts'
import { readSettings } from '../settings.ts'
import type { CreateInput, ResourceName, Row, Singular } from './infer.ts'
import { makeResource, type Resource } from './resource.ts'

test('the type of a singular equals the derived singular', () => {
  same('orders', 'order')
  same('order-lines', 'order-line')
  same('sales-people', 'sales-person')
  same('categories', 'category')
  same('days', 'day')
  same('ties', 'tie')
  same('cookies', 'cookie')
  same('addresses', 'address')
  same('boxes', 'box')
  same('taxes', 'tax')
  same('matches', 'match')
  same('caches', 'cache')
  same('dishes', 'dish')
  same('waltzes', 'waltz')
  same('prizes', 'prize')
  same('quizzes', 'quiz')
  same('heroes', 'hero')
  same('toes', 'toe')
  same('shoes', 'shoe')
  same('videoes', 'videoe')
  same('statuses', 'status')
  same('houses', 'house')
  same('causes', 'cause')
  same('indices', 'index')
  same('series', 'series')
  same('staff', 'staff')
})

/** The compiler checks the second name, the test the first. */
function same<const Name extends string>(name: Name, inferred: Singular<Name>): void {
  assert.equal(singularOf(name), inferred)
}

const kept = <const D>(declaration: D): D => declaration
const shop = kept({
  concepts: { price: f.decimal({ scale: 2, default: '0.00' }) },
  resources: {
    'order-lines': {
      fields: {
        name: f.text(),
        note: f.text({ optional: true }),
        price: f.concept('price'),
        tags: f.list(f.text()),
        metadata: f.metadata(),
        secret: f.text({ writeOnly: true }),
        score: f.integer({ readOnly: true, optional: true }),
      },
      access: 'public',
    },
    slots: {
      parent: { resource: 'order-lines' },
      key: 'number',
      fields: { number: f.text({ immutable: true }), free: f.boolean() },
      access: 'public',
    },
    staff: { parent: 'order-lines', singular: 'staff-member', plural: true, fields: {}, access: 'public' },
    shifts: { parent: 'staff', fields: {}, access: 'public' },
  },
})
const snake = kept({ settings: { naming: 'snake' }, resources: shop.resources })

type Shop = typeof shop
type Snake = typeof snake

function made(name: ResourceName<Shop>, naming: Naming): Resource {
  const { resources, concepts } = shop
  const settings = readSettings({ naming }, undefined, false, () => assert.fail())
  return makeResource(name, resources[name], { resources, concepts, settings, kinds: standardKinds })
}

/** The fields of an item, with inferred types. */
type Members<T> = Readonly<Record<keyof T, 'answered'>>
function answered(resource: Resource, inferred: Readonly<Record<string, 'answered'>>): void {
  const members = resource.members.filter(({ writeOnly }) => !writeOnly)
  assert.deepEqual(Object.fromEntries(members.map(({ name }) => [name, 'answered'])), inferred)
}

test('a row type has the answered members', () => {
  const line: Members<Row<Shop, 'order-lines'>> = {
    ...{ id: 'answered', createdAt: 'answered', updatedAt: 'answered' },
    ...{ name: 'answered', note: 'answered', price: 'answered', tags: 'answered', metadata: 'answered' },
    score: 'answered',
  }
  answered(made('order-lines', 'camel'), line)
  const times = { createdAt: 'answered', updatedAt: 'answered' } as const
  const slot: Members<Row<Shop, 'slots'>> = {
    ...times,
    ...{ id: 'answered', orderLineId: 'answered', number: 'answered', free: 'answered' },
  }
  answered(made('slots', 'camel'), slot)
  const shift: Members<Row<Shop, 'shifts'>> = { ...times, id: 'answered', staffMemberId: 'answered' }
  answered(made('shifts', 'camel'), shift)
  const snakeShift: Members<Row<Snake, 'shifts'>> = {
    ...{ id: 'answered', staff_member_id: 'answered', created_at: 'answered', updated_at: 'answered' },
  }
  answered(made('shifts', 'snake'), snakeShift)
})

/** The fields of a body for a new item, and whether each is required. */
type Sent<T> = { readonly [K in keyof T]-?: object extends Pick<T, K> ? 'free' : 'needed' }
function sent(resource: Resource, inferred: Readonly<Record<string, 'free' | 'needed'>>): void {
  const members = resource.members.filter(({ name, from }) => from === 'caller' || name === resource.key)
  assert.deepEqual(
    Object.fromEntries(members.map(({ name, absent }) => [name, absent === undefined ? 'needed' : 'free'])),
    inferred,
  )
}

test('the input type of a new item requires the required fields', () => {
  const line: Sent<CreateInput<Shop, 'order-lines'>> = {
    ...{ name: 'needed', secret: 'needed' },
    ...{ note: 'free', price: 'free', tags: 'free', metadata: 'free' },
  }
  sent(made('order-lines', 'camel'), line)
  const slot: Sent<CreateInput<Shop, 'slots'>> = { number: 'needed', free: 'needed' }
  sent(made('slots', 'camel'), slot)
})
