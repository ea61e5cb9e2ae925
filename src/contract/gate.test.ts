/** Gate: a breaking difference from a lock is reported with a change to paste, and a change has to claim something. */
// long because: many cases of one lock
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Declaration, f, type ResourceDeclaration, type Service, service } from '../index.ts'
import type { ResourceChange } from '../resources/change.ts'
import { changelog } from './changelog.ts'
import { differences } from './differences.ts'
import { contractAt, gateMistakes, type LocksByLabel } from './gate.ts'
import { type Lock, lockText, nextLock, parseLock } from './lock.ts'

type Fields = ResourceDeclaration['fields']

const first: Fields = {
  firstName: f.text({ max: 100 }),
  lastName: f.text({ max: 100, filter: true, sort: true }),
  state: f.enum(['open', 'closed'], { filter: true }),
  email: f.email({ unique: true, filter: true }),
  visits: f.integer({ min: 1, max: 50 }),
  note: f.text({ max: 10, optional: true }),
}
const versions = { v1: { released: '2026-01-01' }, v2: { released: '2026-11-01' } }
const shop = (fields: Fields, more: Partial<Declaration> = {}): Service =>
  service({
    name: 'shop',
    resources: { customers: { prefix: 'cus', fields, access: 'public' } },
    ...more,
  } as never) as never
const changed = (made: Service, change: Partial<ResourceChange>, version = 'v2'): Service =>
  (made as unknown as { change: (...given: unknown[]) => Service }).change(version, 'customers', {
    about: 'It changed.',
    ...change,
  })
const lockOf = (made: Service, label = 'v1'): Lock => nextLock(contractAt(made, label), label, null).lock
const locked: LocksByLabel = new Map([['v1', lockOf(shop(first))]])
const { lastName, ...others } = first

/** The mistakes as one text. */
const mistakesText = (made: Service, locks: LocksByLabel = locked): string =>
  gateMistakes(made, locks)
    .map(({ place, reason, mend }) => `${place}\n${reason}\n${mend}`)
    .join('\n\n')

/** The service with the change that a mistake proposes. */
function pasted(made: Service): Service {
  const [mistake] = gateMistakes(made, locked)
  const text = mistake?.mend.slice(mistake.mend.indexOf('.change(')) as string
  return new Function('api', 'f', `return api${text}`)(made, f) as Service
}

