/** Events: a client that reads them from where it left off, and compares them with what the ledger knows of things. */
import { setTimeout as pause } from 'node:timers/promises'
import type { ClientContext } from './client.ts'
import type { Item } from './ledger.ts'

interface Event {
  readonly id: string
  readonly type: string
  readonly sequence: number
  readonly data: { readonly id: string; readonly stamp?: string; readonly thingId?: string }
}

/** The events that a reader has seen. */
export class Seen {
  cursor = ''
  readonly ids = new Set<string>()
  /** The stamps of each thing by revision; the last one of a deleted thing is that of its deletion. */
  readonly things = new Map<string, string[]>()
  readonly deleted = new Set<string>()
  /** The notes that exist, each with its thing. */
  readonly notes = new Map<string, string>()
}

/** Reads events until the last one; false if the service did not answer. */
export async function follow({ ask, ledger, seen }: ClientContext): Promise<boolean> {
  for (let more = true; more; ) {
    const answer = await ask('GET', `/events?limit=30&cursor=${seen.cursor}`)
    if (answer === null || answer === 'late' || answer.status === 503) return false
    if (answer.status !== 200) {
      ledger.violated(`GET /events answers ${answer.status} ${answer.text.slice(0, 500)}`)
      return false
    }
    for (const event of answer.json.data) take(event, seen, (what) => ledger.violated(what))
    seen.cursor = answer.json.pagination.nextCursor
    more = answer.json.pagination.hasMore
  }
  return true
}

/** Follows events while clients write. */
export async function following(context: ClientContext): Promise<void> {
  while (!context.stopping()) {
    await context.up()
    await follow(context)
    await pause(5)
  }
}

function take({ id, type, sequence, data }: Event, seen: Seen, say: (what: string) => void): void {
  if (seen.ids.has(id)) say(`the event ${id} was read twice`)
  seen.ids.add(id)
  if (type === 'note.created') seen.notes.set(data.id, data.thingId ?? '')
  else if (type === 'note.deleted' && !seen.notes.delete(data.id)) say(`${data.id} is deleted, but was not created`)
  if (!type.startsWith('thing.')) return
  const stamps = seen.things.get(data.id) ?? []
  if (sequence !== stamps.length + 1)
    say(`event ${sequence} of ${data.id} follows ${stamps.length} others: ${type} ${id}`)
  if (seen.deleted.has(data.id)) say(`${type} of ${data.id} follows its deletion`)
  seen.things.set(data.id, [...stamps, data.stamp ?? ''])
  if (type === 'thing.deleted') seen.deleted.add(data.id)
}

/** How long events may take to be listed after the last write, in milliseconds. */
const patience = 20_000

/** After all writes have ended, each thing has an event for each of its revisions, and no others. */
export async function checkEvents(context: ClientContext): Promise<void> {
  const { ledger, seen } = context
  const items = [...ledger.items.values()]
  const isSeen = (item: Item): boolean =>
    item.gone ? seen.deleted.has(item.id) : (seen.things.get(item.id)?.length ?? 0) >= item.revision
  const until = performance.now() + patience
  do {
    if (!(await follow(context))) await pause(100)
  } while (!items.every(isSeen) && performance.now() < until && (await pause(20, true)))
  for (const item of items) {
    const { id, revision, gone, writers } = item
    const stamps = seen.things.get(id) ?? []
    const last = stamps.length - (seen.deleted.has(id) ? 1 : 0)
    if (!isSeen(item))
      ledger.violated(`${id} at revision ${revision}${gone ? ', gone,' : ''} has ${stamps.length} events`)
    if (!gone && (last !== revision || seen.deleted.has(id)))
      ledger.violated(`${id} is at revision ${revision} and has ${stamps.length} events`)
    for (const [at, writer] of writers)
      if (!writer.startsWith('a write') && stamps[at - 1] !== writer)
        ledger.violated(`the event of ${id} at revision ${at} shows ${stamps[at - 1]}, but ${writer} was written there`)
  }
  for (const [id, { length }] of seen.things)
    if (!ledger.items.has(id)) ledger.violated(`${id} has ${length} events and nobody knows it`)
  for (const [note, thing] of seen.notes)
    if (seen.deleted.has(thing)) ledger.violated(`the event of the deletion of ${note} is missing`)
}
