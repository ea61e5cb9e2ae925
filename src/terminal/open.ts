/** Open: opens the store of a service at a URL, on SQLite or PostgreSQL. The store. */
import { apiKeyTable } from '../auth/key-table.ts'
import { deliveryTables } from '../deliveries/delivery-tables.ts'
import { hasWebhooks } from '../deliveries/endpoint-makers.ts'
import { hasEvents } from '../events/event-relay.ts'
import { reactionTables } from '../events/reaction-tables.ts'
import { hasFiles } from '../files/file-makers.ts'
import { fileTable } from '../files/file-table.ts'
import { realWorld } from '../flow/real-world.ts'
import type { Store } from '../flow/store.ts'
import type { Table } from '../flow/table.ts'
import type { World } from '../flow/world.ts'
import { turnTable } from '../handlers/shared-turns.ts'
import { hasHistory } from '../history/forget-revisions.ts'
import { hasJobs } from '../jobs/job-maker.ts'
import { jobTable, stepTable } from '../jobs/job-table.ts'
import { historyTables, outboxTables } from '../ledgers/outbox.ts'
import { quotaTable } from '../limits/quota-table.ts'
import { isPostgresUrl } from '../postgres/connection-url.ts'
import type { Consent } from '../schema/hazard.ts'
import type { Migration, SchemaMode } from '../schema/migration.ts'
import type { Service } from '../service.ts'
import { openSqlite, openSqliteMigration } from '../sqlite/open.ts'
import { hasTimers } from '../timers/run-timers.ts'
import { timerTable } from '../timers/timer-table.ts'
import { usageTable } from '../versions/usage.ts'

/** The tables of all conventions; a new one is one more entry. */
export const serviceTables: readonly Table[] = [quotaTable, usageTable, apiKeyTable, turnTable]

/** The tables of a service, some of which only a part of its declaration needs. */
export const tablesOf = ({ resources }: Pick<Service, 'resources'>): readonly Table[] => [
  ...serviceTables,
  ...(hasTimers(resources) ? [timerTable] : []),
  ...(hasJobs(resources) ? [jobTable, stepTable] : []),
  ...(hasEvents(resources) ? [...outboxTables, ...reactionTables] : []),
  ...(hasHistory(resources) ? historyTables : []),
  ...(hasWebhooks(resources) ? deliveryTables : []),
  ...(hasFiles(resources) ? [fileTable] : []),
]

export const collectionsOf = ({ resources }: Service) => [...resources.values()].map(({ collection }) => collection)

/** Opens the store of a service and migrates its schema; with `require`, throws if the schema is not up to date. */
export function openStore(
  service: Service,
  url: string,
  mode: SchemaMode,
  consent: Consent = {},
  world: World = realWorld,
  tables = tablesOf(service),
): Store | Promise<Store> {
  const caches = world.environment.BYLAW_REMEMBER !== 'off'
  const options = { patience: service.settings.limits.handlerTimeout, caches, world, tables }
  const collections = collectionsOf(service)
  const own = retaining(service, consent)
  if (!isPostgresUrl(url)) return openSqlite(url, collections, mode, options, own)
  return import('../postgres/open.ts').then(({ openPostgres }) => openPostgres(url, collections, mode, options, own))
}

const retaining = ({ settings }: Service, consent: Consent): Consent => ({
  retention: settings.dropped.retention,
  ...consent,
})

export function openMigration(service: Service, url: string, consent: Consent = {}): Migration | Promise<Migration> {
  const stored = { collections: collectionsOf(service), tables: tablesOf(service) }
  const own = retaining(service, consent)
  if (!isPostgresUrl(url)) return openSqliteMigration(url, stored, own)
  return import('../postgres/open.ts').then(({ openPostgresMigration }) =>
    openPostgresMigration(url, stored, undefined, own),
  )
}
