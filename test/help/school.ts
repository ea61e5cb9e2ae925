/** A service with pairs, and its rows. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import type { Door } from './door.ts'

export const school = service({
  name: 'school',
  events: true,
  settings: { methods: { query: true }, batches: 10, list: { or: true } },
  resources: {
    orders: {
      prefix: 'ord',
      fields: { note: f.text({ optional: true }) },
      embed: ['tags'],
      access: 'public',
      settings: { resource: { links: 'all' } },
    },
    tags: {
      prefix: 'tag',
      fields: {
        name: f.text({ max: 40, filter: 'like', sort: true }),
        rank: f.integer({ default: 0, filter: 'range' }),
      },
      embed: true,
      access: 'public',
    },
    countries: { key: 'code', fields: { code: f.country(), name: f.text({ max: 40 }) }, embed: true, access: 'public' },
    students: {
      prefix: 'stu',
      fields: { name: f.text({ max: 40, sort: true }) },
      embed: ['courses', 'courses.students'],
      access: 'public',
    },
    courses: {
      prefix: 'cou',
      fields: { title: f.text({ max: 40, sort: true }) },
      embed: ['students'],
      access: 'public',
    },
  },
  pairs: {
    'order-tags': { between: ['orders', 'tags'], access: 'public' },
    'order-countries': { between: ['countries', 'orders'], access: 'public' },
    enrolments: {
      between: ['students', 'courses'],
      fields: {
        role: f.enum(['learner', 'tutor'], { default: 'learner' }),
        grade: f.integer({ optional: true, min: 1, max: 6 }),
        pin: f.text({ optional: true, writeOnly: true }),
      },
      access: 'public',
    },
  },
})

export const made = async (door: Door, path: string, json: object): Promise<string> => {
  const { status, json: item, text } = await door.send('POST', path, { json })
  assert.equal(status, 201, text)
  return item.id
}

export const idsOf = async (door: Door, path: string): Promise<string[]> => {
  const { status, json, text } = await door.send('GET', path)
  assert.equal(status, 200, text)
  return json.data.map(({ id }: { id: string }) => id)
}

/** An id that no item has, of the same form. */
export const other = (id: string): string => `${id.slice(0, -4)}0000`

/** Links the items of a path. */
export const linked = async (door: Door, path: string, status = 201): Promise<void> => {
  const answer = await door.send('PUT', path)
  assert.equal(answer.status, status, answer.text)
}
