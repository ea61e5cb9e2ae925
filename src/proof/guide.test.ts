/** The guide lists what changed, and shows one item in both versions. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, type Service, service } from '../index.ts'
import type { Change } from '../resources/change.ts'
import { derivedFieldsAt, derivedFieldsFrom } from './derived.ts'
import { migrationGuide } from './guide.ts'
import { type AskVersion, type JsonBody, nameInVersion } from './version-service.ts'

const shop = service({
  name: 'shop',
  versions: {
    v1: { released: '2026-01-15', deprecated: '2026-12-01', sunset: '2027-12-31' },
    v2: { released: '2026-06-01' },
    v3: { released: '2026-11-20' },
  },
  resources: {
    customers: { fields: { name: f.text({ max: 200 }), rank: f.integer({ default: 1 }) }, access: 'public' },
    notes: { fields: { text: f.text() }, access: 'public' },
    plans: {
      fields: { text: f.text() },
      access: 'public',
      deprecations: { remove: { deprecated: '2026-12-01', sunset: '2027-12-31' } },
    },
    orders: { parent: 'customers', fields: { total: f.decimal({ scale: 2 }) }, access: 'public' },
  },
})
  .change('v3', 'orders', { about: 'Orders came.', begins: true })
  .change('v3', 'customers', { about: '`rank` came.', added: ['rank'] })
  .change('v2', 'customers', {
    about: '`name` was `title`.',
    was: 'clients',
    renamed: { title: 'name' },
  }) as unknown as Service

/** Answers like a service whose changes only rename. */
function asking(): AskVersion {
  const items = new Map<string, JsonBody>()
  return async (version, { method, path, body }) => {
    const id = method === 'POST' ? `${path.slice(1, 4)}_${items.size}` : (path.split('/').at(-1) as string)
    if (method === 'POST' && path.startsWith('/clients')) items.set(id, { name: body?.title, rank: 1 })
    else if (method === 'POST') items.set(id, body as JsonBody)
    const { name, rank, ...rest } = items.get(id) as { name?: string; rank?: number }
    const old = version === 'v1' && name !== undefined ? { title: name } : name === undefined ? rest : { name, rank }
    return { status: method === 'POST' ? 201 : 200, headers: {}, body: { id, ...old } }
  }
}

test('the guide lists changes by resource, with both bodies', async () => {
  const text = await migrationGuide({ service: shop, from: 'v1', to: 'v3', ask: asking() })
  assert.match(
    text,
    /^# From v1 to v3\n\nv3 was released on 2026-11-20\. v1 is deprecated from 2026-12-01 on and is planned to end on 2027-12-31\./,
  )
  assert.match(text, /## customers, in v1 clients\n\nv2: `name` was `title`\.\n\n`rank` came\.\n\n- /)
  const [, sent = ''] = /What is sent in v1:\n\n```json\n(.*?)```/s.exec(text) ?? []
  assert.deepEqual(JSON.parse(sent), { title: 'Title' })
  const [, now = ''] = /and in v3:\n\n```json\n(.*?)```/s.exec(text) ?? []
  assert.deepEqual(JSON.parse(now), { name: 'Title', rank: 1 })
  assert.match(
    text,
    /- \*\*breaking\*\* `clients` is called `customers`, in paths[^\n]*\n- \*\*breaking\*\* `title` is called `name`\./,
  )
  assert.doesNotMatch(
    text,
    /The resource (clients|customers)|\/clients|\/customers|`title` is gone|`name` is new/,
    'what has another name is neither gone nor new',
  )
  assert.match(text, /## orders\n\nOrders came\./)
  assert.doesNotMatch(text, /## notes/)
  assert.match(
    text,
    /## plans\n\nIn v3, `remove` is deprecated from 2026-12-01 on and planned to end on 2027-12-31: do not build on it\./,
  )
})

test('a version that stays is described as such', async () => {
  const text = await migrationGuide({ service: shop, from: 'v2', to: 'v3', ask: asking() })
  assert.match(text, /v2 stays as it is\./)
  assert.match(text, /## customers\n\n`rank` came/)
})

test('the guide describes how older versions handle removed transitions and states that they write', async () => {
  const orders = {
    fields: {},
    states: {
      field: 'status',
      initial: 'draft',
      transitions: {
        placements: { from: ['draft'], to: 'placed' },
        cancellations: { from: ['draft'], to: 'cancelled' },
      },
      writable: { change: ['draft'] },
    },
    access: 'public',
  } as const
  const made = service({
    name: 'shop',
    versions: shop.declaration.versions as never,
    resources: { orders },
  }) as never as {
    change: (...given: unknown[]) => typeof made
  }
  const changed = made
    .change('v3', 'orders', {
      about: 'Orders are not voided.',
      transitions: {
        renamed: { submissions: 'placements' },
        withdrawn: {
          voids: { from: ['draft'], to: 'cancelled', by: 'cancellations' },
          returns: { from: ['placed'], to: 'draft', refused: 410 },
        },
      },
      writable: { change: null },
    })
    .change('v2', 'orders', {
      about: '`status` was written.',
      retyped: { status: f.enum(['draft', 'cancelled'], { default: 'draft' }) },
      transitions: { written: { cancelled: 'cancellations' } },
    }) as never as Service
  const [first, second] = await Promise.all(
    [['v1', 'v2'] as const, ['v2', 'v3'] as const].map(([from, to]) =>
      migrationGuide({ service: changed, from, to, ask: asking() }),
    ),
  )
  assert.match(
    first as string,
    /- In v1, writing the state `cancelled` carries out `cancellations`\.\n- In v1, other states that are written are refused with 409\./,
  )
  assert.match(second as string, /- \*\*breaking\*\* `submissions` is called `placements`\./)
  assert.doesNotMatch(second as string, /submissions` is gone|placements is new/)
  assert.match(second as string, /- \*\*breaking\*\* An item can be changed while it is draft, before in every state\./)
  assert.match(
    second as string,
    /- In v2, `voids` carries out `cancellations`\.\n- In v2, `returns` is refused with 410\.\n- In v2 too, what the state/,
  )
})

describe('fields that are computed from others', () => {
  const changes = [
    { version: 'v3', resource: 'people', about: '', was: 'customers', renamed: { name: 'called' } },
    {
      version: 'v2',
      resource: 'customers',
      about: '',
      removed: { first: f.text(), last: f.text() },
      added: ['name'],
      shown: { state: { paused: 'open' } },
    },
    { version: 'v2', resource: 'others', about: '', removed: { first: f.text() } },
  ] as unknown as Change[]
  test('are known under the names of each version', () => {
    assert.deepEqual([...derivedFieldsAt(changes, 'people', 'v1')].sort(), ['first', 'last', 'state'])
    assert.deepEqual([...derivedFieldsAt(changes, 'people', 'v2')], [])
    assert.deepEqual([...derivedFieldsFrom(changes, 'people', 'v1')].sort(), ['called', 'state'])
  })
  test('and resources are, too', () => {
    assert.deepEqual(
      ['v3', 'v2', 'v1'].map((label) => nameInVersion(changes, 'people', label)),
      ['people', 'customers', 'customers'],
    )
    assert.equal(nameInVersion(shop.changes, 'orders', 'v2'), undefined)
  })
})
