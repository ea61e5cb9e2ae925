/** Undrop: puts dropped values back into the rows that were not written in those fields since. The cellar. */
import type { Violation } from '../errors/problem.ts'
import type { Key } from '../flow/plan.ts'
import { brought, type Collection, cells, completed, type Members, textsOf } from '../resources/collection.ts'
import type { Cellar, Shelf, Steps } from '../store/cellar.ts'
import { updateText } from '../store/compile.ts'
import { keyValues, quoted } from '../store/dialect.ts'
import { type CopyRow, copiesAfter, findDropped, isRecord, valueAt, withoutCopy } from '../store/dropped.ts'
import { sources } from '../store/kinds.ts'
import { remark } from '../store/spread.ts'
import { filledMark, listAround, listOf, type Rights, rightsOf } from './drop.ts'
import { storedIn } from './losses.ts'
import type { State } from './schema.ts'
import type { Fate, Standing } from './state.ts'

/** Why a value stays where it is. */
const reasons = {
  undeclared: 'is not declared',
  kind: 'is declared as another kind',
  rights: 'may be seen or written by more callers than when it was dropped',
  written: 'was written since',
  changed: 'lies in a list or an object that was changed since',
  unique: 'has to be unique, and another row has the value',
  unfit: 'does not fit what is declared',
  reference: 'refers to a row that is not there any more',
} as const
type Reason = keyof typeof reasons

interface Batch {
  readonly fates: readonly Fate[]
  /** The place of the last copy; null where none are left behind it. */
  readonly after: readonly string[] | null
}

const start = ['', '', '']

/** Puts some copies back, those behind a place. */
export function* undropSome(cellar: Cellar, after: readonly string[] | null): Steps<Batch> {
  if (after === null && (yield findDropped(cellar.dialect)).length === 0) return { fates: [], after: null }
  const copies = yield* copiesAfter(cellar.dialect, after ?? start)
  const fates: Fate[] = []
  for (const copy of copies) {
    const shelf = [...cellar.shelves.values()].find(({ collection }) => nameIn(collection) === copy.called)
    const [account, parent, id] = JSON.parse(copy.holder) as [string | null, string | null, string]
    const reason = shelf ? yield* putBack(cellar, shelf, { account, parent, id }, copy) : 'undeclared'
    const field = `${shelf?.collection.name ?? copy.called}.${copy.field}`
    if (reason !== 'gone') fates.push({ field, id, because: reason && reasons[reason] })
  }
  const last = copies.at(-1)
  return { fates, after: last ? [last.called, last.holder, last.field] : null }
}

const nameIn = ({ called, name }: Collection): string => called ?? name

/** Refuses to put values back into tables that are not as the declaration asks, or are about to be changed. */
export function admitUndrop({ serves, state }: Standing): State {
  if (serves === 'now' && state && !state.layout.open) return state
  throw new Error(
    'It is not as the declaration asks, so that there is no place to put values back to. Run `bylaw migrate apply` first.',
  )
}

/** Puts one value back; why not, where it stays. */
function* putBack(cellar: Cellar, shelf: Shelf, key: Key, copy: CopyRow): Steps<Reason | 'gone' | null> {
  const { collection, shape, texts } = shelf
  const target = sources(collection.fields, { [copy.field]: copy.kind }).find(({ from }) => from === copy.field)
  if (!target) return 'undeclared'
  if (target.kind !== copy.kind) return 'kind'
  const { path } = target
  if (!isAsStrict(rightsOf(collection.fields)[path], JSON.parse(copy.rights) as Rights)) return 'rights'
  const [row] = yield { text: texts.own, values: keyValues(collection, key, cellar.dialect) }
  const taken = withoutCopy(collection, key, copy.field, cellar.dialect)
  if (!row) {
    yield taken
    return 'gone'
  }
  if (copy.written) return 'written'
  const { document } = brought(collection, shape, storedIn(row))
  const isFilled = copy.rest.startsWith(filledMark)
  if (isFilled && !isAsFilled(collection, document, path, copy.rest)) return 'written'
  if (!isFilled && !isBlank(collection.fields, document, path)) return 'written'
  if (!isFilled && copy.rest !== '' && !holds(listAround(document, path), JSON.parse(copy.rest))) return 'changed'
  const value = JSON.parse(copy.value) as unknown
  const whole = placed(document, path.split('.'), value) as Members | undefined
  if (!whole) return 'changed'
  if (!isFit(collection, path, whole)) return 'unfit'
  if (!(yield* areThere(cellar, collection, key, [document, whole]))) return 'reference'
  if (yield* isTaken(cellar, shelf, key, whole)) return 'unique'
  const made = { ...textsOf(collection, whole), shape }
  const clash = yield* remark(cellar, shelf, { key, time: 0 }, { ...textsOf(collection, document), shape }, made)
  if (clash)
    throw new Error(`Another row was given the same ${clash.fields.join(' and ')} as ${collection.name}/${key.id}.`)
  const kept = [...keyValues(collection, key, cellar.dialect), Number(row.revision)]
  const text = updateText(collection, [...collection.columns.keys()], cellar.dialect)
  yield { text, values: [shape, made.doc, made.hidden, ...cells(collection, whole), ...kept] }
  yield taken
  return null
}

