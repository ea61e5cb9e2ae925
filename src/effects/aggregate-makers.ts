/** Aggregate makers: a write of a row updates the aggregates of the rows that it belongs or refers to. R225. */
import { DerivedMisfit } from '../errors/derived-misfit.ts'
import type { Violation } from '../errors/problem.ts'
import type { RowKey } from '../flow/found-row.ts'
import type { Document } from '../flow/intent.ts'
import type { FamilyRows } from '../flow/plan.ts'
import type { Resource } from '../resources/resource.ts'
import { aggregateAfter, aggregateOf, type StoredAggregate, unknownValue } from '../rows/aggregates.ts'
import { type DocumentWrite, type EffectMaker, LaterDocument } from './effect-maker.ts'

/** One maker for each field by which rows of one resource belong or refer to those of another. */
export function aggregateMakers(resources: ReadonlyMap<string, Resource>): EffectMaker[] {
  return [...resources.values()].flatMap((target) => {
    const ways = Map.groupBy(target.collection.aggregates, ({ collection, by }) => `${collection} ${by}`)
    return [...ways.values()].map((all) => aggregateMaker(target, all, resources))
  })
}

function aggregateMaker(
  target: Resource,
  declared: readonly StoredAggregate[],
  resources: ReadonlyMap<string, Resource>,
): EffectMaker {
  const { collection, by } = declared[0] as StoredAggregate
  // Callers who may not read a total must not learn from the tag of its item whether it stays the same.
  const hidden = declared.filter(({ field }) => target.byName.get(field)?.read != null)
  const rows = resources.get(collection)?.byName
  const isChained = hidden.some(({ source }) => rows?.get(source)?.field.options.derived !== undefined)
  const waiting = [{ do: 'waiting', collection: target.name }] as const
  return {
    resource: collection,
    reads: () => waiting,
    decide: (write, { change, results: [first] }) => {
      const { before, after, key } = write
      const unfilled = first?.is === 'waiting' ? first.parts?.totals : undefined
      const all = unfilled ? declared.filter(({ field }) => !unfilled.has(field)) : declared
      if (all.length === 0) return []
      const ids = [...new Set([before?.[by], after?.[by]])].filter((id) => typeof id === 'string')
      return ids
        .filter((id) => isChained || matters(all, partOf(before, by, id), partOf(after, by, id)))
        .map((id) => {
          const own: RowKey = { id, parent: null, account: key.account }
          return change(target.name, own, {
            make: (document) => changedTotals(all, own, document, write),
            check: (document) => checkedTotals(target, all, document),
            always: hidden.length > 0,
          })
        })
    },
  }
}

/** The document of a row, if it belongs to the row with this id. */
const partOf = (document: Document | null, by: string, id: string): Document | null =>
  document?.[by] === id ? document : null

/** Whether a write can change an aggregate: the row was added or removed there, or an aggregated value has changed. */
const matters = (all: readonly StoredAggregate[], before: Document | null, after: Document | null): boolean =>
  before === null || after === null || all.some(({ source }) => source !== '' && before[source] !== after[source])

function changedTotals(
  all: readonly StoredAggregate[],
  key: RowKey,
  document: Document,
  { before, after, time }: DocumentWrite,
): Document | LaterDocument {
  const { by, collection, column } = all[0] as StoredAggregate
  const [was, is] = [partOf(before, by, key.id), partOf(after, by, key.id)]
  const values = all.map((one) => [one, aggregateAfter(one, document[one.field], was, is)] as const)
  const totals = withTotals(
    document,
    values.filter(([, value]) => value !== unknownValue),
  )
  const rest = values.filter(([, value]) => value === unknownValue).map(([one]) => one)
  if (rest.length === 0) return totals
  const read = { do: 'family', collection, column, value: key.id, account: key.account, time } as const
  return new LaterDocument([read], ([rows]) => {
    const documents = (rows as FamilyRows).rows.map((row) => row.document)
    return withTotals(
      totals,
      rest.map((one) => [one, aggregateOf(one, documents)] as const),
    )
  })
}

const withTotals = (document: Document, values: readonly (readonly [StoredAggregate, unknown])[]): Document => ({
  ...document,
  ...Object.fromEntries(values.map(([{ field }, value]) => [field, value])),
})

/** Refuses a value that its field cannot hold, such as a total that exceeds its precision. */
function checkedTotals(
  { byName, title, name }: Resource,
  all: readonly StoredAggregate[],
  document: Document,
): Document {
  const after = { ...document }
  for (const { field } of all) {
    const value = document[field]
    const faults: Violation[] = []
    const stored = value === null ? null : byName.get(field)?.check(value, `/${field}`, faults)
    const row = { title, id: String(document.id) }
    if (faults[0]) throw new DerivedMisfit({ collection: name, field, row }, faults[0])
    after[field] = stored
  }
  return after
}
