/** Index advice: declared orders that no index serves. Part 4, list parameters. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { caller, f, service } from 'bylaw'
import type { ResourceDeclaration } from '../resources/declaration.ts'
import type { Resource } from '../resources/resource.ts'
import { indexAdvice } from './index-advice.ts'

const fields = {
  status: f.enum(['open', 'done'], { filter: true }),
  kind: f.text({ max: 50, filter: true }),
  code: f.text({ unique: true, filter: true }),
  dueOn: f.date({ optional: true, sort: true }),
  effort: f.integer({ sort: true }),
  place: f.object({ city: f.text({ filter: true }) }),
}

const plain: ResourceDeclaration = { fields, access: 'public' }

function warnings(more: Partial<ResourceDeclaration>): string[] {
  const { resources } = service({
    name: 'advised',
    resources: { teams: { fields: { name: f.text() }, access: 'public' }, tasks: { ...plain, ...more } } as never,
  })
  return indexAdvice(resources.get('tasks') as Resource)
}

test('filters alone, and sorts alone, need no advice', () => {
  assert.deepEqual(warnings({}), [])
  assert.deepEqual(
    warnings({
      fields: { effort: f.integer({ sort: true }) },
      order: ['-effort'],
      sorts: { urgency: ['effort', '-id'] },
    }),
    [],
  )
})

test('a declared order and criteria are slow with filters that no index begins with', () => {
  assert.deepEqual(warnings({ order: ['-effort'] }), [
    "A list of tasks in its declared order that is filtered by status, kind or place.city reads more rows than it returns. If it is requested often, declare indexes: [['status', 'effort'], ['kind', 'effort'], ['place.city', 'effort']].",
  ])
  assert.deepEqual(warnings({ sorts: { urgency: ['dueOn', '-effort'] } }), [
    "A list of tasks by custom_sort=urgency that is filtered by status, kind or place.city reads more rows than it returns. If it is requested often, declare indexes: [['status', 'dueOn', '-effort'], ['kind', 'dueOn', '-effort'], ['place.city', 'dueOn', '-effort']].",
  ])
  assert.equal(warnings({ order: ['effort'], sorts: { urgency: ['-dueOn'] } }).length, 2)
})

test('the advised indexes are sufficient', () => {
  const orders: string[][] = [
    ['effort'],
    ['-effort'],
    ['dueOn', '-effort'],
    ['-dueOn', 'effort'],
    ['-dueOn', '-effort'],
    ['kind', 'effort'],
    ['-kind', 'effort', '-dueOn'],
  ]
  for (const order of orders) {
    for (const declared of [{ order }, { sorts: { own: order } }]) {
      const [warning = ''] = warnings(declared)
      const [, line = ''] = /indexes: (\[\[.*\]\])/.exec(warning) ?? []
      const indexes = JSON.parse(line.replaceAll("'", '"'))
      assert.deepEqual(warnings({ ...declared, indexes }), [], `${order} ${JSON.stringify(indexes)}`)
    }
  }
})

test('a filter by the first field of an order is served by the index of the order', () => {
  const [warning] = warnings({ order: ['kind', 'effort'] })
  assert.match(warning as string, /filtered by status or place\.city/)
})

test('children already have an index by their parent', () => {
  const child = {
    parent: 'teams',
    order: ['-effort'],
    fields: { effort: f.integer({ sort: true }), kind: f.text({ filter: true }) },
  }
  assert.deepEqual(warnings(child), [
    "A list of tasks in its declared order that is filtered by kind reads more rows than it returns. If it is requested often, declare indexes: [['kind', 'effort']].",
  ])
  const keyed = { ...child, key: 'number', fields: { ...child.fields, number: f.integer() } }
  assert.equal(warnings(keyed).length, 1)
  assert.deepEqual(warnings({ ...keyed, indexes: [['kind', 'effort']] }), [])
})

test('a resource without lists needs no advice', () => {
  assert.deepEqual(warnings({ order: ['effort'], methods: ['read', 'create'] }), [])
})

test('a summary wants an index with all of its fields, those of its groups first', () => {
  const summaries = { kinds: { group: ['kind', { month: 'dueOn' }], sum: ['effort'], max: ['effort'] } } as const
  assert.deepEqual(warnings({ summaries }), [
    "The summary kinds of tasks reads whole rows, as no index has all of its fields. If it is requested often, declare indexes: [['kind', 'dueOn', 'effort']].",
  ])
  assert.deepEqual(warnings({ summaries, indexes: [['kind', 'dueOn', 'effort']] }), [])
  assert.deepEqual(warnings({ summaries, indexes: [['-dueOn', '-kind', 'status', 'effort']] }), [])
  assert.equal(warnings({ summaries, indexes: [['kind', 'effort', 'dueOn']] }).length, 1)
  assert.deepEqual(warnings({ summaries: { kinds: { group: ['kind'] }, efforts: { sum: ['effort'] }, all: {} } }), [])
  assert.deepEqual(
    warnings({ summaries: { efforts: { max: ['effort', 'dueOn'] } }, indexes: [['status', 'dueOn', 'effort']] }),
    [],
  )
})

test('the rows of an access rule that no index has in an order', () => {
  const access = { read: [{ where: { kind: caller } }, { where: { id: caller } }], write: 'public' } as const
  const [one, ...more] = warnings({ access, fields: { kind: f.text({ max: 50 }), effort: f.integer({ sort: true }) } })
  assert.deepEqual(more, [])
  assert.match(one ?? '', /access rule limits by kind .*sorted by effort\. .*indexes: \[\['kind', 'effort'\]\]/)
  const indexes = [['kind', 'effort']]
  assert.deepEqual(
    warnings({ access, indexes, fields: { kind: f.text({ max: 50 }), effort: f.integer({ sort: true }) } }),
    [],
  )
})
