/** Shape: how documents hold the fields of a resource, and how older documents are brought to it. Part 2, resources and their fields. */

import { hash } from 'node:crypto'
import type { Violation } from '../errors/problem.ts'
import { boundsOf, defaultPrecision } from '../fields/bounds.ts'
import type { Field } from '../fields/field.ts'
import { absentValue, isObject, type ValueRules, valueCheckOf } from '../fields/value-check.ts'
import { decimalText } from '../formats/numbers.ts'
import type { Settings } from '../settings.ts'

/** A field as documents hold it. */
export interface ShapedField {
  readonly name: string
  /** The name it had before; its values move with it. */
  readonly was: string | undefined
  /** The kind, of a reference with the resource that it names. */
  readonly kind: string
  /** What stands where nothing is stored. */
  readonly absent: unknown
  /** Stored and never answered. */
  readonly writeOnly: boolean
  /** The scopes that callers need to see it and to write it. */
  readonly read: string | undefined
  readonly write: string | undefined
  /** The digits of a decimal: in all, and behind the point. */
  readonly digits: readonly [precision: number, scale: number] | null
  /** What takes the place of stored values that do not fit; null where nothing does. */
  readonly fill: FieldFill | null
  /** The fields of an object, or the item of a list. */
  readonly inner: readonly ShapedField[]
}

interface FieldFill {
  readonly value: unknown
  readonly fits: (value: unknown) => boolean
  /** Names the value and the bounds it was declared for: rows are filled once for each name. */
  readonly name: string
}

export function shapeField(name: string, field: Field, rules: ValueRules): ShapedField {
  const { kind, target, item, fields = {}, options } = field
  const usual = absentValue(field, valueCheckOf(field, rules))
  const inner = Object.entries(item ? { '*': item } : fields)
  return {
    name,
    was: options.was,
    kind: target === undefined ? kind : `${kind} ${target}`,
    absent: (usual === undefined ? options.fill : usual) ?? null,
    writeOnly: options.writeOnly === true,
    read: options.read,
    write: options.write,
    digits: kind === 'decimal' ? [options.precision ?? defaultPrecision, options.scale ?? 0] : null,
    fill: fillOf(field, rules),
    inner: inner.map(([name, one]) => shapeField(name, one, rules)),
  }
}

function fillOf(field: Field, rules: ValueRules): FieldFill | null {
  const { fill } = field.options
  if (fill === undefined) return null
  const check = valueCheckOf(field, rules)
  const fits = (value: unknown): boolean => {
    const faults: Violation[] = []
    check(value, '', faults)
    return faults.length === 0
  }
  return { value: check(fill, '', []), fits, name: fillName(field, rules.settings) }
}

/** Where the fill or the bounds change, rows and index columns are written anew. */
export const fillName = (field: Field, settings: Settings): string =>
  hash('sha256', JSON.stringify(boundsOf(field, settings))).slice(0, 12)

/** Names a structure: two documents of one name have the same members, held in the same way. */
export function shapeName(fields: readonly ShapedField[]): string {
  const part = ({ name, kind, writeOnly, digits, inner, fill }: ShapedField): unknown => [
    ...[name, kind, writeOnly, digits, inner.map(part)],
    ...(fill ? [fill.name] : []),
  ]
  return JSON.stringify(fields.map(part))
}

export type Members = Readonly<Record<string, unknown>>

/** A document of an older shape as one of today's: new fields get their default, renamed ones their value, or what was kept for them. */
export function completeDocument(
  fields: readonly ShapedField[],
  document: Members,
  kept: Members = {},
): Record<string, unknown> {
  return Object.fromEntries(
    fields.map((field) => {
      const { name, was = name } = field
      const from = Object.hasOwn(document, name) ? name : was
      if (Object.hasOwn(document, from)) return [name, fitValue(field, document[from], kept[name])]
      return [name, Object.hasOwn(kept, name) ? fitValue(field, kept[name]) : field.absent]
    }),
  )
}

function fitValue(field: ShapedField, value: unknown, kept?: unknown): unknown {
  const made = convertValue(field, value, kept)
  return field.fill === null || field.fill.fits(made) ? made : field.fill.value
}

function convertValue({ digits, inner }: ShapedField, value: unknown, kept?: unknown): unknown {
  if (digits && typeof value === 'string') return rescaleDecimal(value, digits)
  if (Array.isArray(value)) {
    // A list is kept as long as nobody changed it.
    return (Array.isArray(kept) ? kept : value).map((one) => fitValue(inner[0] as ShapedField, one))
  }
  return inner.length > 0 && isObject(value) ? completeDocument(inner, value, isObject(kept) ? kept : {}) : value
}

/** Where hidden texts keep what only nodes of another shape know, by the number of that shape; no field has this name. */
export const keptForOthersKey = '*'

/** Whether what is kept for a shape is all that its nodes show of the row, with every member of its objects. Earlier releases kept less. */
export const isCompleteView = (kept: Members): boolean => Object.hasOwn(kept, keptForOthersKey)

/** A document of a newer shape as one of today's: what is not known is left out, and what was kept for today's shape wins. */
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

/** A document of today as the declaration before shows it, as far as that `knows` its fields: under their former names. */
export function formerDocument(
  fields: readonly ShapedField[],
  document: Members,
  knows: (path: string) => boolean,
  at = '',
): Record<string, unknown> {
  const known = fields.flatMap(({ name, was, inner }): [string, unknown][] => {
    const from = was !== undefined && knows(at + was) && !knows(at + name) ? was : name
    return knows(at + from) ? [[from, formerValue(inner, document[name], knows, `${at + from}.`)]] : []
  })
  return Object.fromEntries(known)
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
 * Merges three ways: `own` is a value of which `was` and `is` are two views. What differs between the views was changed and
 * is as the second view has it; the rest stays as it is, even where the views say less of it.
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

/** What a writer keeps of a document of another shape that it writes over: what it does not know or did not change. */
export function membersToKeep(
  fields: readonly ShapedField[],
  document: Members,
  seen: Members,
  written: Members,
): Record<string, unknown> {
  const known = new Map(fields.map((field) => [field.name, field]))
  const stays = ([name, value]: [string, unknown]): boolean => {
    const field = known.get(name)
    if (!field) return true
    const text = JSON.stringify(seen[name])
    if (JSON.stringify(value) === text) return false // it is found in the document itself
    return (field.inner.length > 0 && isObject(value)) || JSON.stringify(written[name]) === text
  }
  return Object.fromEntries(Object.entries(document).filter(stays))
}

/** A decimal with as many digits behind the point as are declared now. One that would lose some stays as it is. */
function rescaleDecimal(text: string, [precision, scale]: readonly [number, number]): string {
  const least = text.includes('.') ? text.replace(/\.?0+$/, '') : text
  const made = decimalText(least, precision, scale)
  return made === 'format' || made === 'digits' || made === 'range' ? text : made
}

/** What a document of a former version gives to a row of another resource, which has it today. */
export interface MovedValue {
  /** What it was called there. */
  readonly field: string
  readonly value: unknown
  readonly collection: string
  /** The row; null where none is led to. */
  readonly id: string | null
  /** The value in that row, as it is today, and what changes of it for another one. */
  readonly read: (row: Members) => unknown
  readonly put: (row: Members) => Members
  /** Whether rows of a former version had no such field of their own. */
  readonly isNew: (epoch: string) => boolean
}

/** Another row that a document is completed from: the field that leads to it; `whole` is the own one, with what is never answered. */
export interface DocumentJoin {
  readonly by: string
  readonly collection: string
  readonly withWriteOnly?: true
}