/** Whether nobody may see or write a field who could not when its value was dropped. */
function isAsStrict(now: Rights | undefined, then: Rights): boolean {
  if (!now) return false
  const has = (scopes: readonly string[], all: readonly string[]) => all.every((one) => scopes.includes(one))
  return (now.hidden || (!then.hidden && has(now.read, then.read))) && has(now.write, then.write)
}

type Fields = Collection['fields']

/** Whether a field holds what stands where nothing was written. */
function isBlank(fields: Fields, value: unknown, path: string): boolean {
  const [name, ...rest] = path.split('.')
  const field = fields.find((one) => one.name === name)
  if (!field) return false
  if (name === '*') {
    if (!Array.isArray(value)) return true
    return value.every((one) => (rest.length === 0 ? one == null : isBlank(field.inner, one, rest.join('.'))))
  }
  const own = isRecord(value) ? value[name as string] : undefined
  if (rest.length > 0) return isBlank(field.inner, own, rest.join('.'))
  if (own == null || (typeof own === 'object' && Object.keys(own).length === 0)) return true
  return JSON.stringify(own) === JSON.stringify(field.absent)
}

/** Whether a field, or the list around it, is as a fill left it; a decimal may have more digits by now. */
function isAsFilled({ fields }: Collection, document: Members, path: string, rest: string): boolean {
  const at = listOf(path)
  const then = placed(document, at.split('.'), JSON.parse(rest.slice(filledMark.length))) as Members | undefined
  return then !== undefined && holds(valueAt(document, at), valueAt(completed(fields, then), at))
}

/** Whether a list holds what it held when values of its items were dropped; its items may have more members by now. */
function holds(now: unknown, then: unknown): boolean {
  if (Array.isArray(now) && Array.isArray(then))
    return now.length === then.length && now.every((one, i) => holds(one, then[i]))
  if (!isRecord(now) || !isRecord(then)) return JSON.stringify(now) === JSON.stringify(then)
  return Object.entries(then).every(([name, one]) => holds(now[name], one))
}

/** A document with a value in it; undefined where what it lay in is gone. */
function placed(within: unknown, [name, ...rest]: readonly string[], value: unknown): unknown {
  if (name === undefined) return value
  if (name === '*') {
    if (!Array.isArray(within) || !Array.isArray(value) || within.length !== value.length) return undefined
    const all = within.map((one, i) => (value[i] === null ? one : placed(one, rest, value[i])))
    return all.includes(undefined) ? undefined : all
  }
  if (!isRecord(within)) return undefined
  const inner = placed(within[name], rest, value)
  return inner === undefined ? undefined : { ...within, [name]: inner }
}

function isFit({ rules }: Collection, path: string, whole: Members): boolean {
  const [name = ''] = path.split('.')
  const faults: Violation[] = []
  rules.get(name)?.check(whole[name] ?? null, `/${name}`, faults)
  return faults.length === 0
}

/** Whether all that the row refers to anew exists. */
function* areThere(
  { shelves, dialect }: Cellar,
  { name }: Collection,
  key: Key,
  [before, now]: readonly [Members, Members],
): Steps<boolean> {
  for (const { collection: target, texts } of shelves.values())
    for (const { ids } of target.dependents.filter(({ collection }) => collection === name)) {
      const known = ids(before)
      for (const id of ids(now).filter((one) => !known.includes(one))) {
        const named = { id, parent: null, account: key.account }
        if ((yield { text: texts.kept, values: keyValues(target, named, dialect) }).length === 0) return false
      }
    }
  return true
}

/** Whether another row has a value that has to be unique. */
function* isTaken({ dialect }: Cellar, { collection }: Shelf, key: Key, whole: Members): Steps<boolean> {
  const all = cells(collection, whole)
  const own = key as unknown as Record<string, string | null>
  for (const { columns } of collection.uniques) {
    const values = columns.map((name) =>
      name in own ? (own[name] ?? null) : (all[collection.columns.findIndex((one) => one.name === name)] ?? null),
    )
    if (values.includes(null)) continue
    const same = columns.map((name, i) => `${quoted(name)} = ${dialect.mark(i + 1)}`)
    const text = `SELECT 1 AS found FROM ${quoted(collection.table)} WHERE ${same.join(' AND ')} AND id <> ${dialect.mark(columns.length + 1)} LIMIT 1`
    if ((yield { text, values: [...values, key.id] }).length > 0) return true
  }
  return false
}
