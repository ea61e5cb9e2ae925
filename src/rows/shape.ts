/** Shape: the structure of stored documents, and conversions between structures. Part 2, resources and their fields. */

import { hash } from 'node:crypto'
import { boundsOf, defaultPrecision } from '../fields/bounds.ts'
import type { Field } from '../fields/field.ts'
import type { ValueRules } from '../fields/kind.ts'
import { absentValue, firstFault, isObject, valueCheckOf } from '../fields/value-check.ts'
import { decimalText } from '../formats/number-texts.ts'

/** Whether two values are stored as the same text. */
export const isSameJson = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** A field in stored documents. */
export interface ShapedField {
  readonly name: string
  /** The former name; stored values move to the new one. */
  readonly was: string | undefined
  /** The kind; for a reference with the name of its target. */
  readonly kind: string
  /** The value of documents that lack the field. */
  readonly absent: unknown
  /** Stored and never answered. */
  readonly writeOnly: boolean
  /** Whether an erasure empties it. */
  readonly personal: boolean
  /** The scopes that callers need to see it and to write it. */
  readonly read: string | undefined
  readonly write: string | undefined
  /** The digits of a decimal: in all, and after the point. */
  readonly digits: readonly [precision: number, scale: number] | null
  /** Replaces stored values that do not fit; null without `fill`. */
  readonly fill: FieldFill | null
  /** How the value of a derived field is made; null for other fields. */
  readonly derived: DerivedValue | null
  /** The fields of an object, or the item of a list. */
  readonly inner: readonly ShapedField[]
}

/** The source of a derived value. */
export interface DerivedValue {
  /** Identifies the function or the aggregate; if it changes, rows are rewritten. */
  readonly name: string
  /** The names that the same source had when resources or fields had other names: a rename does not count as another source. */
  readonly formerNames: readonly string[]
  /** The name of the source with other names of resources and fields. */
  readonly named: (called: SourceNames) => string
  /** The function of the document; null for an aggregate, whose value is null until it is filled. */
  readonly of: ((document: Members) => unknown) | null
  /** Whether documents of older shapes have no value, or that of another aggregate. */
  readonly unknown?: true
}

/** Other names of a resource and of a field in it. */
export type SourceNames = (resource: string, field: string) => readonly [resource: string, field: string]

interface FieldFill {
  readonly value: unknown
  readonly fits: (value: unknown) => boolean
  /** A name for the value and the bounds of the field: rows are filled once for each name. */
  readonly name: string
}

export function shapeField(
  name: string,
  field: Field,
  rules: ValueRules,
  derived: DerivedValue | null = null,
): ShapedField {
  const { kind, target, item, fields = {}, options } = field
  const usual = absentValue(field, rules, valueCheckOf(field, rules))
  const inner = Object.entries(item ? { '*': item } : fields)
  return {
    name,
    was: options.was,
    kind: target === undefined ? kind : `${kind} ${target}`,
    absent: derived ? null : ((usual === undefined ? options.fill : usual) ?? null),
    writeOnly: options.writeOnly === true,
    personal: options.personal === true,
    read: options.read,
    write: options.write,
    digits: options.scale === undefined ? null : [options.precision ?? defaultPrecision, options.scale],
    fill: fillOf(field, rules),
    derived,
    inner: inner.map(([name, one]) => shapeField(name, one, rules)),
  }
}

function fillOf(field: Field, rules: ValueRules): FieldFill | null {
  const { fill } = field.options
  if (fill === undefined) return null
  const check = valueCheckOf(field, rules)
  const fits = (value: unknown): boolean => firstFault(check, value) === undefined
  return { value: check(fill, '', []), fits, name: fillName(field, rules) }
}

/** Identifies a fill: if the value or the bounds change, rows and index columns are rewritten. */
export const fillName = (field: Field, rules: ValueRules): string =>
  hash('sha256', JSON.stringify(boundsOf(field, rules))).slice(0, 12)

