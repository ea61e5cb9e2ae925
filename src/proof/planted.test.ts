/** Wrong changes of every kind, each planted into a correct service: it is found, shrunk and named. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, type Service, service } from '../index.ts'
import type { ResourceChange } from '../resources/change.ts'
import { openSandbox } from '../terminal/sandbox.ts'
import { type VerifyReport, verifyService } from './verify.ts'

type ChangeParts = Partial<Record<keyof ResourceChange, unknown>>
// biome-ignore lint/suspicious/noExplicitAny: documents of any shape
type Item = any

const firstName = f.text({ max: 49, min: 1, pattern: '^[a-z]+$', filter: true })
const letters = (text: string, otherwise: string): string => text.replaceAll(/[^a-z]/g, '').slice(0, 49) || otherwise

/** A service with customers of three versions. `last` and `first` replace parts of the newest and the oldest change. */
function shop(last: ChangeParts = {}, first: ChangeParts = {}): Service {
  const made = service({
    name: 'shop',
    versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' }, v3: { released: '2026-01-01' } },
    resources: {
      accounts: { fields: { country: f.country(), plan: f.text({ max: 10 }) }, access: 'public' },
      customers: {
        fields: {
          name: f.text({ max: 100, filter: 'like' }),
          status: f.enum(['active', 'paused', 'closed'], { filter: true }),
          score: f.integer({ min: 0, max: 1000, filter: 'range' }),
          rank: f.integer({ min: 1, max: 9 }),
          accountId: f.ref('accounts'),
        },
        access: 'public',
      },
    },
  }) as unknown as { change: (version: string, resource: string, change: object) => typeof made } & Service
  return made
    .change('v3', 'customers', {
      about: '`score` is wider, `status` has other words, `rank` has to be sent.',
      retyped: { score: f.integer({ min: 0, max: 100, filter: true }) },
      filters: {
        score: ({ is, value, ...asked }: Item) =>
          is !== 'eq' ? null : [value === 100 ? { ...asked, is: 'gte', value } : { ...asked, is, value }],
      },
      request: ({ score }: Item) => ({ score }),
      response: ({ score }: Item) => ({ score: Math.min(100, score) }),
      mapped: { status: { open: 'active', shut: 'closed' } },
      shown: { status: { paused: 'open' } },
      required: { rank: 5 },
      ...last,
    })
    .change('v2', 'customers', {
      about: 'Clients are customers, and have one name.',
      was: 'clients',
      removed: { firstName: firstName, lastName: f.text({ max: 50, pattern: '^[a-z]*$' }) },
      added: ['name'],
      request: (old: Item) => ({ name: `${old.firstName} ${old.lastName}` }),
      response: ({ name }: { name: string }) => {
        const [start = '', ...rest] = name.split(' ')
        return { firstName: letters(start, 'x'), lastName: letters(rest.join(''), '') }
      },
      moved: { country: { by: 'accountId', to: 'country' } },
      filters: { firstName: () => null },
      ...(first.filters ? {} : { removed: withoutFilter }),
      ...first,
    })
}
const withoutFilter = {
  firstName: { ...firstName, options: { max: 49, min: 1, pattern: '^[a-z]+$' } },
  lastName: f.text({ max: 50, pattern: '^[a-z]*$' }),
}

const tried = (made: Service): Promise<VerifyReport> =>
  verifyService(made, () => openSandbox(made), { seed: 3, runs: 60 })

test('nothing planted, nothing found', async () => {
  const { failure, lossy } = await tried(shop())
  assert.equal(failure, null, JSON.stringify(failure, null, 1))
  assert.deepEqual([...lossy].sort(), [
    ['v1: rank of clients', 'null comes back as 5'],
    ['v2: rank of customers', 'null comes back as 5'],
  ])
})

test('a field without a declared filter is filtered by the value that `response` computes', async () => {
  const own = { filters: {}, removed: { firstName, lastName: f.text({ max: 50, pattern: '^[a-z]*$', sort: true }) } }
  const ranged = { filters: {}, retyped: { score: f.integer({ min: 0, max: 100, filter: 'range', sort: true }) } }
  const { failure } = await tried(shop(ranged, own))
  assert.equal(failure, null, JSON.stringify(failure, null, 1))
})

