/** The changes that `check` proposes are accepted unchanged, and the service then keeps the promises of all versions. R195. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { type Field, f, service } from 'bylaw'
import { fieldCode } from '../../src/contract/code.ts'
import { contractAt, gateMistakes, type LocksByLabel } from '../../src/contract/gate.ts'
import { nextLock } from '../../src/contract/lock.ts'
import type { Fields } from '../../src/fields/field.ts'
import { verifyService } from '../../src/proof/verify.ts'
import type { Service } from '../../src/service.ts'
import { openSandbox } from '../../src/terminal/sandbox.ts'
import { isFull } from '../help/runs.ts'

const versions = { v1: { released: '2026-01-01' }, v2: { released: '2026-06-01' } }
const shop = (fields: Fields, more: object): Service =>
  service({
    name: 'shop',
    resources: {
      others: { prefix: 'oth', fields: { name: f.text() }, access: 'public' },
      items: { prefix: 'itm', fields, access: 'public' },
    },
    ...more,
  } as never) as never

const lockOf = (fields: Fields): LocksByLabel => {
  const { lock } = nextLock(contractAt(shop(fields, {}), 'v1'), 'v1', null)
  return new Map([['v1', lock]])
}

const reported = (made: Service, locks: LocksByLabel): string =>
  gateMistakes(made, locks)
    .map(({ place, reason, mend }) => `${place}\n${reason}\n${mend}`)
    .join('\n\n')

/** The service with the change that the gate proposes. */
function pasted(fields: Fields, locks: LocksByLabel): { made: Service; text: string } {
  const made = shop(fields, { versions })
  const [mistake] = gateMistakes(made, locks)
  assert.match(mistake?.mend ?? '', /\.change\(/, reported(made, locks))
  const { mend } = mistake as { mend: string }
  const text = mend.slice(mend.indexOf('.change('))
  return { made: new Function('api', 'f', `return api${text}`)(made, f) as Service, text }
}

async function holds(before: Fields, after: Fields): Promise<string> {
  const locks = lockOf(before)
  const { made, text } = pasted(after, locks)
  assert.equal(reported(made, locks), '', text)
  for (const seed of isFull ? [1, 2] : [1]) {
    const { failure } = await verifyService(made, () => openSandbox(made), { seed, runs: 6 })
    assert.equal(failure, null, `${text}\n${failure?.says}\n${JSON.stringify(failure?.steps, null, 1)}`)
  }
  return text
}

const none = { optional: true } as const
const inner = (one: Field) => f.object({ a: one, b: f.integer() })

/** A field before and after. */
const pairs: Readonly<Record<string, readonly [before: Field, after: Field]>> = {
  'a longer text': [f.text({ max: 5 }), f.text({ max: 9 })],
  'a longer text that may be null': [f.text({ max: 5, ...none }), f.text({ max: 9, ...none })],
  'a text that may be null then': [f.text({ max: 5 }), f.text({ max: 9, ...none })],
  'a shorter text that need not be sent': [f.text({ max: 9, ...none }), f.text({ max: 5, ...none })],
  'a shorter text with a default': [f.text({ max: 9, default: 'x' }), f.text({ max: 5, default: 'x' })],
  'a text that is not empty': [f.text({ max: 9 }), f.text({ min: 3, max: 9 })],
  'a text with a pattern': [f.text({ max: 9 }), f.text({ max: 9, pattern: '^[A-Z]{2}-[0-9]+$' })],
  'a text with another pattern': [f.text({ pattern: '^a' }), f.text({ pattern: '^b' })],
  'a text without its pattern': [f.text({ pattern: '^[0-9]{3}$' }), f.text()],
  'a longer e-mail address': [f.email({ max: 50 }), f.email({ max: 100 })],
  'a longer address': [f.url({ max: 50 }), f.url({ max: 100 })],
  'a greater number': [f.integer({ min: 1, max: 5 }), f.integer({ min: 0, max: 50 })],
  'a smaller number': [f.integer({ ...none, max: 500 }), f.integer({ ...none, max: 50 })],
  'a greater big number': [f.bigint({ max: '5' }), f.bigint({ max: '50' })],
  'more digits': [f.decimal({ precision: 5, scale: 2 }), f.decimal({ precision: 9, scale: 3 })],
  'fewer digits': [f.decimal({ precision: 9, scale: 3 }), f.decimal({ precision: 5, scale: 1 })],
  'no digits after the point': [
    f.decimal({ precision: 18, scale: 2, ...none }),
    f.decimal({ precision: 18, scale: 0, ...none }),
  ],
  'a decimal with bounds': [f.decimal({ scale: 2 }), f.decimal({ scale: 2, min: '1.00', max: '9.50' })],
  'a later date': [f.date({ min: '2026-01-01' }), f.date({ min: '2026-06-01' })],
  'an earlier timestamp': [
    f.timestamp({ max: '2026-06-01T00:00:00Z' }),
    f.timestamp({ max: '2026-01-01T00:00:00Z', ...none }),
  ],
  'a timestamp that becomes a date': [f.timestamp(), f.date()],
  'a timestamp that becomes a date and may be null': [f.timestamp(none), f.date(none)],
  'a date that becomes a timestamp': [f.date(none), f.timestamp(none)],
  'an integer that becomes a text': [f.integer(), f.text()],
  'an integer that becomes a short text': [f.integer(), f.text({ max: 4 })],
  'an integer that becomes a decimal': [f.integer(), f.decimal({ scale: 2 })],
  'a decimal that becomes an integer': [f.decimal({ scale: 2 }), f.integer({ max: 100 })],
  'an integer that becomes a big number': [f.integer(none), f.bigint(none)],
  'an integer that becomes true or false': [f.integer(), f.boolean()],
  'a boolean that becomes an enum': [f.boolean(), f.enum(['yes', 'no'])],
  'an enum that becomes true or false': [f.enum(['on', 'off', 'idle'], none), f.boolean()],
  'a boolean that becomes an enum of other words': [f.boolean(none), f.enum(['a', 'b'])],
  'a text that becomes an integer': [f.text(none), f.integer(none)],
  'a text that becomes a decimal': [f.text(), f.decimal({ scale: 2 })],
  'a text that becomes an enum': [f.text(), f.enum(['a', 'b'])],
  'a text that becomes a date': [f.text(), f.date()],
  'an enum with other values': [f.enum(['a', 'b', 'c']), f.enum(['a', 'd'])],
  'an enum with fewer values': [f.enum(['a', 'b', 'c']), f.enum(['a'])],
  'an enum with no value of before': [f.enum(['a', 'b'], { default: 'a' }), f.enum(['c', 'd'], { default: 'd' })],
  'an enum that may be null': [f.enum(['a', 'b'], none), f.enum(['b', 'c', 'd'])],
  'longer items': [f.list(f.text({ max: 3 })), f.list(f.text({ max: 6 }))],
  'shorter items': [f.list(f.text({ max: 6 })), f.list(f.text({ max: 3 }))],
  'items of another kind': [f.list(f.integer()), f.list(f.text())],
  'items with a pattern': [f.list(f.text(), none), f.list(f.text({ pattern: '^x[0-9]$' }), none)],
  'more items': [f.list(f.integer(), { max: 2 }), f.list(f.integer(), { min: 1, max: 4 })],
  'a value that becomes a list': [f.text(), f.list(f.text())],
  'a list that becomes a value': [f.list(f.integer()), f.integer()],
  'a text that becomes an enum with a default': [f.text(none), f.enum(['a', 'b'], { default: 'b' })],
  'an enum that becomes a list of another one': [f.enum(['a', 'b']), f.list(f.enum(['c', 'd']), { min: 1 })],
  'a list of an enum that becomes another one': [f.list(f.enum(['a', 'b'])), f.enum(['b', 'c'])],
  'a list that becomes a value of another kind': [f.list(f.text(), none), f.integer()],
  'a list that becomes a value that may be null': [f.list(f.decimal({ scale: 2 })), f.decimal({ scale: 1, ...none })],
  'items of another enum': [f.list(f.enum(['a', 'b'])), f.list(f.enum(['c', 'b']))],
  'an object with another enum': [inner(f.enum(['a', 'b'])), inner(f.enum(['c', 'd']))],
  'an object with a boolean that becomes an enum': [inner(f.boolean()), inner(f.enum(['yes', 'no']))],
  'objects in a list with a text that becomes an enum': [f.list(inner(f.text())), f.list(inner(f.enum(['yes', 'no'])))],
  'objects in a list with an enum in a list': [
    f.list(inner(f.list(f.text()))),
    f.list(inner(f.list(f.enum(['yes', 'no'])))),
  ],
  'objects in objects in a list': [
    f.list(f.object({ o: inner(f.text()) })),
    f.list(f.object({ o: inner(f.enum(['yes', 'no'])) })),
  ],
  'a value that becomes a list of enums': [f.boolean(), f.list(f.enum(['yes', 'no']))],
  'an object that becomes a text': [inner(f.text()), f.text()],
  'metadata that become an object': [f.metadata(), inner(f.text())],
  'a country that becomes an enum': [f.country(), f.enum(['IT', 'FR'])],
  'a duration that becomes an integer': [f.duration(), f.integer()],
  'a big number that becomes an integer': [f.bigint(none), f.integer({ min: 0 })],
  'an object with other fields': [inner(f.text({ max: 3 })), f.object({ a: f.text({ max: 6, ...none }), c: f.date() })],
  'an object that may be null': [inner(f.text()), inner(f.text({ max: 4 }))].map((one) => ({
    ...one,
    options: { ...one.options, ...none },
  })) as unknown as [Field, Field],
  'an item of objects': [f.list(inner(f.text({ max: 3 }))), f.list(inner(f.text({ max: 5 })))],
  'a value that is never answered': [f.text({ writeOnly: true, max: 9 }), f.text({ writeOnly: true, max: 5 })],
  'a value that is never answered, of another kind': [f.text({ writeOnly: true }), f.integer({ writeOnly: true })],
  'a value that is filtered and sorted by': [
    f.text({ max: 5, filter: true, sort: true }),
    f.text({ max: 9, filter: true, sort: true }),
  ],
  'a unique value': [f.text({ max: 5, unique: true }), f.text({ max: 9, unique: true })],
  'a value that has to be sent': [f.text({ ...none, pattern: '^[a-z]+$' }), f.text({ pattern: '^[a-z]+$' })],
  'a number that has to be sent': [f.integer({ ...none, min: 5 }), f.integer({ min: 5 })],
}

for (const [title, [before, after]] of Object.entries(pairs))
  test(`R195: the proposed change for ${title} is accepted unchanged`, async () => {
    await holds({ name: f.text(), x: before }, { name: f.text(), x: after })
  })

const others: Readonly<Record<string, readonly [before: Fields, after: Fields]>> = {
  'a field that went': [{ a: f.text({ max: 5, ...none }), b: f.text() }, { b: f.text() }],
  'a field in place of another': [{ a: f.text({ max: 5 }) }, { b: f.text({ max: 9, pattern: '^[a-z]*$' }) }],
  'a field that has to be sent': [{ a: f.text() }, { a: f.text(), b: f.decimal({ scale: 2, min: '5.00' }) }],
  'a field with another name and longer': [{ a: f.text({ max: 5 }) }, { b: f.text({ max: 9, was: 'a' }) }],
  'two for one': [{ a: f.text({ max: 5 }), b: f.text({ max: 5, ...none }) }, { c: f.text({ max: 9, ...none }) }],
  'a unique field with another name': [
    { a: f.text({ unique: true }), c: f.text() },
    { b: f.text({ unique: true, was: 'a' }) },
  ],
}
for (const [title, [before, after]] of Object.entries(others))
  test(`R195: the proposed change for ${title} is accepted unchanged`, async () => {
    await holds({ name: f.text(), ...before }, { name: f.text(), ...after })
  })

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')

/** The TypeScript source of the service with the change. */
function typed(before: Fields, after: Fields): string {
  const { items } = contractAt(shop(after, {}), 'v1').resources
  const fields = Object.entries(items?.fields ?? {}).filter(([name]) => Object.hasOwn(after, name))
  return `service({
  name: 'shop',
  versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-06-01' } },
  resources: {
    others: { prefix: 'oth', fields: { name: f.text() }, access: 'public' },
    items: { prefix: 'itm', fields: { ${fields.map(([name, one]) => `${name}: ${fieldCode(one)}`).join(', ')} }, access: 'public' },
  },
})${pasted(after, lockOf(before)).text.trim()}`
}

test('R195: every change that is given compiles in TypeScript under its strictest settings', async () => {
  const all = [
    ...Object.entries(pairs).map(([title, [before, after]]) => [title, { x: before }, { x: after }] as const),
    ...Object.entries(others).map(([title, [before, after]]) => [title, before, after] as const),
  ]
  const text = all.map(([title, before, after], i) => `// ${title}\nexport const s${i} = ${typed(before, after)}\n`)
  const folder = await mkdtemp(join(tmpdir(), 'bylaw-pasted-'))
  const compilerOptions = { paths: { bylaw: [join(root, 'src/index.ts')] }, types: [], noUnusedLocals: true }
  try {
    await writeFile(join(folder, 'pasted.mts'), `import { f, service } from 'bylaw'\n\n${text.join('\n')}`)
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions, include: ['pasted.mts'] }),
    )
    const said = await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder]).catch(
      ({ stdout }) => ({ stdout }),
    )
    assert.equal(said.stdout.replaceAll(/^(?!.*pasted\.mts).*\n/gm, ''), '', text.join('\n'))
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('R195: a text is cut by characters, so that half of one is never answered', async () => {
  const text = await holds({ x: f.text({ max: 1 }) }, { x: f.text({ max: 4 }) })
  const { made } = pasted({ x: f.text({ max: 4 }) }, lockOf({ x: f.text({ max: 1 }) }))
  const { ask, close } = await openSandbox(made)
  const { body } = await ask('v2', { method: 'POST', path: '/items', body: { x: '😀😀' } })
  const path = `/items/${body?.id}`
  assert.equal((await ask('v1', { method: 'GET', path })).body?.x, '😀', text)
  assert.equal((await ask('v1', { method: 'PUT', path, body: { x: '😀' } })).status, 200)
  await close()
})

test('R195: true and false become the matching values of an enum', async () => {
  const { made, text } = pasted({ x: f.enum(['off', 'idle', 'on']) }, lockOf({ x: f.boolean() }))
  const { ask, close } = await openSandbox(made)
  for (const [x, word] of [
    [true, 'on'],
    [false, 'off'],
  ]) {
    const { body } = await ask('v1', { method: 'POST', path: '/items', body: { x } })
    assert.equal(body?.x, x, text)
    assert.equal((await ask('v2', { method: 'GET', path: `/items/${body?.id}` })).body?.x, word)
  }
  await close()
})

test('R195: no change is proposed if a value has no placeholder', () => {
  for (const after of [
    { a: f.text(), b: f.ref('others') },
    { a: f.text(), b: f.text({ unique: true }) },
  ]) {
    const made = shop(after as Fields, { versions })
    const text = reported(made, lockOf({ a: f.text() }))
    assert.match(text, /No change can declare this: there is no placeholder for `b`/)
    assert.doesNotMatch(text, /\.change\(/)
  }
})
