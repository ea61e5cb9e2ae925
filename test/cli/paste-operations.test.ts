/** The changes that `check` proposes for operations are accepted unchanged, and keep the locked version. R195. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { contractAt, gateMistakes, type LocksByLabel } from '../../src/contract/gate.ts'
import { nextLock } from '../../src/contract/lock.ts'

const versions = { v1: { released: '2026-01-01' }, v2: { released: '2026-06-01' } }
type Operations = Readonly<Record<string, object>>

const quotes = {
  at: 'collection',
  input: { count: f.integer({ min: 1 }), code: f.text({ max: 9, optional: true }) },
  output: { total: f.integer({ max: 99 }), kind: f.enum(['flat', 'scaled']) },
}
const audits = { at: 'item', output: { ok: f.boolean() }, access: 'authenticated' }
const exports = { at: 'collection', asynchronous: true }
const usual = { quotes, audits, exports }

const shop = (operations: Operations, more: object = {}): Service =>
  service({
    name: 'shop',
    resources: { orders: { prefix: 'ord', fields: {}, operations, access: 'public' } },
    ...more,
  } as never) as never

const lockOf = (made: Service): LocksByLabel => new Map([['v1', nextLock(contractAt(made, 'v1'), 'v1', null).lock]])
const told = (made: Service, locks: LocksByLabel): string =>
  gateMistakes(made, locks)
    .map(({ place, reason, mend }) => `${place}\n${reason}\n${mend}`)
    .join('\n\n')

const cases: Readonly<Record<string, readonly [after: Operations, proposed: RegExp]>> = {
  'another name': [{ prices: quotes, audits, exports }, /operations: \{ renamed: \{ quotes: 'prices' \} \}/],
  'an operation that went': [
    { quotes, exports },
    /withdrawn: \{ audits: \{ at: 'item', access: 'authenticated', output: \{ ok: f\.boolean\(\) \}, refused: 410 \} \}/,
  ],
  'an asynchronous operation that went': [
    { quotes, audits },
    /withdrawn: \{ exports: \{ at: 'collection', access: 'public', asynchronous: true, refused: 410 \} \}/,
  ],
  'an operation that moved': [
    { ...usual, audits: { ...audits, at: 'collection' } },
    /added: \['audits'\], withdrawn: \{ audits: \{ at: 'item', .*refused: 410 \} \}/,
  ],
  'two operations that became one': [
    { quotes, audits: { ...audits, output: { ok: f.boolean(), why: f.text({ optional: true }) } } },
    /withdrawn: \{ exports: /,
  ],
  'an input that is new': [
    { ...usual, quotes: { ...quotes, input: { ...quotes.input, fast: f.boolean() } } },
    /changed: \{ quotes: \{ input: \{ added: \['fast'\], request: \(old\) => \(\{ fast: false \}\) \} \} \}/,
  ],
  'an input that must be sent': [
    { ...usual, quotes: { ...quotes, input: { ...quotes.input, code: f.text({ max: 9 }) } } },
    /changed: \{ quotes: \{ input: \{ required: \{ code: '/,
  ],
  'an output with another name': [
    { ...usual, quotes: { ...quotes, output: { sum: f.integer({ max: 99 }), kind: quotes.output.kind } } },
    /changed: \{ quotes: \{ output: \{ renamed: \{ total: 'sum' \} \} \} \}/,
  ],
  'an output of another kind': [
    { ...usual, quotes: { ...quotes, output: { ...quotes.output, total: f.text() } } },
    /changed: \{ quotes: \{ output: \{ retyped: \{ total: f\.integer\(\{ max: 99 \}\) \}, response: \(now\) => \(/,
  ],
  'an output that went': [
    { ...usual, quotes: { ...quotes, output: { kind: quotes.output.kind } } },
    /output: \{ removed: \{ total: f\.integer\(\{ max: 99 \}\) \}, response: \(now\) => \(\{ total: 0 \}\) \}/,
  ],
  'an output with a new value': [
    { ...usual, quotes: { ...quotes, output: { ...quotes.output, kind: f.enum(['flat', 'scaled', 'free']) } } },
    /output: \{ shown: \{ kind: \{ free: 'flat' \} \} \}/,
  ],
}

for (const [title, [after, proposed]] of Object.entries(cases))
  test(`R195: the proposed change for ${title} is accepted unchanged`, () => {
    const locks = lockOf(shop(usual))
    const made = shop(after, { versions })
    const texts = gateMistakes(made, locks).map(({ mend }) => mend.slice(mend.indexOf('.change(')))
    assert.ok(texts.length > 0 && texts.every((one) => one.startsWith('.change(')), told(made, locks))
    const text = texts.join('')
    assert.match(text, proposed)
    assert.equal(told(new Function('api', 'f', `return api${text}`)(made, f) as Service, locks), '', text)
  })

test('R195: no change can make an operation asynchronous', () => {
  const made = shop({ ...usual, quotes: { ...quotes, asynchronous: true } }, { versions })
  assert.match(told(made, lockOf(shop(usual))), /Versions cannot differ in `operations`: no change can declare that/)
})