const filterless = { retyped: { score: f.integer({ min: 0, max: 100 }) }, filters: {} }
const boom = () => {
  throw new Error('out of order')
}
const planted: [kind: string, made: Service, says: RegExp, mend: string][] = [
  ['a response that throws', shop({ response: boom }), /^v\d .*: 500 Error: out of order at .*planted\.test\.ts/, ''],
  ['a request that throws', shop({ request: boom }), /^v\d refuses .*: 500 Error: out of order at /, ''],
  [
    'an answer without a field',
    shop({}, { response: () => ({ firstName: 'a' }) }),
    /lastName is required/,
    'response v2',
  ],
  ['an answer beyond a bound', shop({ response: ({ score }: Item) => ({ score }) }), /at most 100/, 'response v3'],
  ['an answer of another kind', shop({ response: () => ({ score: '1' }) }), /a whole number, not/, 'response v3'],
  ['an answer by and by', shop({ response: async () => ({ score: 1 }) }), /at most 100/, 'response v3'],
  [
    'an answer by chance',
    shop({}, { response: randomly() }),
    /`firstName` of clients does not settle/,
    'request` and `response v2',
  ],
  ['a request beyond a bound', shop({ request: far }), /^v\d refuses .*at most 1000/, 'request v3'],
  ['a request of another kind', shop({ request: () => ({ score: 'x' }) }), /a whole number, not/, 'request v3'],
  [
    'one that adds each time',
    shop({ response: ({ score }: Item) => ({ score: Math.min(100, score + 1) }), ...filterless }),
    /`score` of (customers|clients) does not settle: sent back again and again, it is 0, then 1, then 2, then 3\./,
    'request` and `response v3',
  ],
  [
    'names that change places',
    shop({}, { request: (old: Item) => ({ name: `${old.lastName || 'z'} ${old.firstName}` }) }),
    /`firstName` of clients does not settle: sent back again and again, it is "a", then "z", then "a", then "z"\./,
    'request` and `response v2',
  ],
  ['a filter that leaves out', shop({}, { filters: asking('eq') }), /does not find an item/, 'filters.firstName v2'],
  ['a filter that finds all', shop({}, { filters: { firstName: () => [] } }), /finds items/, 'filters.firstName v2'],
  [
    'a filter that refuses',
    shop({}, { filters: { firstName: () => null } }),
    /refuses a filter/,
    'filters.firstName v2',
  ],
  [
    'a filter that throws',
    shop({}, { filters: { firstName: boom } }),
    /500 Error: out of order/,
    'filters.firstName v2',
  ],
  [
    'a value that nobody knows',
    shop({ shown: { status: { paused: 'odd' } } }),
    /open or shut/,
    'mapped.status` and `shown.status v3',
  ],
  [
    'a moved field with less room',
    shop({}, { moved: { plan: { by: 'accountId', to: 'plan', field: f.text({ max: 1 }) } } }),
    /at most 1 characters/,
    'moved.plan v2',
  ],
]

function randomly(): () => object {
  let drawn = 0
  return () => ({ firstName: 'abcdefghij'[drawn++ % 10], lastName: '' })
}
function far({ score }: Item): object {
  return { score: score + 950 }
}
function asking(is: string): object {
  return { firstName: ({ value }: Item) => [{ field: 'name', is, value }] }
}

describe('a planted change is found:', () => {
  for (const [kind, made, says, mend] of planted)
    test(kind, async () => {
      const { failure } = await tried(made)
      assert.match(String(failure?.says), says)
      const [part, version] = mend.split(/ (?=v)/)
      assert.equal(failure?.mend, mend === '' ? '' : `Look at \`${part}\` in the change of customers in ${version}.`)
      const [first] = failure?.steps ?? []
      assert.ok(JSON.stringify(first?.request.body ?? {}).length < 200, JSON.stringify(first?.request))
    })
})

test('values that are not returned are reported with an example', async () => {
  const { failure, lossy } = await tried(shop({}, { request: (old: Item) => ({ name: `${old.firstName} ` }) }))
  assert.equal(failure, null)
  assert.match(String(lossy.get('v1: lastName of clients')), /^"[a-z]" comes back as ""$/)
})
