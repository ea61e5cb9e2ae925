import assert from 'node:assert/strict'
import { test } from 'node:test'
import { declarationMistakes } from '../check/declaration-mistakes.ts'
import { f } from '../fields/field.ts'
import type { Change } from '../resources/change.ts'
import { changeMistakes } from './change-mistakes.ts'

const declaration = {
  name: 'shop',
  versions: { v1: { released: '2026-01-15' }, v2: { released: '2026-06-01' }, v3: { released: '2026-11-20' } },
  errors: { late: { status: 409 } },
  resources: {
    accounts: {
      fields: { country: f.country({ filter: true }), city: f.text({ optional: true, filter: true }) },
      access: 'public',
    },
    customers: {
      fields: {
        name: f.text({ filter: true, sort: true }),
        status: f.enum(['active', 'closed']),
        note: f.text({ optional: true }),
        accountId: f.ref('accounts'),
      },
      access: 'public',
      methods: ['list', 'read', 'create'],
    },
  },
}

const mistakes = (...changes: object[]) =>
  changeMistakes(
    declaration as never,
    changes.map((change) => ({ version: 'v2', resource: 'customers', about: 'It changed.', ...change }) as Change),
  ).map(({ place, reason }) => `${place}: ${reason}`)

const at = 'changes.v2.customers'
const cases: readonly (readonly [title: string, change: object, mistake: string])[] = [
  ['no such version', { version: 'v9' }, 'changes.v9.customers: There is no version v9, so it cannot have changes.'],
  ['the first version', { version: 'v1' }, 'changes.v1.customers: v1 is the first version, so it cannot have changes.'],
  ['no such resource', { resource: 'orders' }, 'changes.v2.orders: There is no resource `orders` in v2.'],
  ['nothing said', { about: ' ' }, `${at}: The change has no description.`],
  ['an unknown member', { rename: {} }, `${at}.rename: \`rename\` is not known here.`],
  ['no object', { renamed: 'name' }, `${at}.renamed: It is "name".`],
  ['no function', { request: 1 }, `${at}.request: It is 1.`],
  ['no such field added', { added: ['nam'] }, `${at}.added: There is no field "nam" in v2.`],
  ['no such field renamed', { renamed: { title: 'nam' } }, `${at}.renamed: There is no field "nam" in v2.`],
  ['two of one name', { renamed: { note: 'name' } }, `${at}: Before v2 there would be two fields \`note\`.`],
  ['no enum', { mapped: { name: { a: 'b' } } }, `${at}.mapped.name: \`name\` is not an enum.`],
  ['no value', { mapped: { status: { open: 'activ' } } }, `${at}.mapped.status: "activ" is not a value of \`status\`.`],
  [
    'leads nowhere',
    { moved: { land: { by: 'name', to: 'country' } } },
    `${at}.moved.land: "name" refers to no resource.`,
  ],
  [
    'nothing there',
    { moved: { land: { by: 'accountId', to: 'land' } } },
    `${at}.moved.land: \`accounts\` has no field "land".`,
  ],
  [
    'words of a removed field',
    { removed: { title: f.object({ a: f.text({ search: true }) }, { default: { a: '' } }) }, response: () => ({}) },
    `${at}.removed.title: \`title\` has \`search\`, but the newest version has no words of it.`,
  ],
  [
    'words of a field that is not searched any more',
    { retyped: { note: f.text({ max: 9, optional: true, search: true }) }, response: () => ({}) },
    `${at}.retyped.note: \`note\` has \`search\`, but the newest version has no words of it.`,
  ],
  [
    'words of a field that moved',
    { moved: { town: { by: 'accountId', to: 'city', field: f.text({ search: true, optional: true }) } } },
    `${at}.moved.town: \`town\` has \`search\`, but the newest version has no words of it.`,
  ],
  ['not offered', { methods: { added: ['remove'] } }, `${at}.methods.added: "remove" is not offered.`],
  ['still offered', { methods: { withdrawn: ['read'] } }, `${at}.methods.withdrawn: "read" is still offered.`],
  ['no such error', { errors: { tardy: 'lat' } }, `${at}.errors.tardy: There is no declared type "lat".`],
  ['nothing gives it', { added: ['name'] }, `${at}.added: Old requests do not contain \`name\`, which is required.`],
  [
    'what moved is not asked for there',
    { moved: { land: { by: 'accountId', to: 'country', field: f.country({ filter: true, sort: true }) } } },
    `${at}.moved.land: Lists of older versions query \`country\` of \`accounts\` for it, which has no \`sort\`.`,
  ],
  [
    'what moved is compared in another form there',
    { moved: { land: { by: 'accountId', to: 'country', field: f.integer({ filter: true }) } } },
    `${at}.moved.land: Lists would compare it with \`country\` of \`accounts\`, which is stored in another format.`,
  ],
  [
    'what moved is null there and another value here',
    { moved: { land: { by: 'accountId', to: 'city', field: f.text({ filter: true, default: 'Rome' }) } } },
    `${at}.moved.land: Where \`city\` of \`accounts\` is null, older versions show the default, but their lists cannot find it by that value.`,
  ],
  ['nothing shows it', { removed: { title: f.text() } }, `${at}.removed.title: Old answers need a value for it.`],
  [
    'another kind',
    { retyped: { name: f.integer() } },
    `${at}.retyped.name: The old and the new field have different kinds.`,
  ],
  [
    'a filler that is refused',
    { required: { name: 7 } },
    `${at}.required.name: The field refuses it: name must be a string, not a number.`,
  ],
  [
    'a filler that is none',
    { required: { name: null } },
    `${at}.required.name: The field refuses it: name is required and cannot be null.`,
  ],
  ['not required', { required: { note: '' } }, `${at}.required.note: \`note\` is not required.`],
  [
    'the version before is not sound',
    { removed: { title: f.ref('titles', { optional: true }) } },
    'v1: resources.customers.fields.title: There is no resource "titles".',
  ],
]
for (const [title, change, mistake] of cases)
  test(`refused: ${title}`, () => assert.ok(mistakes(change).includes(mistake), String(mistakes(change))))