describe('a locked version', () => {
  test('is kept by the same declaration, and by one that only adds', () => {
    assert.equal(mistakesText(shop(first)), '')
    assert.equal(mistakesText(shop({ ...first, colour: f.text({ default: 'red' }) })), '')
  })
  test('is broken by narrower requests or wider answers', () => {
    assert.match(
      mistakesText(shop(others)),
      /^resources\.customers\nv1 is locked.*- resources\.customers\.fields\.lastName: .*gone/s,
    )
    assert.match(mistakesText(shop({ ...first, visits: f.integer({ min: 1, max: 60 }) })), /max. of 60 instead of 50/)
    assert.match(
      mistakesText(shop(first, { settings: { list: { maxPageSize: 10 } } })),
      /^settings\.list\.maxPageSize\n/,
    )
  })
  test('R195: is broken by an earlier end, and by answers to POST without content', () => {
    const ending = (sunset?: string) =>
      shop(first, { versions: { v1: { released: '2026-01-01', deprecated: '2026-02-01', ...(sunset && { sunset }) } } })
    const locks: LocksByLabel = new Map([['v1', lockOf(ending('2027-12-31'))]])
    assert.match(
      mistakesText(ending('2027-06-30'), locks),
      /^versions\.v1\.sunset\n.*end on 2027-06-30 instead of 2027-12-31\./s,
    )
    for (const fine of ['2028-06-30', undefined]) assert.equal(mistakesText(ending(fine), locks), '')
    assert.equal(mistakesText(ending('2027-12-31'), new Map([['v1', lockOf(ending())]])), '')
    const { sunset, ...older } = lockOf(ending('2027-12-31'))
    assert.equal(mistakesText(ending('2027-06-30'), new Map([['v1', older]])), '') // a lock that says nothing of it
    const minimal = shop(first, { settings: { prefer: { minimalOnCreate: true } } })
    assert.match(mistakesText(minimal), /^settings\.prefer\.minimalOnCreate\n/)
    assert.match(mistakesText(shop(first), new Map([['v1', lockOf(minimal)]])), /minimalOnCreate/)
  })
  test('R195: is broken if values stop being unique together because one is computed from others', () => {
    const of = (labels: object, more: object): Service =>
      service({ name: 'shop', versions: labels, resources: { seats: { access: 'public', ...more } } } as never) as never
    const [row, number] = [f.text(), f.integer()]
    const lock = lockOf(of({ v1: versions.v1 }, { fields: { row, number }, uniques: [['row', 'number']] }))
    const seats = of({ ...versions }, { fields: { row, code: row } })
    const next = (seats as unknown as { change: (...given: unknown[]) => Service }).change('v2', 'seats', {
      about: '`code` replaces `number`.',
      removed: { number },
      added: ['code'],
      request: ({ number }: { number: number }) => ({ code: String(number) }),
      response: ({ code }: { code: string }) => ({ number: Number(code) }),
    })
    const text = mistakesText(next, new Map([['v1', lock]]))
    assert.match(text, /number and row need not be unique together any more\..*Versions cannot differ in `uniques`/s)
  })
  test('R194: no change can keep parts that must be the same in all versions, and the gate says so', () => {
    const [other] = [{ prefix: 'oth', fields: { a: f.text() }, access: 'public' }]
    const of = (more: object, ref: object = {}) =>
      service({
        name: 'shop',
        versions,
        resources: {
          others: other,
          notes: {
            fields: { a: f.text({ sort: true }), b: f.ref('others', ref), c: f.text({ unique: true }) },
            uniques: [['a', 'b']],
            access: 'public',
            order: ['a'],
            sorts: { s: ['a'] },
            summaries: { byA: { group: ['a'] }, all: {} },
            exports: true,
            imports: true,
            embed: ['b'],
            ...more,
          },
        },
      } as never) as unknown as Service
    const locks: LocksByLabel = new Map([['v1', lockOf(of({}))]])
    for (const [part, next] of [
      ['order', of({ order: ['-a'] })],
      ['sorts', of({ sorts: { s: ['-a'] } })],
      ['sorts', of({ sorts: {} })],
      ['summaries', of({ summaries: { all: {} } })],
      ['summaries', of({ summaries: { byA: { group: ['b'] }, all: {} } })],
      ['exports', of({ exports: false })],
      ['imports', of({ imports: false })],
      ['access', of({ access: 'authenticated' })],
      ['prefix', of({ prefix: 'nte' })],
      ['parent', of({ parent: 'others' })],
      ['onDelete', of({}, { onDelete: 'cascade' })],
      ['unique', of({ fields: { a: f.text({ sort: true }), b: f.ref('others'), c: f.text() } })],
      ['uniques', of({ uniques: [] })],
      ['embed', of({ embed: undefined })],
    ] as [string, Service][]) {
      const text = mistakesText(next, locks)
      assert.match(text, new RegExp(`Versions cannot differ in [^:]*\`${part}\``), `${part}: ${text}`)
      if (part === 'onDelete' || part.startsWith('unique')) assert.doesNotMatch(text, /\.change\(/)
    }
  })
  test('is of the service of that name', () => {
    const next = service({
      name: 'store',
      resources: { notes: { fields: { text: f.text() }, access: 'public' } },
    }) as never
    assert.match(mistakesText(next), /^name\nThe service is called store, but contract\/v1\.json belongs to shop\./)
  })
  test('has to be declared', () => {
    const next = shop(first, { versions: { v2: { released: '2026-11-01' } } })
    assert.match(mistakesText(next), /^versions\.v1\nv1 is locked.*no longer declared/)
  })
  test('is not checked if it is retired', () => {
    const next = shop(others, {
      versions: { v1: { released: '2026-01-01', retired: true }, v2: { released: '2026-11-01' } },
    })
    assert.equal(mistakesText(next), '')
  })
})

describe('the change to paste', () => {
  const next: Fields = {
    name: f.text({ max: 200, filter: true, sort: true }),
    state: f.enum(['open', 'shut', 'lost'], { filter: true }),
    mail: f.email({ unique: true, filter: true, was: 'email' }),
    visits: f.integer({ min: 0, max: 500 }),
    note: f.text({ max: 10 }),
  }
  test('declares the difference, and can be pasted', () => {
    const made = shop(next, { versions })
    assert.notEqual(mistakesText(made), '')
    const done = pasted(made)
    assert.equal(mistakesText(done), '')
    const [change] = done.changes
    assert.deepEqual(change?.renamed, { email: 'mail' })
    assert.deepEqual(change?.added, ['name'])
    assert.deepEqual(Object.keys(change?.removed ?? {}), ['firstName', 'lastName'])
    assert.deepEqual(change?.required, { note: 'unknown' })
    assert.deepEqual(Object.keys(change?.mapped?.state ?? {}), ['closed'])
  })
  test('belongs to the version after the newest one if that is locked too', () => {
    const made = shop(others, { versions })
    const both: LocksByLabel = new Map([...locked, ['v2', lockOf(shop(first), 'v2')]])
    assert.match(mistakesText(made, both), /add v3 to `versions`.*\.change\('v3', 'customers'/s)
  })
  test('guesses a renamed field by its kind', () => {
    const { visits, ...rest } = first
    assert.match(
      mistakesText(shop({ ...rest, calls: f.integer({ min: 1, max: 50 }) }, { versions })),
      /renamed: \{ visits: 'calls' \}/,
    )
  })
  test('of other parts has a text of its own', () => {
    const errors = { 'too-much': { status: 409 } }
    const notes = { fields: { text: f.text() }, access: 'public' }
    const declared = { name: 'shop', versions, errors, resources: { notes, tags: { ...notes, prefix: 'tag' } } }
    const whole = service(declared as never) as unknown as Service
    const before: LocksByLabel = new Map([['v1', lockOf(whole)]])
    const less = service({ ...declared, errors: {}, resources: { notes } } as never) as unknown as Service
    assert.match(mistakesText(less, before), /errors: \{ 'too-much': '…' \}/)
    assert.match(mistakesText(less, before), /\.change\('v2', 'tags', \{ about: '`tags` ended\.', ends: true \}\)/)
    const ended = (whole as unknown as { change: (...given: unknown[]) => Service }).change('v2', 'tags', {
      about: '`tags` ended.',
      ends: true,
    })
    assert.equal(mistakesText(ended, before), '')
    const { tags, ...others } = declared.resources
    const renamed = service({ ...declared, resources: { ...others, labels: tags } } as never) as unknown as Service
    const mend = /\.change\('v2', 'labels', \{ about: '`tags` is called `labels`\.', was: 'tags' \}\)/
    assert.match(mistakesText(renamed, before), mend)
    const claimed = (renamed as unknown as { change: (...given: unknown[]) => Service }).change('v2', 'labels', {
      about: '`tags` is called `labels`.',
      was: 'tags',
    })
    assert.equal(mistakesText(claimed, before), '')
  })
  test('keeps the remaining members of an object', () => {
    const of = { of: f.object({ a: f.text(), b: f.integer() }) }
    const made = shop({ of: f.object({ a: f.text(), c: f.integer() }) }, { versions })
    const text = mistakesText(made, new Map([['v1', lockOf(shop(of))]]))
    assert.match(text, /request: \(old\) => \(\{ of: \{ a: old\.of\.a, c: 0 \} \}\)/)
    assert.match(text, /response: \(now\) => \(\{ of: \{ a: now\.of\.a, b: 0 \} \}\)/)
  })
  test('is not proposed if a change cannot declare it', () => {
    assert.doesNotMatch(mistakesText(shop(first, { versions, settings: { list: { pageSize: 5 } } })), /\.change/)
  })
})

describe('changes', () => {
  test('that declare a difference are fine', () => {
    const { email, ...rest } = first
    const made = shop({ ...rest, mail: f.email({ unique: true, filter: true }) }, { versions })
    assert.equal(mistakesText(changed(made, { renamed: { email: 'mail' } })), '')
  })
  test('that declare no difference have no effect', () => {
    const made = changed(shop(first, { versions }), { removed: { colour: f.text({ optional: true }) } })
    assert.match(mistakesText(made), /^versions\.v2\nThe change of customers in v2 has no effect/)
    assert.match(mistakesText(changed(shop(first, { versions }), {})), /has no effect/)
  })
  test('that hide an added field declare it', () => {
    const made = shop({ ...first, colour: f.text({ default: 'red' }) }, { versions })
    assert.equal(mistakesText(changed(made, { added: ['colour'] })), '')
  })
  test('that only deprecate operations of older versions are fine', () => {
    const made = changed(shop(first, { versions }), { deprecations: { remove: { deprecated: '2026-12-01' } } })
    assert.equal(mistakesText(made), '')
    const end = (sunset: string) =>
      changed(shop(first, { versions }), { deprecations: { remove: { deprecated: '2026-12-01', sunset } } })
    const locks: LocksByLabel = new Map([['v1', lockOf(end('2027-12-31'))]])
    assert.equal(mistakesText(end('2028-12-31'), locks), '')
    assert.match(
      mistakesText(end('2027-11-30'), locks),
      /^resources\.customers\n.*\n {3}- .*planned to end on 2027-11-30, and not .*\nLeave its end at 2027-12-31, or/,
    )
  })
  test('cannot be judged before the former version is locked', () => {
    assert.equal(
      gateMistakes(changed(shop(first, { versions }), {}), new Map([['v2', lockOf(shop(first), 'v2')]])).length,
      0,
    )
  })
  test('cannot keep words of a field that is not searched any more', () => {
    const searched = { ...first, note: f.text({ max: 10, optional: true, search: true }) }
    const locks: LocksByLabel = new Map([['v1', lockOf(shop(searched))]])
    const { note, ...rest } = searched
    const gone = shop({ ...rest, remark: f.integer({ optional: true }) }, { versions })
    assert.match(mistakesText(gone, locks), /removed: \{ note: f\.text\(\{ max: 10, optional: true \}\) \}/)
    const declared = changed(gone, {
      removed: { note: f.text({ max: 10, optional: true }) },
      added: ['remark'],
      response: () => ({ note: null }),
    })
    for (const made of [declared, shop(first, { versions })]) {
      const text = mistakesText(made, locks)
      assert.match(text, /`note` is not found by `search` any more\.\nKeep its `search`\. .*`search`: no change can/)
      assert.ok(!text.includes('.change('), text)
    }
  })
  test('that lose values need functions', () => {
    const made = shop(
      { ...first, visits: f.integer({ min: 1, max: 500 }), note: f.text({ max: 5, optional: true }) },
      { versions },
    )
    const retyped = { visits: first.visits, note: first.note } as Fields
    const text = mistakesText(changed(made, { retyped }))
    assert.match(text, /versions\.v2\.customers\.retyped\.visits\n.*makes values for v1.*\nWrite response/)
    assert.match(text, /versions\.v2\.customers\.retyped\.note\n.*makes values for v2.*\nWrite request/)
    const fillers = { request: () => ({ note: null }), response: () => ({ visits: 50 }) }
    assert.equal(mistakesText(changed(made, { retyped, ...fillers } as never)), '')
  })
})

describe('a lock', () => {
  const next = (fields: Fields, before: Lock) => nextLock(contractAt(shop(fields), 'v1'), 'v1', before).lock.version
  test('has a number that follows from the differences', () => {
    const lock = lockOf(shop(first))
    assert.equal(lock.version, '1.0.0')
    assert.equal(lockOf(shop(first), 'v3').version, '3.0.0')
    assert.equal(next(first, lock), '1.0.0')
    assert.equal(next({ ...first, colour: f.text({ default: 'red' }) }, { ...lock, version: '1.2.3' }), '1.3.0')
    const read = (fields: Fields) =>
      contractAt(
        shop(fields, { resources: { customers: { prefix: 'cus', fields, access: 'public', methods: ['read'] } } }),
        'v1',
      )
    const before = { ...nextLock(read(first), 'v1', null).lock, version: '1.2.3' }
    const fixed = { ...first, note: f.text({ max: 10, optional: true, immutable: true }) }
    assert.equal(nextLock(read(fixed), 'v1', before).lock.version, '1.2.4')
  })
  test('is one text, which is read back', () => {
    const lock = lockOf(shop(first))
    const text = lockText(lock)
    assert.deepEqual(parseLock(text), JSON.parse(JSON.stringify(lock)))
    assert.equal(lockText(parseLock(text) as Lock), text)
    assert.ok(text.split('\n').every((line) => line.length < 200))
    assert.deepEqual(differences(parseLock(text) as Lock, contractAt(shop(first), 'v1')), [])
  })
  test('that is invalid is reported', () => {
    for (const [text, says] of [
      ['{', /not JSON/],
      ['[]', /not an object/],
      ['{}', /no `version`/],
      ['null', /not an object/],
    ] as const)
      assert.match(String(parseLock(text)), says)
    assert.match(String(parseLock(lockText({ ...lockOf(shop(first)), version: '1' }))), /not a number/)
  })
  test('of a release before a setting existed does not mention it', () => {
    const { 'list.pageSize': _, ...settings } = lockOf(shop(first)).settings
    assert.equal(mistakesText(shop(first), new Map([['v1', { ...lockOf(shop(first)), settings }]])), '')
  })
})

test('a changelog lists breaking differences first', () => {
  const [was, is] = [shop(first), shop({ ...others, colour: f.text({ default: 'red' }) })].map((made) =>
    contractAt(made, 'v1'),
  )
  const text = changelog('v1', 'v2', differences(was as never, is as never))
  assert.match(
    text,
    /^# v1 to v2\n\nThis asks for a new major number\.\n\n## Breaking\n\n- `.*lastName.*\n\n## Added\n\n- `.*colour/,
  )
  assert.match(changelog('a', 'b', []), /No difference/)
})