/** The name of a structure: documents with the same name have the same members in the same form. */
export function shapeName(fields: readonly ShapedField[]): string {
  const part = ({ name, kind, writeOnly, digits, inner, fill, derived }: ShapedField): unknown => [
    ...[name, kind, writeOnly, digits, inner.map(part)],
    ...(fill ? [fill.name] : []),
    ...(derived ? [derived.name] : []),
  ]
  return JSON.stringify(fields.map(part))
}

/** The write-only members of documents of a structure, by its name. */
export const writeOnlyNamesIn = (structure: string): ReadonlySet<string> =>
  new Set(
    (JSON.parse(structure.slice(structure.indexOf('['))) as [name: string, kind: string, writeOnly: boolean][]).flatMap(
      ([name, , writeOnly]) => (writeOnly ? [name] : []),
    ),
  )

export type Members = Readonly<Record<string, unknown>>

/** Converts a document of an older shape to the current one: new fields get the kept value, or else the default. */
export function completeDocument(
  fields: readonly ShapedField[],
  document: Members,
  kept: Members = {},
  recorded = false,
): Record<string, unknown> {
  const whole = Object.fromEntries(
    fields.map((field) => {
      const { name, was = name } = field
      if (field.derived?.unknown) return [name, null]
      const from = Object.hasOwn(document, name) ? name : was
      if (Object.hasOwn(document, from)) return [name, fitValue(field, document[from], kept[name])]
      return [name, Object.hasOwn(kept, name) ? fitValue(field, kept[name]) : field.absent]
    }),
  )
  return withDerivedValues(fields, whole, recorded)
}

/**
 * Sets the fields that are functions of the document, in the order of the fields. Those of a recorded document may lack values; they
 * are null then.
 */
export function withDerivedValues(
  fields: readonly ShapedField[],
  document: Record<string, unknown>,
  recorded = false,
): Record<string, unknown> {
  for (const { name, derived } of fields)
    if (derived?.of) document[name] = recorded ? ifComputable(derived.of, document) : derived.of(document)
  return document
}

function ifComputable(of: (document: Members) => unknown, document: Members): unknown {
  try {
    return of(document)
  } catch {
    return null
  }
}

function fitValue(field: ShapedField, value: unknown, kept?: unknown): unknown {
  const converted = convertValue(field, value, kept)
  return field.fill === null || field.fill.fits(converted) ? converted : field.fill.value
}

function convertValue({ digits, inner }: ShapedField, value: unknown, kept?: unknown): unknown {
  if (digits && typeof value === 'string') return rescaleDecimal(value, digits)
  if (Array.isArray(value)) {
    // A list is kept only if old nodes did not change it, so the kept one is current.
    return (Array.isArray(kept) ? kept : value).map((one) => fitValue(inner[0] as ShapedField, one))
  }
  return inner.length > 0 && isObject(value) ? completeDocument(inner, value, isObject(kept) ? kept : {}) : value
}

/** The member of hidden texts with the values for nodes of other shapes; no field can have this name. */
export const keptForOthersKey = '*'

/** Whether the kept values are complete. In objects that an earlier release kept, members may be outdated. */
export const isCompleteView = (kept: Members): boolean => Object.hasOwn(kept, keptForOthersKey)

/** Converts a document of a newer shape to the current one: without unknown members; values kept for this shape win. */
export function narrowDocument(
  fields: readonly ShapedField[],
  document: Members,
  kept: Members,
): Record<string, unknown> {
  const isAll = isCompleteView(kept)
  return Object.fromEntries(
    fields.map((field) => {
      const { name } = field
      const [is, was] = [document[name], kept[name]]
      if (!isAll && isObject(is) && isObject(was) && field.inner.length > 0)
        return [name, narrowDocument(field.inner, { ...was, ...is }, {})]
      const value = Object.hasOwn(kept, name) ? was : Object.hasOwn(document, name) ? is : field.absent
      return [name, narrowValue(field, value)]
    }),
  )
}

