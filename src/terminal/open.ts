/** Open: opens the store of a URL, on SQLite or PostgreSQL. The cellar. */
import { realWorld } from '../flow/real-world.ts'
import type { Store } from '../flow/store.ts'
import type { World } from '../flow/world.ts'
import { isPostgresUrl } from '../postgres/connection-url.ts'
import type { Consent } from '../schema/hazard.ts'
import type { Migration, SchemaMode } from '../schema/migration.ts'
import type { Service } from '../service.ts'
import { openSqlite, openSqliteMigration } from '../sqlite/open.ts'

export const collectionsOf = ({ resources }: Service) => [...resources.values()].map(({ collection }) => collection)

/** Opens the store of a service and migrates its schema; with `require`, throws if the schema is not up to date. */
export function openStore(
  service: Service,
  url: string,
  mode: SchemaMode,
  consent: Consent = {},
  world: World = realWorld,
): Store | Promise<Store> {
  const caches = world.environment.BYLAW_REMEMBER !== 'off'
  const options = { patience: service.settings.limits.handlerTimeout, caches, world }
  const collections = collectionsOf(service)
  const own = { retention: service.settings.dropped.retention, ...consent }
  if (!isPostgresUrl(url)) return openSqlite(url, collections, mode, options, own)
  return import('../postgres/open.ts').then(({ openPostgres }) => openPostgres(url, collections, mode, options, own))
}

export function openMigration(service: Service, url: string, consent: Consent = {}): Migration | Promise<Migration> {
  const collections = collectionsOf(service)
  if (!isPostgresUrl(url)) return openSqliteMigration(url, collections, consent)
  return import('../postgres/open.ts').then(({ openPostgresMigration }) =>
    openPostgresMigration(url, collections, undefined, consent),
  )
}
