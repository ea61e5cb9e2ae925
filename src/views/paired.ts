/** Paired: the items that are paired with an item, and the member `_pair` with the fields of each pair. Part 2, resources. */
import type { StoredRows } from '../flow/found-row.ts'
import type { RequestContext } from '../flow/intent.ts'
import type { PairedRows } from '../flow/plan.ts'
import { type AccessRule, ruleFor } from '../resources/declaration.ts'
import { pairSides } from '../resources/references.ts'
import type { Resource } from '../resources/resource.ts'
import { type ShownResource, shownRows, viewNow } from './shown-rows.ts'

/** The pairs of the items of one resource with those of another one. */
export interface Pairing {
  /** The resource of the pairs. */
  readonly shown: ShownResource
  readonly rows: PairedRows
  readonly rule: AccessRule | undefined
  /** The fields of a pair that answers show. */
  readonly fields: readonly string[]
}

/** The pairs of the items of a resource: its sides in the version, and their stored columns. */
export function pairingFrom(from: Resource, shown: ShownResource): Pairing {
  const { resource, representation } = shown
  const { today } = representation
  const isFirst = pairSides(resource)?.[0] === from.name
  const columns = isFirst ? { from: 'parent', to: 'id' } : { from: `by_${today.key}`, to: 'parent' }
  return {
    shown,
    rows: { collection: today.name, ...columns },
    rule: ruleFor(resource.access, 'read'),
    fields: pairFields(resource),
  }
}

/** The fields that belong to a pair. */
export const pairFields = ({ declaration: { fields, key } }: Resource): readonly string[] =>
  Object.keys(fields).filter((name) => name !== key && fields[name]?.options.writeOnly !== true)

/** The member `_pair` of each pair, as the version shows it to the caller; an empty text if pairs have no fields. */
export function pairMembers(
  { shown, fields }: Pick<Pairing, 'shown' | 'fields'>,
  { caller, carried, world }: Pick<RequestContext, 'caller' | 'carried' | 'world'>,
  rows: StoredRows,
): readonly string[] {
  const texts = shownRows(shown, viewNow(shown, caller, world), carried, rows)
  return texts.map((text) => {
    const document = JSON.parse(text) as Readonly<Record<string, unknown>>
    const own = fields.filter((name) => Object.hasOwn(document, name)).map((name) => [name, document[name]])
    return fields.length === 0 ? '' : `,"_pair":${JSON.stringify(Object.fromEntries(own))}`
  })
}

/** An item with one more member. */
export const withPair = (item: string, member: string): string => `${item.slice(0, -1)}${member}}`
