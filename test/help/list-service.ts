/** A service for tests of lists: every kind of field with filters, fields named like parameters, owners and children. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import type { Answer, Door, Sent } from './door.ts'

export const listService = service({
  name: 'market',
  resources: {
    makers: { prefix: 'mak', fields: { name: f.text() }, access: 'public' },
    products: {
      prefix: 'prd',
      fields: {
        name: f.text({ filter: ['like', 'range', 'gt', 'lt', 'ne'], sort: true }),
        title: f.text({ optional: true, fold: true, filter: ['like', 'range'], sort: true }),
        code: f.text({ optional: true, filter: true }),
        price: f.decimal({ scale: 2, optional: true, filter: ['range', 'gt', 'lt', 'ne'], sort: true }),
        mass: f.decimal({ precision: 30, scale: 10, optional: true, filter: 'range', sort: true }),
        serial: f.bigint({ optional: true, filter: ['range', 'gt', 'lt', 'ne'], sort: true }),
        stock: f.integer({ optional: true, min: 0, filter: 'range', sort: true }),
        active: f.boolean({ default: false, filter: ['ne'], sort: true }),
        colour: f.enum(['red', 'green', 'blue'], { default: 'red', filter: ['ne'], sort: true }),
        madeOn: f.date({ optional: true, filter: 'range', sort: true }),
        shownAt: f.timestamp({ optional: true, filter: 'range', sort: true }),
        country: f.country({ optional: true, filter: true }),
        currency: f.currency({ optional: true, filter: true }),
        email: f.email({ optional: true, filter: 'like' }),
        site: f.url({ optional: true, filter: true }),
        patience: f.duration({ optional: true, filter: true }),
        season: f.interval({ optional: true, filter: true }),
        makerId: f.ref('makers', { optional: true, filter: true }),
        place: f.object(
          {
            city: f.text({ filter: ['like'], sort: true }),
            geo: f.object({ lat: f.decimal({ scale: 6, filter: 'range', sort: true }) }),
            floor: f.integer({ optional: true, filter: 'range' }),
          },
          { optional: true },
        ),
        order: f.integer({ optional: true, filter: 'range' }),
        limit: f.text({ optional: true, filter: true }),
        version: f.text({ optional: true, filter: true }),
        sort: f.text({ optional: true, sort: true }),
        secret: f.text({ optional: true }),
        tags: f.list(f.text()),
        metadata: f.metadata(),
      },
      sorts: { popularity: ['-stock', 'name'], freshness: ['madeOn', '-price', 'name'], newest: ['-createdAt'] },
      settings: { list: { maxSortable: 20 } },
      access: 'public',
    },
    parts: {
      prefix: 'prt',
      parent: 'products',
      fields: { label: f.text({ filter: true, sort: true }), weight: f.integer({ optional: true, sort: true }) },
      sorts: { heaviest: ['-weight', 'label'] },
      access: 'public',
    },
    shelves: { prefix: 'shf', fields: { name: f.text() }, access: 'public' },
    slots: {
      parent: 'shelves',
      key: 'number',
      fields: {
        number: f.integer({ min: 0, max: 9999, filter: 'range', sort: true }),
        depth: f.integer({ default: 0, filter: 'range', sort: true }),
      },
      order: ['number'],
      sorts: { deepest: ['-depth', 'number'] },
      access: 'public',
    },
  },
})

/** Creates an item and returns it. */
export async function made(door: Door, path: string, json: object): Promise<{ id: string; [name: string]: unknown }> {
  const answer = await door.send('POST', path, { json })
  assert.equal(answer.status, 201, answer.text)
  return answer.json
}

/** Creates items one after the other. */
export async function stocked(door: Door, path: string, items: readonly object[]): Promise<string[]> {
  const ids: string[] = []
  for (const item of items) ids.push((await made(door, path, item)).id)
  return ids
}

/** Fetches a list; asserts that the answer is 200. */
export async function listed(door: Door, path: string, sent: Sent = {}): Promise<Answer> {
  const answer = await door.send('GET', path, sent)
  assert.equal(answer.status, 200, `${path}: ${answer.text}`)
  return answer
}

/** The values of one field in all items of a list. */
export const values = ({ json }: Answer, field: string): unknown[] =>
  json.data.map((item: Record<string, unknown>) => item[field])

/** Asserts that a request is refused, and returns the type and the parameter of every error. */
export async function refused(door: Door, path: string, sent: Sent = {}): Promise<string[]> {
  const answer = await door.send('GET', path, sent)
  assert.equal(answer.status, 400, `${path}: ${answer.text}`)
  assert.equal(answer.json.type, 'invalid-query', path)
  assert.deepEqual(answer.json.cause, answer.json.errors[0])
  return answer.json.errors.map((one: Record<string, unknown>) => {
    assert.equal(one.in, 'query')
    assert.deepEqual((one.types as string[]).slice(-4), ['invalid-query', 'invalid-request', 'client-error', 'error'])
    return `${one.type} ${one.name}`
  })
}

/** The message of a refusal that has one error. */
export async function sentence(door: Door, path: string): Promise<string> {
  const { json, text } = await door.send('GET', path)
  assert.equal(json.errors.length, 1, text)
  return json.cause.message
}

/** A path with a query string. */
export const asked = (path: string, query: Record<string, string>): string => `${path}?${new URLSearchParams(query)}`
