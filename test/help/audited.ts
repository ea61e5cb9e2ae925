/** Compares the events of a service with the items that GET showed: each revision has one event with the content of that time. */
import assert from 'node:assert/strict'
import type { Service } from 'bylaw'
import { type As, testing } from 'bylaw/testing'
import type { Resource } from '../../src/resources/resource.ts'
import type { Place } from './places.ts'

export interface EventContent {
  readonly id: string
  readonly type: string
  readonly timestamp: string
  readonly version: string
  readonly sequence: number
  readonly data: Readonly<Record<string, unknown>>
}

/** The parts of an answer that tests check. */
export interface Told {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked at as they are
  readonly json: any
}

interface Auditor {
  /** The first parts of the types of events, by resource. */
  readonly resources: Readonly<Record<string, string>>
  readonly as?: As
}

const nameOf = (resource: string, id: unknown, parent: unknown): string =>
  `${resource}/${parent ? `${parent}/` : ''}${id}`

/** A node on a database whose items are read after each request. */
// long because: what was shown, and what is compared with it, belong together
export function audited(api: Service, { url, rows }: Place, { resources, as }: Auditor) {
  const { call, pass, close } = testing(api, { database: url, allowMisfits: true })
  const shown = new Map<string, string>()
  const present = new Set<string>()

  const declared = (resource: string) => api.resources.get(resource) as Resource
  const idIn = (resource: string, data: EventContent['data']) => data[declared(resource).key ?? 'id']
  const parentIn = (resource: string, data: EventContent['data']) =>
    declared(resource).collection.composite ? data[declared(resource).parent?.field ?? ''] : null
  const pathOf = (resource: string, { id, parent }: Record<string, unknown>) =>
    parent ? `/${declared(resource).parent?.resource}/${parent}/${resource}/${id}` : `/${resource}/${id}`

  const ask = async (
    method: string,
    path: string,
    json?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Told> => {
    const init = { method, headers, ...(json === undefined ? {} : { json }), ...(as && { as }) }
    const answer = await call(path, init)
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, json: text === '' ? null : JSON.parse(text) }
  }

  /** Reads all items that have changed: each of their revisions has to have an event with the same content. */
  const look = async (again = false): Promise<void> => {
    present.clear()
    const all = Object.keys(resources).map((resource) => {
      const { composite, table } = declared(resource).collection
      return `SELECT '${resource}' AS resource, id, ${composite ? 'parent' : "''"} AS parent, revision FROM "${table}"`
    })
    for (const row of await rows(all.join(' UNION ALL '))) {
      const resource = String(row.resource)
      const name = nameOf(resource, row.id, row.parent)
      const at = `${name} ${row.revision}`
      present.add(name)
      if (shown.has(at) && !again) continue
      const { status, json } = await ask('GET', pathOf(resource, row))
      assert.equal(status, 200, `${name}: ${JSON.stringify(json)}`)
      const { _links, ...item } = json
      const text = JSON.stringify(item)
      assert.equal(shown.get(at) ?? text, text, `${at} has changed without a revision`)
      shown.set(at, text)
    }
  }

  /** All events. */
  const listed = async (): Promise<EventContent[]> => {
    const found: EventContent[] = []
    for (let [next, more] = ['', true]; more; ) {
      const { status, json } = await ask('GET', `/events?limit=100&cursor=${next}`)
      assert.equal(status, 200, JSON.stringify(json))
      found.push(...json.data)
      next = json.pagination.nextCursor
      more = json.pagination.hasMore
    }
    return found
  }

  /** All events, by item; fails unless they match all revisions and deletions that the test has seen. */
  const audit = async (): Promise<ReadonlyMap<string, readonly EventContent[]>> => {
    await look(true)
    const events = await listed()
    assert.equal(new Set(events.map(({ id }) => id)).size, events.length)
    const named = new Map(Object.entries(resources).map(([resource, prefix]) => [prefix, resource]))
    const items = Map.groupBy(events, (event) => {
      const resource = named.get(event.type.split('.')[0] as string) as string
      return nameOf(resource, idIn(resource, event.data), parentIn(resource, event.data))
    })
    for (const [name, own] of items) judge(name, own)
    for (const [at, text] of shown) {
      const [name = '', revision] = at.split(' ')
      const same = (items.get(name) ?? []).filter(({ sequence }) => sequence === Number(revision))
      assert.equal(same.length, 1, `${at} has ${same.length} events`)
      assert.deepEqual(same[0]?.data, JSON.parse(text), at)
    }
    const left = [...items].flatMap(([name, own]) => (isDeletion(own.at(-1)) ? [] : [name]))
    assert.deepEqual(left.toSorted(), [...present].toSorted())
    return items
  }

  return { call, ask, pass, look, listed, audit, close }
}

const actionOf = (event: EventContent | undefined): string => event?.type.split('.')[1] ?? ''
const isDeletion = (event: EventContent | undefined): boolean => actionOf(event) === 'deleted'

/** The events of one item: it is created, has each revision once and in order, and shows its last state when deleted. */
function judge(name: string, events: readonly EventContent[]): void {
  let before: EventContent | undefined
  for (const event of events) {
    const isFirst = before === undefined || isDeletion(before)
    assert.equal(actionOf(event) === 'created', isFirst, `${name}: ${JSON.stringify([before, event])}`)
    const next = (before?.sequence ?? 0) + 1
    if (before === undefined || isFirst) assert.ok(event.sequence >= next, name)
    else assert.equal(event.sequence, next, `${name}: ${JSON.stringify([before, event])}`)
    if (isDeletion(event)) assert.deepEqual(event.data, before?.data, name)
    assert.ok(before === undefined || event.timestamp >= before.timestamp, name)
    before = event
  }
}
