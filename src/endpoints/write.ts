/** What replacing, changing and removing share: read, decide, write in one step. Part 4, methods. */

import { beyond } from '../auth/allow.ts'
import { timestampOf } from '../flow/call.ts'
import { type Caller, permits } from '../flow/caller.ts'
import type { Asked, Conditions, Document, Intent } from '../flow/intent.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { Decide, Found, Seen, Write } from '../flow/plan.ts'
import type { Reply } from '../flow/reply.ts'
import type { Route } from '../flow/route.ts'
import type { Claiming } from '../idempotency/claim.ts'
import { noParameters } from '../lists/parameters.ts'
import { cells as cellsOf, textsOf } from '../resources/collection.ts'
import type { Resource } from '../resources/resource.ts'
import { documentOf, forChange, updatedIn, withUpdated } from '../resources/row.ts'
import { renaming } from '../versions/ask.ts'
import { isConcealed, isShut, known, toldBy } from '../versions/taking.ts'
import type { Rows } from '../versions/translate.ts'
import { rulesOfChange } from './borders.ts'
import { conditions } from './conditional.ts'
import {
  admitShown,
  again,
  concealedIn,
  handOf,
  itemRead,
  itemReply,
  keyOf,
  mayRead,
  referencesOf,
  refused,
  type Scene,
} from './item.ts'
import { minimal } from './prefer.ts'
import { secretOf } from './tag.ts'

interface Writing extends Pick<Route, 'operation' | 'rule' | 'content'> {
  readonly plan: (intent: Intent) => Decide
  /** What the key of a request claims, where the method takes keys. */
  readonly claiming?: (asked: Asked) => Claiming
  readonly headers: (intent: Intent) => Record<string, string>
  /** Refuses by what is there and by the conditions of the request. */
  readonly admit: (given: Conditions | null, seen: Seen, caller: Caller) => void
}

export function writing(scene: Scene, { operation, rule, content, plan, claiming, headers, admit }: Writing): Route {
  const { resource } = scene
  return {
    operation,
    resource,
    rule,
    content,
    query: ({ target }) => {
      noParameters(target, resource.settings)
      return null
    },
    target: (asked) => itemRead(scene, asked),
    parse: (asked) => ({
      ...asked,
      key: keyOf(scene, asked),
      time: asked.world.now(),
      conditions: conditionsOf(asked),
      document: null,
      ...(claiming?.(asked) ?? { claim: null }),
    }),
    plan: (intent) => {
      const { claim, conditions: given, caller } = intent
      if (claim === null) return plan(intent)
      return { do: 'once', claim, admit: (seen) => admit(given, seen, caller), decide: plan(intent) }
    },
    render: (intent, outcome) => rendered(scene, intent, outcome, headers(intent)),
    recall: null,
    admitKey: () => {},
    admit: (asked: Asked, target) => admit(conditionsOf(asked), target as Seen, asked.caller),
  }
}

const conditionsOf = ({ call, world }: Asked): Conditions | null => conditions(call, world.now(), secretOf(world))

function rendered(scene: Scene, intent: Intent, outcome: Outcome, headers: Record<string, string>): Reply {
  if (outcome.is === 'claimed')
    return again(scene, intent, outcome, (_, row) =>
      changedReply(scene, intent, itemReply(scene, intent.caller, 200, row, intent.world)),
    )
  const written = outcome.is === 'kept' ? outcome.seen : outcome
  if (written.is !== 'found' && written.is !== 'changed' && written.is !== 'created')
    throw refused(scene, written, intent.key)
  const reply = itemReply(scene, intent.caller, written.is === 'created' ? 201 : 200, written, intent.world)
  Object.assign(reply.headers, headers)
  if (intent.call.method === 'PUT') putTags(scene.resource, intent, reply)
  if (written.is !== 'created') return changedReply(scene, intent, reply)
  reply.headers.Location = reply.headers['Content-Location'] as string
  return reply
}

/** The answer to a change of what was there before: without its content for a caller who may change the item and not read it. R168. */
function changedReply({ form: { today } }: Scene, { call, caller }: Intent, reply: Reply): Reply {
  const short = minimal(call, reply, 204)
  return mayRead(caller, today) ? short : { ...short, status: 204, body: null }
}

