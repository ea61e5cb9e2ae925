/** Document: builds the document of a created, replaced or changed item from a body. Part 4, methods. */
import { addViolation, shortName } from '../errors/pointer.ts'
import { invalidBody, type Violation } from '../errors/problem.ts'
import { checkMembers, type ValueCheck } from '../fields/check-members.ts'
import type { Field } from '../fields/field.ts'
import { isObject } from '../fields/value-check.ts'
import { timestampOf } from '../formats/time-texts.ts'
import { type Cell, cellsIn, type DocumentTexts, encodeDocument } from '../rows/collection.ts'
import { isReadByWriters } from './declaration.ts'
import { keyValue, type Member, type Resource } from './resource.ts'

type Document = Record<string, unknown>

/** A document as it is stored: its texts, and the values of its columns. */
export interface EncodedRow extends DocumentTexts {
  readonly cells: readonly Cell[]
}

/** The URL of an item: its id, and that of its parent. */
export interface ItemAddress {
  readonly id: string
  readonly parent: string | null
}

/** The rights of a caller that writes; `refuse` makes the error for a field that needs other scopes. */
export interface Permissions {
  readonly scopes: ReadonlySet<string>
  /** Whether the caller may not read the item; then no answer may depend on a stored value. */
  readonly blind: boolean
  readonly refuse: (field: string, scopes: readonly string[]) => Error
}

/** Whether a caller sees a value. Answers must not depend on other values, or callers could guess them. R169. */
const canSee = ({ writeOnly, read }: Member, { scopes, blind }: Permissions): boolean =>
  !writeOnly && !blind && (read === null || scopes.has(read))

/** The rights of a caller that creates an item: no value is stored yet that it could guess. */
const asCreator = (permissions: Permissions): Permissions => ({ ...permissions, blind: false })

/** The scopes that a caller lacks for writing a field. */
export const missingScopes = ({ write }: Member, { scopes }: Permissions): readonly string[] =>
  write.filter((one) => !scopes.has(one))

/**
 * Keeps the value of a field that the caller may not write. The caller may send back the value that it sees; a value that
 * it does not see is always refused, or it could guess it. R48, R169.
 */
function requireUntouched(member: Member, value: unknown, present: unknown, permissions: Permissions): unknown {
  const sent = canSee(member, permissions) ? JSON.stringify(member.check(value, '', [], present)) : null
  if (sent !== JSON.stringify(present)) throw permissions.refuse(member.name, missingScopes(member, permissions))
  return present
}

/** The document of a new item. Throws all mistakes of the body. */
export function createDocument(resource: Resource, body: Document, permissions: Permissions): Document {
  const faults: Violation[] = []
  const wanted = (member: Member) => member.from === 'caller' || member.name === resource.key
  reportMissing(resource, body, faults, wanted)
  const chosen = resource.settings.resource.id === 'client' && resource.key === null
  const check = (member: Member): ValueCheck => {
    if (missingScopes(member, permissions).length > 0)
      return (value) => requireUntouched(member, value, member.absent, asCreator(permissions))
    if (wanted(member)) return member.check
    if (chosen && member.name === 'id') return (value, at) => checkChosenId(resource, value, at, faults)
    const why = member.field.kind === 'file' ? 'is uploaded by PUT to a URL of its own' : 'is set by the service'
    return (_, at) => addViolation(faults, at, 'read-only-field', `${why}; leave it out.`)
  }
  const document = checkBody(resource, body, faults, check, { ...resource.blank })
  throwViolations(faults)
  return document
}

function checkChosenId({ isId, prefix }: Resource, value: unknown, at: string, faults: Violation[]): unknown {
  if (typeof value === 'string' && isId(value)) return value
  return addViolation(
    faults,
    at,
    typeof value === 'string' ? 'invalid-format' : 'invalid-type',
    `must be "${prefix}_" followed by 1 to 100 letters, digits, dashes or underscores.`,
  )
}

