/** The types of a client as they are inferred, and calls that do not compile; nothing here runs. */
// long because: one declaration, and one call of each method
import { count, type EventOf, type EventType, f, type Row, service } from 'bylaw'
import {
  type Client,
  client,
  type ErrorOf,
  type entityTag,
  isApiError,
  type OperationStatus,
  type Tagged,
} from 'bylaw/client'
import type { Equal, Proof } from './equal.ts'

const api = service({
  name: 'shop',
  events: true,
  errors: {
    'credit-exceeded': { status: 402, fields: { limit: f.decimal({ scale: 2 }), until: f.date({ optional: true }) } },
  },
  versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-06-01' } },
  settings: { list: { or: true } },
  scopes: { 'orders:read': 'Read orders', 'orders:ship': 'Ship orders' },
  concepts: { price: f.decimal({ scale: 2, filter: ['range', 'ne'] }) },
  resources: {
    orders: {
      fields: {
        note: f.text({ optional: true, filter: 'like', sort: true }),
        price: f.concept('price'),
        size: f.enum(['s', 'l'], { filter: true, default: 's' }),
        lines: f.integer({ derived: count('order-lines') }),
        buyer: f.object({ name: f.text(), age: f.integer({ filter: 'gt' }) }),
      },
      sorts: { worth: ['-note'] },
      history: { read: 'orders:read' },
      summaries: {
        bySize: {
          group: ['size', 'buyer.name', { month: 'createdAt' }],
          sum: ['price'],
          max: ['lines', 'createdAt'],
          average: ['buyer.age'],
        },
      },
      embed: ['orderLines', 'slots.order'],
      states: {
        field: 'status',
        initial: 'draft',
        transitions: {
          placements: { from: ['draft'], to: 'placed' },
          shipments: { from: ['placed'], to: 'shipped', input: { carrier: f.text() }, access: 'orders:ship' },
          expiries: { from: ['draft'], to: 'placed', after: 'P7D' },
        },
      },
      operations: {
        quotes: { at: 'collection', input: { quantity: f.integer() }, output: { total: f.decimal({ scale: 2 }) } },
        checks: { at: 'item' },
        exports: { at: 'collection', output: { count: f.integer() }, asynchronous: true },
      },
      access: 'public',
    },
    'order-lines': {
      parent: 'orders',
      fields: { quantity: f.integer(), cardId: f.ref('cards', { optional: true }) },
      embed: true,
      access: 'public',
    },
    slots: {
      parent: { resource: 'orders' },
      key: 'number',
      fields: { number: f.text({ immutable: true }) },
      access: 'public',
    },
    logs: { fields: { text: f.text() }, methods: ['list', 'create'], access: 'public', events: false },
    sheets: {
      fields: { text: f.text(), size: f.integer() },
      imports: true,
      exports: true,
      access: 'public',
      events: false,
    },
    rows: { parent: 'sheets', fields: { text: f.text() }, imports: true, access: 'public', events: false },
    cards: { fields: { text: f.text() }, access: { read: 'orders:read', write: 'orders:ship' }, events: false },
  },
})
type Api = typeof api
const shop = client<Api>({ url: 'http://localhost:3000', key: 'k', version: 'v2' })
type Order = Tagged<Row<Api, 'orders'>>

