/** Personal values: those that an erasure empties. Part 2, fields. */
import { isObject } from '../fields/value-check.ts'
import { isSameJson, type Members, type ShapedField, withDerivedValues } from './shape.ts'

/** Whether an erasure empties any of the fields. */
export const hasPersonal = (fields: readonly ShapedField[]): boolean =>
  fields.some(({ personal, inner }) => personal || hasPersonal(inner))

/** The fields that an erasure empties, nested ones with dots. */
export const personalNames = (fields: readonly ShapedField[], above: readonly string[] = []): string[] =>
  fields.flatMap(({ name, personal, inner }) => {
    const path = name === '*' ? above : [...above, name]
    return personal ? [path.join('.')] : personalNames(inner, path)
  })

/** A document with its personal values reset to those of a new item that leaves them out, and derived values computed again. */
export function withoutPersonal(fields: readonly ShapedField[], document: Members): Members {
  const emptied = emptyMembers(fields, document)
  return isSameJson(emptied, document) ? document : withDerivedValues(fields, emptied)
}

function emptyMembers(fields: readonly ShapedField[], document: Members): Record<string, unknown> {
  const fieldsByName = new Map(fields.map((field) => [field.name, field]))
  return Object.fromEntries(
    Object.entries(document).map(([name, value]) => [name, emptyValue(fieldsByName.get(name), value)]),
  )
}

function emptyValue(field: ShapedField | undefined, value: unknown): unknown {
  if (!field || value === null) return value
  if (field.personal) return field.absent
  if (Array.isArray(value)) return value.map((one) => emptyValue(field.inner[0], one))
  return field.inner.length > 0 && isObject(value) ? emptyMembers(field.inner, value) : value
}

/** The personal values of a document, each with the kind of its field. */
export const personalValues = (
  fields: readonly ShapedField[],
  document: Members,
): readonly { readonly kind: string; readonly value: unknown }[] =>
  fields.flatMap(({ name, kind, personal, inner }) => {
    const value = document[name]
    if (personal) return [{ kind, value }]
    if (Array.isArray(value)) return value.flatMap((one) => personalValues(inner, { '*': one }))
    return isObject(value) ? personalValues(inner, value) : []
  })
