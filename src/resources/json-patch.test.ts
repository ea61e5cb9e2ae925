/** JSON Patch: the examples of RFC 6902, the corners of RFC 6901, refusals and limits. R118. */
// long because: one table of the examples, and one test for each corner
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '../errors/problem.ts'
import { applyJsonPatch, changesByPatch, type PatchBounds, patchedNames, readJsonPatch } from './json-patch.ts'

const wide: PatchBounds = { depth: 32, size: 10_000 }
const apply = (document: Record<string, unknown>, patch: unknown, bounds = wide): Record<string, unknown> =>
  applyJsonPatch(document, readJsonPatch(patch, 1000), bounds)

/** The type and the pointers of a refusal. */
function refusalOf(run: () => unknown): string {
  try {
    run()
  } catch (problem) {
    assert.ok(problem instanceof Problem, String(problem))
    return problem.violations.map(({ type, pointer }) => `${type} ${pointer}`).join(', ')
  }
  return 'none'
}

const refused = (document: Record<string, unknown>, patch: unknown, bounds = wide) =>
  refusalOf(() => apply(document, patch, bounds))

test('R118: the examples of RFC 6902', () => {
  const examples: readonly (readonly [string, Record<string, unknown>, object[], unknown])[] = [
    ['A.1', { foo: 'bar' }, [{ op: 'add', path: '/baz', value: 'qux' }], { baz: 'qux', foo: 'bar' }],
    ['A.2', { foo: ['bar', 'baz'] }, [{ op: 'add', path: '/foo/1', value: 'qux' }], { foo: ['bar', 'qux', 'baz'] }],
    ['A.3', { baz: 'qux', foo: 'bar' }, [{ op: 'remove', path: '/baz' }], { foo: 'bar' }],
    ['A.4', { foo: ['bar', 'qux', 'baz'] }, [{ op: 'remove', path: '/foo/1' }], { foo: ['bar', 'baz'] }],
    ['A.5', { baz: 'qux' }, [{ op: 'replace', path: '/baz', value: 'boo' }], { baz: 'boo' }],
    [
      'A.6',
      { foo: { bar: 'baz', waldo: 'fred' }, qux: { corge: 'grault' } },
      [{ op: 'move', from: '/foo/waldo', path: '/qux/thud' }],
      { foo: { bar: 'baz' }, qux: { corge: 'grault', thud: 'fred' } },
    ],
    [
      'A.7',
      { foo: ['all', 'grass', 'cows', 'eat'] },
      [{ op: 'move', from: '/foo/1', path: '/foo/3' }],
      { foo: ['all', 'cows', 'eat', 'grass'] },
    ],
    [
      'A.8',
      { baz: 'qux', foo: ['a', 2, 'c'] },
      [
        { op: 'test', path: '/baz', value: 'qux' },
        { op: 'test', path: '/foo/1', value: 2 },
      ],
      { baz: 'qux', foo: ['a', 2, 'c'] },
    ],
    ['A.9', { baz: 'qux' }, [{ op: 'test', path: '/baz', value: 'bar' }], 'patch-conflict /0'],
    [
      'A.10',
      { foo: 'bar' },
      [{ op: 'add', path: '/child', value: { grandchild: {} } }],
      { foo: 'bar', child: { grandchild: {} } },
    ],
    ['A.11', { foo: 'bar' }, [{ op: 'add', path: '/baz', value: 'qux', xyz: 123 }], { foo: 'bar', baz: 'qux' }],
    ['A.12', { foo: 'bar' }, [{ op: 'add', path: '/baz/bat', value: 'qux' }], 'patch-conflict /0'],
    ['A.14', { '/': 9, '~1': 10 }, [{ op: 'test', path: '/~01', value: 10 }], { '/': 9, '~1': 10 }],
    ['A.15', { '/': 9, '~1': 10 }, [{ op: 'test', path: '/~01', value: '10' }], 'patch-conflict /0'],
    [
      'A.16',
      { foo: ['bar'] },
      [{ op: 'add', path: '/foo/-', value: ['abc', 'def'] }],
      { foo: ['bar', ['abc', 'def']] },
    ],
  ]
  for (const [name, document, patch, expected] of examples)
    if (typeof expected === 'string') assert.equal(refused(document, patch), expected, name)
    else assert.deepEqual(apply(document, patch), expected, name)
})