export async function calls() {
  const order = await shop.orders.create({ price: '1', buyer: { name: 'Ann', age: 1 } })
  type Given = [
    Proof<Equal<typeof order, Order>>,
    Proof<Equal<(typeof order)['status'], 'draft' | 'placed' | 'shipped'>>,
    Proof<Equal<(typeof order)[typeof entityTag], string | null>>,
    Proof<
      Equal<
        keyof Client<Api>,
        'orders' | 'order-lines' | 'logs' | 'sheets' | 'rows' | 'cards' | 'events' | 'operations'
      >
    >,
    Proof<Equal<keyof (typeof shop)['logs'], 'list' | 'create'>>,
  ]
  void (0 as unknown as Given)
  const { created, errors } = await shop.sheets.import([{ text: 'a', size: 1, idempotencyKey: 'k' }])
  for await (const sheet of shop.sheets.export({ where: {}, fields: ['size'] })) {
    const size: number = sheet.size
    // @ts-expect-error: it was not selected
    void [size, sheet.text, created, errors[0]?.line]
    await shop.sheets(sheet).rows.import([{ text: 'b' }])
    // @ts-expect-error: rows are not exported
    shop.sheets(sheet).rows.export()
  }
  // @ts-expect-error: a field is missing
  await shop.sheets.import([{ text: 'a' }])
  // @ts-expect-error: orders are not imported
  await shop.orders.import([])
  // @ts-expect-error: rows are imported below their sheet
  await shop.rows.import([])
  const placed: Order = await shop.orders.placements(order)
  const shipped: Order = await shop.orders.shipments(placed.id, { carrier: 'DHL' }, { idempotencyKey: 'k' })
  const quote: { readonly total: string } = await shop.orders.quotes({ quantity: 2 })
  const started: OperationStatus<{ readonly count: number }> = await shop.orders.exports()
  const ended = await shop.operations.get<typeof started>(started.id)
  const { result } = ended
  void (0 as unknown as Proof<Equal<typeof result, { readonly count: number } | null>>)
  await shop.orders.checks(shipped)
  await shop.orders.update(shipped, { note: null, buyer: { age: 3 } })
  await shop.orders.update(shipped.id, ({ note }) => ({ note: `${note} ${quote.total}` }))
  await shop.orders.replace(shipped, { ...shipped, note: 'x' })
  await shop.orders(order)['order-lines'].create({ quantity: 1 })
  const slot = await shop.orders(order.id).slots.get('1')
  await shop.orders(order).slots.update(slot, {})
  for await (const one of shop.orders.list({
    where: {
      size: ['s', 'l'],
      price: { gte: '1', ne: '2' },
      'buyer.age': { gt: 3 },
      createdAt: { lte: '2026-01-01T00:00:00Z' },
      note: null,
    },
    sort: '-createdAt',
  }))
    void (one.note satisfies string | null)
  shop.orders.list({ customSort: '-worth', nulls: 'first', pageSize: 5, where: { note: { like: 'a%', null: false } } })
  shop.orders.list({ or: { size: 's', 'buyer.age': { gt: 3 }, note: null }, fields: ['note'] })
  for await (const one of shop.orders.list({ fields: ['note', 'buyer.name', 'createdAt'] }))
    void (0 as unknown as Proof<
      Equal<
        typeof one,
        {
          readonly id: string
          readonly createdAt: string
          readonly note: string | null
          readonly buyer: { readonly name: string }
        }
      >
    >)
  const full = await shop.orders.get(order, { embed: ['orderLines', 'slots.order'], fields: ['size'] })
  void (full._embedded.orderLines.data[0]?.quantity satisfies number | undefined)
  void (full._embedded.orderLines.hasMore satisfies boolean)
  void (full._embedded.slots.data[0]?._embedded.order?.note satisfies string | null | undefined)
  for await (const one of shop['order-lines'].list({ embed: ['card', 'order'] })) {
    void (0 as unknown as Proof<Equal<typeof one._embedded.card, Row<Api, 'cards'> | null>>)
    void (one._embedded.order satisfies Row<Api, 'orders'> | null)
  }
  const cut = await shop.orders.get(order, { fields: ['size'], deadline: 1000 })
  void (cut.size satisfies 's' | 'l')
  for await (const event of shop.events({ types: ['order.placed', 'orderLine.created'], after: 'evt_1' }))
    if (event.type === 'orderLine.created') void (event.data.quantity satisfies number)
    else void (0 as unknown as Proof<Equal<typeof event.type, 'order.placed'>>)
  for await (const { type, data } of shop.events({ types: ['order.placed'] })) {
    void (0 as unknown as Proof<Equal<typeof type, 'order.placed'>>)
    void (data.size satisfies 's' | 'l')
  }
  for await (const { data } of shop.events({ resources: ['order-lines'], item: 'line_1' }))
    void (data.quantity satisfies number)
  const types: EventType<Api>[] = []
  for await (const { type } of shop.events({ types })) void (0 as unknown as Proof<Equal<typeof type, EventType<Api>>>)
  for await (const event of shop.events()) void (0 as unknown as Proof<Equal<typeof event, EventOf<Api>>>)
  for await (const event of shop.events({ since: order.createdAt }, {}))
    void (0 as unknown as Proof<Equal<typeof event, EventOf<Api>>>)
  const card = await shop.cards.update('card_1', { text: 'a' })
  void (0 as unknown as Proof<Equal<typeof card, Tagged<Row<Api, 'cards'>> | null>>)
}

