/** Dropped promises: a change keeps the uniqueness and references of an older version, or is refused. R195. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Field, type Fields, f } from '../fields/field.ts'
import type { Change } from '../resources/change.ts'
import { changeMistakes } from './change-mistakes.ts'

const users = { prefix: 'usr', fields: { name: f.text() }, access: 'public' }
const versions = { v1: { released: '2026-01-15' }, v2: { released: '2026-06-01' } }

const mistakes = (fields: Fields, change: object, more: object = {}): string[] =>
  changeMistakes(
    { name: 'shop', versions, resources: { users, items: { fields, access: 'public', ...more } } } as never,
    [{ version: 'v2', resource: 'items', about: 'It changed.', ...change } as Change],
  ).map(({ place, reason }) => `${place}: ${reason}`)

const sku = f.text({ unique: true, max: 20 })
const parts = {
  removed: { sku },
  added: ['prefix', 'number'],
  request: ({ sku }: { sku: string }) => {
    const [prefix, number] = sku.split('-')
    return { prefix, number: number ?? '' }
  },
  response: ({ prefix, number }: Record<string, string>) => ({ sku: `${prefix}-${number}` }),
}

describe('a unique field that is computed from others', () => {
  const both = { prefix: f.text(), number: f.text() }
  test('R195: is refused if nothing keeps it unique', () => {
    const says = /^changes\.v2\.items\.removed\.sku: `sku` is unique before v2, but no unique field of v2 keeps it so/
    assert.match(mistakes(both, parts)[0] ?? '', says)
    const one = { ...both, number: f.text({ unique: true }) }
    assert.match(mistakes(one, parts)[0] ?? '', says)
    const mixed = {
      removed: { sku, kind: f.text() },
      added: ['code'],
      request: ({ sku, kind }: Record<string, string>) => ({ code: `${kind}${sku}` }),
      response: ({ code }: Record<string, string>) => ({ sku: code?.slice(1), kind: code?.slice(0, 1) }),
    }
    assert.match(mistakes({ code: f.text({ unique: true }) }, mixed)[0] ?? '', says)
  })
  test('is accepted if unique fields are computed from it alone', () => {
    assert.deepEqual(mistakes(both, parts, { uniques: [['prefix', 'number']] }), [])
    const code = {
      removed: { sku },
      added: ['code'],
      request: ({ sku }: Record<string, string>) => ({ code: sku?.toUpperCase() }),
      response: ({ code }: Record<string, string>) => ({ sku: code?.toLowerCase() }),
    }
    assert.deepEqual(mistakes({ code: f.text({ unique: true }) }, code), [])
    assert.deepEqual(mistakes({ code: f.text({ unique: true }) }, { renamed: { sku: 'code' } }), [])
  })
  for (const [kind, old, now] of [
    ['text', f.text({ unique: true, max: 5 }), f.text({ max: 9 })],
    ['integer', f.integer({ unique: true }), f.text()],
    ['date', f.date({ unique: true }), f.timestamp()],
    ['decimal', f.decimal({ unique: true, scale: 2 }), f.decimal({ scale: 3 })],
  ] as [string, Field, Field][]) {
    test(`R195: of type ${kind} stays unique under another type, or is refused`, () => {
      const both = {
        request: ({ code }: Record<string, unknown>) => ({ code: String(code) }),
        response: ({ code }: Record<string, unknown>) => ({ code: String(code) }),
      }
      const change = { retyped: { code: old }, ...both }
      assert.match(mistakes({ code: now }, change)[0] ?? '', /retyped\.code: `code` is unique before v2/)
      const unique = { ...now, options: { ...now.options, unique: true } }
      assert.deepEqual(mistakes({ code: unique }, change), [])
    })
  }
  test('R195: that is unique together with others stays distinct under another type, or is refused', () => {
    const seats = (request: (old: Record<string, unknown>) => object, retyped: Fields = { row: f.integer() }) =>
      mistakes(
        { row: f.text(), hall: f.text() },
        { retyped, request, response: ({ row }: Record<string, string>) => ({ row: Number(row?.split(' ').at(-1)) }) },
        { uniques: [['hall', 'row']] },
      )
    const says = /^changes\.v2\.items\.retyped\.row: `row` is part of `uniques` before v2/
    assert.match(seats(() => ({ row: 'A' }))[0] ?? '', says)
    assert.match(seats(({ id, row }) => ({ row: `${id} ${row === 0 ? 0 : 1}` }), { row: f.text() })[0] ?? '', says)
    assert.deepEqual(
      seats(({ row }) => ({ row: String(row) })),
      [],
    )
    assert.deepEqual(
      seats(({ row, hall }) => ({ row: `${hall} ${row}` })),
      [],
    )
  })
  test('R195: is refused if another row has it now', () => {
    const moved = { name: { by: 'userId', to: 'name', field: f.text({ unique: true }) } }
    assert.match(mistakes({ userId: f.ref('users') }, { moved })[0] ?? '', /moved\.name: `name` is unique before v2/)
  })
  test('promises nothing if it is only dropped', () => {
    assert.deepEqual(mistakes({ note: f.text() }, { removed: { sku: f.text({ unique: true, optional: true }) } }), [])
  })
})

describe('a reference that is computed from other fields', () => {
  const owner = (response: (now: never) => object, request: (old: never) => object) => ({
    removed: { ownerId: f.ref('users') },
    added: ['owner'],
    request,
    response,
  })
  const says = /removed\.ownerId: `ownerId` refers to users before v2, but v2 does not check it/
  test('R195: is refused if nothing checks it', () => {
    const change = owner(
      ({ owner }: { owner: string }) => ({ ownerId: owner }),
      ({ ownerId }: { ownerId: string }) => ({ owner: ownerId }),
    )
    assert.match(mistakes({ owner: f.text() }, change)[0] ?? '', says)
    const retyped = {
      retyped: { ownerId: f.ref('users') },
      request: (old: object) => old,
      response: (now: object) => now,
    }
    assert.match(mistakes({ ownerId: f.text() }, retyped)[0] ?? '', /retyped\.ownerId: `ownerId` refers to users/)
    const listed = {
      retyped: { ids: f.list(f.ref('users')) },
      request: (old: object) => old,
      response: (now: object) => now,
    }
    assert.match(mistakes({ ids: f.list(f.text()) }, listed)[0] ?? '', /retyped\.ids: `ids` refers to users/)
  })
  test('R195: is refused if it is answered with values that were never checked', () => {
    const change = owner(
      () => ({ ownerId: 'usr_nobody' }),
      ({ ownerId }: { ownerId: string }) => ({ owner: ownerId }),
    )
    assert.match(mistakes({ owner: f.ref('users') }, change)[0] ?? '', says)
  })
  test('is accepted if a reference is computed from it and given back', () => {
    const change = owner(
      ({ owner }: { owner: string[] }) => ({ ownerId: owner[0] }),
      ({ ownerId }: { ownerId: string }) => ({ owner: [ownerId] }),
    )
    assert.deepEqual(mistakes({ owner: f.list(f.ref('users'), { min: 1 }) }, change), [])
  })
})
