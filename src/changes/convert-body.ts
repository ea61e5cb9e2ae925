/** Convert body: converts the body of an older version to the current document. Part 9, versions. */

import type { Field } from '../fields/field.ts'
import { isObject } from '../fields/value-check.ts'
import {
  changeDocument,
  createDocument,
  type ItemAddress,
  type MergeValue,
  missingScopes,
  type Permissions,
  replaceDocument,
} from '../resources/document.ts'
import type { Member, Resource } from '../resources/resource.ts'
import { isSameJson } from '../rows/collection.ts'
import type { JoinedTexts } from './answer.ts'
import type { Conversion, VersionDocument, VersionMapping } from './conversion.ts'
import { runConversion } from './conversion-error.ts'
import { withOlderNames } from './queries.ts'
import { withWrittenValues } from './written-values.ts'

/** A resource in an older version and in the newest, with the conversions in both directions. */
export interface ResourceConversion {
  readonly resource: Resource
  readonly today: Resource
  readonly down: VersionMapping
  readonly up: VersionMapping
  readonly convertDown: Conversion
  readonly convertUp: Conversion
  /** The names in this version of a current field, of this row or of a joined one. */
  readonly names: (field: string, collection?: string) => readonly string[]
  /** Whether a change function computes a current field. */
  readonly isComputed: (field: string) => boolean
}

/** The item's address, the writer's permissions, and the joined rows of the older document as the caller sees them. */
interface WriteContext {
  readonly address: ItemAddress
  readonly permissions: Permissions
  readonly rows?: JoinedTexts
  readonly merge?: MergeValue | undefined
}

/** The caller's permissions on current fields; a refusal names the field as the version does. */
export const versionPermissions = (
  { names }: Pick<ResourceConversion, 'names'>,
  { refuse, ...rest }: Permissions,
): Permissions => ({
  ...rest,
  refuse: (field, lacks) => refuse(names(field)[0] ?? field, lacks),
})

export function convertCreate(
  own: ResourceConversion,
  body: VersionDocument,
  permissions: Permissions,
): VersionDocument {
  const { resource, today } = own
  const document = createDocument(resource, body, permissions)
  const { id } = document
  const chosen = typeof id === 'string' && resource.key === null ? { id } : {}
  const values = newItemValues(own, body, document, permissions)
  const sent = { ...settableValues(own, values), ...chosen }
  const converted = withOlderNames(own, () => createDocument(today, sent, versionPermissions(own, permissions)))
  return withWrittenValues(own, converted, { before: null, values, body, permissions })
}

export function convertReplace(
  own: ResourceConversion,
  body: VersionDocument,
  stored: VersionDocument | null,
  writer: WriteContext,
): VersionDocument {
  const { resource, today } = own
  const { address, permissions, rows } = writer
  if (stored === null) {
    const document = replaceDocument(resource, body, null, address, permissions)
    // The key comes from the address.
    const values = newItemValues(own, body, document, permissions)
    const { [today.key ?? '']: _, ...all } = settableValues(own, values)
    const converted = withOlderNames(own, () =>
      replaceDocument(today, all, null, address, versionPermissions(own, permissions)),
    )
    return withWrittenValues(own, converted, { before: null, values, body, permissions })
  }
  const was = olderDocument(own, maskConcealed(own, stored, permissions), rows)
  const next = replaceDocument(resource, body, was, address, permissions)
  const named = Object.keys(body).filter((name) => Object.hasOwn(next, name))
  const sent = { ...was, ...Object.fromEntries(named.map((name) => [name, next[name]])) }
  return changeStored(own, { body, was, next, sent }, stored, writer)
}

export function convertPatch(
  own: ResourceConversion,
  body: VersionDocument,
  stored: VersionDocument,
  writer: WriteContext,
): VersionDocument {
  const { address, permissions, rows, merge } = writer
  const was = olderDocument(own, maskConcealed(own, stored, permissions), rows)
  const next = changeDocument(own.resource, body, was, address, permissions, merge)
  return changeStored(own, { body, was, next, sent: next }, stored, writer)
}

/** Whether a caller may send the field; the key counts, as creating an item may need it. */
const isSettable = ({ byName, key }: Resource, name: string): boolean =>
  byName.get(name)?.from === 'caller' || name === key

/** The body that a client of the newest version would have sent. */
function settableValues({ today }: ResourceConversion, values: VersionDocument): VersionDocument {
  const settable = Object.entries(values).filter(([name, value]) => value !== undefined && isSettable(today, name))
  return Object.fromEntries(settable)
}

/**
 * The current fields of a new item. A field that the caller may not write is left out, so that it gets its default,
 * unless the sent values determine it: then it stays in, to be refused. R169, R195.
 */