/** The document after a PUT; `seen` is null if there is no item yet. Throws all mistakes of the body. R109, R111. */
export function replaceDocument(
  resource: Resource,
  body: Document,
  prior: Document | null,
  address: ItemAddress,
  permissions: Permissions,
): Document {
  const faults: Violation[] = []
  const stays = (member: Member) =>
    member.writeOnly ||
    member.from !== 'caller' ||
    missingScopes(member, permissions).length > 0 ||
    (member.immutable && !(canSee(member, permissions) && isReadByWriters(resource)))
  reportMissing(resource, body, faults, (member) => member.from === 'caller' && !(prior && stays(member)))
  const check = (member: Member) => (value: unknown, at: string) => {
    if (member.from !== 'caller') return checkManaged(resource, member, value, at, faults, prior, address, permissions)
    const present = prior ? prior[member.name] : member.absent
    if (missingScopes(member, permissions).length > 0)
      return requireUntouched(member, value, present, prior ? permissions : asCreator(permissions))
    return checkWritten(member, value, at, faults, prior, permissions)
  }
  const given = checkBody(resource, body, faults, check, {})
  const leftOut = resource.members.filter((member) => member.absent !== undefined && !Object.hasOwn(given, member.name))
  for (const member of leftOut)
    if (!stays(member)) checkImmutable(member, member.absent, `/${member.name}`, faults, prior, permissions)
  throwViolations(faults)
  return completeDocumentBy(resource, (member) => {
    if (Object.hasOwn(given, member.name)) return given[member.name]
    return prior && stays(member) ? prior[member.name] : undefined
  })
}

/** The document after a PATCH. Throws all mistakes of the body. R113, R116, R117. */
export function changeDocument(
  resource: Resource,
  body: Document,
  prior: Document,
  address: ItemAddress,
  permissions: Permissions,
  merge: MergeValue = mergePatch,
): Document {
  const faults: Violation[] = []
  const check = (member: Member) => (value: unknown, at: string) => {
    if (member.from !== 'caller') return checkManaged(resource, member, value, at, faults, prior, address, permissions)
    const next = merge(member.field, prior[member.name], value)
    if (missingScopes(member, permissions).length > 0)
      return requireUntouched(member, next, prior[member.name], permissions)
    return checkWritten(member, next, at, faults, prior, permissions)
  }
  const checked = checkBody(resource, body, faults, check, {})
  throwViolations(faults)
  return completeDocumentBy(resource, ({ name }) => (Object.hasOwn(checked, name) ? checked[name] : prior[name]))
}

/** Checks the value of a field in a body; a stored value that the caller sees may be sent back even if it does not fit. */
function checkWritten(
  member: Member,
  value: unknown,
  at: string,
  faults: Violation[],
  prior: Document | null,
  permissions: Permissions,
): unknown {
  const before = faults.length
  const priorValue = prior && canSee(member, permissions) ? prior[member.name] : undefined // else the caller could guess it
  const next = member.check(value, at, faults, priorValue)
  if (faults.length === before) checkImmutable(member, next, at, faults, prior, permissions)
  return next
}

/** Refuses a new value of an immutable field. A caller that does not see the field is refused any value, or it could guess it. R119. */
function checkImmutable(
  member: Member,
  next: unknown,
  at: string,
  faults: Violation[],
  prior: Document | null,
  permissions: Permissions,
): void {
  if (!member.immutable || prior === null) return
  const present = JSON.stringify(prior[member.name])
  if (!canSee(member, permissions)) addViolation(faults, at, 'immutable-field', 'cannot be sent again; leave it out.')
  else if (present !== JSON.stringify(next))
    addViolation(faults, at, 'immutable-field', `cannot change; it is ${shortName(present)}.`)
}

/** Makes the new value of a field from its current value and the value in a body. */
export type MergeValue = (field: Field, seen: unknown, value: unknown) => unknown

/** Takes the value in the body unchanged: a JSON Patch was already applied to the current value. R118. */
export const takeWhole: MergeValue = (_, __, value) => value

