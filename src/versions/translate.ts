/** Form: how a version sends and takes what is stored, both ways. Part 9, versions. */
import type { Beside } from '../flow/plan.ts'
import type { Comparison } from '../resources/change.ts'
import type { Field } from '../resources/field.ts'
import type { Resource } from '../resources/resource.ts'
import { type Address, forChange, forCreate, forReplace, type Hand } from '../resources/row.ts'
import { isObject } from '../resources/values.ts'
import { type Answering, answering } from './answer.ts'
import { asked, type Beyond, namesOf, ordered, renaming } from './ask.ts'
import { converting } from './failure.ts'
import {
  back,
  type Conversion,
  conversion,
  type Document,
  type Elsewhere,
  forth,
  type Program,
  plain,
  rowSource,
  type Source,
  type Step,
} from './program.ts'

export type { Rows } from './answer.ts'

export interface Form extends Answering {
  /** The resource as it is stored. */
  readonly today: Resource
  /** The other rows that an answer is completed from. */
  readonly beside: readonly Beside[]
  /** The fields of a new item, of one in place of another, and of a changed one, as they are stored. */
  readonly create: (body: Document, hand: Hand) => Document
  readonly replace: (body: Document, seen: Document | null, address: Address, hand: Hand) => Document
  readonly change: (body: Document, seen: Document, address: Address, hand: Hand) => Document
  /** The names that a field of today has, of the own row or of another one that has fields of it. */
  readonly names: (field: string, collection?: string) => readonly string[]
  /** What a comparison and an order ask of today's fields; null where they cannot be asked. */
  readonly ask: ((comparison: Comparison) => readonly (Comparison | Reaching<Comparison>)[] | null) | null
  readonly order: (term: string) => readonly (string | Reaching<string>)[] | null
  /** The fields that other rows have today. */
  readonly moved: readonly string[]
  /** What a body writes to other rows, which have fields of it today. */
  readonly along: (body: Document, document: Document) => readonly Along[]
}

/** What is asked of a row that a field of the own one leads to, or of what stands in its place where it leads to none. */
interface Reaching<T> extends Pick<Beyond<T>, 'by' | 'asks' | 'own'> {
  readonly today: Resource
  /** The own field that keeps what no other row has; null where each row leads to one. */
  readonly kept: string | null
}

/** What is written to another row. */
interface Along {
  readonly by: string
  readonly today: Resource
  /** What changes of the row as it is. */
  readonly patch: (row: Document) => Document
}

/** The form of the newest version: everything is as it is stored. */
export const stored = (today: Resource): Form => ({
  today,
  beside: [],
  create: (body, hand) => forCreate(today, body, hand),
  replace: (body, seen, address, hand) => forReplace(today, body, seen, address, hand),
  change: (body, seen, address, hand) => forChange(today, body, seen, address, hand),
  answer: null,
  answers: null,
  names: (field) => [field],
  ask: null,
  order: (term) => [term],
  moved: [],
  along: () => [],
})

/** The form of an older version, from the changes since then, the newest first. */
export function older(
  resource: Resource,
  today: Resource,
  steps: readonly Step[],
  { elsewhere, resources }: { elsewhere: Elsewhere; resources: ReadonlyMap<string, Resource> },
): Form {
  const down = steps.reduce((program, step) => back(program, step, elsewhere), plain(today.name, namesIn(today)))
  const up = steps.toReversed().reduce(forth, plain(today.name, namesIn(resource)))
  const names = (field: string, among = today.name) =>
    among === today.name ? namesOf(steps, field) : movedNames(down, among, field)
  const own = {
    resource,
    today,
    down,
    up,
    back: conversion(down, namesIn(resource)),
    forth: conversion(up, namesIn(today)),
    names,
    made: (field: string) => up.sources.get(field)?.from === 'made',
  }
  return {
    today,
    beside: down.beside,
    create: (body, hand) => keeping(own, body, created(own, body, hand)),
    replace: (body, seen, address, hand) => keeping(own, body, replaced(own, body, seen, { address, hand })),
    change: (body, seen, address, hand) => {
      const next = forChange(resource, body, before(own, seen), address, hand)
      return keeping(own, body, changed(own, next, seen, { address, hand }))
    },
    ...answering(resource, today, down),
    names,
    ask: (comparison) => reaching(asked(steps, comparison, elsewhere), down, resources, comparison.field),
    order: (term) => reaching(ordered(steps, term, elsewhere), down, resources, term.replace(/^-/, '')),
    moved: namesIn(resource).filter((name) => rowSource(down.sources.get(name)) !== null),
    along: (body, document) => besides(own, body, document, resources),
  }
}

const namesIn = ({ members }: Resource): string[] => members.map(({ name }) => name)

/** With the resources that are led to, as they are today. */
const reaching = <T extends object | string>(
  found: readonly (T | Beyond<T>)[] | null,
  { sources }: Program,
  resources: ReadonlyMap<string, Resource>,
  field: string,
): readonly (T | Reaching<T>)[] | null =>
  found?.map((one) => {
    if (typeof one !== 'object' || !('asks' in one)) return one as T
    const kept = rowSource(sources.get(field))?.otherwise?.name ?? null
    return { by: one.by, asks: one.asks, own: one.own, today: resources.get(one.resource) as Resource, kept }
  }) ?? null