test('pointers name members with ~ and /, empty names and list elements', () => {
  const document = { 'a/b': 1, 'm~n': 2, '': { '': 3 }, list: [[1], [2]], 'c%d': 4, '0': 5 }
  for (const [path, value] of [
    ['/a~1b', 1],
    ['/m~0n', 2],
    ['/', { '': 3 }],
    ['//', 3],
    ['/list/1/0', 2],
    ['/c%d', 4],
    ['/0', 5],
    ['', document],
  ] as const)
    assert.deepEqual(apply(document, [{ op: 'test', path, value }]), document, path)
})

test('add inserts into lists and sets members; replace and remove need an existing value', () => {
  const document = { list: [1, 2], name: 'x', empty: null }
  const at = (op: string, path: string) => [{ op, path, value: 9 }]
  for (const [op, path, expected] of [
    ['add', '/list/0', [9, 1, 2]],
    ['add', '/list/2', [1, 2, 9]],
    ['add', '/list/-', [1, 2, 9]],
    ['replace', '/list/1', [1, 9]],
    ['remove', '/list/0', [2]],
  ] as const)
    assert.deepEqual(apply(document, at(op, path)).list, expected, `${op} ${path}`)
  assert.equal(apply(document, at('add', '/name')).name, 9)
  assert.deepEqual(Object.keys(apply(document, at('replace', '/list'))), ['list', 'name', 'empty'])
  for (const [op, path] of [
    ['add', '/list/3'],
    ['replace', '/list/2'],
    ['replace', '/list/-'],
    ['remove', '/list/2'],
    ['remove', '/list/-'],
    ['test', '/list/-'],
    ['replace', '/nome'],
    ['remove', '/nome'],
    ['test', '/nome'],
    ['add', '/name/first'],
    ['add', '/empty/x'],
    ['add', '/nome/x'],
    ['test', '/list/0/x'],
    ['test', '/list/99999999999999999999'],
  ] as const)
    assert.equal(refused(document, at(op, path)), 'patch-conflict /0', `${op} ${path}`)
})

test('the index of a list is a number without leading zeros', () => {
  for (const name of ['00', '01', '-1', '+1', '1.0', '1e0', ' 1', 'x', '', '--', '__proto__', 'length'])
    for (const op of ['add', 'replace', 'remove', 'test'])
      assert.equal(refused({ list: [1, 2] }, [{ op, path: `/list/${name}`, value: 1 }]), 'invalid-format /0/path', name)
  const from = [{ op: 'copy', from: '/list/01', path: '/x' }]
  assert.equal(refused({ list: [1, 2] }, from), 'invalid-format /0/from')
  assert.deepEqual(apply({ map: { '01': 1 } }, [{ op: 'remove', path: '/map/01' }]), { map: {} })
})

test('move and copy', () => {
  const document = { a: { b: [1, { c: 2 }] }, d: 'x' }
  const one = (op: string, from: string, path: string) => apply(document, [{ op, from, path }])
  assert.deepEqual(one('move', '/a/b', '/a'), { a: [1, { c: 2 }], d: 'x' })
  assert.deepEqual(one('move', '/a', '/a'), document)
  assert.deepEqual(one('move', '/a/b/0', '/a/b/0'), document)
  assert.deepEqual(one('move', '', ''), document)
  assert.deepEqual(one('move', '/a/b/1', ''), { c: 2 })
  assert.deepEqual(one('move', '/d', '/a/b/-'), { a: { b: [1, { c: 2 }, 'x'] } })
  assert.deepEqual(one('copy', '/a/b', '/d'), { a: document.a, d: document.a.b })
  assert.deepEqual(one('copy', '', '/d'), { a: document.a, d: document })
  assert.deepEqual(one('copy', '/a', '/a/b/0'), { a: { b: [document.a, 1, { c: 2 }] }, d: 'x' })
  for (const op of ['move', 'copy']) {
    assert.equal(refused(document, [{ op, from: '/e', path: '/d' }]), 'patch-conflict /0')
    assert.equal(refused(document, [{ op, from: '/d', path: '/e/f' }]), 'patch-conflict /0')
  }
  // The new index is that after the removal of the element.
  assert.equal(refused(document, [{ op: 'move', from: '/a/b/0', path: '/a/b/2' }]), 'patch-conflict /0')
})

