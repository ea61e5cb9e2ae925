/** Prepare store: reads the layouts, misfits and copies of a database, SQLite or PostgreSQL, when it is opened. The store. */

import { type StoreContext, type StoreLayouts, storeContext } from '../catalog/context.ts'
import type { Steps } from '../catalog/steps.ts'
import type { Misfits } from '../fields/bounds.ts'
import type { World } from '../flow/world.ts'
import { expireCopies, findCopyTable, readCopiedFields, watchedFields } from '../ledgers/dropped-copies.ts'
import type { Collection } from '../rows/collection.ts'
import type { Consent } from '../schema/hazard.ts'
import { type SchemaMode, schemaOutdated } from '../schema/migration.ts'
import { readOtherNodes } from '../schema/presence.ts'
import { readRestoredAt } from '../schema/restored.ts'
import { storeSecret } from '../schema/shared-tables.ts'
import { layoutName, type SchemaComparison, type StoredParts, stateToOpenAsIs } from '../schema/state.ts'
import type { Dialect } from '../sql/dialect.ts'
import type { Layout } from '../sql/layout.ts'
import { metaTable } from '../sql/statements.ts'
import { withBacklog } from './backlog.ts'
import { defaultRetention, rememberRights } from './drop.ts'
import { readFormerMisfits } from './misfits.ts'

/** The schema that a store works with. */
export interface PreparedSchema {
  readonly layouts: StoreLayouts
  /** Stored values that do not fit the declaration. */
  readonly misfits: Misfits
  /** Whether the database was opened as it is, without checks or changes. */
  readonly isKept?: true
}

/** The schema that a store can work with as it is; null if it has to be migrated or checked first. */
export function* usableSchema(
  comparison: SchemaComparison,
  { asItIs }: Consent,
  mode: SchemaMode,
  dialect: Dialect,
): Steps<PreparedSchema | null> {
  const { serves, state, change } = comparison
  const kept = asItIs ? stateToOpenAsIs(comparison) : null
  if (kept) return { layouts: kept, misfits: {}, isKept: true }
  if (serves === null && mode === 'require') throw schemaOutdated(comparison)
  if (serves !== 'former') return null
  // While other nodes run, it may be an old node of a rolling upgrade that starts again; otherwise it is declared again.
  if (mode === 'apply' && change.steps.length > 0 && (yield* readOtherNodes(dialect, '')).length === 0) return null
  return { layouts: { layout: state?.former as Layout, former: null }, misfits: yield* readFormerMisfits() }
}

/** The parts of a store that SQLite and PostgreSQL have in common. */
export interface PreparedStore extends Pick<PreparedSchema, 'misfits'> {
  readonly context: StoreContext
  readonly secret: string
  /** Identifies the served declaration to processes that change the schema. */
  readonly name: string
  /** Deletes copies of dropped values whose retention is over, by a given time or by the clock of the database. */
  readonly expire: ((due: number | null) => Steps<void>) | null
}

interface StoreSite extends StoredParts {
  readonly consent: Consent
  readonly world: World
}

export function* prepareStore(
  { collections, consent, world }: StoreSite,
  { layouts, misfits, isKept }: PreparedSchema,
  dialect: Dialect,
  isFull: (collection: Collection, column: string) => boolean,
  due: () => number | null,
): Steps<PreparedStore> {
  const context = storeContext(collections, layouts, dialect, isFull)
  const { retention = defaultRetention } = consent
  const copies = isKept ? {} : yield* prepareCopies(context, retention, due)
  return {
    context: {
      ...withBacklog(context, layouts),
      ...unchangedSince(layouts, dialect),
      ...copies,
      restoredAt: yield* readRestoredAt(),
    },
    expire: copies.dropped && retention !== null ? (time) => expireCopies(dialect, retention, time) : null,
    secret: yield* storeSecret(dialect, world),
    misfits,
    name: layoutName(layouts.layout),
  }
}

/** The statement that shows whether the database still has the layout that it was opened with. */
const unchangedSince = ({ layout }: StoreLayouts, { mark }: Dialect): Pick<StoreContext, 'unchanged'> =>
  layout.open
    ? {}
    : {
        unchanged: {
          text: `SELECT 1 AS found FROM ${metaTable} WHERE name = 'layout' AND value = ${mark(1)}`,
          values: [JSON.stringify(layout)],
        },
      }

/** Stores the rights of fields, deletes expired copies of dropped values, and finds the fields with other copies. */
function* prepareCopies(
  { dialect, collections: preparedCollections }: StoreContext,
  retention: number | null,
  due: () => number | null,
): Steps<Pick<StoreContext, 'dropped'>> {
  const collections = [...preparedCollections.values()].map(({ collection }) => collection)
  yield* rememberRights(dialect, collections)
  if ((yield findCopyTable(dialect)).length === 0) return {}
  if (retention !== null) yield* expireCopies(dialect, retention, due())
  return { dropped: watchedFields(collections, yield* readCopiedFields()) }
}
