/** What the stories of items share: addresses, answers that carry an item, and the refusals of a store. Part 4, endpoints. */
import { closed } from '../auth/allow.ts'
import { invalidBody, Problem, type Violation } from '../errors/problem.ts'
import type { Carried, World } from '../flow/call.ts'
import { type Caller, permits } from '../flow/caller.ts'
import type { Asked, Document, Intent } from '../flow/intent.ts'
import type { Claimed, Duplicate, Outcome, Unmet } from '../flow/outcome.ts'
import type { Absent, Claim, Key, Other, Read } from '../flow/plan.ts'
import type { Reply } from '../flow/reply.ts'
import { keptAnswer, repeated } from '../idempotency/claim.ts'
import { type Reference, textsOf } from '../resources/collection.ts'
import { ruleFor } from '../resources/declaration.ts'
import { referencesIn } from '../resources/relations.ts'
import type { Member, Resource } from '../resources/resource.ts'
import type { Address, Hand } from '../resources/row.ts'
import { violationsIn } from '../versions/ask.ts'
import type { Form } from '../versions/translate.ts'
import { isSettled, lastChange } from './conditional.ts'
import { etag, secretOf } from './tag.ts'
import { audible, audibleBeside, shown as seenIn, type View } from './view.ts'

/** What a story is made from. */
export interface Scene {
  /** The resource, and all of them, as the version has them; their collections are those of today. */
  readonly resource: Resource
  readonly resources: ReadonlyMap<string, Resource>
  /** All resources as they are stored. */
  readonly stored: ReadonlyMap<string, Resource>
  /** How a caller sees the resource. */
  readonly view: (caller: Pick<Caller, 'scopes' | 'account'>) => View
  /** How a caller is asked for more rights. R169. */
  readonly challenge: string
  /** How the version sends and takes what is stored. */
  readonly form: Form
}

/** The resource, as the version has it, that the store knows by a name. */
const kept = ({ resources }: Scene, collection: string): Resource | undefined =>
  [...resources.values()].find((one) => one.collection.name === collection)

/** The key of the addressed item; a text that cannot be one is not looked up. R9. */
export function keyOf({ resource }: Scene, { params, caller }: Asked): Key {
  const id = params[params.length - 1] as string
  const parent = resource.collection.composite ? (params[0] as string) : null
  if (!resource.isId(id)) throw missing(resource, id)
  return { id, parent, account: caller.account }
}

export function itemRead(scene: Scene, asked: Asked): Read {
  const key = keyOf(scene, asked)
  ownerOf(scene, key.parent)
  const { beside } = scene.form
  const own: Read = { do: 'read', collection: scene.resource.collection.name, key, time: asked.world.now() }
  return beside.length === 0 ? own : { ...own, beside }
}

/** Whether a caller may read the items of a resource, as it is stored. */
export const mayRead = (caller: Caller, { access }: Resource): boolean => permits(caller, ruleFor(access, 'read'))

/** What a caller may write to a row: of the own resource, or of another one that has fields of it. */
export const handOf = (
  { challenge, resource, form }: Scene,
  { caller }: Pick<Asked, 'caller'>,
  today = form.today,
): Hand => ({
  scopes: caller.scopes,
  blind: !mayRead(caller, today),
  refuse: (field, scopes) => closed(field, 'write', scopes, { caller, challenge, auth: resource.settings.auth }),
})

/** The fields of a body whose values not everybody is shown, or that such values are made of. R169. */
export function concealedIn({ resource, form }: Scene, isConcealed = isUnseen): ReadonlySet<string> {
  const own = resource.members.filter(isConcealed).map(({ name }) => name)
  const today = form.today.members.filter(isConcealed).flatMap(({ name }) => form.names(name))
  const moved = form.moved.filter(({ today, fields }) =>
    today.members.some((one) => fields.includes(one.name) && isConcealed(one)),
  )
  return new Set([...own, ...today, ...moved.map(({ name }) => name)])
}

const isUnseen = ({ hidden, read }: Member): boolean => hidden || read !== null

/** The owner below which a path goes, if it does. */
export function ownerOf({ resource, resources }: Scene, id: string | null): { collection: string; id: string } | null {
  if (id === null || !resource.parent) return null
  const owner = resources.get(resource.parent.resource) as Resource
  if (!owner.isId(id)) throw missing(owner, id)
  return { collection: owner.collection.name, id }
}

/** The canonical URL of an item, in the version that is asked. R4, R49. */
export function pathOf({ name, parent }: Resource, key: Address, { prefix, query }: Carried): string {
  const own = `/${name}/${encodeURIComponent(key.id)}`
  const path = key.parent === null ? own : `/${parent?.resource}/${encodeURIComponent(key.parent)}${own}`
  return prefix + path + (query === '' ? '' : `?${query}`)
}

interface Text {
  readonly doc: string
  readonly revision: number
  readonly beside?: readonly (Other | null)[]
  readonly document?: Readonly<Record<string, unknown>>
}

/** An answer that carries an item: the stored text as it is, or as the version has it. */
export function itemReply(scene: Scene, caller: Caller, status: number, row: Text, world: World): Reply {
  const { form } = scene
  const view = scene.view(caller)
  const { doc, beside = [], document } = row
  const changed = lastChange(doc, beside)
  const headers: Record<string, string> = {}
  const date = httpDate(changed, world.now())
  if (date !== null) headers['Last-Modified'] = date
  if (view.mode !== 'off') headers.ETag = etag(view, row, secretOf(world))
  const read = view.muted.size === 0 ? document : undefined
  const told = form.answer === null ? doc : form.answer(audible(view, doc), audibleBeside(view, beside), read)
  return { status, headers, body: seenIn(view, told), changed }
}

