/** Kind options: bounds, patterns and defaults, and their mistakes, as tables. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fields, loose, orders, right, table, wrong } from '../../test/help/mistakes.ts'
import { f } from '../fields/field.ts'
import { patternFault } from './kind-options.ts'

table('bounds', [
  right('texts', f.text({ min: 0, max: 5 }), f.email({ max: 5 }), f.url({ min: 5, max: 5 })),
  wrong('a length below zero', f.text({ min: -1 }), '`min` is -1'),
  wrong('a length as a text', loose.text({ max: '5' }), '"5"'),
  wrong('a length that is not whole', f.list(f.text(), { max: 1.5 }), '1.5'),
  wrong('bounds that exclude everything', f.text({ min: 6, max: 5 }), '`min` (6) is above `max` (5)'),
  right(
    'numbers',
    f.integer({ min: -5, max: 5 }),
    f.bigint({ min: '-9223372036854775808', max: '10' }),
    f.decimal({ scale: 2, min: '-1.5', max: '10' }),
  ),
  wrong('a number that is not whole', f.integer({ min: 0.5 }), '0.5'),
  wrong('a number too large', f.integer({ max: 2 ** 53 }), '9007199254740992'),
  wrong('a big number as a number', loose.bigint({ min: 5 }), "'1'"),
  wrong('a big number beyond 64 bits', f.bigint({ max: '9223372036854775808' })),
  wrong('big numbers in the wrong order', f.bigint({ min: '10', max: '9' }), 'above'),
  wrong('decimals in the wrong order', f.decimal({ scale: 1, min: '10', max: '9.5' }), 'above'),
  wrong('a decimal with more digits', f.decimal({ scale: 1, max: '0.55' }), '"0.55"', 'up to 1 digit'),
  right('times', f.timestamp({ min: '2026-01-01T00:00:00Z' }), f.date({ min: '2026-01-01', max: '2026-12-31' })),
  wrong('a time that does not exist', f.timestamp({ min: '2026-02-30T00:00:00Z' }), '2026-02-30'),
  wrong('a date that is a time', f.date({ max: '2026-01-01T00:00:00Z' }), "'2026-01-31'"),
  wrong('dates in the wrong order', f.date({ min: '2026-12-31', max: '2026-01-01' }), 'above'),
])

table('digits of decimals', [
  right('in order', f.decimal({ scale: 0 }), f.decimal({ scale: 38, precision: 38 })),
  wrong('no scale', loose.decimal({}), '`scale` is missing', 'scale: 2'),
  wrong('no options at all', loose.decimal(), '`scale`'),
  wrong('a scale above the precision', f.decimal({ precision: 2, scale: 3 }), '0 to 2'),
  wrong('a precision of none', f.decimal({ precision: 0, scale: 0 }), '1 to 38'),
  wrong('a precision of too many', f.decimal({ precision: 39, scale: 0 }), '1 to 38'),
])

table('values of enums', [
  wrong('none', f.enum([]), 'no values'),
  wrong('one twice', f.enum(['a', 'b', 'a']), '"a" twice'),
  wrong('an empty one', f.enum(['a', '']), '""'),
  wrong('a number', loose.enum([1]), '1'),
])

table('patterns', [
  wrong('nested repetition', f.text({ pattern: '^(a+)+$' }), 'minutes', '^[a-z-]+$'),
  wrong('no regular expression', f.text({ pattern: '(' }), 'cannot be read'),
  wrong('a RegExp', loose.text({ pattern: /^a$/ }), "pattern: '^a$'"),
  wrong('at a number', loose.integer({ pattern: '1' }), '`pattern`'),
])

table('defaults', [
  right(
    'that fit',
    f.text({ default: '' }),
    f.decimal({ scale: 2, default: '1' }),
    f.enum(['a'], { default: 'a' }),
    f.list(f.integer(), { default: [1] }),
    f.metadata({ default: { a: 'b' } }),
    f.object({ a: f.text(), b: f.text({ optional: true }) }, { default: { a: 'x' } }),
    loose.text({ optional: true, default: null }),
  ),
  wrong('a longer text', f.text({ max: 2, default: 'abc' }), 'default must be at most 2 characters'),
  wrong('another type', loose.integer({ default: '1' }), 'a whole number'),
  wrong('a date that does not exist', f.date({ default: '2026-02-30' })),
  wrong('a country that does not exist', f.country({ default: 'XX' })),
  wrong('null where it is not allowed', loose.text({ default: null }), 'null'),
  wrong('of a reference', loose.ref('customers', { default: 'customer_1' }), '`optional: true`'),
  wrong('inside a list', f.list(f.integer({ max: 5 }), { default: [1, 6] }), 'default[1]'),
])

const doubtful =
  '(a+)+ ^(a+)+$ (a|b*)+ (a*)* (a|a)+ (a|ab)* (a|)+ ((a+)b?)+ ([a-z]+)*$ (-a*a*)* (-(a|a))* (?:a+){2,} (a+){10} (a?)+ ' +
  '(\\w+\\s?)* (.*)* (.+,)* (\\d+|x)+ ((ab)+)+ (x+x+)+y (a{0,10}){10} (?=(a+)+)b ((?=a)a*)* (a*?)*? (-[a-z]+(\\.[a-z]+)*)* ' +
  '(?<x>a+)* (\\u{61}|a)+ ([+*]|\\+)+ (\\p{L}*)+ (\\x61+a*)*'
const others = ['(a)\\1', '(?<x>a)\\k<x>', '(?i:a)', '(', '[z-a]', 'a{2,1}', 'a'.repeat(201)]
const fine =
  '^[0-9]{1,4}$ ^[a-z0-9]+(-[a-z0-9]+)*$ ^([0-9]{1,3}\\.){3}[0-9]{1,3}$ ^\\w+(,\\w+)*$ ^#([0-9a-f]{3}|[0-9a-f]{6})$ (foo|bar)+ ' +
  '^#([0-9a-f]{3}){1,2}$ ^(\\d{2}:)+$ ^([\\w-]+\\.)+[a-z]{2,}$ ^\\p{L}+$ [(+)*]+ \\(a+\\)+ ^(a+)?$ (ab|cd)?x+ (?!x)y+ \\u{1f600}+ ' +
  '^[0-9]{1,3}(,[0-9]{3})*(\\.[0-9]{2})?$ [\\]()*]+ (a+){1} (?<year>[0-9]{4})-([0-9]{2}-)+ ^(?:[A-Z]{2})+$'
const pattern = (one: string) => f.text({ pattern: one })

table('patterns that could keep the service busy', [
  ...doubtful.split(' ').map((one) => wrong(one, pattern(one), 'could keep the service busy')),
  ...others.map((one) => wrong(one, pattern(one))),
  right('patterns that cannot', ...fine.split(' ').map(pattern), pattern('a'.repeat(200)), pattern('( |-)+')),
])

test('a separator that the class matches too does not separate repetitions', () => {
  for (const inside of ['a-', '\\w-', '\\x2d', '\\u{2d}', '\\u002d', '^a', '\\W', '\\p{P}', '!-~'])
    assert.ok(patternFault(`^(-[${inside}]+)*$`), inside)
  for (const inside of ['a', '\\w', '\\x2e', '^-', '\\p{L}', '.*+?'])
    assert.equal(patternFault(`^(-[${inside}]+)*$`), undefined, inside)
})

const at = 'resources.orders.fields'
table('identifiers are texts (R35)', [
  ['a number', () => fields({ shopId: f.integer() }), `${at}.shopId`, 'a number', 'f.text()'],
  ['a list of numbers', () => fields({ shopIds: f.list(f.integer()) }), `${at}.shopIds`],
  ['inside an object', () => fields({ shop: f.object({ id: f.integer() }) }), `${at}.shop.id`],
  [
    'inside the items of a list',
    () => fields({ shops: f.list(f.object({ ownerId: f.integer() })) }),
    `${at}.shops.item.ownerId`,
  ],
  [
    'with the other naming',
    () => fields({ shop_id: f.integer(), shop_ids: f.list(f.integer()) }, { settings: { naming: 'snake' } }),
    `${at}.shop_id, ${at}.shop_ids`,
  ],
  [
    'in an input and an output',
    () =>
      orders({
        operations: { quotes: { at: 'item', input: { shopId: f.integer() }, output: { id: f.integer() } } },
      }),
    'resources.orders.operations.quotes.input.shopId, resources.orders.operations.quotes.output.id',
  ],
  [
    'texts, and other names',
    () =>
      fields({
        aId: f.text(),
        bId: f.bigint(),
        customerId: f.ref('customers'),
        ids: f.list(f.text()),
        paid: f.integer(),
        idle: f.integer(),
        grid: f.integer(),
      }),
    '',
  ],
])
