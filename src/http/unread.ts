/** Remembers the tags of lists for as long as nothing was written, so that an unchanged list is not read again. Part 7. */
import { negotiate } from '../endpoints/accept.ts'
import type { Call } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'
import type { Route } from '../flow/route.ts'
import type { Store } from '../flow/store.ts'
import { willCode } from './coding.ts'
import { unchanged } from './unchanged.ts'

/** What was answered, and the state of the store that it was read from. */
interface Known {
  readonly mark: string
  readonly reply: Reply
}

const most = 500
const known = new WeakMap<Store, Map<string, Known>>()

/** The state that a list is read from: that of its collection and of its owner's. Null for what is no list, or changes with time. */
export function markOf({ method, content }: Call, { operation, resource }: Route, store: Store): string | null {
  if (operation !== 'list' || (method !== 'GET' && method !== 'HEAD') || content !== null) return null
  if (resource.settings.list.cursor.ttl !== null) return null
  return store.mark(resource.parent ? [resource.name, resource.parent.resource] : [resource.name])
}

/** 304, where the client has what it was given before and nothing was written since; null where the list has to be read. R139. */
export function unread(call: Call, route: Route, store: Store): Reply | null {
  if (call.headers['if-none-match'] === undefined) return null
  const before = known.get(store)?.get(call.target)
  if (!before || before.mark !== markOf(call, route, store)) return null
  negotiate(call)
  const reply = { ...before.reply, headers: { ...before.reply.headers } }
  const told = unchanged(call, reply, willCode(call, reply, route.resource.settings))
  return told === reply ? null : told
}

/** The text is kept too: its length says whether it would be coded, and so which tag it has. */
export function remember({ target }: Call, store: Store, { mark, reply }: Known): void {
  if (reply.status !== 200 || reply.headers.ETag === undefined) return
  const all = known.get(store) ?? new Map<string, Known>()
  if (all.size >= most) all.clear()
  known.set(store, all.set(target, { mark, reply: { ...reply, headers: { ...reply.headers } } }))
}
