/** Consistency: names must agree between resources, and with the fields in orders and indexes. Part 2, resources. */

import { mostSearched, mostSearchedFields, searchedIn, searchedLength } from '../fields/bounds.ts'
import type { Field } from '../fields/field.ts'
import { type FieldKinds, fieldKind } from '../fields/kind.ts'
import { isObject, valueInWords } from '../fields/value-check.ts'
import { prefixPattern } from '../formats/id.ts'
import { isKebab, toCase } from '../formats/naming.ts'
import { type ResourceDeclaration, ruledFields } from '../resources/declaration.ts'
import { defaultPrefix } from '../resources/resource.ts'
import {
  checkFieldName,
  type DeclarationCheck,
  type DeclarationPath,
  pathText,
  report,
  soundField,
  structureOf,
} from './field-check.ts'
import { type DeclarationFault, hasMember, nameHint, type UncheckedObject } from './kind-options.ts'
import { parentFieldOf, parentNameOf, type ResourceCheck } from './resource-check.ts'

/** Checks the names that all resources must agree on. */
export function checkConsistency(context: DeclarationCheck): void {
  const resources = Object.entries(context.resources).filter((one): one is [string, UncheckedObject] =>
    isObject(one[1]),
  )
  checkPrefixes(resources, context)
  checkTables(resources, context)
  checkStructures(resources, context)
  checkCycles(
    (name) => ['resources', name, 'parent'],
    context.resources,
    (name) => [parentNameOf(context.resources[name])],
    context,
  )
}

type Entries = readonly (readonly [name: string, given: UncheckedObject])[]

/** Prefixes of ids must be valid and unique. R36. */
function checkPrefixes(resources: Entries, context: DeclarationCheck): void {
  const owners = new Map<string, string>()
  for (const [name, { prefix: declaredPrefix, singular: own, key }] of resources) {
    const path = ['resources', name, 'prefix']
    const prefix =
      declaredPrefix ?? defaultPrefix(name, (typeof own === 'string' ? { singular: own } : {}) as ResourceDeclaration)
    if (key !== undefined || (declaredPrefix === undefined && !isKebab(String(own ?? name)))) continue
    if (typeof prefix !== 'string' || !prefixPattern.test(prefix)) {
      report(
        context,
        path,
        `The prefix ${declaredPrefix === undefined ? 'that follows from the name, ' : ''}${valueInWords(prefix)}${declaredPrefix === undefined ? ',' : ''} cannot begin an id.`,
        "Write up to 63 lowercase letters, as prefix: 'cus'; underscores are allowed between them.",
      )
      continue
    }
    const owner = owners.get(prefix)
    owners.set(prefix, name)
    if (owner)
      report(
        context,
        path,
        `The ids of \`${owner}\` and of \`${name}\` would both begin with \`${prefix}\`.`,
        `Write another \`prefix\` for one of them.`,
      )
  }
}

/** Every resource needs its own table and view. */
function checkTables(resources: Entries, context: DeclarationCheck): void {
  const owners = new Map<string, string>()
  for (const [name] of resources) {
    const table = name.replaceAll('-', '_').toLowerCase()
    const owner = [table, `${table}_view`].map((one) => owners.get(one)).find((one) => one !== undefined)
    if (owner !== undefined)
      report(
        context,
        ['resources', name],
        `Its table would have the same name as that of \`${owner}\`.`,
        'Write another name for one of the two.',
      )
    for (const one of [table, `${table}_view`]) owners.set(one, name)
  }
}

/** A name must have the same structure everywhere. R37. */
function checkStructures(resources: Entries, context: DeclarationCheck): void {
  const first = new Map<string, readonly [text: string, path: DeclarationPath]>()
  for (const [name, field] of context.soundConcepts) first.set(name, [structureOf(field), ['concepts', name]])
  for (const [resource, { fields }] of resources) {
    for (const [name, declared] of Object.entries(isObject(fields) ? fields : {})) {
      const field = soundField(declared, context)
      if (!field || field.options.ownMeaning) continue
      const path = ['resources', resource, 'fields', name]
      const [text, place] = first.get(name) ?? [structureOf(field), path]
      if (text === structureOf(field)) first.set(name, [text, place])
      else
        report(
          context,
          path,
          `\`${name}\` is ${structureOf(field)} here and ${text} at ${pathText(place)}.`,
          "Write one structure for both, or another name; if the two mean different things, say so with ownMeaning: 'why'.",
        )
    }
  }
}