function newItemValues(
  own: ResourceConversion,
  body: VersionDocument,
  document: VersionDocument,
  permissions: Permissions,
): VersionDocument {
  const values = storedValues(own, document)
  const closed = own.today.members.filter(
    (one) => values[one.name] !== undefined && missingScopes(one, permissions).length > 0,
  )
  if (closed.length === 0) return values
  const unsent = unsentValues(own, body, document)
  for (const { name, absent } of closed)
    if (isSameJson(values[name], absent) || (unsent && isSameJson(values[name], unsent[name]))) values[name] = undefined
  return values
}

/** The current fields of the same item with nothing sent; null if a change function throws without the sent values. */
function unsentValues(
  own: ResourceConversion,
  body: VersionDocument,
  document: VersionDocument,
): VersionDocument | null {
  const { byName } = own.resource
  const usual = Object.keys(body).flatMap((name) => {
    const member = byName.get(name)
    return member ? [[name, member.absent ?? null] as const] : []
  })
  try {
    return storedValues(own, { ...document, ...Object.fromEntries(usual) })
  } catch {
    return null
  }
}

/** Whether a write must not depend on the stored value, as the caller could find it out by trying values. R169. */
export const isConcealed = (member: Member, permissions: Permissions): boolean =>
  member.writeOnly
    ? member.immutable || missingScopes(member, permissions).length > 0
    : member.read !== null && !permissions.scopes.has(member.read)

/** Whether a caller without read access is refused this field whatever it sends: no refusal reveals a value. R119, R169. */
export const isAlwaysRefused = (member: Member, permissions: Permissions): boolean =>
  permissions.blind && (member.immutable || missingScopes(member, permissions).length > 0)

/** Sets fields that the writer may not know to null, so that no comparison depends on them. */
export function maskConcealed(
  { today }: Pick<ResourceConversion, 'today'>,
  stored: VersionDocument,
  permissions: Permissions,
  isNull = isConcealed,
): VersionDocument {
  const concealed = today.members
    .filter((member) => isNull(member, permissions))
    .map(({ name }) => [name, null] as const)
  return concealed.length === 0 ? stored : { ...stored, ...Object.fromEntries(concealed) }
}

/** Converts a stored document to the older version, write-only fields included. */
export function olderDocument(
  { resource, today, convertDown }: ResourceConversion,
  stored: VersionDocument,
  rows: JoinedTexts = [],
): VersionDocument {
  const values = runConversion(today, stored, 0, () =>
    convertDown(
      stored,
      rows.map((row) => (row === null ? null : (JSON.parse(row) as VersionDocument))),
    ),
  )
  return Object.fromEntries(resource.members.map(({ name, absent }, i) => [name, values[i] ?? absent ?? null]))
}

/** Converts an older document to current fields; undefined where it has no value for one. */
function storedValues({ today, resource, convertUp }: ResourceConversion, document: VersionDocument): VersionDocument {
  const values = runConversion(resource, document, 0, () => convertUp(document))
  return Object.fromEntries(today.members.map(({ name }, i) => [name, values[i]]))
}

/** The older document before the write, after it (`next`), and with only the sent fields changed (`sent`). */
interface OlderWrite {
  readonly body: VersionDocument
  readonly was: VersionDocument
  readonly next: VersionDocument
  readonly sent: VersionDocument
}

/**
 * Applies a write of an older version: only fields whose value changes, so that fields it does not know are not lost.
 * A field that the caller may not write counts as changed, and is refused, only by what was sent, not by what was omitted.
 */
function changeStored(
  own: ResourceConversion,
  { body, was: shown, next, sent }: OlderWrite,
  stored: VersionDocument,
  { address, permissions }: WriteContext,
): VersionDocument {
  const { today } = own
  const [was, is] = [storedValues(own, shown), storedValues(own, next)]
  const asked = sent === next ? is : storedValues(own, sent)
  const patch: VersionDocument = {}
  for (const member of today.members) {
    const { name, from, field } = member
    const value = (missingScopes(member, permissions).length > 0 ? asked : is)[name]
    if (from !== 'caller' || value === undefined) continue
    const isSent = () => own.names(name).some((one) => Object.hasOwn(body, one))
    if (isAlwaysRefused(member, permissions) ? !isSent() : isSameJson(value, was[name])) continue
    patch[name] = mergePatchFor(field, stored[name], value)
  }
  const converted = withOlderNames(own, () =>
    changeDocument(today, patch, stored, address, versionPermissions(own, permissions)),
  )
  return withWrittenValues(own, converted, { before: was, values: is, body, permissions })
}

/** The merge patch from one value to another: metadata keys that are gone must be set to null. */
export function mergePatchFor({ kind, fields = {} }: Field, seen: unknown, value: unknown): unknown {
  if (!isObject(value) || !isObject(seen)) return value
  if (kind === 'metadata') return { ...Object.fromEntries(Object.keys(seen).map((key) => [key, null])), ...value }
  if (kind !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      fields[name] ? mergePatchFor(fields[name], seen[name], one) : one,
    ]),
  )
}
