/** Contract section 12: events, as a list and as a stream. */
import assert from 'node:assert/strict'
import { type Door, doors, spec } from '../help/door.ts'
import { eventShop, thinShop } from '../help/events.ts'
import { undescribed } from '../help/overseen.ts'

interface EventContent {
  readonly id: string
  readonly type: string
  readonly timestamp: string
  readonly version: string
  readonly sequence: number
  readonly data: Readonly<Record<string, unknown>>
}

const rights = { scopes: ['orders:read', 'orders:write'] }
const holders = { clerk: rights, reader: { scopes: ['orders:read'] }, nobody: {} }

/** Reads a stream until its text matches, and ends it. */
async function readUntil(opened: Response, pattern: RegExp): Promise<string> {
  const reader = (opened.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (!pattern.test(text)) {
    const { done, value } = await reader.read()
    if (done) break
    text += decoder.decode(value, { stream: true })
  }
  await reader.cancel()
  return text
}

doors(
  'events',
  eventShop,
  (door: Door) => {
    const send = (method: string, path: string, json?: unknown, headers = {}) =>
      door.send(method, path, { ...(json !== undefined && { json }), headers: { ...door.as('clerk'), ...headers } })
    const made = async (note: string): Promise<string> => (await send('POST', '/orders', { note })).json.id
    const eventsOf = async (id: string, version = 'v2'): Promise<EventContent[]> =>
      (await send('GET', `/${version}/events?item=${id}`)).json.data

    spec(
      'R205',
      'types are the singular of the resource and a past participle, that of a transition its state',
      async () => {
        const id = await made('types')
        await send('POST', `/orders/${id}/order-lines`, { amount: 1 })
        await send('PATCH', `/orders/${id}`, { note: 'changed' })
        await send('POST', `/orders/${id}/placements`)
        await send('POST', `/orders/${id}/cancellations`)
        await send('DELETE', `/orders/${id}`)
        const types = (await eventsOf(id)).map(({ type }) => type)
        assert.deepEqual(types, ['order.created', 'order.updated', 'order.placed', 'order.cancelled', 'order.deleted'])
        const { data } = (await send('GET', '/events?resource=order-lines')).json
        assert.deepEqual(
          data.map(({ type }: EventContent) => type),
          ['orderLine.created', 'orderLine.deleted'],
        )
      },
    )

    spec('R205 R194', 'an older version uses its own names of resources, states and fields', async () => {
      const id = await made('older')
      await send('POST', `/orders/${id}/placements`)
      const [created, placed] = await eventsOf(id, 'v1')
      assert.deepEqual([created?.type, placed?.type], ['purchase.created', 'purchase.sent'])
      assert.deepEqual([created?.version, created?.data.remark, created?.data.note], ['v1', 'older', undefined])
      assert.equal(placed?.data.status, 'sent')
      assert.deepEqual((await send('GET', `/v1/events/${placed?.id}`)).json, placed)
      const { data } = (await send('GET', `/v1/events?type=purchase.sent&item=${id}`)).json
      assert.deepEqual(data, [placed])
      for (const query of ['type=order.placed', 'resource=orders'])
        assert.equal((await send('GET', `/v1/events?${query}`)).status, 400)
    })

    spec('R206', 'a refused change, a repeat and a change of nothing have no event', async () => {
      const id = await made('once')
      await send('PATCH', `/orders/${id}`, { note: 'once' })
      await send('PATCH', `/orders/${id}`, { note: 'x'.repeat(101) })
      await send('PATCH', `/orders/${id}?dryRun=true`, { note: 'dry' })
      await send('PATCH', `/orders/${id}`, { note: 'two' }, { 'if-match': '"other"' })
      assert.deepEqual(
        (await eventsOf(id)).map(({ sequence }) => sequence),
        [1],
      )
    })

    spec('R207', 'the content is the representation without the fields that nobody may read', async () => {
      const { id, _links, ...rest } = (await send('POST', '/orders', { note: 'content', secret: 'hidden' })).json
      const [event, ...more] = await eventsOf(id)
      assert.deepEqual(more, [])
      assert.deepEqual(Object.keys(event ?? {}), ['id', 'type', 'timestamp', 'version', 'sequence', 'data'])
      assert.deepEqual(event?.data, { id, ...rest })
      assert.equal(event?.timestamp, rest.createdAt)
      assert.ok(!JSON.stringify(event).includes('hidden'))
      await send('PATCH', `/orders/${id}`, { secret: 'other' })
      const [, changed] = await eventsOf(id)
      assert.deepEqual([changed?.type, changed?.sequence], ['order.updated', 2])
    })

    spec(
      'R207 R169',
      'a reader sees the events of resources that it may read, and is refused if it may read none of them',
      async () => {
        const id = await made('rights')
        await send('POST', `/orders/${id}/order-lines`, { amount: 5 })
        const as = (who: string, path: string) => door.send('GET', path, { headers: door.as(who) })
        const [event] = await eventsOf(id)
        assert.equal((await as('reader', `/events/${event?.id}`)).status, 200)
        assert.equal((await as('nobody', `/events/${event?.id}`)).status, 404)
        const seen = (await as('nobody', '/events?limit=100')).json.data as EventContent[]
        assert.ok(seen.length > 0 && seen.every(({ type }) => type.startsWith('orderLine.')))
        const refused = await as('nobody', '/events?resource=orders')
        assert.deepEqual([refused.status, refused.json.type], [403, 'insufficient-scope'])
        assert.equal((await door.send('GET', '/events?resource=orders')).status, 401)
      },
    )

    spec('R84 R230', 'the list is read forward from where the reader left off', async () => {
      const { pagination: end } = await lastPage('')
      assert.equal(end.hasMore, false)
      const ids = [await made('a'), await made('b'), await made('c')]
      const first = (await send('GET', `/events?limit=2&cursor=${end.nextCursor}`)).json
      const next = (await send('GET', `/events?limit=2&cursor=${first.pagination.nextCursor}`)).json
      assert.deepEqual([first.pagination.hasMore, next.pagination.hasMore], [true, false])
      assert.deepEqual(
        [...first.data, ...next.data].map(({ data }: EventContent) => data.id),
        ids,
      )
      const foreign = await send('GET', `/events?type=order.created&cursor=${end.nextCursor}`)
      assert.deepEqual([foreign.status, foreign.json.errors[0].type], [400, 'cursor-mismatch'])
    })

    async function lastPage(cursor: string): Promise<{ pagination: { hasMore: boolean; nextCursor: string } }> {
      const { json } = await send('GET', `/events?limit=100&cursor=${cursor}`)
      return json.pagination.hasMore ? lastPage(json.pagination.nextCursor) : json
    }

    spec('R121 R139', 'a list of events has a tag, and an unchanged one is answered 304', async () => {
      const { headers } = await send('GET', '/events')
      const again = await send('GET', '/events', undefined, { 'if-none-match': headers.etag as string })
      assert.deepEqual([again.status, again.text], [304, ''])
    })

    spec('R213', 'a stream sends events as they happen, each with id, event and data on one line', async () => {
      const opened = await door.open('/events', { accept: 'text/event-stream', ...door.as('clerk') })
      const about = ['content-type', 'cache-control', 'etag'].map((name) => opened.headers.get(name))
      assert.deepEqual([opened.status, ...about], [200, 'text/event-stream', 'no-store', null])
      const id = await made('streamed\nsecond line')
      const text = await readUntil(opened, /data: .*\n\n/)
      const [event] = await eventsOf(id)
      assert.ok(text.endsWith(`id: ${event?.id}\nevent: order.created\ndata: ${JSON.stringify(event)}\n\n`), text)
      const headers = Object.fromEntries(opened.headers)
      assert.deepEqual(undescribed(eventShop, { method: 'GET', target: '/events', status: 200, headers, text }), [])
    })

    spec('R213', 'a stream continues after Last-Event-ID, or begins with a gap if that event was deleted', async () => {
      const id = await made('resumed')
      await send('POST', `/orders/${id}/placements`)
      const [created, placed] = await eventsOf(id)
      const stream = { accept: 'text/event-stream', ...door.as('clerk') }
      const path = `/events?item=${id}`
      const resumed = await readUntil(
        await door.open(path, { ...stream, 'last-event-id': created?.id as string }),
        /data: .*\n\n/,
      )
      assert.match(resumed, new RegExp(`^: events\n\nid: ${placed?.id}\n`))
      const gone = { ...stream, 'last-event-id': 'evt_00000000000000000000000000' }
      const all = await readUntil(await door.open(path, gone), /event: order.placed/)
      assert.match(all, new RegExp(`event: gap\ndata: {}\n\nid: ${created?.id}\n`))
      const wrong = await send('GET', path, undefined, { ...stream, 'last-event-id': 'seven' })
      assert.deepEqual([wrong.status, wrong.json.type], [400, 'malformed-request'])
      const since = await door.open(`${path}&since=${created?.timestamp}`, stream)
      assert.match(await readUntil(since, /order.placed/), /event: order.created/)
    })

    spec('R213', 'a stream is for clients that prefer it and may read', async () => {
      const list = await send('GET', '/events', undefined, { accept: 'application/json, text/event-stream;q=0.5' })
      assert.equal(list.headers['content-type'], 'application/json')
      const stream = { accept: 'text/event-stream' }
      const refused = await door.send('GET', '/events?resource=orders', {
        headers: { ...stream, ...door.as('nobody') },
      })
      assert.deepEqual([refused.status, refused.json.type], [403, 'insufficient-scope'])
      const head = await send('HEAD', '/events', undefined, stream)
      assert.deepEqual([head.status, head.headers['content-type'], head.text], [200, 'text/event-stream', ''])
      assert.equal((await send('GET', '/orders', undefined, stream)).status, 406)
    })
  },
  { holders },
)

doors('thin events in the form of CloudEvents', thinShop, (door: Door) => {
  spec('R208', 'events.format: cloudevents makes each event a structured CloudEvent', async () => {
    const { id, updated_at: time } = (await door.send('POST', '/order-lines', { json: { amount: 1 } })).json
    const { json } = await door.send('GET', `/events?item=${id}`)
    const [{ id: event, ...rest }] = json.data
    assert.match(event, /^evt_/)
    assert.deepEqual(rest, {
      ...{ specversion: '1.0', source: '/order-lines', type: 'order_line.created', subject: id, time },
      ...{ datacontenttype: 'application/json', dataschema: 'urn:thin-shop:v1', sequence: '1', data: { id } },
    })
  })

  spec('R207', 'events.payload: thin carries only the id', async () => {
    const { id } = (await door.send('POST', '/order-lines', { json: { amount: 2 } })).json
    await door.send('PATCH', `/order-lines/${id}`, { json: { amount: 3 } })
    const { json } = await door.send('GET', `/events?item=${id}`)
    assert.deepEqual(
      json.data.map(({ type, data }: EventContent) => [type, data]),
      [
        ['order_line.created', { id }],
        ['order_line.updated', { id }],
      ],
    )
  })

  spec('R213', 'without events.stream a stream is not acceptable', async () => {
    const { status } = await door.send('GET', '/events', { headers: { accept: 'text/event-stream' } })
    assert.equal(status, 406)
  })
})
