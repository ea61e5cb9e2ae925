/** Naming: singulars and plurals, cases, verbs, suggestions. Part 4, path rules. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  isInCase,
  isKebab,
  isPlural,
  listInWords,
  nearestName,
  pluralOf,
  sentenceCase,
  singularOf,
  toCase,
  toKebab,
  verbIn,
  withArticle,
} from './naming.ts'

const pairs =
  `orders order, order-lines order-line, customers customer, categories category, addresses address, boxes box,
  statuses status, buses bus, bonuses bonus, causes cause, houses house, warehouses warehouse, classes class, prizes prize,
  sizes size, waltzes waltz, quizzes quiz, heroes hero, photos photo, matches match, dishes dish, indices index, people person,
  children child, caches cache, movies movie, cookies cookie, series series, species species, data datum, media medium,
  processes process, businesses business, invoices invoice, purchases purchase, expenses expense, licenses license,
  responses response, keys key, days day, taxes tax, employees employee, analyses analysis, criteria criterion, aliases alias,
  canvases canvas, menus menu, taxis taxi, calories calorie, leaves leaf, lenses lens, toes toe, canoes canoe, ties tie`
    .split(',')
    .map((pair) => pair.trim().split(' ') as [many: string, one: string])

test('a title with its article', () => {
  const titles =
    'a customer, an order line, a user, a unit, an umbrella, a URL, an hour, an SMS, a VIP order, a euro, an item, a UUID, an uninstall, a ukulele'
  for (const expected of titles.split(', '))
    assert.equal(withArticle(expected.slice(expected.indexOf(' ') + 1)), expected)
  assert.equal(withArticle('Order line'), 'an order line')
})

test('the singular of a plural', () => {
  for (const [many, one] of pairs) assert.equal(singularOf(many), one, many)
})

test('plurals are recognized', () => {
  for (const [many] of pairs) assert.ok(isPlural(many), many)
  for (const word of ['order', 'address', 'status', 'analysis', 'order-line', 'child', 'category', 'bus', 'news-item'])
    assert.equal(isPlural(word), false, word)
})

test('the plural of a singular, for a mend', () => {
  for (const [one, many] of [
    'order orders',
    'category categories',
    'day days',
    'box boxes',
    'address addresses',
    'child children',
    'status statuses',
    'order-line order-lines',
    'person people',
    'match matches',
  ].map((pair) => pair.split(' ')))
    assert.equal(pluralOf(one as string), many)
  assert.equal(pluralOf('orders'), 'orders')
})

test('cases', () => {
  assert.ok(['orders', 'order-lines', 'a1-b2'].every(isKebab))
  assert.ok(!['Orders', 'orderLines', 'order_lines', 'orders-', '-orders', 'order--lines', '', '1a', 'ä'].some(isKebab))
  assert.ok(['name', 'firstName', 'a1', 'unitURL'].every((name) => isInCase(name, 'camel')))
  assert.ok(
    !['first_name', 'Name', '', '1a', 'first-name', '$a', '_a', '__proto__'].some((name) => isInCase(name, 'camel')),
  )
  assert.ok(['name', 'first_name', 'a1_2'].every((name) => isInCase(name, 'snake')))
  assert.ok(!['firstName', 'first__name', '_a', 'a_', ''].some((name) => isInCase(name, 'snake')))
  assert.equal(toKebab('shippingAddress'), 'shipping-address')
  assert.equal(toCase('order-line-id', 'camel'), 'orderLineId')
  assert.equal(toCase('order-line-id', 'snake'), 'order_line_id')
  assert.equal(toCase('first_name', 'camel'), 'firstName')
  assert.equal(toCase('createdAt', 'snake'), 'created_at')
  assert.equal(sentenceCase('order-line'), 'Order line')
})

test('verbs in path segments', () => {
  for (const [segment, verb] of [
    ['cancel', 'cancel'],
    ['cancel-orders', 'cancel'],
    ['send', 'send'],
    ['get-orders', 'get'],
  ])
    assert.equal(verbIn(segment as string), verb)
  for (const segment of ['orders', 'cancellations', 'transfer-logs', 'search-results', 'address-books', 'playlists'])
    assert.equal(verbIn(segment), undefined, segment)
  assert.equal(verbIn('grants', ['grants']), 'grants')
})

test('the nearest name', () => {
  const names = ['price', 'quantity', 'createdAt']
  assert.equal(nearestName('prise', names), 'price')
  assert.equal(nearestName('Quantity', names), 'quantity')
  assert.equal(nearestName('created_at', names), 'createdAt')
  assert.equal(nearestName('total', names), undefined)
  assert.equal(nearestName('', names), undefined)
})

test('lists of names in words', () => {
  assert.equal(listInWords([]), '')
  assert.equal(listInWords(['a']), 'a')
  assert.equal(listInWords(['a', 'b', 'c']), 'a, b or c')
  assert.equal(listInWords(['a', 'b'], 'and'), 'a and b')
})