/** The names of the fields that another row has today: of the one, else of all that it has. */
function movedNames({ sources, beside }: Program, collection: string, field: string): readonly string[] {
  const all = [...sources].flatMap(([name, source]) => {
    const row = rowSource(source)
    return row && beside[row.at]?.collection === collection ? [{ name, of: row.there?.fields ?? [] }] : []
  })
  const own = all.filter(({ of }) => of.includes(field))
  return (own.length > 0 ? own : all).map(({ name }) => name)
}

interface Own {
  readonly resource: Resource
  readonly today: Resource
  readonly down: Program
  readonly up: Program
  readonly back: Conversion
  readonly forth: Conversion
  readonly names: Form['names']
  /** Whether a function of a change makes a field of today. */
  readonly made: (field: string) => boolean
}

/** Members that a caller gives, the key among them where it makes an item. */
const isGiven = ({ byName, key }: Resource, name: string): boolean =>
  byName.get(name)?.from === 'caller' || name === key

function created(own: Own, body: Document, hand: Hand): Document {
  const { resource, today } = own
  const document = forCreate(resource, body, hand)
  const { id } = document
  const chosen = typeof id === 'string' && resource.key === null ? { id } : {}
  return renaming(own, () => forCreate(today, { ...given(own, upOf(own, document)), ...chosen }, toldBy(own, hand)))
}

/** A field of today that takes other scopes is refused under the name that it has. */
export const toldBy = ({ names }: Pick<Own, 'names'>, { scopes, refuse }: Hand): Hand => ({
  scopes,
  refuse: (field, lacks) => refuse(names(field)[0] ?? field, lacks),
})

/** A field of a body that another row has today, with its value as it was when it moved. */
interface Moving {
  readonly source: Source
  readonly name: string
  readonly value: unknown
}

/** What stands in a body of the fields that other rows have today. */
function movingIn(own: Own, body: Document, document: Document): Moving[] {
  const { resource, down, up } = own
  const found = Object.keys(body).flatMap((name) => {
    const source = rowSource(down.sources.get(name))
    return source ? [{ name, source }] : []
  })
  if (found.length === 0) return []
  const given = found.map(({ name }) => [name, resource.byName.get(name)?.check(body[name], '', [])])
  const values = conversion(
    up,
    found.map(({ source }) => source.name),
  )({ ...before(own, document), ...Object.fromEntries(given) })
  return found.map((one, i) => ({ ...one, value: values[i] ?? null }))
}

/** What is written of a body to other rows, by these rows. */
function besides(own: Own, body: Document, document: Document, resources: ReadonlyMap<string, Resource>): Along[] {
  const all = movingIn(own, body, document)
  return own.down.beside.flatMap(({ by, collection }, i) => {
    const some = all.filter(({ source }) => source.at === i)
    const patch = (row: Document): Document => {
      const made: Document = {}
      for (const { source, value } of some) Object.assign(made, source.there?.put({ ...row, ...made }, value))
      return made
    }
    return some.length === 0 ? [] : [{ by, today: resources.get(collection) as Resource, patch }]
  })
}

/** What would be written to another row stays with the own one as long as that leads to none. */
function keeping(own: Own, body: Document, document: Document): Document {
  for (const { source, value } of movingIn(own, body, document))
    if (source.otherwise)
      document[source.name] = document[own.down.beside[source.at]?.by as string] == null ? value : null
  return document
}

/** What the caller of today would have sent. */
function given({ today }: Own, values: Document): Document {
  const told = Object.entries(values).filter(([name, value]) => value !== undefined && isGiven(today, name))
  return Object.fromEntries(told)
}

/** Where an item stands, and who writes it. */
interface Writer {
  readonly address: Address
  readonly hand: Hand
}

function replaced(own: Own, body: Document, seen: Document | null, { address, hand }: Writer): Document {
  const { resource, today } = own
  const document = forReplace(resource, body, seen && before(own, seen), address, hand)
  if (seen) return changed(own, document, seen, { address, hand })
  const { [today.key ?? '']: _, ...all } = given(own, upOf(own, document)) // the address has the key
  return renaming(own, () => forReplace(today, all, null, address, toldBy(own, hand)))
}

/** The whole older document of a stored one, what is never answered included. */
function before({ resource, today, back: told }: Own, seen: Document): Document {
  const values = converting(today, seen, 0, () => told(seen))
  return Object.fromEntries(resource.members.map(({ name, absent }, i) => [name, values[i] ?? absent ?? null]))
}

/** The fields of today of an older document; undefined where it says nothing of one. */
function upOf({ today, resource, forth: told }: Own, document: Document): Document {
  const values = converting(resource, document, 0, () => told(document))
  return Object.fromEntries(today.members.map(({ name }, i) => [name, values[i]]))
}

/** What an older document changes of the stored one: only what it says otherwise, so that nothing it does not know is lost. */
function changed(own: Own, next: Document, seen: Document, { address, hand }: Writer): Document {
  const { today } = own
  const [was, is] = [upOf(own, before(own, seen)), upOf(own, next)]
  const patch: Document = {}
  for (const { name, from, field } of today.members) {
    const value = is[name]
    if (from !== 'caller' || value === undefined || JSON.stringify(value) === JSON.stringify(was[name])) continue
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