function narrowValue({ inner }: ShapedField, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => narrowValue(inner[0] as ShapedField, one))
  return inner.length > 0 && isObject(value) ? narrowDocument(inner, value, {}) : value
}

/** Converts a current document to the former declaration: only fields that it `knows`, under their former names. */
export function formerDocument(
  fields: readonly ShapedField[],
  document: Members,
  knows: (path: string) => boolean,
  at = '',
): Record<string, unknown> {
  const entries = fields.flatMap(({ name, was, inner }): [string, unknown][] => {
    const from = was !== undefined && knows(at + was) && !knows(at + name) ? was : name
    return knows(at + from) ? [[from, formerValue(inner, document[name], knows, `${at + from}.`)]] : []
  })
  return Object.fromEntries(entries)
}

function formerValue(
  inner: readonly ShapedField[],
  value: unknown,
  knows: (path: string) => boolean,
  at: string,
): unknown {
  if (Array.isArray(value)) return value.map((one) => formerValue(inner[0]?.inner ?? [], one, knows, `${at}*.`))
  return inner.length > 0 && isObject(value) ? formerDocument(inner, value, knows, at) : value
}

/**
 * Three-way merge: `was` and `is` are two views of the value `own`, before and after a change. Differences between them are
 * applied to `own`; the rest of it stays, even if the views show less of it.
 */
export function mergeThreeWay(own: unknown, was: unknown, is: unknown): unknown {
  if (JSON.stringify(was) === JSON.stringify(is)) return own
  if (!isObject(own) || !isObject(was) || !isObject(is)) return is
  const names = [...new Set([...Object.keys(is), ...Object.keys(own)])]
  return Object.fromEntries(
    names.flatMap((name): [string, unknown][] => {
      if (!Object.hasOwn(is, name)) return Object.hasOwn(was, name) ? [] : [[name, own[name]]]
      return [[name, Object.hasOwn(own, name) ? mergeThreeWay(own[name], was[name], is[name]) : is[name]]]
    }),
  )
}

/** The members of a newer document that an older node keeps when it writes the row: unknown and unchanged ones. */
export function membersToKeep(
  fields: readonly ShapedField[],
  document: Members,
  seen: Members,
  written: Members,
): Record<string, unknown> {
  const fieldsByName = new Map(fields.map((field) => [field.name, field]))
  const stays = ([name, value]: [string, unknown]): boolean => {
    const field = fieldsByName.get(name)
    if (!field) return true
    const text = JSON.stringify(seen[name])
    if (JSON.stringify(value) === text) return false // the document has the same value
    return (field.inner.length > 0 && isObject(value)) || JSON.stringify(written[name]) === text
  }
  return Object.fromEntries(Object.entries(document).filter(stays))
}

/** Writes a decimal with the declared digits after the point; unchanged if it would lose any. */
function rescaleDecimal(text: string, [precision, scale]: readonly [number, number]): string {
  const least = text.includes('.') ? text.replace(/\.?0+$/, '') : text
  const result = decimalText(least, precision, scale)
  return result === 'format' || result === 'digits' || result === 'range' ? text : result
}

/** A value of a former version that a row of another resource has now. */
export interface MovedValue {
  /** The name of the field in the former version. */
  readonly field: string
  readonly value: unknown
  readonly collection: string
  /** The id of that row; null without a link. */
  readonly id: string | null
  /** Reads the value from the current row; `put` returns the changes of the row for this value. */
  readonly read: (row: Members) => unknown
  readonly put: (row: Members) => Members
  /** Whether the other resource lacked the field in a former version. */
  readonly isNew: (storedVersion: string) => boolean
}

/** A row that a document needs values of, and the field that links to it; with `withWriteOnly` it is the row itself. */
export interface DocumentJoin {
  readonly by: string
  readonly collection: string
  readonly withWriteOnly?: true
}
