/** Creates an item below its collection: POST. Part 4, methods. */

import { timestampOf } from '../flow/call.ts'
import { homed } from '../flow/home.ts'
import type { Asked, Document, Intent } from '../flow/intent.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { Claim, Create, Key } from '../flow/plan.ts'
import type { Reply } from '../flow/reply.ts'
import type { Route } from '../flow/route.ts'
import { claimOfCreate } from '../idempotency/claim.ts'
import { noParameters } from '../lists/parameters.ts'
import { ruleFor } from '../resources/declaration.ts'
import type { Resource } from '../resources/resource.ts'
import { type Address, rowOf } from '../resources/row.ts'
import { admitCreate, conditions } from './conditional.ts'
import {
  admitPresent,
  admitShown,
  again,
  concealedIn,
  handOf,
  isAbsent,
  itemReply,
  ownerOf,
  pathOf,
  referencesOf,
  refused,
  repeat,
  type Scene,
} from './item.ts'
import { ownerRead } from './list.ts'
import { minimal } from './prefer.ts'
import { alongOf } from './write.ts'

export function create(scene: Scene): Route {
  const { resource } = scene
  const concealed = concealedIn(scene)
  const owner = (asked: Asked) => ownerOf(scene, asked.params[0] ?? null)
  return {
    operation: 'create',
    resource,
    rule: ruleFor(resource.access, 'create') as string,
    content: ['application/json'],
    query: ({ target }) => {
      noParameters(target, resource.settings)
      return null
    },
    target: (asked) => ownerRead(owner(asked), asked),
    parse: (asked) => parsed(scene, asked, concealed),
    plan: (intent) => planned(scene, intent, owner(intent)),
    render: (intent, outcome) => {
      if (outcome.is === 'claimed') return again(scene, intent, outcome, (...it) => made(scene, intent, ...it))
      if (outcome.is !== 'created') throw unmade(scene, intent, outcome)
      return made(scene, intent, intent.key, outcome)
    },
    recall: (asked) => {
      const { claim } = claimOfCreate(asked, scene.form.today, concealed)
      return claim && { do: 'recall', claim }
    },
    admitKey: (asked, own, known) => {
      if (known.is === 'claimed') throw repeat(scene, own, known, asked.carried)
    },
    admit: (asked, target) => {
      admitPresent(scene, target)
      admitCreate(conditions(asked.call, asked.world.now()))
    },
  }
}

function made(scene: Scene, { call, caller, carried, world }: Intent, key: Address, row: Stored): Reply {
  const { resource } = scene
  const reply = itemReply(scene, caller, 201, row, world)
  const path = pathOf(resource, key, carried)
  Object.assign(reply.headers, { Location: path, 'Content-Location': path })
  return resource.settings.prefer.minimalOnCreate ? minimal(call, reply, 201) : reply
}

function parsed(scene: Scene, asked: Asked, concealed: ReadonlySet<string>): Intent {
  const resource = scene.form.today
  admitCreate(conditions(asked.call, asked.world.now()))
  const { claim, body } = claimOfCreate(asked, resource, concealed)
  const document = scene.form.create(body, handOf(scene, asked))
  const time = asked.world.now()
  const key = newKey(resource, document, asked, claim)
  stamped(resource, document, key, asked.params[0] ?? null, time)
  admitShown(scene, asked.caller, document)
  return { ...asked, key, time, conditions: null, claim, document }
}

/** An id that is made with a key lies where the key does. */
function newKey(
  resource: Resource,
  document: Document,
  { params, caller: { account }, world }: Asked,
  claim: Claim | null,
): Key {
  const parent = resource.collection.composite ? (params[0] as string) : null
  if (resource.key !== null) return { id: String(document[resource.key]), parent, account }
  if (typeof document.id === 'string') return { id: document.id, parent, account }
  const { id: maker } = resource.settings.resource
  const made = () => world.newId(resource.prefix as string)
  const id = typeof maker === 'function' ? `${resource.prefix}_${maker()}` : claim ? homed(made(), claim.hash) : made()
  if (!resource.isId(id))
    throw new Error(`The generator of ${resource.name} made ${JSON.stringify(id)}, which is no id.`)
  return { id, parent, account }
}

function planned(scene: Scene, intent: Intent, owner: Create['parent']): Create {
  const { key, time, claim } = intent
  const { today, beside } = scene.form
  const document = intent.document as Document
  const birth = { ...creation(today, document, { key, owner, time }), claim }
  return beside.length === 0 ? birth : { ...birth, beside, ...alongOf(scene, intent, document) }
}

/** Why nothing was made. An id that the service itself made, in use or deleted, is no fault of the caller. R36, R152. */
function unmade(scene: Scene, { key }: Intent, outcome: Outcome): Error {
  const { name, settings } = scene.form.today
  const clash =
    outcome.is === 'duplicate' ? (outcome.fields[0] ?? 'id') === 'id' : isAbsent(outcome) && outcome.collection === name
  if (clash && typeof settings.resource.id === 'function')
    return new Error(`The generator of ${name} made ${key.id}, which is in use or was.`)
  // Where nobody is told of deletions, a chosen id that was deleted is just not free. R134
  const secret = outcome.is === 'gone' && outcome.collection === name && settings.deleted.status === 404
  return refused(scene, secret ? { is: 'duplicate', fields: ['id'] } : outcome, key)
}

/** A document with what the service itself puts in. */
export function stamped(
  resource: Resource,
  document: Document,
  key: Key,
  parent: string | null,
  time: number,
): Document {
  document.id = key.id
  if (resource.parent && parent !== null) document[resource.parent.field] = parent
  document[resource.created] = document[resource.updated] = timestampOf(time)
  return document
}

/** The text of a row and its revision. */
interface Stored {
  readonly doc: string
  readonly revision: number
}

interface Birth {
  readonly key: Key
  readonly owner: Create['parent']
  readonly time: number
}

export function creation(resource: Resource, document: Document, { key, owner, time }: Birth): Create {
  const chosen = resource.key !== null || resource.settings.resource.id !== 'typeid'
  return {
    do: 'create',
    collection: resource.name,
    key,
    parent: owner,
    row: rowOf(resource, document),
    time,
    id: chosen ? 'chosen' : 'fresh',
    references: referencesOf(resource, document),
    claim: null,
  }
}