/** Throws where the version of the request cannot show what it is about to write, so that a 500 leaves nothing stored. */
export function admitShown(scene: Scene, caller: Caller, document: Document, beside: Text['beside'] = []): void {
  const { form } = scene
  if (form.answer === null) return
  const view = scene.view(caller)
  form.answer(audible(view, textsOf(form.today.collection, document).doc), audibleBeside(view, beside))
}

const mostDays = 1000
/** Days as documents write them: when they begin, and how HTTP writes them. Rows are of few days; making a date costs more. */
const days = new Map<string, { readonly begins: number; readonly text: string }>()

function dayOf(text: string): { readonly begins: number; readonly text: string } {
  const known = days.get(text)
  if (known) return known
  const date = new Date(text)
  const day = { begins: date.getTime(), text: date.toUTCString().slice(0, -12) }
  if (days.size >= mostDays) days.clear()
  days.set(text, day)
  return day
}

const aDay = 86_400_000

/** A time of a document as an HTTP date; null until no other change can have the same date. R130. */
function httpDate(text: string, now: number): string | null {
  const { begins, text: date } = dayOf(text.slice(0, 10))
  return begins + 2 * aDay <= now || isSettled(text, now) ? `${date}${text.slice(11, 19)} GMT` : null
}

/** The refusal of what is not there, or no longer. R132, R135. */
export function absent(scene: Scene, { is, collection, id }: Absent): Problem {
  const resource = kept(scene, collection) as Resource
  if (is === 'missing') return missing(resource, id)
  if (resource.settings.deleted.status === 404) return missing(resource, id)
  return new Problem('resource-deleted', `${resource.title} ${shown(id)} was deleted.`)
}

function missing({ title, settings }: Resource, id: string): Problem {
  const message = `${title} ${shown(id)} was not found.`
  return settings.missing.status === 410 ? new Problem('gone', message) : new Problem('resource-not-found', message)
}

const shown = (id: string): string => (id.length > 100 ? `${id.slice(0, 100)}…` : id)

export const isAbsent = (outcome: Outcome): outcome is Absent => outcome.is === 'missing' || outcome.is === 'gone'

/** What a store refused of a write, as a problem. */
export function refused(scene: Scene, outcome: Outcome, { id }: Address): Problem {
  if (isAbsent(outcome)) return absent(scene, outcome)
  // R110: an id that is taken in another account does not exist for the caller.
  if (outcome.is === 'duplicate' && outcome.fields.length === 0) return missing(scene.resource, id)
  if (outcome.is === 'duplicate') return taken(scene, outcome)
  if (outcome.is === 'unmet') return unmet(scene, outcome)
  if (outcome.is === 'used') {
    return new Problem(
      'has-dependents',
      `${scene.resource.title} cannot be deleted while ${kept(scene, outcome.collection)?.name ?? outcome.collection} depend on it or on what would go with it. Delete those first.`,
    )
  }
  throw new Error(`The store answered ${outcome.is} to a write.`)
}

function taken({ resource, form }: Scene, duplicate: Duplicate): Problem {
  const fields = duplicate.fields.flatMap((name) =>
    name === 'id' && resource.key !== null ? [resource.key] : form.names(name, duplicate.collection),
  )
  const violations = fields.map(
    (name): Violation => ({
      message: `${name} is in use already.`,
      type: 'already-exists',
      in: 'body',
      pointer: `/${name}`,
    }),
  )
  const message = `Another resource has this ${fields.join(' and ')} already; ${fields.length === 1 ? 'it has' : 'together they have'} to be unique.`
  return new Problem('already-exists', message, { violations })
}

function unmet(scene: Scene, { references, collection: own }: Unmet): Problem {
  return invalidBody(
    references.flatMap(({ field, collection, id }) => {
      const message = `${kept(scene, collection)?.title ?? 'What'} ${shown(id)} does not exist.`
      const violation: Violation = { message, type: 'invalid-value', in: 'body', pointer: field }
      return violationsIn(violation, (name) => scene.form.names(name, own))
    }),
  )
}

/** The references of a document that differ from those it had before. */
export function referencesOf(
  { members }: Resource,
  document: Record<string, unknown>,
  before?: Record<string, unknown>,
): Reference[] {
  return members.flatMap(({ name, field }) => {
    const known = before && JSON.stringify(before[name]) === JSON.stringify(document[name])
    return known ? [] : referencesIn(field, document[name], `/${name}`)
  })
}

/** The refusal of a repeat, with the way to what was made. R96 */
export function repeat(scene: Scene, own: Claim, known: Claimed, carried: Carried): Problem {
  const made = kept(scene, known.collection)
  return repeated(known, own, made ? pathOf(made, known, carried) : null, scene.resource.settings)
}

/** The first answer once more, where it is kept; else a repeat is refused. R98 */
export function again(
  scene: Scene,
  { claim, carried }: Intent,
  known: Claimed,
  render: (key: Address, row: Text) => Reply,
): Reply {
  const answer = keptAnswer(known, claim as Claim)
  if (answer === null) throw repeat(scene, claim as Claim, known, carried)
  const reply = render(known, answer)
  reply.headers['Idempotency-Replayed'] = 'true'
  delete reply.headers['Last-Modified'] // the first answer came too soon after the change to carry it
  return reply
}

/** Refuses where the target, or the owner of what is to be made, is not there. */
export function admitPresent(scene: Scene, target: Outcome | null): void {
  if (target && isAbsent(target)) throw absent(scene, target)
}
