/** Webhooks: names, versions and forms of endpoints, deliveries and events. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { verify } from 'bylaw/webhooks'
import { standardCorridor } from '../../src/corridor/handle.ts'
import { openapiDocument } from '../../src/describe/openapi.ts'
import { judgeOf } from '../help/described.ts'
import { hookShop } from '../help/events.ts'
import { places } from '../help/places.ts'
import type { Doc } from '../help/schemas.ts'
import { receiver, webhookNode } from '../help/webhooks.ts'

const scopes = ['order-notes:read', 'webhook-endpoints:read', 'webhook-endpoints:write']
const settings = { naming: 'snake', events: { webhooks: true } } as const
const resources = {
  'order-notes': {
    prefix: 'ord',
    fields: { note_text: f.text() },
    access: { read: 'order-notes:read', write: 'public' },
  },
} as const
const declared = { events: true, scopes: { 'order-notes:read': 'Read notes' }, resources } as const
const snakeShop = service({ ...declared, name: 'snake-shop', settings })
const cloudShop = (payload: 'full' | 'thin') =>
  service({
    ...declared,
    name: 'cloud-shop',
    settings: { ...settings, events: { webhooks: true, format: 'cloudevents', payload } },
  })

/** The names of all members, without those of headers. */
const namesIn = (value: unknown): string[] =>
  typeof value !== 'object' || value === null
    ? []
    : Object.entries(value).flatMap(([name, one]) => [
        ...(Array.isArray(value) ? [] : [name]),
        ...(name === 'headers' ? [] : namesIn(one)),
      ])