test('copies are values of their own', () => {
  const patch = readJsonPatch(
    [
      { op: 'add', path: '/a', value: { n: 1 } },
      { op: 'copy', from: '/a', path: '/b' },
      { op: 'add', path: '/a/n', value: 2 },
      { op: 'add', path: '/b/m', value: [3] },
      { op: 'add', path: '/b/m/-', value: 4 },
    ],
    10,
  )
  const document = Object.freeze({})
  for (let run = 0; run < 2; run++)
    assert.deepEqual(applyJsonPatch(document, patch, wide), { a: { n: 2 }, b: { n: 1, m: [3, 4] } })
})

test('test compares by value: numbers, order of members, lists, null', () => {
  const equal = (one: unknown, other: unknown) =>
    refused({ v: one }, [{ op: 'test', path: '/v', value: other }]) === 'none'
  for (const [one, other] of [
    [1, 1.0],
    [0, -0],
    [
      { a: 1, b: [{ c: null }] },
      { b: [{ c: null }], a: 1 },
    ],
    [null, null],
    ['é', 'é'],
  ] as const)
    assert.ok(equal(one, other), JSON.stringify([one, other]))
  for (const [one, other] of [
    [1, '1'],
    [1, true],
    [0, null],
    ['', null],
    [[], {}],
    [{}, null],
    [
      [1, 2],
      [2, 1],
    ],
    [[1], [1, 1]],
    [{ a: 1 }, { a: 1, b: 1 }],
    [
      { a: 1, c: 2 },
      { a: 1, b: 2 },
    ],
    [{ a: 1 }, JSON.parse('{"__proto__":1}')],
    [{}, JSON.parse('{"__proto__":null}')],
    ['é', 'e\u0301'],
  ] as const) {
    assert.ok(!equal(one, other), JSON.stringify([one, other]))
    assert.ok(!equal(other, one), JSON.stringify([other, one]))
  }
})

test('names of prototypes are plain names', () => {
  for (const name of ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty']) {
    for (const op of ['test', 'remove', 'replace'])
      assert.equal(refused({}, [{ op, path: `/${name}`, value: {} }]), 'patch-conflict /0', `${op} ${name}`)
    assert.equal(refused({}, [{ op: 'add', path: `/${name}/x`, value: 1 }]), 'patch-conflict /0')
    const patch = [
      { op: 'add', path: `/${name}`, value: { x: 1 } },
      { op: 'add', path: `/${name}/y`, value: 2 },
      { op: 'copy', from: `/${name}`, path: '/copied' },
    ]
    const after = apply({}, patch)
    assert.deepEqual(Object.keys(after), [name, 'copied'])
    assert.equal(JSON.stringify(after), `{${JSON.stringify(name)}:{"x":1,"y":2},"copied":{"x":1,"y":2}}`)
    assert.deepEqual(apply({}, [...patch, { op: 'remove', path: `/${name}` }]), { copied: { x: 1, y: 2 } })
  }
  assert.equal(({} as { x?: number }).x, undefined)
})

test('a malformed patch is refused with all its mistakes', () => {
  for (const content of [{}, { op: 'add' }, null, 'x', 5])
    assert.equal(
      refusalOf(() => readJsonPatch(content, 10)),
      'invalid-type ',
    )
  assert.deepEqual(readJsonPatch([], 10), [])
  const wrong = (...operations: unknown[]) => refusalOf(() => readJsonPatch(operations, 10))
  assert.equal(
    wrong(5, null, [], {}, { op: 'put', path: '' }, { op: null, path: '' }),
    'invalid-type /0, invalid-type /1, invalid-type /2, field-required /3/op, invalid-value /4/op, invalid-value /5/op',
  )
  assert.equal(wrong({ op: 'add' }), 'field-required /0/path, field-required /0/value')
  assert.equal(wrong({ op: 'move', path: '/a' }), 'field-required /0/from')
  assert.equal(wrong({ op: 'copy', from: 5, path: [] }), 'invalid-type /0/path, invalid-type /0/from')
  for (const path of ['a', 'a/b', '#/a', '/~', '/~2', '/a~'])
    assert.equal(wrong({ op: 'remove', path }), 'invalid-format /0/path', path)
  assert.equal(wrong({ op: 'remove', path: '' }), 'invalid-value /0/path')
  for (const [from, path] of [
    ['/a', '/a/b'],
    ['', '/a'],
    ['/a/0', '/a/0/b/c'],
  ])
    assert.equal(wrong({ op: 'move', from, path }), 'invalid-value /0/path')
  assert.equal(wrong({ op: 'move', from: '/a', path: '/ab' }), 'none')
  assert.equal(wrong(...Array.from({ length: 11 }, () => ({ op: 'test', path: '', value: 1 }))), 'too-many-items ')
})