/** Reports cycles between names, each one once. */
export function checkCycles(
  place: (name: string) => DeclarationPath,
  items: UncheckedObject,
  next: (name: string) => readonly unknown[],
  context: DeclarationCheck,
): void {
  const reported = new Set<string>()
  for (const start of Object.keys(items)) {
    const seen = new Set<string>()
    const visit = (name: string, way: readonly string[]): readonly string[] | undefined => {
      for (const to of next(name)) {
        if (to === start) return [...way, start]
        if (!hasMember(items, to) || seen.has(to)) continue
        seen.add(to)
        const circle = visit(to, [...way, to])
        if (circle) return circle
      }
      return undefined
    }
    const circle = visit(start, [start]) ?? []
    if (circle.length > 0 && !circle.some((name) => reported.has(name)))
      report(
        context,
        place(start),
        `\`${start}\` is part of a cycle: ${circle.join(' -> ')}.`,
        'Remove one of these links.',
      )
    for (const name of circle) reported.add(name)
  }
}

export type NamedFields = ReadonlyMap<string, Field | undefined>

/** The fields that orders, indexes and summaries may name, nested ones with dots; undefined for a field with mistakes. */
export function namedFields(judged: ResourceCheck, context: DeclarationCheck): NamedFields {
  const { naming } = context.settings
  const time: Field = { kind: 'timestamp', options: { filter: 'range', sort: true } }
  const terms = new Map<string, Field | undefined>([['id', { kind: 'text', options: { filter: true, sort: true } }]])
  const add = (before: string, fields: UncheckedObject): void => {
    for (const [name, one] of Object.entries(fields)) {
      const field = soundField(one, context)
      terms.set(before + name, field)
      if (field?.kind === 'object') add(`${before}${name}.`, field.fields ?? {})
    }
  }
  const link = parentFieldOf(judged, context)
  if (link) terms.set(link, { kind: 'text', options: { max: 200, filter: true } })
  if (isObject(judged.given.fields)) add('', judged.given.fields)
  return terms.set(toCase('created-at', naming), time).set(toCase('updated-at', naming), time)
}

/** Checks that orders, indexes and `uniques` name suitable fields. */
export function checkOrders(judged: ResourceCheck, context: DeclarationCheck): void {
  const { name, given } = judged
  const path = ['resources', name]
  const terms = namedFields(judged, context)
  if (given.order !== undefined) checkNameList([...path, 'order'], given.order, orderRule, terms, context)
  if (given.sorts !== undefined && !isObject(given.sorts)) {
    const mend = "Write named orders, as sorts: { urgency: ['dueOn', '-total'] }."
    report(context, [...path, 'sorts'], `\`sorts\` is ${valueInWords(given.sorts)}.`, mend)
  }
  for (const [sort, listed] of Object.entries(isObject(given.sorts) ? given.sorts : {})) {
    checkFieldName([...path, 'sorts', sort], context)
    checkNameList([...path, 'sorts', sort], listed, orderRule, terms, context)
  }
  const used = [...summarizedNames(given.summaries), ...ruledFields(given.access)]
  const indexed: NameListRule = {
    ...indexRule,
    fits: (field, term, kinds) => indexRule.fits(field, term, kinds) || used.includes(term),
  }
  for (const [key, use] of Object.entries({ indexes: indexed, uniques: uniqueRule })) {
    const listed = given[key] ?? []
    if (Array.isArray(listed)) for (const one of listed) checkNameList([...path, key], one, use, terms, context)
    else
      report(context, [...path, key], `\`${key}\` is ${valueInWords(listed)}.`, `Write ${key}: [['country', 'name']].`)
  }
  checkSortable(judged, terms, context)
  checkSearched(judged, context)
}

/** The names of fields in summaries that may have mistakes. */
function summarizedNames(summaries: unknown): string[] {
  if (typeof summaries === 'string') return [summaries]
  return isObject(summaries) || Array.isArray(summaries) ? Object.values(summaries).flatMap(summarizedNames) : []
}