test('the newest change comes first, and each one is checked against the result of those before it', () => {
  assert.deepEqual(mistakes({ renamed: { title: 'name' } }, { version: 'v3' }), [
    'changes.v3.customers: The change of v3 comes after a change of v2.',
  ])
  assert.deepEqual(mistakes({ version: 'v3', renamed: { title: 'name' } }, { renamed: { label: 'title' } }), [])
  assert.deepEqual(mistakes({ version: 'v3', renamed: { title: 'name' } }, { renamed: { label: 'name' } }), [
    `${at}.renamed: There is no field "name" in v2.`,
  ])
})

test('a moved field names the field of its version: other changes of that field come later', () => {
  const move = { moved: { land: { by: 'accountId', to: 'town' } } }
  const refused = (of: object, ...more: object[]) =>
    changeMistakes(
      declaration as never,
      [{ resource: 'accounts', ...of }, ...more].map(
        (change) => ({ version: 'v2', resource: 'customers', about: 'It changed.', ...change }) as Change,
      ),
    ).map(({ reason, mend }) => `${reason} ${mend}`)
  const mend = 'Write this change before the change of accounts that'
  const stays = `It has to be the field of v2, but a change of \`accounts\` before this one already replaces it by its older form. ${mend} changes it: each change says what was different before it.`
  const brought = `\`accounts\` has no field "city". ${mend} adds it: each change says what was different before it.`
  const to = (name: string, by = 'accountId') => ({ moved: { land: { by, to: name } } })
  assert.deepEqual(refused({ renamed: { town: 'city' } }, move), [stays])
  assert.deepEqual(refused({ renamed: { town: 'city' } }, to('city')), [brought])
  const wider = { retyped: { city: f.text({ max: 9, optional: true }) }, request: () => ({}), response: () => ({}) }
  assert.deepEqual(refused(wider, to('city')), [stays])
  assert.deepEqual(refused({ renamed: { town: 'city' } }, to('country')), [])
  assert.deepEqual(refused({ version: 'v3', renamed: { town: 'city' } }, move), [])
})

