/** The types of events, and reactions that do not compile; nothing here runs. */
import { type EventOf, type EventType, f, service } from 'bylaw'
import type { Equal, Proof } from './equal.ts'

const shop = service({
  name: 'shop',
  events: true,
  resources: {
    orders: {
      fields: { total: f.decimal({ scale: 2 }), secret: f.text({ writeOnly: true, optional: true }) },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: {
          placements: { from: ['draft'], to: 'placed' },
          cancellations: { from: ['draft', 'placed'], to: 'cancelled' },
        },
      },
      access: 'public',
    },
    'order-lines': { fields: { price: f.decimal({ scale: 2 }) }, access: 'public' },
    notes: { fields: { text: f.text() }, access: 'public', events: false },
  },
})
type Shop = typeof shop
type OrderField = 'id' | 'total' | 'status' | 'createdAt' | 'updatedAt'
type LineField = 'id' | 'price' | 'createdAt' | 'updatedAt'

type OrderType = 'order.created' | 'order.updated' | 'order.deleted' | 'order.placed' | 'order.cancelled'
type LineType = 'orderLine.created' | 'orderLine.updated' | 'orderLine.deleted'
type Named<T> = Extract<EventOf<Shop>, { readonly type: T }>
type Given = [
  Proof<Equal<EventType<Shop>, OrderType | LineType>>,
  Proof<Equal<EventOf<Shop>['type'], OrderType | LineType>>,
  Proof<Equal<keyof Named<'order.placed'>['data'], OrderField>>,
  Proof<Equal<Named<'order.placed'>['data']['status'], 'draft' | 'placed' | 'cancelled'>>,
  Proof<Equal<Named<'orderLine.deleted'>['data']['price'], string>>,
  Proof<Equal<keyof Named<'orderLine.deleted'>['data'], LineField>>,
  Proof<Equal<Named<'order.placed'>['sequence'], number>>,
]
void (0 as unknown as Given)

export const priceOf = (event: EventOf<Shop>): string =>
  event.type === 'orderLine.created' ? event.data.price : event.data.id

const snake = service({
  name: 'shop',
  resources: {
    'order-lines': { fields: { price: f.decimal({ scale: 2 }) }, access: 'public', events: true },
    notes: { fields: { text: f.text() }, access: 'public' },
  },
  settings: { naming: 'snake', events: { format: 'cloudevents', payload: 'thin' } },
})
type Thin = EventOf<typeof snake>
type GivenSnake = [
  Proof<Equal<Thin['type'], 'order_line.created' | 'order_line.updated' | 'order_line.deleted'>>,
  Proof<Equal<keyof Thin['data'], 'id'>>,
  Proof<Equal<Thin['sequence'], string>>,
  Proof<Equal<Thin['specversion'], '1.0'>>,
]
void (0 as unknown as GivenSnake)

const mixed = service({
  name: 'mixed',
  events: true,
  resources: {
    orders: { fields: { note: f.text() }, access: 'public', settings: { events: { payload: 'full' } } },
    tags: { fields: { name: f.text() }, access: 'public' },
  },
  settings: { events: { payload: 'thin' } },
})
type Mixed<T> = keyof Extract<EventOf<typeof mixed>, { readonly type: T }>['data']
type GivenMixed = [
  Proof<Equal<Mixed<'order.created'>, 'id' | 'note' | 'createdAt' | 'updatedAt'>>,
  Proof<Equal<Mixed<'tag.created'>, 'id'>>,
]
void (0 as unknown as GivenMixed)

const none = service({ name: 'none', resources: { notes: { fields: { text: f.text() }, access: 'public' } } })
void (0 as unknown as Proof<Equal<EventOf<typeof none>, never>>)

shop.handlers(
  {
    reactions: {
      receipts: {
        on: ['order.placed', 'order.cancelled'],
        run({ event, use }) {
          type Reaction = [
            Proof<Equal<typeof event.type, 'order.placed' | 'order.cancelled'>>,
            Proof<Equal<typeof event.data.total, string>>,
            Proof<Equal<typeof use, { readonly mail: string }>>,
          ]
          void (0 as unknown as Reaction)
          // @ts-expect-error: lines are not orders
          void event.data.price
        },
      },
      labels: {
        on: ['orderLine.created'],
        async run({ event, call }) {
          await call('POST', '/labels', { body: { price: event.data.price } })
        },
      },
    },
  },
  { use: () => ({ mail: 'm' }) as { readonly mail: string } },
)
// @ts-expect-error: notes have no events
shop.handlers({ reactions: { notes: { on: ['note.created'], run: () => {} } } })
// @ts-expect-error: there is no such state
shop.handlers({ reactions: { notes: { on: ['order.returned'], run: () => {} } } })
// @ts-expect-error: a name in another case
shop.handlers({ reactions: { notes: { on: ['order-line.created'], run: () => {} } } })

const composite = service({
  name: 'composite',
  events: true,
  resources: {
    orders: { fields: { note: f.text() }, access: 'public' },
    tags: { fields: { name: f.text() }, access: 'public' },
    lines: { parent: 'orders', key: 'number', fields: { number: f.integer() }, access: 'public' },
    remarks: { parent: 'orders', fields: { text: f.text() }, access: 'public' },
  },
  pairs: { labels: { between: ['orders', 'tags'], access: 'public' } },
  settings: { events: { payload: 'thin' } },
})
type Identity<T> = keyof Extract<EventOf<typeof composite>, { readonly type: T }>['data']
type GivenComposite = [
  Proof<Equal<Identity<'order.created'>, 'id'>>,
  Proof<Equal<Identity<'remark.created'>, 'id'>>,
  Proof<Equal<Identity<'line.created'>, 'id' | 'orderId'>>,
  Proof<Equal<Identity<'label.created'>, 'id' | 'orderId' | 'tagId'>>,
]
void (0 as unknown as GivenComposite)
