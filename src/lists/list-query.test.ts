/** List queries: a cached query equals one that is read again, whatever was read meanwhile. Part 4, list parameters. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import fc from 'fast-check'
import { testWorld } from '../../test/help/world.ts'
import { Problem } from '../errors/problem.ts'
import type { ListQuery } from '../flow/intent.ts'
import { serviceWorld, trustedClock } from '../flow/world.ts'
import { writeCursor } from './cursor.ts'
import { listQueryReader } from './list-query.ts'
import { listRules } from './list-rules.ts'

const { resources } = service({
  name: 'shop',
  resources: {
    orders: {
      fields: {
        status: f.enum(['open', 'paid'], { filter: true }),
        total: f.bigint({ optional: true, filter: 'range', sort: true }),
      },
      settings: { list: { cursor: { ttl: 'PT60S' } } },
      access: 'public',
    },
  },
})
const own = listRules(resources.get('orders') as never, resources)
const world = (time: number) => serviceWorld(testWorld(), { clock: trustedClock(() => time), secret: 's' })

/** The query of a target, or its mistakes. */
function queryOrMistakes(read: ReturnType<typeof listQueryReader>, target: string, time: number): unknown {
  try {
    return read(target, world(time))
  } catch (problem) {
    return problem instanceof Problem ? [problem.type, problem.violations] : problem
  }
}

const texts = [
  'status=open&sort=total',
  'sort=total&status=open',
  'limit=2&total[gte]=3',
  'status=paid',
  'status=gone',
  'page=2',
]
const lists = ['/orders', '/ord%65rs', '/x&cursor=/orders', '/x&cursor=abc&y/orders', '/x&cursor=&y/orders']
const ttl = 60_000

/** Cursors of a list with the filters and sort of a text. */
function cursorsOf(list: string, text: string): string[] {
  const found = queryOrMistakes(listQueryReader(own), `${list}?${text}`, 0) as ListQuery
  if (Array.isArray(found)) return []
  const binding = { list: found.list, bound: found.bound, ttl }
  return [null, '7'].map((first) => {
    const place = found.order.map(({ column }, i) => (i === 0 && column !== 'id' ? first : 'ord_1'))
    return writeCursor({ position: place, back: false, including: false }, binding, world(0))
  })
}

const strange = ['', 'abc', '%61bc', 'a.b', ...cursorsOf('/orders', 'status=open&sort=total')]

const target = fc
  .record({ list: fc.constantFrom(...lists), text: fc.constantFrom(...texts), first: fc.boolean() })
  .chain(({ list, text, first }) => {
    const name = fc.constantFrom('cursor', 'cursor', 'cursor', 'cursor', 'curs%6Fr')
    const value = fc.constantFrom(...strange, ...cursorsOf(list, text), ...cursorsOf(list, text))
    const cursor = fc.tuple(name, value).map((pair) => [pair.join('=')])
    const given = fc.oneof(cursor, cursor, cursor, fc.constantFrom([], ['cursor=', 'cursor=']))
    return given.map((own) => `${list}?${(first ? [...own, text] : [text, ...own]).join('&')}`)
  })

test('a reader reads each target alike, however many it has read', () => {
  let placed = 0
  const visits = fc.array(fc.tuple(target, fc.constantFrom(0, 1, ttl + 1)), { minLength: 20, maxLength: 60 })
  fc.assert(
    fc.property(visits, (all) => {
      const read = listQueryReader(own)
      for (const [target, time] of all) {
        const expected = queryOrMistakes(listQueryReader(own), target, time)
        assert.deepEqual(queryOrMistakes(read, target, time), expected, target)
        if (!Array.isArray(expected) && (expected as ListQuery).window.from === 'place') placed++
      }
    }),
    { numRuns: 60 },
  )
  assert.ok(placed > 100, `${placed} were placed by a cursor`)
})

test('a cursor expires, however its name is encoded', () => {
  const read = listQueryReader(own)
  const [, cursor] = cursorsOf('/orders', 'status=open&sort=total')
  for (const name of ['cursor', 'curs%6Fr']) {
    const target = `/orders?status=open&sort=total&${name}=${cursor}`
    assert.equal(read(target, world(0)).window.from, 'place')
    assert.deepEqual((queryOrMistakes(read, target, ttl + 1) as [string])[0], 'invalid-query')
  }
})

test('further pages of a list share filters and sort from its second request on', () => {
  const read = listQueryReader(own)
  const asked = () => read('/orders?status=open&sort=total&cursor=', world(0))
  const single = asked()
  const first = asked()
  assert.notEqual(first.where, single.where, 'a query that is requested once is not kept')
  const { list, bound } = first
  const cursor = writeCursor(
    { position: ['7', 'ord_1'], back: false, including: false },
    { list, bound, ttl },
    world(0),
  )
  const next = read(`/orders?status=open&sort=total&cursor=${cursor}`, world(0))
  assert.equal(next.where, first.where)
  assert.equal(next.order, first.order)
  assert.deepEqual(next.parameters.at(-1), ['cursor', cursor])
  assert.equal(next.window.from, 'place')
})