test('a moved field is followed through later changes of both resources, as far as possible', () => {
  const land = { moved: { land: { by: 'accountId', to: 'country' } } }
  const later = (change: object) => ({ version: 'v3', ...change })
  assert.deepEqual(
    mistakes(later({ resource: 'accounts', renamed: { state: 'country' } }), {
      moved: { land: { by: 'accountId', to: 'state' } },
    }),
    [],
  )
  const onwards = later({ resource: 'accounts', moved: { state: { by: 'countryId', to: 'name' } } })
  const accounts = { ...declaration.resources.accounts, fields: { countryId: f.ref('countries') } }
  const resources = {
    ...declaration.resources,
    accounts: accounts,
    countries: { fields: { name: f.text() }, access: 'public' },
  }
  const found = changeMistakes(
    { ...declaration, resources } as never,
    [onwards, { moved: { land: { by: 'accountId', to: 'state' } } }].map(
      (change) => ({ version: 'v2', resource: 'customers', about: 'It changed.', ...change }) as Change,
    ),
  )
  assert.deepEqual(
    found.map(({ place, reason }) => `${place}: ${reason}`),
    [`${at}.moved.land: \`state\` of \`accounts\` moves again in v3.`],
  )
  assert.deepEqual(
    mistakes(later({ removed: { ownerId: f.ref('accounts', { optional: true }) }, response: () => ({}) }), {
      moved: { land: { by: 'ownerId', to: 'country' } },
    }),
    [`${at}.moved.land: \`ownerId\` of \`customers\` is removed in v3.`],
  )
  assert.deepEqual(mistakes(land), [])
})

test('a hidden field is null for `response`, which has to handle that', () => {
  const unseen = (
    response: object,
    removed: object = { label: f.text(), worth: f.text({ read: 'pay', optional: true }) },
  ) =>
    changeMistakes(
      {
        name: 'shop',
        versions: declaration.versions,
        scopes: { pay: 'Pay' },
        resources: {
          customers: {
            fields: {
              name: f.text(),
              rank: f.enum(['low', 'high'], { read: 'pay', default: 'low' }),
              pay: f.integer(),
            },
            access: 'authenticated',
          },
        },
      } as never,
      [{ version: 'v2', resource: 'customers', about: 'It changed.', removed, response } as never],
    ).map(({ place, reason }) => `${place}: ${reason}`)
  type Now = { name: string; rank: string }
  const before =
    'changes.v2.customers.response: Callers without pay do not see `rank`, so `response` receives null for it. '
  assert.deepEqual(
    unseen(({ name, rank }: Now) => ({ label: name, worth: rank })),
    [],
  )
  assert.deepEqual(
    unseen(({ name, rank }: Now) => ({ label: name, worth: rank.slice(0, 1) })),
    [`${before}It throws: Cannot read properties of null (reading 'slice')`],
  )
  assert.deepEqual(
    unseen(({ rank }: Now) => ({ label: rank, worth: rank })),
    [`${before}It returns no \`label\` then, which the version promises.`],
  )
  assert.deepEqual(
    unseen(() => JSON.parse('what needs more than plain values')),
    [],
  )
  const asked = { label: f.text({ filter: true, optional: true }), worth: f.text({ optional: true, read: 'pay' }) }
  const response = ({ name, rank }: Now) => ({ label: rank ?? name, worth: rank })
  assert.deepEqual(unseen(response, asked), [
    'changes.v2.customers.label: Callers with pay see another value of it than others do, so lists cannot be filtered or sorted by it.',
  ])
  assert.deepEqual(
    unseen(({ name, rank }: Now) => ({ label: name, worth: rank }), asked),
    [],
  )
})

