/** Undrop: restores dropped values to rows whose fields were not written since. The store. */

import { type PreparedCollection, type StoreContext, storedDocumentOf } from '../catalog/context.ts'
import type { Steps } from '../catalog/steps.ts'
import type { Violation } from '../errors/problem.ts'
import type { RowKey } from '../flow/found-row.ts'
import { contentOf, useRestored } from '../ledgers/dropped-contents.ts'
import {
  deleteCopiesStatement,
  findCopyTable,
  isRecord,
  readCopiesAfter,
  type StoredCopy,
  valueAt,
} from '../ledgers/dropped-copies.ts'
import { updateRemoteEntries } from '../ledgers/remote-entries.ts'
import {
  type Collection,
  cellsIn,
  completeDocument,
  encodeDocument,
  keyColumns,
  type Members,
  type StoredDocument,
  storedNameOf,
  viewRow,
} from '../rows/collection.ts'
import { applyMend, noTablesText, type UndropResult } from '../schema/migration.ts'
import type { SchemaState } from '../schema/schema-change.ts'
import type { SchemaComparison } from '../schema/state.ts'
import { equations, quoted, rowKeyValues } from '../sql/dialect.ts'
import { fieldSources } from '../sql/field-sources.ts'
import { updateText } from '../sql/statements.ts'
import { type FieldRights, fieldRights, fillMark, listAround, listPathOf } from './drop.ts'

/** Why a value is not restored. */
const keptReasons = {
  undeclared: 'is not declared',
  kind: 'is declared as another kind',
  rights: 'may be seen or written by more callers than when it was dropped',
  written: 'was written since',
  changed: 'lies in a list or an object that was changed since',
  unique: 'has to be unique, and another row has the value',
  unfit: 'does not fit what is declared',
  reference: 'refers to a row that is not there any more',
  content: 'is a file whose content is not there any more',
} as const
type KeptReason = keyof typeof keptReasons

interface UndropBatch {
  readonly results: readonly UndropResult[]
  /** The key of the last copy; null if no copies are left. */
  readonly after: readonly string[] | null
}

const beforeFirst = ['', '', '']

/** Restores one batch of copies after a key. */
export function* undropBatch(context: StoreContext, after: readonly string[] | null): Steps<UndropBatch> {
  if (after === null && (yield findCopyTable(context.dialect)).length === 0) return { results: [], after: null }
  const copies = yield* readCopiesAfter(context.dialect, after ?? beforeFirst)
  const results: UndropResult[] = []
  for (const copy of copies) {
    const prepared = [...context.collections.values()].find(
      ({ collection }) => storedNameOf(collection) === copy.called,
    )
    const [account, parent, id] = JSON.parse(copy.holder) as [string | null, string | null, string]
    const reason = prepared ? yield* putBack(context, prepared, { account, parent, id }, copy) : 'undeclared'
    const field = `${prepared?.collection.name ?? copy.called}.${copy.field}`
    if (reason !== 'gone') results.push({ field, id, because: reason && keptReasons[reason] })
  }
  const last = copies.at(-1)
  return { results, after: last ? [last.called, last.holder, last.field] : null }
}

/** Refuses to restore values to tables that are not up to date with the declaration. */
export function admitUndrop({ serves, state, others }: SchemaComparison): SchemaState {
  if (state === null) throw new Error(noTablesText(others, applyMend))
  if (serves === 'now' && !state.layout.open) return state
  throw new Error(
    'It does not match the declaration, so values cannot be restored yet. Run `bylaw migrate apply` first.',
  )
}

/** How the field, or the list around it, was changed after the copy was made; null if it was not. */
function editSinceCopy(
  collection: Collection,
  document: Members,
  path: string,
  { written, rest }: StoredCopy,
): KeptReason | null {
  if (written) return 'written'
  if (rest.startsWith(fillMark)) return isAsFilled(collection, document, path, rest) ? null : 'written'
  if (!isBlank(collection.fields, document, path)) return 'written'
  return rest === '' || stillHolds(listAround(document, path), JSON.parse(rest)) ? null : 'changed'
}

/** Restores one value, or returns the reason why not. */
function* putBack(
  context: StoreContext,
  prepared: PreparedCollection,
  key: RowKey,
  copy: StoredCopy,
): Steps<KeptReason | 'gone' | null> {
  const { collection, shape, texts } = prepared
  const target = fieldSources(collection.fields, { [copy.field]: copy.kind }).find(({ from }) => from === copy.field)
  if (!target) return 'undeclared'
  if (target.kind !== copy.kind) return 'kind'
  const { path } = target
  if (!isAsStrict(fieldRights(collection.fields)[path], JSON.parse(copy.rights) as FieldRights)) return 'rights'
  const [row] = yield { text: texts.readForUpdate, values: rowKeyValues(collection, key, context.dialect) }
  const taken = deleteCopiesStatement(collection, key, copy.field, context.dialect)
  if (!row) {
    yield taken
    return 'gone'
  }
  const { document } = viewRow(collection, shape, storedDocumentOf(row))
  const edit = editSinceCopy(collection, document, path, copy)
  if (edit) return edit
  const restored = withValueAt(document, path.split('.'), JSON.parse(copy.value)) as Members | undefined
  if (!restored) return 'changed'
  if (!fitsRules(collection, path, restored)) return 'unfit'
  if (!(yield* referencesExist(context, collection, key, [document, restored]))) return 'reference'
  if (yield* isUniqueTaken(context, prepared, key, restored)) return 'unique'
  const [before, after] = [document, restored].map((one) => ({ ...encodeDocument(collection, one), shape })) as [
    StoredDocument,
    StoredDocument,
  ]
  if (!(yield* isContentUsed(context, copy))) return 'content'
  const clash = yield* updateRemoteEntries(context, prepared, { key, time: 0 }, before, after)
  if (clash)
    throw new Error(`Another row was given the same ${clash.fields.join(' and ')} as ${collection.name}/${key.id}.`)
  const kept = [...rowKeyValues(collection, key, context.dialect), Number(row.revision)]
  const text = updateText(collection, [...collection.columns.keys()], context.dialect)
  yield { text, values: [shape, after.doc, after.hidden, ...cellsIn(collection, restored), ...kept] }
  yield taken
  return null
}