/** A merge patch of RFC 7396, except that null stays for declared fields, whose checks accept or refuse it. */
export function mergePatch({ kind, fields }: Field, seen: unknown, patch: unknown): unknown {
  if (!isObject(patch) || (kind !== 'object' && kind !== 'metadata')) return patch
  const before = isObject(seen) ? seen : {}
  // Fields in the order of the patch, as mistakes are reported in it; metadata in the stored order, so that an unchanged
  // value has the same text.
  const next = new Map(kind === 'metadata' ? Object.entries(before) : [])
  for (const [name, value] of Object.entries(patch)) {
    const field = fields && Object.hasOwn(fields, name) ? fields[name] : undefined
    if (kind === 'metadata' && value === null) next.delete(name)
    else next.set(name, field ? mergePatch(field, before[name], value) : value)
  }
  for (const [name, value] of Object.entries(before)) if (!Object.hasOwn(patch, name)) next.set(name, value)
  return Object.fromEntries(next)
}

function reportMissing(
  { members }: Resource,
  body: Document,
  faults: Violation[],
  wanted: (member: Member) => boolean,
): void {
  for (const member of members)
    if (member.absent === undefined && wanted(member) && !Object.hasOwn(body, member.name))
      addViolation(faults, `/${member.name}`, 'field-required', 'is required.')
}

function checkBody(
  resource: Resource,
  body: Document,
  faults: Violation[],
  checkOf: (member: Member) => ValueCheck,
  checked: Document,
): Document {
  const check = (name: string) => {
    const isAdded =
      name === '_links' || (name === '_embedded' && resource.carriesEmbedded) || (name === '_pair' && resource.isPaired)
    const member = isAdded ? addedMember : resource.byName.get(name)
    return member && checkOf(member)
  }
  return checkMembers(body, '', faults, { names: resource.byName, check }, resource.settings, checked)
}

/** `_links`, `_embedded` and `_pair` are not stored; a caller that sends back a fetched item may include them. R48. */
const addedMember: Member = {
  name: '_links',
  field: { kind: 'object', options: {} },
  check: (value) => value,
  absent: null,
  from: 'service',
  immutable: false,
  writeOnly: false,
  read: null,
  write: [],
}

/** Fields of the URL must agree with it; fields that the service sets are ignored. R48. */
function checkManaged(
  resource: Resource,
  { name, from, field }: Member,
  value: unknown,
  at: string,
  faults: Violation[],
  prior: Document | null,
  address: ItemAddress,
  { blind }: Permissions,
): unknown {
  if (from === 'service') return prior?.[name]
  if (blind && name === resource.parent?.field && address.parent === null)
    return addViolation(faults, at, 'read-only-field', 'cannot be sent here; leave it out.')
  const own =
    name === resource.parent?.field
      ? (address.parent ?? prior?.[name])
      : name === 'id'
        ? address.id
        : keyValue(field, resource.rules, address.id)
  if (value !== own)
    addViolation(
      faults,
      at,
      'read-only-field',
      `must be ${JSON.stringify(own)} here, as in the address, or be left out.`,
    )
  return own
}

export function completeDocumentBy(resource: Resource, value: (member: Member) => unknown): Document {
  const document: Document = {}
  for (const member of resource.members) {
    const memberValue = value(member)
    document[member.name] = memberValue === undefined ? (member.absent ?? null) : memberValue
  }
  return document
}

function throwViolations(faults: readonly Violation[]): void {
  if (faults.length > 0) throw invalidBody(faults)
}

/** Adds the fields that the service sets: id, parent and timestamps. */
export function stampDocument(
  resource: Resource,
  document: Document,
  { id }: Pick<ItemAddress, 'id'>,
  parent: string | null,
  time: number,
): Document {
  document.id = id
  if (resource.parent && parent !== null) document[resource.parent.field] = parent
  document[resource.created] = document[resource.updated] = timestampOf(time)
  return document
}

/** A document as it is stored. */
export function encodeRow({ collection }: Resource, document: Document): EncodedRow {
  return { ...encodeDocument(collection, document), cells: cellsIn(collection, document) }
}

/** The document of a stored row, write-only fields included. */
export function decodeDocument(resource: Resource, doc: string, hidden: string | null): Document {
  const document = JSON.parse(doc) as Document
  if (hidden === null) return document
  const more = JSON.parse(hidden) as Document
  return completeDocumentBy(resource, ({ name }) => (Object.hasOwn(document, name) ? document[name] : more[name]))
}
