/** `bylaw check` and `bylaw routes`: their reports about a declaration that is not served. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { folder, notes, run } from '../help/command.ts'

const wrong = notes.replace('f.text({ max: 200 })', "f.ref('nothing')").replace("prefix: 'not'", "prefix: 'N0'")
const cwd = folder({
  'api.ts': notes,
  'wrong.ts': wrong,
  'slow.ts': notes.replace(
    'fields: {',
    "sorts: { age: ['createdAt'] }, fields: { state: f.enum(['new', 'old'], { filter: true }),",
  ),
  'unlimited.ts': notes.replace('resources:', 'tiers: { free: { hourly: 10 } }, resources:'),
  'limited.ts': notes.replace('resources:', 'tiers: { anonymous: { hourly: 10 } }, resources:'),
  'described.ts': notes
    .replace('max: 200', "max: 200, description: 'What is noted.'")
    .replace("prefix: 'not'", "prefix: 'not', description: 'A note.'")
    .replace("name: 'notes'", "name: 'notes', description: 'Notes.'"),
  'delivered.ts': notes.replace(
    "name: 'notes',",
    "name: 'notes', events: true, settings: { events: { webhooks: true } },",
  ),
  'partly.ts': notes
    .replace("name: 'notes',", "name: 'shop', errors: { 'not-paid': { status: 409 }, 'not-sent': { status: 409 } },")
    .replace('notes: {', 'orders: {')
    .replace(
      'fields: { text: f.text({ max: 200 }) }',
      `fields: { address: f.object({ city: f.text(), zip: f.text({ description: 'Five digits.' }) }) },
      states: {
        ...{ field: 'status', initial: 'open', descriptions: { closed: 'Paid.' } },
        transitions: { closures: { from: ['open'], to: 'closed' } },
      },
      operations: { quotes: { at: 'collection' } }`,
    ),
  'split.ts': `import { notes } from './notes.ts'\n${wrong.replace(/prefix.*\}, /, '...notes, ')}`,
  'notes.ts': `import { f } from 'bylaw'\n\nexport const notes = {\n  prefix: 'N0',\n  fields: { text: f.ref('nothing') },\n}\n`,
  'kept.ts': `import { caller, f, service } from 'bylaw'

const fields = { by: f.text() }
const audited = { read: 'orders:audit' } as const
const access = { read: 'orders:read', write: 'orders:read' } as const

export default service({
  name: 'kept',
  scopes: { 'orders:read': 'Read', 'orders:audit': 'Read revisions' },
  resources: {
    orders: { fields, history: audited, access },
    hats: { fields: { ...fields, photo: f.file() }, history: { read: 'authenticated' }, access },
    caps: {
      fields,
      history: audited,
      access: { read: [{ scope: 'orders:read' }, { where: { by: caller } }], write: 'orders:read' },
    },
  },
})
`,
  'personal.ts': `import { caller, f, service } from 'bylaw'

const own = { optional: true, personal: true } as const

export default service({
  name: 'personal',
  scopes: { all: 'Everything' },
  resources: {
    customers: {
      prefix: 'cus',
      fields: {
        name: f.text({ default: 'Erased', personal: true }),
        agent: f.text({ ...own, filter: true }),
        home: f.object({ street: f.text(own), town: f.text() }, { optional: true }),
        phones: f.list(f.object({ number: f.text(own), use: f.text() })),
        isOpen: f.boolean({ default: true }),
      },
      access: {
        read: [{ where: { agent: caller } }, { where: { agent: null, isOpen: true } }, { where: { isOpen: false } }],
        write: 'all',
      },
    },
    cards: {
      prefix: 'crd',
      parent: { resource: 'customers', onDelete: 'cascade' },
      fields: { holder: f.text(own), teller: f.text() },
      access: { read: [{ scope: 'all' }, { where: { teller: caller } }], write: 'all' },
    },
    orders: {
      prefix: 'ord',
      fields: { customerIds: f.list(f.ref('customers')), shipTo: f.text(own) },
      access: 'all',
    },
    logs: { prefix: 'log', fields: { customerId: f.ref('customers'), text: f.text() }, access: 'all' },
  },
})
`,
  'guarded.ts': notes.replace("'public'", "{ read: 'public', write: 'authenticated' }"),
})

describe('bylaw check', { concurrency: 3 }, () => {
  test('reports a declaration in order', async () => {
    const { code, stdout } = await run(['check', 'api.ts'], { cwd })
    assert.equal(code, 0)
    const [first, second, third] = stdout.split('\n')
    assert.equal(first, 'api.ts is in order: notes has 1 resource and 6 operations at 2 paths.')
    assert.match(second ?? '', /^No contract is locked, .* bylaw contract lock api\.ts$/)
    assert.equal(third, 'Without a description: the service, notes and notes.text.')
    const complete = (await run(['check', 'described.ts'], { cwd })).stdout
    assert.doesNotMatch(complete, /Without a description/)
    const partly = (await run(['check', 'partly.ts'], { cwd })).stdout
    const left =
      'orders, orders.address, orders.address.city, orders.open, orders.closures, orders.quotes, not-paid and 1 more'
    assert.ok(partly.includes(`\nWithout a description: the service, ${left}.\n`), partly)
  })
  test('counts the declared resources, without those that the service adds', async () => {
    const { stdout } = await run(['check', 'delivered.ts'], { cwd })
    assert.match(stdout, /^delivered\.ts is in order: notes has 1 resource and /)
  })
  test('names personal fields, what an erasure leaves, and rules that would show an erased item to more callers', async () => {
    const { code, stdout } = await run(['check', 'personal.ts'], { cwd })
    assert.equal(code, 0)
    assert.match(
      stdout,
      /\nPersonal, and emptied by `bylaw erase`: customers\.name, customers\.agent, customers\.home\.street, customers\.phones\.number, cards\.holder and orders\.shipTo\.\nPersonal fields of orders stay when an item of customers is erased that they refer to; erase those items too\.\n$/,
    )
    const warned = stdout.split('\n').filter((line) => /An erasure leaves/.test(line))
    assert.deepEqual(warned, [
      'An erasure leaves items of customers where agent is null, and a rule lets all known callers read those. Let the rule name a field that is not personal too, or leave `personal` out.',
    ])
    assert.doesNotMatch((await run(['check', 'api.ts'], { cwd })).stdout, /ersonal/)
  })
  test('shows the source lines of each mistake, also of another file', async () => {
    const { stdout } = await run(['check', 'split.ts'], { cwd })
    assert.match(
      stdout,
      /resources\.notes\.fields\.text\n.*\n.*\n\n {3}notes\.ts:5:13\n.*\n +> 5 \| {3}fields: { text: .*\n +\| {13}\^\n/,
    )
    assert.match(stdout, /resources\.notes\.prefix\n.*\n.*\n\n {3}notes\.ts:4:3\n/)
  })
  test('names each list without an index in one line, and the indexes with --indexes', async () => {
    const { code, stdout } = await run(['check', 'slow.ts'], { cwd })
    assert.equal(code, 0)
    assert.match(
      stdout,
      /in order.*\nA list of notes by custom_sort=age reads more rows .* state\.\n.*check --indexes\n/,
    )
    const whole = await run(['check', 'slow.ts', '--indexes'], { cwd })
    assert.match(whole.stdout, /in order.*\n.*custom_sort=age.*declare indexes: \[\['state', 'createdAt'\]\]/s)
  })
  test('warns of public operations without a quota although tiers are declared', async () => {
    const { code, stdout } = await run(['check', 'unlimited.ts'], { cwd })
    assert.equal(code, 0)
    assert.match(
      stdout,
      /in order.*\nCallers without credentials have no quota, and operations of notes are public\. Declare the tier `anonymous`/,
    )
    assert.doesNotMatch((await run(['check', 'limited.ts'], { cwd })).stdout, /have no quota/)
  })
  test('reports all mistakes with place, reason and mend, and exits with 1', async () => {
    const { code, stdout } = await run(['check', 'wrong.ts'], { cwd })
    assert.equal(code, 1)
    assert.match(stdout, /^wrong\.ts has 2 mistakes\.\n\n1\. /)
    assert.match(stdout, /\n\d\. \S*notes\.prefix\n {3}\S.*\n {3}\S/)
    assert.match(stdout, /\n\d\. \S*notes\.fields\.text\n {3}.*nothing.*\n {3}\S/)
  })
  test('as JSON, for programs', async () => {
    const { code, stdout } = await run(['check', 'wrong.ts', '--json'], { cwd })
    assert.equal(code, 1)
    const { file, mistakes } = JSON.parse(stdout)
    assert.equal(file, 'wrong.ts')
    assert.equal(mistakes.length, 2)
    for (const mistake of mistakes) assert.deepEqual(Object.keys(mistake), ['place', 'reason', 'mend'])
    const fine = await run(['check', 'api.ts', '--json'], { cwd })
    assert.equal(fine.code, 0)
    assert.deepEqual(JSON.parse(fine.stdout), { file: 'api.ts', mistakes: [] })
    const missing = await run(['check', 'none.ts', '--json'], { cwd })
    assert.equal(missing.code, 1)
    assert.match(JSON.parse(missing.stdout).mistakes[0].reason, /There is no file none\.ts/)
  })
  test('serving reports the same mistakes', async () => {
    const { code, stdout, stderr } = await run(['serve', 'wrong.ts'], { cwd })
    assert.equal(code, 1)
    assert.equal(stdout, '')
    assert.equal(stderr, `bylaw: ${(await run(['check', 'wrong.ts'], { cwd })).stdout}`)
  })
  test('operations for authenticated callers are in order', async () => {
    const { code, stdout } = await run(['check', 'guarded.ts'], { cwd })
    assert.equal(code, 0, stdout)
  })
  test('colours are for terminals, and with FORCE_COLOR', async () => {
    const plain = await run(['check', 'wrong.ts'], { cwd })
    const forced = await run(['check', 'wrong.ts'], { cwd, env: { FORCE_COLOR: '1' } })
    assert.ok(!plain.stdout.includes('\u001b['))
    assert.ok(forced.stdout.includes('\u001b['))
  })
})

describe('bylaw routes', { concurrency: 3 }, () => {
  test('lists method, path, operation and access', async () => {
    const { code, stdout } = await run(['routes', 'api.ts'], { cwd })
    assert.equal(code, 0)
    assert.equal(
      stdout,
      [
        'method  path         operation  access',
        'GET     /notes       list       public',
        'POST    /notes       create     public',
        'GET     /notes/{id}  read       public',
        'PUT     /notes/{id}  replace    public',
        'PATCH   /notes/{id}  change     public',
        'DELETE  /notes/{id}  remove     public',
        '',
      ].join('\n'),
    )
  })
  test('revisions need their own rule and that of reading the item', async () => {
    const { stdout } = await run(['routes', 'kept.ts'], { cwd })
    const of = (path: string) => stdout.split('\n').find((line) => line.includes(`/${path}/{id}/revisions `))
    assert.match(of('orders') ?? '', /revisions +orders:audit and orders:read$/)
    assert.match(of('hats') ?? '', /revisions +orders:read$/)
    assert.match(stdout, /\/hats\/\{id\}\/revisions\/\{revision\}\/photo +revisions-photo +orders:read$/m)
    assert.match(
      of('caps') ?? '',
      /revisions +orders:audit and \(orders:read or items where by is the id of the caller\)$/,
    )
  })
  test('as JSON', async () => {
    const { stdout } = await run(['routes', 'api.ts', '--json'], { cwd })
    assert.deepEqual(JSON.parse(stdout)[1], { method: 'POST', path: '/notes', operation: 'create', access: 'public' })
  })
})

describe('bylaw openapi', { concurrency: 3 }, () => {
  test('prints the document of a version', async () => {
    const { code, stdout } = await run(['openapi', 'api.ts'], { cwd })
    const { openapi, info, paths } = JSON.parse(stdout)
    assert.deepEqual([code, openapi, info.title, info.version], [0, '3.1.1', 'notes', '1.0.0'])
    assert.deepEqual(Object.keys(paths), ['/notes', '/notes/{id}'])
    const other = await run(['openapi', 'api.ts', '--version', 'v1', '--openapi', '3.2'], { cwd })
    assert.equal(JSON.parse(other.stdout).openapi, '3.2.0')
  })
  test('an unknown version of the service or of OpenAPI is refused', async () => {
    const version = await run(['openapi', 'api.ts', '--version', 'v2'], { cwd })
    assert.deepEqual([version.code, version.stdout], [1, ''])
    assert.match(version.stderr, /--version has to be v1, not "v2"/)
    assert.match(
      (await run(['openapi', 'api.ts', '--openapi', '4'], { cwd })).stderr,
      /has to be 3\.1 or 3\.2, not "4"/,
    )
  })
})
