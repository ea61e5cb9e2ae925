/** Finds where names do not agree: between resources, and with the fields that orders and indexes name. Part 2, resources. */

import type { ResourceDeclaration } from '../resources/declaration.ts'
import type { Field } from '../resources/field.ts'
import { prefixPattern } from '../resources/id.ts'
import { cased, isKebab } from '../resources/naming.ts'
import { defaultPrefix } from '../resources/resource.ts'
import { isObject } from '../resources/values.ts'
import { type Fault, type Given, guessed, has, shown } from './bounds.ts'
import { type Judged, linkOf, parentName } from './profile.ts'
import {
  checkName,
  comparable,
  type Ground,
  note,
  type Path,
  placeOf,
  sortable,
  structure,
  whole,
} from './soundness.ts'

/** What resources have to agree on with each other. */
export function checkTogether(ground: Ground): void {
  const resources = Object.entries(ground.resources).filter((one): one is [string, Given] => isObject(one[1]))
  checkPrefixes(resources, ground)
  checkTables(resources, ground)
  checkStructures(resources, ground)
  checkCircles(
    (name) => ['resources', name, 'parent'],
    ground.resources,
    (name) => [parentName(ground.resources[name])],
    ground,
  )
}

type Entries = readonly (readonly [name: string, given: Given])[]

/** R36. */
function checkPrefixes(resources: Entries, ground: Ground): void {
  const owners = new Map<string, string>()
  for (const [name, { prefix: given, singular: own, key }] of resources) {
    const path = ['resources', name, 'prefix']
    const prefix =
      given ?? defaultPrefix(name, (typeof own === 'string' ? { singular: own } : {}) as ResourceDeclaration)
    if (key !== undefined || (given === undefined && !isKebab(String(own ?? name)))) continue
    if (typeof prefix !== 'string' || !prefixPattern.test(prefix)) {
      note(
        ground,
        path,
        `The prefix ${given === undefined ? 'that follows from the name, ' : ''}${shown(prefix)}${given === undefined ? ',' : ''} cannot begin an id.`,
        "Write up to 63 small letters, as prefix: 'cus'; underscores may stand between them.",
      )
      continue
    }
    const owner = owners.get(prefix)
    owners.set(prefix, name)
    if (owner)
      note(
        ground,
        path,
        `The ids of \`${owner}\` and of \`${name}\` would both begin with \`${prefix}\`.`,
        `Write another \`prefix\` for one of them.`,
      )
  }
}

/** Every resource has a table and a view of its own. */
function checkTables(resources: Entries, ground: Ground): void {
  const owners = new Map<string, string>()
  for (const [name] of resources) {
    const table = name.replaceAll('-', '_').toLowerCase()
    const owner = [table, `${table}_view`].map((one) => owners.get(one)).find((one) => one !== undefined)
    if (owner !== undefined)
      note(
        ground,
        ['resources', name],
        `It would be stored under the same name as \`${owner}\`.`,
        'Write another name for one of the two.',
      )
    for (const one of [table, `${table}_view`]) owners.set(one, name)
  }
}

/** One concept, one name and one structure. R37. */
function checkStructures(resources: Entries, ground: Ground): void {
  const first = new Map<string, readonly [text: string, path: Path]>()
  for (const [name, field] of ground.sound) first.set(name, [structure(field), ['concepts', name]])
  for (const [resource, { fields }] of resources) {
    for (const [name, given] of Object.entries(isObject(fields) ? fields : {})) {
      const field = whole(given, ground.sound)
      if (!field || field.options.ownMeaning) continue
      const path = ['resources', resource, 'fields', name]
      const [text, place] = first.get(name) ?? [structure(field), path]
      if (text === structure(field)) first.set(name, [text, place])
      else
        note(
          ground,
          path,
          `\`${name}\` is ${structure(field)} here and ${text} at ${placeOf(place)}.`,
          "Write one structure for both, or another name; if the two mean different things, say so with ownMeaning: 'why'.",
        )
    }
  }
}

/** Names that lead back to themselves; each circle is told once. */
export function checkCircles(
  place: (name: string) => Path,
  items: Given,
  next: (name: string) => readonly unknown[],
  ground: Ground,
): void {
  const told = new Set<string>()
  for (const start of Object.keys(items)) {
    const seen = new Set<string>()
    const visit = (name: string, way: readonly string[]): readonly string[] | undefined => {
      for (const to of next(name)) {
        if (to === start) return [...way, start]
        if (!has(items, to) || seen.has(to)) continue
        seen.add(to)
        const circle = visit(to, [...way, to])
        if (circle) return circle
      }
      return undefined
    }
    const circle = visit(start, [start]) ?? []
    if (circle.length > 0 && !circle.some((name) => told.has(name)))
      note(
        ground,
        place(start),
        `\`${start}\` leads back to itself: ${circle.join(' -> ')}.`,
        'Take one of these out of the circle.',
      )
    for (const name of circle) told.add(name)
  }
}

type Terms = ReadonlyMap<string, Field | undefined>