test('an empty path replaces the whole document, with an object only', () => {
  assert.deepEqual(apply({ a: 1 }, [{ op: 'replace', path: '', value: { b: 2 } }]), { b: 2 })
  assert.deepEqual(apply({ a: 1 }, [{ op: 'add', path: '', value: {} }]), {})
  for (const value of [null, [], 5, 'x'])
    assert.equal(refused({ a: 1 }, [{ op: 'replace', path: '', value }]), 'invalid-type ')
  const back = [
    { op: 'replace', path: '', value: [] },
    { op: 'add', path: '/-', value: { a: 2 } },
    { op: 'move', from: '/0', path: '' },
  ]
  assert.deepEqual(apply({ a: 1 }, back), { a: 2 })
})

test('shifting long lists has a limit', () => {
  const list = Array.from({ length: 20_000 }, () => 0)
  const inserts = Array.from({ length: 40 }, () => ({ op: 'add', path: '/list/0', value: 1 }))
  const removals = Array.from({ length: 40 }, () => ({ op: 'remove', path: '/list/0' }))
  for (const patch of [inserts, removals]) assert.match(refused({ list }, patch), /^too-long \/3\d$/)
})

test('copies cannot make a document large or deep', () => {
  const doubling = Array.from({ length: 60 }, () => ({ op: 'copy', from: '/list', path: '/list/-' }))
  assert.match(refused({ list: ['x'.repeat(20)] }, doubling), /^too-long \/\d+$/)
  const nesting = Array.from({ length: 40 }, () => ({ op: 'copy', from: '/a', path: '/a/a' }))
  assert.match(refused({ a: {} }, nesting), /^too-long \/\d+$/)
  const moves = Array.from({ length: 40 }, () => [
    { op: 'add', path: '/b', value: {} },
    { op: 'move', from: '/a', path: '/b/a' },
    { op: 'move', from: '/b', path: '/a' },
  ]).flat()
  assert.match(refused({ a: {} }, moves), /^too-long \/\d+$/)
  assert.equal(refused({ a: {} }, moves.slice(0, 60)), 'none')
})

test('the changes of a patch are not larger than one body', () => {
  const document = { list: Array.from({ length: 100 }, () => 'x'.repeat(100)), note: 'y' }
  const changed = (patch: unknown) => refusalOf(() => changesByPatch(document, readJsonPatch(patch, 10), wide))
  assert.equal(changed([{ op: 'add', path: '/note', value: 'z' }]), 'none')
  assert.equal(changed([{ op: 'add', path: '/list/-', value: 'z' }]), 'too-long ')
})

test('changes are the members that differ, and those that are gone', () => {
  const changes = (patch: unknown) => changesByPatch({ a: 1, b: { c: 2 }, d: 3 }, readJsonPatch(patch, 10), wide)
  assert.deepEqual(changes([]), [])
  assert.deepEqual(changes([{ op: 'replace', path: '', value: { b: { c: 2 }, d: 4, e: 5 } }]), [
    ['d', 4],
    ['e', 5],
    ['a', undefined],
  ])
})

test('a concealed member is changed by any value that is set', () => {
  const [document, concealed] = [{ a: null, b: null, c: 1 }, new Set(['a', 'b'])]
  const changes = (...patch: unknown[]) => changesByPatch(document, readJsonPatch(patch, 10), wide, concealed)
  assert.deepEqual(changes({ op: 'replace', path: '/a', value: null }, { op: 'replace', path: '/c', value: 1 }), [
    ['a', null],
  ])
  assert.deepEqual(changes({ op: 'test', path: '/a', value: null }, { op: 'replace', path: '', value: document }), [])
  assert.deepEqual(changes({ op: 'copy', from: '/a', path: '/b' }), [['b', null]])
})

test('the names that a patch mentions', () => {
  const patch = [
    { op: 'move', from: '/a~1b/0', path: '/c/d' },
    { op: 'replace', path: '', value: { e: 1 } },
    { op: 'test', path: '/f', value: { g: 1 } },
  ]
  assert.deepEqual([...patchedNames(readJsonPatch(patch, 10))], ['c', 'a/b', 'e', 'f'])
})
