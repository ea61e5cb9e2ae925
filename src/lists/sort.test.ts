/** Orders: from the sort parameters to terms, always ending in the identifier. Part 4, sorting. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import type { Violation } from '../errors/problem.ts'
import type { Term } from '../flow/plan.ts'
import type { ResourceSettings } from '../settings.ts'
import { type ListRules, listRules } from './list-rules.ts'
import { parsePairs, type QueryParameters } from './query-string.ts'
import { readSort } from './sort.ts'

function made(settings: ResourceSettings = {}, usual?: string[]): ListRules {
  const { resources } = service({
    name: 'sorted',
    resources: {
      orders: {
        fields: {
          name: f.text({ sort: true }),
          due: f.date({ optional: true, sort: true }),
          note: f.text({ filter: true }),
          site: f.object({ city: f.text({ sort: true }), floor: f.integer({ optional: true, sort: true }) }),
          past: f.object({ city: f.text({ sort: true }) }, { optional: true }),
        },
        sorts: { urgency: ['due', '-name'], newest: ['-createdAt'], exact: ['-id', 'name'] },
        ...(usual ? { order: usual } : {}),
        settings,
        access: 'public',
      },
    },
  })
  return listRules(resources.get('orders') as never, resources)
}

const usual = made()

function read(query: string, by = usual): { terms: string; faults: Violation[] } {
  const faults: Violation[] = []
  const given: QueryParameters = parsePairs(query)
  return { terms: shown(readSort(new Map(given), by, faults)), faults }
}

const shown = (terms: readonly Term[]): string =>
  terms
    .map(({ column, descending, nulls }) => `${descending ? '-' : ''}${column}${nulls === 'none' ? '' : ` ${nulls}`}`)
    .join(', ')

test('a sort ends in the identifier, in the same direction, and places nulls if there are any', () => {
  const table: [query: string, terms: string][] = [
    ['', 'id'],
    ['sort=name', 'by_name last, id'],
    ['sort=name&order=asc', 'by_name last, id'],
    ['sort=name&order=desc', '-by_name last, -id'],
    ['sort=name&nulls=first', 'by_name first, id'],
    ['sort=due', 'by_due last, id'],
    ['sort=due&order=desc', '-by_due last, -id'],
    ['sort=due&nulls=first', 'by_due first, id'],
    ['sort=due&order=desc&nulls=first', '-by_due first, -id'],
    ['sort=createdAt&order=desc', '-by_createdAt, -id'],
    ['sort=site.city', 'by_site.city last, id'],
    ['sort=site.floor', 'by_site.floor last, id'],
    ['sort=past.city', 'by_past.city last, id'],
    ['custom_sort=urgency', 'by_due last, -by_name last, id'],
    ['custom_sort=urgency&order=desc', '-by_due last, by_name last, -id'],
    ['custom_sort=newest', '-by_createdAt, -id'],
    ['custom_sort=newest&order=desc', 'by_createdAt, id'],
    ['custom_sort=exact', '-id'],
    ['custom_sort=exact&order=desc', 'id'],
  ]
  for (const [query, terms] of table) assert.deepEqual(read(query), { terms, faults: [] }, query)
})

test('the declared order is the default', () => {
  const declared = made({}, ['-due', 'name'])
  assert.equal(read('', declared).terms, '-by_due last, by_name last, -id')
  assert.equal(read('sort=name', declared).terms, 'by_name last, id')
})

test('the default place of nulls is a setting', () => {
  const first = made({ list: { nullsDefault: 'first' } })
  assert.equal(read('sort=due', first).terms, 'by_due first, id')
  assert.equal(read('sort=due&order=desc', first).terms, '-by_due first, -id')
  assert.equal(read('sort=due&nulls=last', first).terms, 'by_due last, id')
  const sql = made({ list: { nullsDefault: 'sql' } })
  assert.equal(read('sort=due', sql).terms, 'by_due last, id')
  assert.equal(read('sort=due&order=desc', sql).terms, '-by_due first, -id')
  assert.equal(read('custom_sort=urgency&order=desc', sql).terms, '-by_due first, by_name last, -id')
})

test('a field that is not sortable is refused, with the sortable ones', () => {
  const table: [query: string, faults: [type: string, name: string, says: RegExp][]][] = [
    [
      'sort=note',
      [
        [
          'unsupported-sort',
          'sort',
          /^`note` cannot be sorted by\. Sortable: name, due, site\.city, site\.floor, past\.city, createdAt, updatedAt\.$/,
        ],
      ],
    ],
    ['sort=', [['unsupported-sort', 'sort', /Sortable: name/]]],
    ['sort=name,due', [['unsupported-sort', 'sort', /`name,due`/]]],
    ['sort=-name', [['unsupported-sort', 'sort', /`-name`/]]],
    ['sort=Name', [['unsupported-sort', 'sort', /Sortable/]]],
    ['sort=by_name', [['unsupported-sort', 'sort', /Sortable/]]],
    ['sort=id', [['unsupported-sort', 'sort', /Sortable/]]],
    ['sort=urgency', [['unsupported-sort', 'sort', /Sortable/]]],
    ['sort=__proto__', [['unsupported-sort', 'sort', /Sortable/]]],
    ['custom_sort=x', [['unsupported-sort', 'custom_sort', /Criteria: urgency, newest, exact\./]]],
    ['custom_sort=name', [['unsupported-sort', 'custom_sort', /Criteria/]]],
    ['custom_sort=', [['unsupported-sort', 'custom_sort', /Criteria/]]],
    ['custom_sort=urgency&sort=name', [['unsupported-sort', 'custom_sort', /exclude each other/]]],
    [
      'custom_sort=no&sort=nothing',
      [
        ['unsupported-sort', 'sort', /nothing/],
        ['unsupported-sort', 'custom_sort', /not a criterion/],
        ['unsupported-sort', 'custom_sort', /exclude each other/],
      ],
    ],
    ['sort=name&order=DESC', [['invalid-parameter-value', 'order', /^order must be asc or desc\.$/]]],
    ['sort=name&order=', [['invalid-parameter-value', 'order', /asc or desc/]]],
    ['sort=due&nulls=middle', [['invalid-parameter-value', 'nulls', /^nulls must be first or last\.$/]]],
    ['order=desc', [['invalid-parameter-value', 'order', /add sort or custom_sort/]]],
    ['nulls=first', [['invalid-parameter-value', 'nulls', /add sort/]]],
    ['custom_sort=urgency&nulls=last', [['invalid-parameter-value', 'nulls', /custom_sort/]]],
  ]
  for (const [query, expected] of table) {
    const { faults } = read(query)
    assert.deepEqual(
      faults.map(({ type, name }) => [type, name]),
      expected.map(([type, name]) => [type, name]),
      query,
    )
    for (const [i, [, , says]] of expected.entries()) assert.match(faults[i]?.message ?? '', says, query)
    for (const fault of faults) assert.equal(fault.in, 'query')
  }
})
