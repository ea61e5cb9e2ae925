/** A service for tests of idempotency keys: every place of a key, every setting of conflicts, and owners with children. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import type { Answer, Door } from './door.ts'

export const keyService = service({
  name: 'desk',
  resources: {
    customers: {
      prefix: 'cus',
      fields: { name: f.text(), email: f.email({ optional: true, unique: true }) },
      access: 'public',
    },
    orders: {
      prefix: 'ord',
      fields: {
        customerId: f.ref('customers', { optional: true }),
        note: f.text({ optional: true, max: 50 }),
        amount: f.integer({ default: 0, min: 0 }),
        metadata: f.metadata(),
      },
      access: 'public',
    },
    'order-lines': { prefix: 'lin', parent: 'orders', fields: { text: f.text() }, access: 'public' },
    shelves: { prefix: 'shf', fields: { name: f.text() }, access: 'public' },
    slots: {
      parent: 'shelves',
      key: 'number',
      fields: { number: f.integer({ min: 0, max: 999 }), note: f.text({ optional: true }) },
      access: 'public',
    },
    colours: { prefix: 'clr', fields: { name: f.text() }, access: 'public', settings: { resource: { id: 'client' } } },
    invoices: { fields: { note: f.text() }, access: 'public', settings: { idempotency: { conflictBody: 'minimal' } } },
    payments: { fields: { note: f.text() }, access: 'public', settings: { idempotency: { required: true } } },
    memos: { fields: { note: f.text() }, access: 'public', settings: { idempotency: { bodyField: 'requestKey' } } },
    letters: {
      fields: { note: f.text(), idempotencyKey: f.text({ optional: true }) },
      access: 'public',
      settings: { idempotency: { bodyField: 'off' } },
    },
    cheques: {
      fields: { note: f.text() },
      access: 'public',
      settings: { idempotency: { bodyField: 'off', required: 'on' } },
    },
  },
})

export const nothing = 'ord_00000000000000000000000000'
export const keyOf = (key: string): Record<string, string> => ({ 'idempotency-key': key })

export const post = (door: Door, path: string, json: object, key?: string): Promise<Answer> =>
  door.send('POST', path, key === undefined ? { json } : { json, headers: keyOf(key) })

export async function posted(door: Door, path: string, json: object, key?: string): Promise<Answer> {
  const answer = await post(door, path, json, key)
  assert.equal(answer.status, 201, answer.text)
  return answer
}

export async function refused(answer: Promise<Answer>, status: number, type: string): Promise<Answer> {
  const { json, text, ...rest } = await answer
  assert.deepEqual([rest.status, json.type], [status, type], text)
  return { json, text, ...rest }
}

/** The number of items of a list. */
export async function count(door: Door, path: string): Promise<number> {
  return (await door.send('GET', `${path}?page_size=1`)).json.pagination.totalRecords
}

let last = 0
/** A key that no other test uses. */
export const fresh = (): string => `key-${++last}`