/** The number of sortable fields is limited. R56. */
function checkSortable({ name, given, settings }: ResourceCheck, terms: NamedFields, context: DeclarationCheck): void {
  const declared = (term: string) => isObject(given.fields) && hasMember(given.fields, term.split('.')[0])
  const sorted = [...terms].filter(([term, field]) => field?.options.sort && declared(term))
  const most = settings.list.maxSortable
  if (sorted.length <= most) return
  const reason = `There are ${sorted.length} fields with \`sort\`, which is more than list.maxSortable (${most}).`
  report(context, ['resources', name, 'fields'], reason, 'Remove `sort` from some of them, or raise list.maxSortable.')
}

/** An index of words is limited, and so is an order by relevance. R235. */
function checkSearched({ name, given }: ResourceCheck, context: DeclarationCheck): void {
  const path = ['resources', name, 'fields']
  const { kinds } = context.rules
  const all = Object.values(isObject(given.fields) ? given.fields : {}).flatMap((one) =>
    searchedIn(soundField(one, context)),
  )
  const length = all.reduce((sum, one) => sum + searchedLength(one, kinds), 0)
  if (all.length > mostSearchedFields) {
    const reason = `There are ${all.length} fields with \`search\`; allowed are ${mostSearchedFields}.`
    report(context, path, reason, 'Remove `search` from some of them.')
  } else if (length > mostSearched)
    report(
      context,
      path,
      `The fields with \`search\` can have ${length} characters together, which is more than ${mostSearched}.`,
      'Write a smaller `max` at these texts and lists (without it a text has up to 10,000 characters and a list 1,000 items), or remove `search` from some of them.',
    )
}

/** The rule for a list of field names: how many it needs, and which fields are suitable. */
interface NameListRule {
  readonly least: number
  readonly signed: boolean
  readonly fits: (field: Field, term: string, kinds: FieldKinds) => boolean
  readonly fault: (term: string) => DeclarationFault
}

export const orderRule: NameListRule = {
  least: 1,
  signed: true,
  fits: ({ kind, options }, _, kinds) =>
    /sort|range/.test(fieldKind(kind, kinds).order) && !options.writeOnly && !options.read,
  fault: (term) => [
    `Lists cannot be sorted by \`${term}\`.`,
    'Name a field whose values have an order, without `writeOnly` and `read`.',
  ],
}
const indexRule: NameListRule = {
  least: 2,
  signed: true,
  fits: ({ options }) => Boolean(options.filter || options.sort),
  fault: (term) => [
    `\`${term}\` has neither \`filter\` nor \`sort\` and is in no summary and no access rule, so an index on it would not be used.`,
    `Add \`filter\` or \`sort\` to the field \`${term}\`, or leave it out here.`,
  ],
}
export const uniqueRule: NameListRule = {
  least: 2,
  signed: false,
  fits: ({ kind, options }, term, kinds) =>
    fieldKind(kind, kinds).order !== 'none' && !options.writeOnly && !options.read && term !== 'id',
  fault: (term) => [
    `\`${term}\` cannot be part of \`uniques\`.`,
    term === 'id'
      ? 'Leave it out: it is always unique.'
      : 'Name fields that can be compared, without `writeOnly` and `read`.',
  ],
}

function checkNameList(
  path: DeclarationPath,
  listed: unknown,
  use: NameListRule,
  terms: NamedFields,
  context: DeclarationCheck,
): void {
  const names: readonly unknown[] = Array.isArray(listed) ? listed : []
  const bare = names.map((one) => (typeof one === 'string' && use.signed ? one.replace(/^-/, '') : one))
  if (names.length < use.least) {
    const some = use.least === 1 ? 'at least one field' : 'two fields or more'
    report(
      context,
      path,
      `It is ${Array.isArray(listed) ? `a list of ${names.length}` : valueInWords(listed)}.`,
      `Write a list of ${some}.`,
    )
    return
  }
  for (const [i, term] of bare.entries()) {
    const field = terms.get(term as string)
    const [top = ''] = typeof term === 'string' ? term.split('.') : []
    if (terms.has(top) && !terms.get(top)) continue // the mistakes of the field itself are reported
    if (typeof term !== 'string' || !terms.has(term))
      report(context, path, `There is no field ${valueInWords(term)}.`, nameHint(term, [...terms.keys()]))
    else if (field && !use.fits(field, term, context.rules.kinds)) report(context, path, ...use.fault(term))
    if (bare.indexOf(term) < i)
      report(context, path, `${valueInWords(term)} is listed twice.`, 'Write each field once.')
  }
}
