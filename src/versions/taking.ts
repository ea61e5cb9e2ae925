/** Taking: what a body of an older version makes of the row as it is stored. Part 9, versions. */
import type { Field } from '../resources/field.ts'
import type { Member, Resource } from '../resources/resource.ts'
import { type Address, forChange, forCreate, forReplace, type Hand, lacking } from '../resources/row.ts'
import { isObject } from '../resources/values.ts'
import type { Rows } from './answer.ts'
import { renaming } from './ask.ts'
import { converting } from './failure.ts'
import type { Conversion, Document, Program } from './program.ts'

/** A resource in an older version and as it is stored, with the way between them in both directions. */
export interface Own {
  readonly resource: Resource
  readonly today: Resource
  readonly down: Program
  readonly up: Program
  readonly back: Conversion
  readonly forth: Conversion
  /** The names that a field of today has, of the own row or of another one that has fields of it. */
  readonly names: (field: string, collection?: string) => readonly string[]
  /** Whether a function of a change makes a field of today. */
  readonly made: (field: string) => boolean
}

/** Where an item stands, who writes it, and the other rows that the version completes it from, as the caller sees them. */
interface Writer {
  readonly address: Address
  readonly hand: Hand
  readonly rows?: Rows
}

/** The caller's hand, for the fields of today: a refusal names the field as the version does. */
export const toldBy = ({ names }: Pick<Own, 'names'>, { refuse, ...hand }: Hand): Hand => ({
  ...hand,
  refuse: (field, lacks) => refuse(names(field)[0] ?? field, lacks),
})

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

export function created(own: Own, body: Document, hand: Hand): Document {
  const { resource, today } = own
  const document = forCreate(resource, body, hand)
  const { id } = document
  const chosen = typeof id === 'string' && resource.key === null ? { id } : {}
  const sent = given(own, born(own, body, document, hand))
  return renaming(own, () => forCreate(today, { ...sent, ...chosen }, toldBy(own, hand)))
}

export function replaced(own: Own, body: Document, seen: Document | null, writer: Writer): Document {
  const { resource, today } = own
  const { address, hand, rows } = writer
  if (seen === null) {
    const document = forReplace(resource, body, null, address, hand)
    const { [today.key ?? '']: _, ...all } = given(own, born(own, body, document, hand)) // the address has the key
    return renaming(own, () => forReplace(today, all, null, address, toldBy(own, hand)))
  }
  const was = before(own, known(own, seen, hand), rows)
  const next = forReplace(resource, body, was, address, hand)
  const named = Object.keys(body).filter((name) => Object.hasOwn(next, name))
  const sent = { ...was, ...Object.fromEntries(named.map((name) => [name, next[name]])) }
  return changed(own, { body, was, next, sent }, seen, writer)
}

export function patched(own: Own, body: Document, seen: Document, writer: Writer): Document {
  const { address, hand, rows } = writer
  const was = before(own, known(own, seen, hand), rows)
  const next = forChange(own.resource, body, was, address, hand)
  return changed(own, { body, was, next, sent: next }, seen, writer)
}

/** Members that a caller gives, the key among them where it makes an item. */
const isGiven = ({ byName, key }: Resource, name: string): boolean =>
  byName.get(name)?.from === 'caller' || name === key

/** What the caller of today would have sent. */
function given({ today }: Own, values: Document): Document {
  const told = Object.entries(values).filter(([name, value]) => value !== undefined && isGiven(today, name))
  return Object.fromEntries(told)
}

/**
 * The fields of today of a new item. A field that the caller may not write has its default, whatever the older version
 * has in its place; it stays in only where what was sent decides its value, so that it is refused. R169, R195.
 */
function born(own: Own, body: Document, document: Document, hand: Hand): Document {
  const values = upOf(own, document)
  const closed = own.today.members.filter((one) => values[one.name] !== undefined && lacking(one, hand).length > 0)
  if (closed.length === 0) return values
  const unsent = withoutSent(own, body, document)
  for (const { name, absent } of closed)
    if (same(values[name], absent) || (unsent && same(values[name], unsent[name]))) values[name] = undefined
  return values
}

