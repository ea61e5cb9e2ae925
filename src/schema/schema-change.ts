/** Schema change: the steps from the existing tables to the declared ones. Pure. The store. */
import type { Table } from '../flow/table.ts'
import type { Collection } from '../rows/collection.ts'
import type { Dialect } from '../sql/dialect.ts'
import { formerTables, type Layout, layoutOf, mapCollections } from '../sql/layout.ts'
import { collectionsToMerge } from '../sql/merging.ts'
import { sharedTables } from './shared-tables.ts'
import type { SchemaStep } from './step.ts'
import { tableChanges } from './table-steps.ts'
import { createTableSteps, refuseFormerName, refuseLaterRows, renameSteps } from './tables.ts'

/** The layout of the current declaration, and that of the old one while its nodes may run. */
export interface SchemaState {
  readonly layout: Layout
  readonly former: Layout | null
}

/** The difference between a database and a declaration. */
export interface SchemaChange {
  readonly before: SchemaState | null
  readonly after: Layout
  readonly steps: readonly SchemaStep[]
  /** The collections that old and new nodes can write at the same time only if all nodes merge their writes. */
  readonly merged: readonly string[]
}

/** The steps from the existing tables to the declared ones; those that wait for old nodes to stop come last. */
export function changeBetween(
  before: SchemaState | null,
  collections: readonly Collection[],
  dialect: Dialect,
  tables: readonly Table[] = [],
): SchemaChange {
  const all = [...collections]
  const shared = before?.layout.shared ?? []
  const missing = Object.entries(sharedTables(dialect, tables)).filter(([name]) => !shared.includes(name))
  const after = layoutOf(all, before?.layout ?? null, dialect, [...shared, ...missing.map(([name]) => name)])
  const expand = [...sharedTableSteps(missing), ...tableSteps(before?.layout ?? null, after)]
  const merged = collectionsToMerge(before?.layout.open ? before.former : (before?.layout ?? null), after, all)
  if (before?.layout.open !== true) return { before, after, steps: expand, merged }
  if (expand.length > 0) throw unfinishedChange()
  const rest = tableSteps(before.former, after).filter(({ phase }) => phase === 'contract')
  return { before, after, steps: rest, merged }

  function tableSteps(was: Layout | null, is: Layout): SchemaStep[] {
    const formerTable = formerTables(all, was)
    const steps = sendersFirst(mapCollections(collections, is)).flatMap(({ collection, table }) => {
      const old = formerTable(collection)
      if (old) {
        refuseLaterRows(collection, old)
        return [...renameSteps(collection, was), ...tableChanges(collection, old, table, { was, dialect })]
      }
      refuseFormerName(collection.name, all, was)
      return createTableSteps(collection, table, dialect)
    })
    return steps.toSorted((a, b) => stepRank(a) - stepRank(b))
  }
}

/** Rows are rewritten in advance only after all tables have their new columns, as values may move to other tables. */
const stepRank = ({ phase, fill }: SchemaStep): number => (phase === 'contract' ? 2 : fill?.ahead ? 1 : 0)

/** Sorts collections before those that their values move to. */
function sendersFirst(all: ReturnType<typeof mapCollections>): ReturnType<typeof mapCollections> {
  const done = new Set<string>()
  const within = (one: (typeof all)[number]): typeof all => {
    if (done.has(one.collection.name)) return []
    done.add(one.collection.name)
    const givers = all.filter(({ collection }) => collection.conversions?.receivers.includes(one.collection.name))
    return [...givers.flatMap(within), one]
  }
  return all.flatMap(within)
}

const unfinishedChange = (): Error =>
  new Error(
    'The previous change is not finished: some of its steps wait until all nodes of the declaration before it have stopped. Run `bylaw migrate apply` with the declaration of that change first.',
  )

/** Whether a declaration is the old one of a rolling upgrade, whose nodes may still run. */
export function isFormerDeclaration(
  { former, layout }: SchemaState,
  collections: readonly Collection[],
  dialect: Dialect,
): boolean {
  if (!former || layout.alone) return false
  const after = layoutOf(collections, former, dialect, former.shared)
  return collections.every(({ name }) => JSON.stringify(after.tables[name]) === JSON.stringify(former.tables[name]))
}

function sharedTableSteps(missing: readonly (readonly [name: string, sql: readonly string[]])[]): SchemaStep[] {
  return missing.map(([name, sql]) => ({
    about: `create ${name}, which all resources share`,
    phase: 'expand',
    sql,
    note: 'New tables; nothing waits for it.',
  }))
}
