/** Operation differences: which changes of operations and summaries break consumers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f } from 'bylaw'
import { contractOf } from './contract.ts'
import { differences } from './differences.ts'

const quotes = { at: 'collection', input: { count: f.integer({ max: 9 }) }, output: { total: f.integer({ max: 99 }) } }
const checks = { at: 'item' }

const contract = (operations: object) =>
  contractOf({ name: 'shop', resources: { orders: { fields: {}, operations, access: 'public' } } } as never)

/** The weight and the place of each difference from a contract with both operations. */
const changed = (operations: object): string[] =>
  differences(contract({ quotes, checks }), contract(operations)).map(({ weight, place }) => `${weight} ${place}`)

const at = 'resources.orders.operations'

test('the same operations have no differences', () => assert.deepEqual(changed({ quotes, checks }), []))

test('new operations add, lost ones and moved ones break', () => {
  assert.deepEqual(changed({ quotes, checks, audits: checks }), ['additive resources.orders.methods'])
  assert.deepEqual(changed({ quotes }), [`breaking ${at}.checks`])
  assert.deepEqual(changed({ quotes, checks: { at: 'collection' } }), [
    'additive resources.orders.methods',
    `breaking ${at}.checks`,
  ])
})

test('a rule for fewer callers breaks', () =>
  assert.deepEqual(changed({ quotes, checks: { ...checks, access: 'authenticated' } }), [
    'breaking resources.orders.access',
  ]))

test('less input and more output break, the reverse adds', () => {
  const input = (more: object) => changed({ quotes: { ...quotes, input: { ...quotes.input, ...more } }, checks })
  assert.deepEqual(input({ count: f.integer({ max: 5 }) }), [`breaking ${at}.quotes.input.count`])
  assert.deepEqual(input({ count: f.integer({ max: 50 }) }), [`additive ${at}.quotes.input.count`])
  assert.deepEqual(input({ code: f.text() }), [`breaking ${at}.quotes.input.code`])
  assert.deepEqual(input({ code: f.text({ optional: true }) }), [`additive ${at}.quotes.input.code`])
  const output = (own: object) => changed({ quotes: { ...quotes, output: own }, checks })
  assert.deepEqual(output({ total: f.integer({ max: 9 }) }), [`additive ${at}.quotes.output.total`])
  assert.deepEqual(output({ total: f.integer({ max: 999 }) }), [`breaking ${at}.quotes.output.total`])
  assert.deepEqual(output({}), [`breaking ${at}.quotes.output.total`])
  assert.deepEqual(output({ ...quotes.output, tax: f.integer() }), [`additive ${at}.quotes.output.tax`])
})

const groups = { group: ['state', { month: 'createdAt' }], sum: ['total'] }
const summed = (summaries?: object) =>
  contractOf({
    name: 'shop',
    resources: {
      orders: {
        fields: { state: f.enum(['a', 'b']), total: f.integer(), cost: f.integer() },
        ...(summaries && { summaries }),
        access: 'public',
      },
    },
  } as never)

test('R238: exports add, and break when they are gone', () => {
  const exported = (exports?: boolean) =>
    contractOf({
      name: 'shop',
      resources: { orders: { fields: { a: f.text() }, ...(exports !== undefined && { exports }), access: 'public' } },
    } as never)
  const changedTo = (before: boolean | undefined, after: boolean | undefined) =>
    differences(exported(before), exported(after)).map(({ weight, place }) => `${weight} ${place}`)
  assert.deepEqual(changedTo(undefined, false), [])
  assert.deepEqual(changedTo(undefined, true), ['additive resources.orders.exports'])
  assert.deepEqual(changedTo(true, undefined), ['breaking resources.orders.exports'])
})

test('R238: imports add, and break when they are gone', () => {
  const imported = (imports: boolean) =>
    contractOf({ name: 'shop', resources: { orders: { fields: { a: f.text() }, imports, access: 'public' } } } as never)
  const changedTo = (before: boolean, after: boolean) =>
    differences(imported(before), imported(after)).map(({ weight, place }) => `${weight} ${place}`)
  assert.deepEqual(changedTo(false, true), ['additive resources.orders.methods'])
  assert.deepEqual(changedTo(true, false), ['breaking resources.orders.imports'])
})

test('R236: new summaries and values add; lost ones and other groups break', () => {
  const changedTo = (now: object | undefined, before: object | undefined = { byState: groups }) =>
    differences(summed(before), summed(now)).map(({ weight, says }) => `${weight} ${says}`)
  assert.deepEqual(changedTo({ byState: groups }), [])
  assert.deepEqual(changedTo({ 'by-state': { ...groups } }), [])
  assert.deepEqual(changedTo({ byState: groups, all: {} }), ['additive GET /orders/summaries/all is new.'])
  assert.deepEqual(changedTo(undefined), ['breaking The summary `by-state` is gone. Consumers request it.'])
  assert.deepEqual(changedTo({ byState: { ...groups, max: ['cost'], sum: ['total', 'cost'] } }), [
    'additive Its groups also have `maxCost`, the max of cost.',
    'additive Its groups also have `sumCost`, the sum of cost.',
  ])
  assert.deepEqual(changedTo({ byState: { group: ['state', { year: 'createdAt' }] } }), [
    'breaking The items are not grouped by `createdAtMonth` any more.',
    'breaking The items are grouped by `createdAtYear`, the year of createdAt.',
    'breaking Its groups have no `sumTotal` any more.',
  ])
})
