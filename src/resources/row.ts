/** Makes the document of a new, a replaced or a changed item from what a caller sent. Part 4, methods. */
import { brief, fault } from '../errors/place.ts'
import { invalidBody, type Violation } from '../errors/problem.ts'
import { type Cell, cells, type Texts, textsOf } from './collection.ts'
import { isReadByWriters } from './declaration.ts'
import type { Field } from './field.ts'
import { checked } from './members.ts'
import { keyValue, type Member, type Resource } from './resource.ts'
import { isObject } from './values.ts'

type Document = Record<string, unknown>

/** A document as it is stored: its texts, and the cells of its columns. */
export interface Row extends Texts {
  readonly cells: readonly Cell[]
}

/** Where an item stands. */
export interface Address {
  readonly id: string
  readonly parent: string | null
}

/** Who writes: the scopes that were proven, and how a field is refused that takes others. */
export interface Hand {
  readonly scopes: ReadonlySet<string>
  /** Whether the caller may not read the item, so that no refusal may depend on a stored value. */
  readonly blind: boolean
  readonly refuse: (field: string, scopes: readonly string[]) => Error
}

/** Whether a caller is shown a value: one that is not shown could be found out by trying, if answers depended on it. R169. */
const sees = ({ hidden, read }: Member, { scopes, blind }: Hand): boolean =>
  !hidden && !blind && (read === null || scopes.has(read))

/** The hand of a caller who makes an item: nothing is stored yet that could be found out. */
const making = (hand: Hand): Hand => ({ ...hand, blind: false })

/** The scopes that a caller lacks to write a field. */
export const lacking = ({ write }: Member, { scopes }: Hand): readonly string[] =>
  write.filter((one) => !scopes.has(one))

/**
 * A field that the caller may not write stays as it is; sent back as it was seen, it is not refused. A value that the
 * caller is not shown is refused whatever it is, or it could be found out by trying. R48, R169.
 */
function untouched(member: Member, value: unknown, present: unknown, hand: Hand): unknown {
  const lacks = lacking(member, hand)
  const same = sees(member, hand) && JSON.stringify(member.check(value, '', [], present)) === JSON.stringify(present)
  if (!same) throw hand.refuse(member.name, lacks)
  return present
}

/** Checks what a caller sent for a new item, and gives its fields. */
export function forCreate(resource: Resource, body: Document, hand: Hand): Document {
  const faults: Violation[] = []
  const wanted = (member: Member) => member.from === 'caller' || member.name === resource.key
  report(missing(resource, body, wanted), faults)
  const chosen = resource.settings.resource.id === 'client' && resource.key === null
  const given = members(resource, body, faults, (member, value, at) => {
    if (lacking(member, hand).length > 0) return untouched(member, value, member.absent, making(hand))
    if (wanted(member)) return member.check(value, at, faults)
    if (chosen && member.name === 'id') return idOf(resource, value, at, faults)
    return fault(faults, at, 'read-only-field', 'is set by the service; leave it out.')
  })
  refuse(faults)
  return whole(resource, (member) => (given.has(member.name) ? given.get(member.name) : undefined))
}

function idOf({ isId, prefix }: Resource, value: unknown, at: string, faults: Violation[]): unknown {
  if (typeof value === 'string' && isId(value)) return value
  return fault(
    faults,
    at,
    typeof value === 'string' ? 'invalid-format' : 'invalid-type',
    `must be "${prefix}_" and 1 to 100 letters, digits, dashes or underscores behind it.`,
  )
}

/** Checks what a caller sent in place of an item (null where there is none yet), and gives all fields. R109, R111. */
export function forReplace(
  resource: Resource,
  body: Document,
  seen: Document | null,
  address: Address,
  hand: Hand,
): Document {
  const faults: Violation[] = []
  const stays = (member: Member) =>
    member.hidden ||
    member.from !== 'caller' ||
    lacking(member, hand).length > 0 ||
    (member.immutable && !(sees(member, hand) && isReadByWriters(resource)))
  report(
    missing(resource, body, (member) => member.from === 'caller' && !(seen && stays(member))),
    faults,
  )
  const given = members(resource, body, faults, (member, value, at) => {
    if (member.from !== 'caller') return kept(resource, member, value, at, faults, seen, address, hand)
    const present = seen ? seen[member.name] : member.absent
    if (lacking(member, hand).length > 0) return untouched(member, value, present, seen ? hand : making(hand))
    return written(member, value, at, faults, seen, hand)
  })
  const leftOut = resource.members.filter((member) => member.absent !== undefined && !given.has(member.name))
  for (const member of leftOut)
    if (!stays(member)) unchangeable(member, member.absent, `/${member.name}`, faults, seen, hand)
  refuse(faults)
  return whole(resource, (member) => {
    if (given.has(member.name)) return given.get(member.name)
    return seen && stays(member) ? seen[member.name] : undefined
  })
}

/** Checks the fields a caller wants changed, and gives all fields. R113, R116, R117. */
export function forChange(resource: Resource, body: Document, seen: Document, address: Address, hand: Hand): Document {
  const faults: Violation[] = []
  const given = members(resource, body, faults, (member, value, at) => {
    if (member.from !== 'caller') return kept(resource, member, value, at, faults, seen, address, hand)
    const next = merged(member.field, seen[member.name], value)
    if (lacking(member, hand).length > 0) return untouched(member, next, seen[member.name], hand)
    return written(member, next, at, faults, seen, hand)
  })
  refuse(faults)
  return whole(resource, (member) => (given.has(member.name) ? given.get(member.name) : seen[member.name]))
}