/** The fields of today of the same item, had the caller sent nothing; null where a converter cannot do without. */
function withoutSent(own: Own, body: Document, document: Document): Document | null {
  const { byName } = own.resource
  const usual = Object.keys(body).flatMap((name) => {
    const member = byName.get(name)
    return member ? [[name, member.absent ?? null] as const] : []
  })
  try {
    return upOf(own, { ...document, ...Object.fromEntries(usual) })
  } catch {
    return null
  }
}

/** Whether a write must not show what the stored value is: nobody who may try values is shown it. R169. */
export const isConcealed = (member: Member, hand: Hand): boolean =>
  member.hidden
    ? member.immutable || lacking(member, hand).length > 0
    : member.read !== null && !hand.scopes.has(member.read)

/** Whether a caller who may not read the item is refused a field whatever it sends, so that no refusal depends on the stored value. R119, R169. */
export const isShut = (member: Member, hand: Hand): boolean =>
  hand.blind && (member.immutable || lacking(member, hand).length > 0)

/** The stored document as far as its writer may know of it: the rest is null, so that no comparison depends on it. */
export function known({ today }: Pick<Own, 'today'>, seen: Document, hand: Hand, isNull = isConcealed): Document {
  const concealed = today.members.filter((member) => isNull(member, hand)).map(({ name }) => [name, null] as const)
  return concealed.length === 0 ? seen : { ...seen, ...Object.fromEntries(concealed) }
}

/** The whole older document of a stored one, write-only values included. */
export function before({ resource, today, back }: Own, seen: Document, rows: Rows = []): Document {
  const values = converting(today, seen, 0, () =>
    back(
      seen,
      rows.map((row) => (row === null ? null : (JSON.parse(row) as Document))),
    ),
  )
  return Object.fromEntries(resource.members.map(({ name, absent }, i) => [name, values[i] ?? absent ?? null]))
}

/** The fields of today of an older document; undefined where it says nothing of one. */
function upOf({ today, resource, forth }: Own, document: Document): Document {
  const values = converting(resource, document, 0, () => forth(document))
  return Object.fromEntries(today.members.map(({ name }, i) => [name, values[i]]))
}

/** An older document as the caller knows it, as it is wanted, and with nothing changed but what the caller sent. */
interface Wanted {
  readonly body: Document
  readonly was: Document
  readonly next: Document
  readonly sent: Document
}

/**
 * What an older document changes of the stored one: only what it says otherwise, so that nothing it does not know is lost.
 * A field that the caller may not write changes by what was sent alone, to be refused, and not by what was left out.
 */
function changed(
  own: Own,
  { body, was: shown, next, sent }: Wanted,
  seen: Document,
  { address, hand }: Writer,
): Document {
  const { today } = own
  const [was, is] = [upOf(own, shown), upOf(own, next)]
  const asked = sent === next ? is : upOf(own, sent)
  const patch: Document = {}
  for (const member of today.members) {
    const { name, from, field } = member
    const value = (lacking(member, hand).length > 0 ? asked : is)[name]
    if (from !== 'caller' || value === undefined) continue
    const isSent = () => own.names(name).some((one) => Object.hasOwn(body, one))
    if (isShut(member, hand) ? !isSent() : same(value, was[name])) continue
    patch[name] = patchOf(field, seen[name], value)
  }
  return renaming(own, () => forChange(today, patch, seen, address, toldBy(own, hand)))
}

/** The merge patch that makes a value what it is to be: keys of metadata that are gone have to be named. */
function patchOf({ kind, fields = {} }: Field, seen: unknown, value: unknown): unknown {
  if (!isObject(value) || !isObject(seen)) return value
  if (kind === 'metadata') return { ...Object.fromEntries(Object.keys(seen).map((key) => [key, null])), ...value }
  if (kind !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, fields[name] ? patchOf(fields[name], seen[name], one) : one]),
  )
}
