/** Random patches: a diff makes one document of another, and no content has another effect than a result or a refusal. R118. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Problem } from '../errors/problem.ts'
import { applyJsonPatch, type PatchBounds, readJsonPatch } from './json-patch.ts'

type Document = Record<string, unknown>

const wide: PatchBounds = { depth: 32, size: 10_000 }
const apply = (document: Document, patch: unknown): Document =>
  applyJsonPatch(document, readJsonPatch(patch, 1000), wide)

/** The operations that turn one value into another: a plain diff. */
function diff(from: unknown, to: unknown, path: string): object[] {
  if (JSON.stringify(from) === JSON.stringify(to)) return [{ op: 'test', path, value: to }]
  if (Array.isArray(from) && Array.isArray(to)) {
    const shared = Math.min(from.length, to.length)
    return [
      ...from.slice(0, shared).flatMap((one, i) => diff(one, to[i], `${path}/${i}`)),
      ...from.slice(shared).map(() => ({ op: 'remove', path: `${path}/${shared}` })),
      ...to.slice(shared).map((value) => ({ op: 'add', path: `${path}/-`, value })),
    ]
  }
  if (!isMap(from) || !isMap(to)) return [{ op: 'replace', path, value: to }]
  const at = (name: string) => `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
  return [
    ...Object.keys(from).flatMap((name) =>
      Object.hasOwn(to, name) ? diff(from[name], to[name], at(name)) : [{ op: 'remove', path: at(name) }],
    ),
    ...Object.keys(to).flatMap((name) =>
      Object.hasOwn(from, name) ? [] : [{ op: 'add', path: at(name), value: to[name] }],
    ),
  ]
}

const isMap = (value: unknown): value is Document =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const name = fc.oneof(
  fc.constantFrom('a', 'b', '', '/', '~', '~1', '0', '01', '-', '__proto__', 'constructor'),
  fc.string(),
)
const { value: json } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, 0, -1, 1.5, '', 'x'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(name, tie('value')), { maxLength: 4 }).map((members) => Object.fromEntries(members)),
  ),
}))
const anyDocument = fc
  .array(fc.tuple(name, json), { maxLength: 5 })
  .map((members) => Object.fromEntries(members) as Document)

test('a diff of two documents makes one of the other, and copying is undone by removing', () => {
  fc.assert(
    fc.property(anyDocument, anyDocument, (from, to) => {
      const text = JSON.stringify(from)
      const patch = diff(from, to, '')
      const after = apply(from, patch)
      assert.deepEqual(after, to)
      assert.deepEqual(apply(after, [...diff(after, from, ''), { op: 'test', path: '', value: from }]), from)
      assert.equal(JSON.stringify(from), text)
      const there = [...Object.keys(to), 'new'].map((one) => one.replaceAll('~', '~0').replaceAll('/', '~1'))
      for (const one of there.slice(0, -1)) {
        const moved = [
          { op: 'add', path: '/not here', value: 1 },
          { op: 'copy', from: `/${one}`, path: '/not here' },
          { op: 'move', from: '/not here', path: `/${one}` },
        ]
        assert.deepEqual(apply(to, moved), to)
      }
    }),
  )
})

const anyOperation = fc.record(
  {
    op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test', 'x'),
    path: fc
      .array(
        fc.oneof(
          name.map((one) => one.replaceAll('~', '~0').replaceAll('/', '~1')),
          fc.string(),
        ),
      )
      .map((all) => all.map((one) => `/${one}`).join('')),
    from: fc.array(fc.constantFrom('a', 'b', '0', '-')).map((all) => all.map((one) => `/${one}`).join('')),
    value: json,
  },
  { requiredKeys: [] },
)

test('any content is applied or refused, and changes nothing that it was given', () => {
  const small: PatchBounds = { depth: 8, size: 500 }
  const run = (document: Document, content: unknown) => () =>
    applyJsonPatch(document, readJsonPatch(content, 20), small)
  fc.assert(
    fc.property(anyDocument, fc.oneof(json, fc.array(anyOperation, { maxLength: 20 })), (document, content) => {
      const text = JSON.stringify([document, content])
      try {
        run(document, content)()
      } catch (problem) {
        assert.ok(problem instanceof Problem, String(problem))
      }
      assert.equal(JSON.stringify([document, content]), text)
    }),
    { numRuns: 1000 },
  )
})