export async function mistakes(order: Order, row: Row<Api, 'orders'>) {
  // @ts-expect-error: `price` is missing
  await shop.orders.create({ buyer: { name: 'Ann', age: 1 } })
  // @ts-expect-error: there is no such resource
  await shop.customers.get('cus_1')
  // @ts-expect-error: lines are created below an order
  await shop['order-lines'].create({ quantity: 1 })
  // @ts-expect-error: a line has a URL of its own
  shop.orders(order)['order-lines'].get('line_1')
  // @ts-expect-error: a slot has no URL of its own
  shop.slots.get('1')
  // @ts-expect-error: logs are not removed
  await shop.logs.remove('log_1')
  // @ts-expect-error: what a list shows has no ETag
  await shop.orders.update(row, { note: 'x' })
  // @ts-expect-error: the service sets it
  await shop.orders.update(order, { lines: 3 })
  // @ts-expect-error: a transition by the clock has no URL
  await shop.orders.expiries(order)
  // @ts-expect-error: the carrier is missing
  await shop.orders.shipments(order)
  // @ts-expect-error: a quote is not of an order
  await shop.orders.quotes('ord_1')
  // @ts-expect-error: an item is no input
  await shop.orders.quotes({ ...order, quantity: 1 })
  // @ts-expect-error: `lines` is no filter
  shop.orders.list({ where: { lines: 1 } })
  // @ts-expect-error: `like` is not declared
  shop.orders.list({ where: { size: { like: 's' } } })
  // @ts-expect-error: it is not a size
  shop.orders.list({ where: { size: 'm' } })
  // @ts-expect-error: one of them is not a size
  shop.orders.list({ where: { size: ['s', 'm'] } })
  // @ts-expect-error: `size` is no sort
  shop.orders.list({ sort: 'size' })
  // @ts-expect-error: `note` was not selected
  void (await shop.orders.get(order, { fields: ['size'] })).note
  // @ts-expect-error: there is no such field
  shop.orders.list({ fields: ['nope'] })
  // @ts-expect-error: `cards` cannot be embedded
  shop.orders.list({ embed: ['cards'] })
  // @ts-expect-error: `slots` was not embedded
  void (await shop.orders.get(order, { embed: ['orderLines'] }))._embedded.slots
  // @ts-expect-error: there is no such nested field
  shop.orders.list({ fields: ['buyer.nope'] })
  // @ts-expect-error: an item without all fields is no target
  await shop.orders.update(await shop.orders.get(order, { fields: ['size'] }), { note: 'x' })
  // @ts-expect-error: `lines` is no filter
  shop.orders.list({ or: { lines: 1 } })
  // @ts-expect-error: logs have no events
  shop.events({ types: ['log.created'] })
  // @ts-expect-error: there is no such version
  client<Api>({ url: '', version: 'v3' })
}