for (const [name, place] of places) {
  test(`R36 R212 R215: all members of endpoints and deliveries have the names of the settings, as described, on ${name}`, async (t) => {
    const answers = [500, 204]
    const { url, received } = await receiver(t, () => ({ status: answers.shift() ?? 204, headers: {}, body: 'text' }))
    const { send, pass } = webhookNode(t, (await place(t)).url, snakeShop as never, scopes)
    const judge = judgeOf(openapiDocument(snakeShop as unknown as Service, 'v1', standardCorridor) as Doc)
    const bodies: unknown[] = []
    const ask = async (method: string, path: string, json?: object) => {
      const { status, headers, body } = await send(method, path, json)
      assert.ok(status < 300, `${method} ${path}: ${JSON.stringify(body)}`)
      const text = body === undefined ? '' : JSON.stringify(body)
      assert.deepEqual(judge({ method, target: path, status, headers: Object.fromEntries(headers), text }), [])
      bodies.push(body)
      return body
    }
    const made = await ask('POST', '/webhook-endpoints', { url, event_types: ['order_note.*'] })
    await ask('POST', '/order-notes', { note_text: 'a' })
    await pass('PT0.1S')
    await pass('PT8S')
    assert.equal(received.length, 2)
    const { data } = await ask('GET', `/webhook-deliveries?endpoint_id=${made.id}`)
    const [{ id, attempts, request }] = data
    assert.deepEqual(
      attempts.map((one: Record<string, unknown>) => [one.response_status, one.error, one.response]),
      [
        [500, 'The endpoint answered 500.', 'text'],
        [204, null, ''],
      ],
    )
    assert.deepEqual(request.headers, { 'content-type': 'application/json', 'user-agent': 'bylaw-webhooks' })
    assert.equal(request.body, received[1]?.body)
    await ask('POST', `/webhook-deliveries/${id}/retries`)
    await ask('POST', `/webhook-endpoints/${made.id}/tests`)
    await ask('POST', `/webhook-endpoints/${made.id}/secret-rotations`, { overlap: 'PT1H' })
    const since = '2020-01-01T00:00:00Z'
    await ask('POST', `/webhook-endpoints/${made.id}/replays`, { since, event_types: ['order_note.created'] })
    await ask('PATCH', `/webhook-endpoints/${made.id}`, { status: 'disabled' })
    await ask('GET', '/webhook-endpoints')
    await pass('PT1S')
    bodies.push(...received.map(({ body }) => JSON.parse(body)))
    const events = received.map(({ body }) => JSON.parse(body).type)
    assert.deepEqual(new Set(events), new Set(['order_note.created']))
    const wrong = namesIn(bodies).filter((one) => !/^_?[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(one))
    assert.deepEqual(wrong, [])
    const refused = await send('POST', '/webhook-endpoints', { url: 'https://a:b@c.example', event_types: ['x.y'] })
    const pointers = refused.body.errors.map(({ pointer }: { pointer: string }) => pointer)
    assert.deepEqual(pointers, ['/url', '/event_types/0'])
  })

  test(`R194 R207 R212: an endpoint of an older version gets its names and shapes, on ${name}`, async (t) => {
    const { url, received } = await receiver(t)
    const { send, pass } = webhookNode(t, (await place(t)).url, hookShop as never, scopes)
    const make = (version: string, eventTypes: string[]) =>
      send('POST', '/webhook-endpoints', { url, eventTypes }, { version })
    const refused = await make('v1', ['orderNote.created'])
    assert.equal(refused.status, 400, 'the older version has other types')
    const older = await make('v1', ['remark.*'])
    assert.deepEqual([older.status, older.body.version], [201, 'v1'])
    await send('POST', '/order-notes', { noteText: 'a' })
    await pass('PT0.1S')
    const [first] = received
    const event = await verify(first?.headers as never, first?.body as string, [older.body.secret])
    assert.deepEqual([event.type, event.version, event.data.words], ['remark.created', 'v1', 'a'])
    assert.ok(!('noteText' in event.data))
    const newer = await make('v2', ['orderNote.placed'])
    const { body } = await send('GET', '/webhook-deliveries')
    assert.equal(body.data[0].eventType, 'remark.created')
    received.length = 0
    await send('POST', `/webhook-endpoints/${older.body.id}/tests`)
    await send('POST', `/order-notes/${event.data.id}/placements`)
    await pass('PT0.1S')
    const got = received.map(({ body: text }) => JSON.parse(text)).map((one) => `${one.type} ${one.version}`)
    assert.deepEqual(got.sort(), ['orderNote.placed v2', 'remark.created v1', 'remark.placed v1'])
    const ofVersion = async (method: string, path: string, json: object) =>
      (await send(method, path, json, { version: 'v2' })).status
    const own = `/webhook-endpoints/${older.body.id}`
    for (const [eventTypes, changed, replayed] of [
      [['remark.created'], 200, 202],
      [['orderNote.created'], 400, 400],
    ] as const) {
      assert.equal(await ofVersion('PATCH', own, { eventTypes }), changed)
      assert.equal(await ofVersion('POST', `${own}/replays`, { since: '2020-01-01T00:00:00Z', eventTypes }), replayed)
    }
    // An endpoint stays in its version, whichever version a later request asks for.
    const changed = await send(
      'PATCH',
      `/webhook-endpoints/${older.body.id}`,
      { description: 'old' },
      { version: 'v2' },
    )
    assert.deepEqual([changed.status, changed.body.version, newer.body.version], [200, 'v1', 'v2'])
  })

  test(`R208 R209: deliveries of CloudEvents, whole and thin, on ${name}`, async (t) => {
    for (const payload of ['full', 'thin'] as const) {
      const { url, received } = await receiver(t)
      const { send, pass } = webhookNode(t, (await place(t)).url, cloudShop(payload) as never, scopes)
      const { body: made } = await send('POST', '/webhook-endpoints', { url, event_types: ['order_note.created'] })
      const { body: note } = await send('POST', '/order-notes', { note_text: 'a' })
      await pass('PT0.1S')
      await send('POST', `/webhook-endpoints/${made.id}/tests`)
      await pass('PT0.1S')
      assert.equal(received.length, 2)
      const sample = JSON.parse(received[1]?.body as string)
      assert.equal(sample.dataschema, 'urn:cloud-shop:v1')
      assert.deepEqual(Object.keys(sample), Object.keys(JSON.parse(received[0]?.body as string)))
      const [{ headers, body }] = received as [(typeof received)[number]]
      assert.equal(headers['content-type'], 'application/cloudevents+json')
      await verify(headers as never, body, [made.secret])
      const { id, time, ...event } = JSON.parse(body)
      assert.equal(id, headers['webhook-id'])
      assert.equal(time, note.created_at)
      const data = payload === 'thin' ? { id: note.id } : note
      assert.deepEqual(event, {
        ...{ specversion: '1.0', source: '/order-notes', type: 'order_note.created', subject: note.id },
        ...{ datacontenttype: 'application/json', dataschema: 'urn:cloud-shop:v1', sequence: '1', data },
      })
    }
  })
}