/** Takes the content of a restored file into use again; false if it is not there any more. */
function* isContentUsed({ dialect }: StoreContext, { kind, value }: StoredCopy): Steps<boolean> {
  const content = contentOf(kind, JSON.parse(value))
  return content === null || (yield useRestored(dialect, content)).length > 0
}

/** Whether the field's rights are at least as strict as when its value was dropped. */
function isAsStrict(now: FieldRights | undefined, then: FieldRights): boolean {
  if (!now) return false
  const has = (scopes: readonly string[], all: readonly string[]) => all.every((one) => scopes.includes(one))
  return (now.hidden || (!then.hidden && has(now.read, then.read))) && has(now.write, then.write)
}

type CollectionFields = Collection['fields']

/** Whether a field holds only the value that it has if nothing was written. */
function isBlank(fields: CollectionFields, value: unknown, path: string): boolean {
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

/** Whether a field, or the list around it, still has the value of the fill; decimals may have been padded with digits since. */
function isAsFilled({ fields }: Collection, document: Members, path: string, rest: string): boolean {
  const at = listPathOf(path)
  const then = withValueAt(document, at.split('.'), JSON.parse(rest.slice(fillMark.length))) as Members | undefined
  return then !== undefined && stillHolds(valueAt(document, at), valueAt(completeDocument(fields, then), at))
}

/** Whether a list still holds the values that it held when values of its items were dropped; items may have new members. */
function stillHolds(now: unknown, then: unknown): boolean {
  if (Array.isArray(now) && Array.isArray(then))
    return now.length === then.length && now.every((one, i) => stillHolds(one, then[i]))
  if (!isRecord(now) || !isRecord(then)) return JSON.stringify(now) === JSON.stringify(then)
  return Object.entries(then).every(([name, one]) => stillHolds(now[name], one))
}

/** The document with a value put in; undefined if the list or object around it is gone or changed. */
function withValueAt(within: unknown, [name, ...rest]: readonly string[], value: unknown): unknown {
  if (name === undefined) return value
  if (name === '*') {
    if (!Array.isArray(within) || !Array.isArray(value) || within.length !== value.length) return undefined
    const all = within.map((one, i) => (value[i] === null ? one : withValueAt(one, rest, value[i])))
    return all.includes(undefined) ? undefined : all
  }
  if (!isRecord(within)) return undefined
  const inner = withValueAt(within[name], rest, value)
  return inner === undefined ? undefined : { ...within, [name]: inner }
}

function fitsRules({ rules }: Collection, path: string, document: Members): boolean {
  const [name = ''] = path.split('.')
  const faults: Violation[] = []
  rules.get(name)?.check(document[name] ?? null, `/${name}`, faults)
  return faults.length === 0
}

/** Whether all rows exist that the restored document refers to and the stored one does not. */
function* referencesExist(
  { collections, dialect }: StoreContext,
  { name }: Collection,
  key: RowKey,
  [before, now]: readonly [Members, Members],
): Steps<boolean> {
  for (const { collection: target, texts } of collections.values())
    for (const { ids } of target.dependents.filter(({ collection }) => collection === name)) {
      const formerIds = ids(before)
      for (const id of ids(now).filter((one) => !formerIds.includes(one))) {
        const named = { id, parent: null, account: key.account }
        if ((yield { text: texts.existsShared, values: rowKeyValues(target, named, dialect) }).length === 0)
          return false
      }
    }
  return true
}

/** Whether another row has the same value of a unique field. */
function* isUniqueTaken(
  { dialect }: StoreContext,
  { collection }: PreparedCollection,
  key: RowKey,
  document: Members,
): Steps<boolean> {
  const all = cellsIn(collection, document)
  const keyed = key as unknown as Record<string, string | null>
  for (const { columns } of collection.uniques) {
    const values = columns.map((name) =>
      name in keyed ? (keyed[name] ?? null) : (all[collection.columns.findIndex((one) => one.name === name)] ?? null),
    )
    if (values.includes(null)) continue
    const same = equations(columns.map(quoted), dialect)
    const own = keyColumns(collection)
    const itself = equations(own, dialect, columns.length + 1).join(' AND ')
    const text = `SELECT 1 AS found FROM ${quoted(collection.table)} WHERE ${same.join(' AND ')} AND NOT (${itself}) LIMIT 1`
    if ((yield { text, values: [...values, ...own.map((name) => keyed[name] ?? null)] }).length > 0) return true
  }
  return false
}