/** What orders and indexes may name: fields by their names, nested ones with dots; undefined where a field is not sound. */
function termsOf(judged: Judged, ground: Ground): Terms {
  const { naming } = ground.settings
  const time: Field = { kind: 'timestamp', options: { filter: 'range', sort: true } }
  const terms = new Map<string, Field | undefined>([['id', { kind: 'text', options: { filter: true, sort: true } }]])
  const add = (before: string, fields: Given): void => {
    for (const [name, one] of Object.entries(fields)) {
      const field = whole(one, ground.sound)
      terms.set(before + name, field)
      if (field?.kind === 'object') add(`${before}${name}.`, field.fields ?? {})
    }
  }
  const link = linkOf(judged, ground)
  if (link) terms.set(link, { kind: 'text', options: { filter: true } })
  if (isObject(judged.given.fields)) add('', judged.given.fields)
  return terms.set(cased('created-at', naming), time).set(cased('updated-at', naming), time)
}

/** Whether orders, indexes and joint uniqueness name fields that can do it. */
export function checkOrders(judged: Judged, ground: Ground): void {
  const { name, given } = judged
  const path = ['resources', name]
  const terms = termsOf(judged, ground)
  if (given.order !== undefined) checkTerms([...path, 'order'], given.order, orders, terms, ground)
  if (given.sorts !== undefined && !isObject(given.sorts)) {
    const mend = "Write named orders, as sorts: { urgency: ['dueOn', '-total'] }."
    note(ground, [...path, 'sorts'], `\`sorts\` is ${shown(given.sorts)}.`, mend)
  }
  for (const [sort, listed] of Object.entries(isObject(given.sorts) ? given.sorts : {})) {
    checkName([...path, 'sorts', sort], ground)
    checkTerms([...path, 'sorts', sort], listed, orders, terms, ground)
  }
  for (const [key, use] of Object.entries({ indexes, uniques })) {
    const listed = given[key] ?? []
    if (Array.isArray(listed)) for (const one of listed) checkTerms([...path, key], one, use, terms, ground)
    else note(ground, [...path, key], `\`${key}\` is ${shown(listed)}.`, `Write ${key}: [['country', 'name']].`)
  }
  checkSortable(judged, terms, ground)
}

/** R56. */
function checkSortable({ name, given, settings }: Judged, terms: Terms, ground: Ground): void {
  const declared = (term: string) => isObject(given.fields) && has(given.fields, term.split('.')[0])
  const sorted = [...terms].filter(([term, field]) => field?.options.sort && declared(term))
  const most = settings.list.maxSortable
  if (sorted.length <= most) return
  const reason = `There are ${sorted.length} fields to sort by, which is more than list.maxSortable (${most}).`
  note(ground, ['resources', name, 'fields'], reason, 'Leave `sort` out at some, or set a higher maximum.')
}

/** What a list of names is for: how many it takes, and which fields fit. */
interface Use {
  readonly least: number
  readonly signed: boolean
  readonly fits: (field: Field, term: string) => boolean
  readonly fault: (term: string) => Fault
}

const orders: Use = {
  least: 1,
  signed: true,
  fits: ({ kind, options }) => sortable.includes(kind) && !options.writeOnly && !options.read,
  fault: (term) => [
    `\`${term}\` cannot be sorted by.`,
    'Name a field whose values have an order and are answered to everybody.',
  ],
}
const indexes: Use = {
  least: 2,
  signed: true,
  fits: ({ options }) => Boolean(options.filter || options.sort),
  fault: (term) => [
    `\`${term}\` can neither be filtered nor sorted by, so an index of it has no use.`,
    `Write filter or sort at the field \`${term}\`, or leave it out here.`,
  ],
}
const uniques: Use = {
  least: 2,
  signed: false,
  fits: ({ kind, options }, term) => comparable.includes(kind) && !options.writeOnly && !options.read && term !== 'id',
  fault: (term) => [
    `\`${term}\` cannot be part of what is unique together.`,
    term === 'id' ? 'Leave it out: it is unique alone.' : 'Leave it out.',
  ],
}

function checkTerms(path: Path, listed: unknown, use: Use, terms: Terms, ground: Ground): void {
  const names: readonly unknown[] = Array.isArray(listed) ? listed : []
  const bare = names.map((one) => (typeof one === 'string' && use.signed ? one.replace(/^-/, '') : one))
  if (names.length < use.least) {
    const some = use.least === 1 ? 'at least one field' : 'two fields or more'
    note(
      ground,
      path,
      `It is ${Array.isArray(listed) ? `a list of ${names.length}` : shown(listed)}.`,
      `Write a list of ${some}.`,
    )
    return
  }
  for (const [i, term] of bare.entries()) {
    const field = terms.get(term as string)
    const [top = ''] = typeof term === 'string' ? term.split('.') : []
    if (terms.has(top) && !terms.get(top)) continue // its own mistakes are told
    if (typeof term !== 'string' || !terms.has(term))
      note(ground, path, `There is no field ${shown(term)}.`, guessed(term, [...terms.keys()]))
    else if (field && !use.fits(field, term)) note(ground, path, ...use.fault(term))
    if (bare.indexOf(term) < i) note(ground, path, `${shown(term)} stands there twice.`, 'Write each field once.')
  }
}