/** A PUT answer without content, or with `etag.onPut: verbatim` any, names a tag only for what was stored as it was sent. R123. */
function putTags({ settings }: Resource, { call, body }: Intent, reply: Reply): void {
  const bare = minimal(call, reply, 204) !== reply || settings.etag.onPut === 'verbatim'
  if (bare && JSON.stringify(body) !== reply.body)
    for (const name of ['ETag', 'Last-Modified']) delete reply.headers[name]
}

/** What a request of an older version writes to other rows, which have fields of it today. */
export function alongOf(
  scene: Scene,
  intent: Intent,
  document: Document,
  rows: Rows = [],
): { along?: readonly Decide[] } {
  const others = scene.form.along(intent.body as Document, document, rows)
  if (others.length === 0) return {}
  const along = others.flatMap(({ by, today, patch }): Decide[] => {
    const id = document[by]
    if (typeof id !== 'string') return [] // the row itself keeps what no other one has
    const key = { id, parent: null, account: intent.caller.account }
    const names = (field: string) => scene.form.names(field, today.name)
    const hand = toldBy({ names }, handOf(scene, intent, today))
    return [
      {
        do: 'decide',
        read: { do: 'read', collection: today.name, key, time: intent.time },
        decide: (seen) => {
          if (seen.is !== 'found') return { do: 'keep' }
          const before = documentOf(today, seen.doc, seen.hidden)
          const wanted = patch(known({ today }, before, hand, (...it) => isConcealed(...it) || isShut(...it)))
          const [first] = Object.keys(wanted)
          if (first === undefined && !hand.blind) return { do: 'keep' }
          admitMove(scene, intent, today, names(first ?? '')[0] ?? '')
          const after = renaming({ names }, () => forChange(today, wanted, before, key, hand))
          const always = hand.blind || today.members.some(({ hidden, name }) => hidden && Object.hasOwn(wanted, name))
          return update(today, { ...intent, key }, seen, before, after, always)
        },
      },
    ]
  })
  return { along }
}

/** Refuses to write a field to a row that the caller could not change directly. R169. */
function admitMove(scene: Scene, { caller }: Intent, today: Resource, field: string): void {
  const rules = rulesOfChange(scene, today)
  if (rules.some((one) => permits(caller, one))) return
  const { challenge, resource } = scene
  const doing = `write ${field}, which ${today.name} have,`
  throw beyond(doing, rules[0], { caller, challenge, auth: resource.settings.auth })
}

/**
 * Makes the write of a request to its own row. A write-only value that is sent counts as a change, in older versions also what such
 * a value is made of, and every write of a caller who may not read the item: a tag that stays would tell a right guess from a wrong one.
 */
export function updating(scene: Scene): (intent: Intent, seen: Found, before: Document, document: Document) => Write {
  const hidden = concealedIn(scene, (member) => member.hidden)
  return (intent, seen, before, document) => {
    const always =
      !mayRead(intent.caller, scene.form.today) || Object.keys(intent.body ?? {}).some((name) => hidden.has(name))
    const write = update(scene.form.today, intent, seen, before, document, always)
    if (write.do === 'update') admitShown(scene, intent.caller, document, seen.beside)
    return write
  }
}

/** The write that makes a row what it is to be; none where it is that already, unless a request always counts as a change. R112. */
function update(
  resource: Resource,
  intent: Intent,
  seen: Found,
  before: Document,
  document: Document,
  always: boolean,
): Write {
  const { collection } = resource
  const { doc, hidden } = textsOf(collection, document)
  if (!always && doc === seen.doc && hidden === seen.hidden) return { do: 'keep' }
  const time = later(timestampOf(intent.time), updatedIn(seen.doc))
  document[resource.updated] = time
  const [stood, cells] = [cellsOf(collection, before), cellsOf(collection, document)]
  return {
    do: 'update',
    collection: resource.name,
    key: intent.key,
    revision: seen.revision,
    time: intent.time,
    row: { doc: withUpdated(doc, time), hidden, cells },
    moved: cells.flatMap((cell, i) => (cell === stood[i] ? [] : [i])),
    references: referencesOf(resource, document, before),
  }
}

const later = (a: string, b: string): string => (a > b ? a : b)