const declared = (versions: unknown, settings = {}) =>
  declarationMistakes({ ...declaration, versions, settings }).map(({ place, reason }) => `${place}: ${reason}`)

test('versions have a name and the dates of their release and end', () => {
  assert.deepEqual(declared({ v1: { released: '2026-01-15', deprecated: '2026-02-01', sunset: '2026-02-01' } }), [])
  const wrong: [unknown, string][] = [
    [[], 'versions: `versions` is a list.'],
    [{}, 'versions: `versions` is empty.'],
    [{ v01: { released: '2026-01-15' } }, 'versions.v01: The name is not that of a version.'],
    [{ v1: {} }, 'versions.v1: `released` is missing.'],
    [{ v1: { released: '2026-02-30' } }, 'versions.v1.released: It is "2026-02-30".'],
    [{ v1: { released: '2026-01-15', ended: '' } }, 'versions.v1.ended: `ended` is not known here.'],
    [{ v1: { released: '2026-01-15', guide: 'docs' } }, 'versions.v1.guide: It is "docs".'],
    [{ v1: { released: '2026-01-15', retired: true } }, 'versions.v1.retired: The newest version cannot be retired.'],
    [
      { v1: { released: '2026-01-15', deprecated: '2026-03-01', sunset: '2026-02-01' } },
      'versions.v1.sunset: It would end before it is deprecated.',
    ],
    [
      { v1: { released: '2026-01-15' }, v2: { released: '2026-01-14' } },
      'versions.v2.released: It would be released before v1.',
    ],
  ]
  for (const [versions, mistake] of wrong) assert.deepEqual(declared(versions), [mistake])
  assert.deepEqual(declared({ v1: { released: '2026-01-15' } }, { versions: { default: 'v2' } }), [
    'settings.versions.default: The version "v2" is not served.',
  ])
})

test('deprecated operations are offered, and have dates', () => {
  const left = (deprecations: unknown) =>
    declarationMistakes({
      ...declaration,
      resources: { ...declaration.resources, customers: { ...declaration.resources.customers, deprecations } },
    }).map(({ place, reason }) => `${place}: ${reason}`)
  const path = 'resources.customers.deprecations'
  assert.deepEqual(left({ read: { deprecated: '2026-02-01', sunset: '2026-02-01T00:00:00Z', successor: '/a' } }), [])
  const wrong: [unknown, string][] = [
    ['2026-02-01', `${path}: It is "2026-02-01".`],
    [{ read: '2026-02-01' }, `${path}.read: It is "2026-02-01".`],
    [{ change: { deprecated: '2026-02-01' } }, `${path}.change: "change" is not offered.`],
    [{ read: { sunset: '2026-02-01' } }, `${path}.read: \`deprecated\` is missing.`],
    [{ read: { deprecated: 'soon' } }, `${path}.read.deprecated: It is "soon".`],
    [{ read: { deprecated: '2026-02-01', successor: 'notes' } }, `${path}.read.successor: It is "notes".`],
    [{ read: { deprecated: '2026-02-01', format: 'true' } }, `${path}.read.format: \`format\` is not known here.`],
    [
      { read: { deprecated: '2026-02-01', sunset: '2026-01-31' } },
      `${path}.read.sunset: It would end before it is deprecated.`,
    ],
  ]
  for (const [deprecations, mistake] of wrong) assert.deepEqual(left(deprecations), [mistake])
  assert.deepEqual(mistakes({ deprecations: { read: { deprecated: '2026-02-01' } } }), [])
  assert.deepEqual(mistakes({ deprecations: [] }), ['changes.v2.customers.deprecations: It is a list.'])
  assert.deepEqual(mistakes({ deprecations: { remove: { deprecated: '2026-02-01' } } }), [
    `v1: ${path}.remove: "remove" is not offered.`,
  ])
})
