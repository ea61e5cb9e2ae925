/** Form: how a version sends and takes what is stored, both ways. Part 9, versions. */
import type { Beside } from '../flow/plan.ts'
import type { Comparison } from '../resources/change.ts'
import type { Resource } from '../resources/resource.ts'
import { type Address, forChange, forCreate, forReplace, type Hand } from '../resources/row.ts'
import { type Answering, answering, type Rows } from './answer.ts'
import { asked, type Beyond, namesOf, ordered } from './ask.ts'
import { type Along, besides, keeping } from './moving.ts'
import {
  back,
  conversion,
  type Document,
  type Elsewhere,
  forth,
  type Program,
  plain,
  rowSource,
  type Step,
} from './program.ts'
import { created, patched, replaced } from './taking.ts'

export type { Rows } from './answer.ts'

/** A field of a version that rows of another resource have today, and the fields that it is made of there. */
interface Moved {
  readonly name: string
  readonly today: Resource
  readonly fields: readonly string[]
}

export interface Form extends Answering {
  /** The resource as it is stored. */
  readonly today: Resource
  /** The other rows that an answer is completed from. */
  readonly beside: readonly Beside[]
  /** The fields of a new item, of one in place of another, and of a changed one, as they are stored. */
  readonly create: (body: Document, hand: Hand) => Document
  readonly replace: (body: Document, seen: Document | null, address: Address, hand: Hand, rows?: Rows) => Document
  readonly change: (body: Document, seen: Document, address: Address, hand: Hand, rows?: Rows) => Document
  /** The names that a field of today has, of the own row or of another one that has fields of it. */
  readonly names: (field: string, collection?: string) => readonly string[]
  /** What a comparison and an order ask of today's fields; null where they cannot be asked. */
  readonly ask: ((comparison: Comparison) => readonly (Comparison | Reaching<Comparison>)[] | null) | null
  readonly order: (term: string) => readonly (string | Reaching<string>)[] | null
  /** The fields that other rows have today. */
  readonly moved: readonly Moved[]
  /** What a body writes to other rows, which have fields of it today; a patch is merged with what they have. */
  readonly along: (body: Document, document: Document, rows?: Rows) => readonly Along[]
}

/** What is asked of a row that a field of the own one leads to, or of what stands in its place where it leads to none. */
interface Reaching<T> extends Pick<Beyond<T>, 'by' | 'asks' | 'own'> {
  readonly today: Resource
  /** The own field that keeps what no other row has; null where each row leads to one. */
  readonly kept: string | null
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
    replace: (body, seen, address, hand, rows = []) =>
      keeping(own, body, replaced(own, body, seen, { address, hand, rows })),
    change: (body, seen, address, hand, rows = []) =>
      keeping(own, body, patched(own, body, seen, { address, hand, rows }), rows),
    ...answering(resource, today, down),
    names,
    ask: (comparison) => reaching(asked(steps, comparison, elsewhere), down, resources, comparison.field),
    order: (term) => reaching(ordered(steps, term, elsewhere), down, resources, term.replace(/^-/, '')),
    moved: movedIn(resource, down, resources),
    along: (body, document, rows = []) => besides(own, body, document, { rows, resources }),
  }
}

/** The fields of a version that other rows have, each with what it is made of there. */
function movedIn(resource: Resource, { sources, beside }: Program, resources: ReadonlyMap<string, Resource>): Moved[] {
  return namesIn(resource).flatMap((name) => {
    const source = rowSource(sources.get(name))
    const there = source?.there && beside[source.at]
    if (!there) return []
    return [{ name, today: resources.get(there.collection) as Resource, fields: source?.there?.fields ?? [] }]
  })
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
