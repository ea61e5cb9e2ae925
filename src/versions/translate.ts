/** Form: how a version sends and takes what is stored, both ways. Part 9, versions. */
import { invalidBody, Problem, type Violation } from '../errors/problem.ts'
import type { Comparison } from '../resources/change.ts'
import type { Field } from '../resources/field.ts'
import type { Resource } from '../resources/resource.ts'
import { type Address, forChange, forCreate, forReplace } from '../resources/row.ts'
import { isObject } from '../resources/values.ts'
import { asked, namesOf, ordered } from './ask.ts'
import { type Beside, back, type Document, type Elsewhere, forth, type Program, plain, run } from './program.ts'
import type { Step } from './version.ts'

/** The texts of rows that a document is completed from; null where there is none. */
export type Rows = readonly (string | null)[]

export interface Form {
  /** The resource as it is stored. */
  readonly today: Resource
  /** The other rows that an answer is completed from. */
  readonly beside: readonly Beside[]
  /** The fields of a new item, of one in place of another, and of a changed one, as they are stored. */
  readonly create: (body: Document) => Document
  readonly replace: (body: Document, seen: Document | null, address: Address) => Document
  readonly change: (body: Document, seen: Document, address: Address) => Document
  /** The text that is answered for a stored one; null where it is the same. */
  readonly answer: ((doc: string, rows: Rows) => string) | null
  /** The names that a field of today has. */
  readonly names: (field: string) => readonly string[]
  /** What a comparison and an order ask of today's fields; null where they cannot be asked. */
  readonly ask: ((comparison: Comparison) => readonly Comparison[] | null) | null
  readonly order: (term: string) => readonly string[] | null
}

/** The form of the newest version: everything is as it is stored. */
export const stored = (today: Resource): Form => ({
  today,
  beside: [],
  create: (body) => forCreate(today, body),
  replace: (body, seen, address) => forReplace(today, body, seen, address),
  change: (body, seen, address) => forChange(today, body, seen, address),
  answer: null,
  names: (field) => [field],
  ask: null,
  order: (term) => [term],
})

/** The form of an older version, from the changes since then, the newest first. */
export function older(resource: Resource, today: Resource, steps: readonly Step[], elsewhere: Elsewhere): Form {
  const down = steps.reduce(
    (program, step) => back(program, step, elsewhere),
    plain(today.members.map(({ name }) => name)),
  )
  const up = steps.toReversed().reduce(forth, plain(resource.members.map(({ name }) => name)))
  const names = (field: string) => namesOf(steps, field)
  const own = { resource, today, down, up, names }
  return {
    today,
    beside: down.beside,
    create: (body) => created(own, body),
    replace: (body, seen, address) => replaced(own, body, seen, address),
    change: (body, seen, address) => changed(own, forChange(resource, body, before(own, seen), address), seen, address),
    answer: answering(resource, down),
    names,
    ask: (comparison) => asked(steps, comparison),
    order: (term) => ordered(steps, term),
  }
}

interface Own {
  readonly resource: Resource
  readonly today: Resource
  readonly down: Program
  readonly up: Program
  readonly names: Form['names']
}

/** Members that a caller gives, the key among them where it makes an item. */
const isGiven = ({ byName, key }: Resource, name: string): boolean =>
  byName.get(name)?.from === 'caller' || name === key

function created(own: Own, body: Document): Document {
  const { resource, today } = own
  const document = forCreate(resource, body)
  const { id } = document
  const chosen = typeof id === 'string' && resource.key === null ? { id } : {}
  return renaming(own, () => forCreate(today, { ...given(own, run(own.up, document)), ...chosen }))
}

/** What the caller of today would have sent. */
function given({ today }: Own, values: Document): Document {
  const told = Object.entries(values).filter(([name, value]) => value !== undefined && isGiven(today, name))
  return Object.fromEntries(told)
}

function replaced(own: Own, body: Document, seen: Document | null, address: Address): Document {
  const { resource, today } = own
  const document = forReplace(resource, body, seen && before(own, seen), address)
  if (seen) return changed(own, document, seen, address)
  const all = given(own, run(own.up, document))
  return renaming(own, () => forReplace(today, all, null, address))
}

/** The whole older document of a stored one, what is never answered included. */
function before({ resource, down }: Own, seen: Document): Document {
  const values = run(down, seen)
  return Object.fromEntries(resource.members.map(({ name, absent }) => [name, values[name] ?? absent ?? null]))
}

/** What an older document changes of the stored one: only what it says otherwise, so that nothing it does not know is lost. */
function changed(own: Own, next: Document, seen: Document, address: Address): Document {
  const { today, up } = own
  const [was, is] = [run(up, before(own, seen)), run(up, next)]
  const patch: Document = {}
  for (const { name, from, field } of today.members) {
    const value = is[name]
    if (from !== 'caller' || value === undefined || JSON.stringify(value) === JSON.stringify(was[name])) continue
    patch[name] = patchOf(field, seen[name], value)
  }
  return renaming(own, () => forChange(today, patch, seen, address))
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

/** What is wrong with the fields of today is told in the names of the version. */
function renaming<T>({ names }: Pick<Own, 'names'>, make: () => T): T {
  try {
    return make()
  } catch (problem) {
    if (!(problem instanceof Problem) || problem.violations.length === 0) throw problem
    throw invalidBody(problem.violations.flatMap((one) => violationsIn(one, names)))
  }
}

/** A violation under the names that its field has in a version. */
export function violationsIn(one: Violation, names: Form['names']): Violation[] {
  const [, top, ...rest] = one.pointer?.split('/') ?? []
  if (top === undefined) return [one]
  const old = names(top)
  if (old.length === 1 && old[0] === top) return [one]
  const says = one.message.startsWith(`${top} `) ? one.message.slice(top.length) : null
  const several = old.length === 0 ? [''] : old
  return several.map((name) => ({
    ...one,
    message: says === null || name === '' ? one.message : name + says,
    pointer: name === '' ? '' : ['', name, ...rest].join('/'),
  }))
}

function answering({ members }: Resource, down: Program): NonNullable<Form['answer']> {
  const shown = members.filter(({ hidden }) => !hidden)
  return (doc, rows) => {
    const values = run(
      down,
      JSON.parse(doc),
      rows.map((row) => (row === null ? null : JSON.parse(row))),
    )
    const answer: Document = {}
    for (const { name, absent } of shown) answer[name] = values[name] ?? absent ?? null
    return JSON.stringify(answer)
  }
}