export function errors(error: unknown): string | undefined {
  if (!isApiError<Api>(error)) throw error
  // @ts-expect-error: there is no such type
  if (error.type === 'credit-exeeded') return ''
  switch (error.type) {
    case 'credit-exceeded':
      // @ts-expect-error: the error has no such field
      if (error.body.limit === 5) return error.body.until ?? ''
      return `${error.body.limit satisfies string} ${error.status satisfies 402}`
    case 'validation-failed':
      return error.errors.map(({ pointer, message }) => `${pointer} ${message}`).join(` ${error.status satisfies 400}`)
    case 'no-answer':
      return String(error.status satisfies 0)
    default:
      return undefined
  }
}
export type Declared = Proof<Equal<Extract<ErrorOf<Api>, { readonly type: 'credit-exceeded' }>['status'], 402>>

const small = service({
  name: 'small',
  resources: {
    'big-notes': {
      fields: { my_text: f.text({ filter: true }), body: f.object({ text: f.text({ search: true }) }), scan: f.file() },
      embed: true,
      access: 'public',
    },
    'side-notes': { parent: 'big-notes', fields: { remark: f.text() }, access: 'public' },
  },
  settings: { naming: 'snake', versions: { carriers: ['path'] } },
})
const notes = client<typeof small>({ url: 'http://localhost:3000' })
void notes['big-notes'].list({
  where: { created_at: { gte: '2026-01-01T00:00:00Z' }, my_text: 'a' },
  sort: '-updated_at',
})
export async function sideNotes() {
  for await (const { _embedded } of notes['big-notes'].list({ embed: ['side_notes'] }))
    void (_embedded.side_notes.has_more satisfies boolean)
}
void notes['big-notes'].list({ search: 'blue whale' })
export async function scans(content: Blob): Promise<string> {
  const { href } = await notes['big-notes'].upload('big_note_1', 'scan', content)
  return href
}
// @ts-expect-error: it has no searched fields
notes['side-notes'].list({ search: 'blue' })
// @ts-expect-error: the setting list.or is off
notes['big-notes'].list({ or: { my_text: 'a' } })
// @ts-expect-error: it has no events
notes.events()
// @ts-expect-error: names are those of the declaration
notes.bigNotes.list()
// @ts-expect-error: the service reads the version from the path only
client<typeof small>({ url: 'http://localhost:3000', version: 'v1' })

/** Summaries: each group has the members of its declaration. */
export async function summarize() {
  const groups = await shop.orders.summaries.bySize({ where: { size: 's' }, or: { price: { gte: '5' }, size: 'l' } })
  type Expected = readonly {
    readonly id: string
    readonly count: number
    readonly size: 's' | 'l' | null
    readonly buyerName: string | null
    readonly createdAtMonth: string | null
    readonly sumPrice: string
    readonly maxLines: number | null
    readonly maxCreatedAt: string | null
    readonly averageBuyerAge: string | null
  }[]
  // @ts-expect-error: this summary is not declared
  await shop.orders.summaries.byColour()
  // @ts-expect-error: summaries have no sort
  await shop.orders.summaries.bySize({ sort: 'note' })
  // @ts-expect-error: there are none here
  shop.logs.summaries
  return groups as Proof<Equal<typeof groups, Expected>> extends true ? typeof groups : never
}

/** Revisions: what they have changed are fields of the item; an item as it was has all of them. */
export async function audit() {
  for await (const { id, by, changes } of shop.orders.history('ord_1', { pageSize: 5 })) {
    const told: [string, string | null, string | null | undefined, 's' | 'l' | null | undefined] = [
      id,
      by,
      changes.note,
      changes.size,
    ]
    // @ts-expect-error: it has no such field
    changes.colour
    void told
  }
  const { buyer } = await shop.orders.revision('ord_1', 2, { against: 1 })
  const name: string | null | undefined = buyer?.name
  // @ts-expect-error: these have no history
  shop.logs.history
  return [(await shop.orders.revision('ord_1', 1)).size, name] as const
}