/** The value of a field as a caller wrote it, over the one it has, if there is one. */
function written(
  member: Member,
  value: unknown,
  at: string,
  faults: Violation[],
  seen: Document | null,
  hand: Hand,
): unknown {
  const before = faults.length
  const known = seen && sees(member, hand) ? seen[member.name] : undefined // what is not shown could be guessed by it
  const next = member.check(value, at, faults, known)
  if (faults.length === before) unchangeable(member, next, at, faults, seen, hand)
  return next
}

/** R119. Of a field that the caller is not shown even the present value is refused, or it could be found out by trying. */
function unchangeable(
  member: Member,
  next: unknown,
  at: string,
  faults: Violation[],
  seen: Document | null,
  hand: Hand,
): void {
  if (!member.immutable || seen === null) return
  const present = JSON.stringify(seen[member.name])
  if (!sees(member, hand)) fault(faults, at, 'immutable-field', 'cannot be sent again; leave it out.')
  else if (present !== JSON.stringify(next))
    fault(faults, at, 'immutable-field', `cannot change; it is ${brief(present)}.`)
}

/** A merge of RFC 7396 in which null stays for declared fields, so that their check decides whether they may be empty. */
export function merged({ kind, fields }: Field, seen: unknown, patch: unknown): unknown {
  if (!isObject(patch) || (kind !== 'object' && kind !== 'metadata')) return patch
  const before = isObject(seen) ? seen : {}
  // Fields in the order of the patch, in which mistakes are told; metadata in theirs, so that no change changes nothing.
  const next = new Map(kind === 'metadata' ? Object.entries(before) : [])
  for (const [name, value] of Object.entries(patch)) {
    const field = fields && Object.hasOwn(fields, name) ? fields[name] : undefined
    if (kind === 'metadata' && value === null) next.delete(name)
    else next.set(name, field ? merged(field, before[name], value) : value)
  }
  for (const [name, value] of Object.entries(before)) if (!Object.hasOwn(patch, name)) next.set(name, value)
  return Object.fromEntries(next)
}

function missing(resource: Resource, body: Document, wanted: (member: Member) => boolean): Member[] {
  return resource.members.filter(
    (member) => member.absent === undefined && wanted(member) && !Object.hasOwn(body, member.name),
  )
}

function report(members: readonly Member[], faults: Violation[]): void {
  for (const { name } of members) fault(faults, `/${name}`, 'field-required', 'is required.')
}

function members(
  resource: Resource,
  body: Document,
  faults: Violation[],
  read: (member: Member, value: unknown, at: string) => unknown,
): Map<string, unknown> {
  const check = (name: string) => {
    const member = name === '_links' ? linksMember : resource.byName.get(name)
    return member && ((value: unknown, at: string) => read(member, value, at))
  }
  return checked(body, '', faults, { names: resource.byName, check }, resource.settings)
}

/** `_links` is no member of a document; a caller that sends a fetched object back has it in there. R48. */
const linksMember: Member = {
  name: '_links',
  field: { kind: 'object', options: {} },
  check: (value) => value,
  absent: null,
  from: 'service',
  immutable: false,
  hidden: false,
  read: null,
  write: [],
}

/** Fields of the address have to agree with it; those that the service manages are ignored. R48. */
function kept(
  resource: Resource,
  { name, from, field }: Member,
  value: unknown,
  at: string,
  faults: Violation[],
  seen: Document | null,
  address: Address,
  { blind }: Hand,
): unknown {
  if (from === 'service') return seen?.[name]
  if (blind && name === resource.parent?.field && address.parent === null)
    return fault(faults, at, 'read-only-field', 'cannot be sent here; leave it out.')
  const own =
    name === resource.parent?.field
      ? (address.parent ?? seen?.[name])
      : keyValue(name === 'id' ? 'text' : field.kind, address.id)
  if (value !== own)
    fault(faults, at, 'read-only-field', `must be ${JSON.stringify(own)} here, as in the address, or be left out.`)
  return own
}

function whole(resource: Resource, value: (member: Member) => unknown): Document {
  const document: Document = {}
  for (const member of resource.members) {
    const given = value(member)
    document[member.name] = given === undefined ? (member.absent ?? null) : given
  }
  return document
}

function refuse(faults: readonly Violation[]): void {
  if (faults.length > 0) throw invalidBody(faults)
}

/** A document as the cellar stores it. */
export function rowOf({ collection }: Resource, document: Document): Row {
  return { ...textsOf(collection, document), cells: cells(collection, document) }
}

/** The document of a stored row, what is never answered included. */
export function documentOf(resource: Resource, doc: string, hidden: string | null): Document {
  const document = JSON.parse(doc) as Document
  if (hidden === null) return document
  const more = JSON.parse(hidden) as Document
  return whole(resource, ({ name }) => (Object.hasOwn(document, name) ? document[name] : more[name]))
}

/** The time of the last change is the last member, so that it can be read and written without parsing. */
export const updatedIn = (doc: string): string => doc.slice(-26, -2)
export const withUpdated = (doc: string, time: string): string => `${doc.slice(0, -26)}${time}"}`
