/**
 * Databases that the code which recorded the corpus has written. Each has requests that use the tags, cursors, idempotency keys and
 * identifiers of that code, and their answers.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { chanceOf } from './chance.ts'
import { Judge, type Verdict } from './compare.ts'
import { type Exchange, packed, type Request, type Setting, unpacked } from './exchange.ts'
import { inFile, openService } from './opened-service.ts'
import { type Player, playerOn } from './play.ts'
import type { Pool } from './pool.ts'
import { present, restart } from './preload.ts'
import { recordedOn } from './record.ts'
import { type CorpusService, corpusServices } from './services.ts'

interface KeptDatabase {
  readonly setting: Setting
  /** The time at which the database was closed. */
  readonly time: number
  /** The bytes of the file, in base64. */
  readonly database: string
  readonly exchanges: readonly Exchange[]
}

/** Services that together have every kind of row: versions, moved fields, accounts, children, own keys, tombstones, quotas. */
const services = [
  'shop',
  'desk',
  'history',
  'archive',
  'museum',
  'tenants',
  'clinic',
  'theatre',
  'store',
  'pairs of versions',
]
const share = { described: 24, twisted: 60, raw: 0 }

/** Opens the service on an existing file. */
async function reopened({ setting, time }: Pick<KeptDatabase, 'setting' | 'time'>, file: string): Promise<Player> {
  restart(`${setting.name}, again`, time + 1000)
  const corpusService = corpusServices[setting.service] as CorpusService
  const database = inFile(file)
  return playerOn(
    await openService(corpusService.service, database, { door: 'fetch', holders: corpusService.holders, fresh: false }),
    database,
  )
}

async function keptOf(service: string): Promise<KeptDatabase> {
  const setting: Setting = { name: `${service}, kept`, service, store: 'SQLite', door: 'fetch' }
  const { folder, file, pool, behind } = await recordedOn(setting, share)
  const time = present()
  const db = new DatabaseSync(file, { timeout: 5000 })
  db.exec('PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  const database = readFileSync(file).toString('base64')
  const player = await reopened({ setting, time }, file)
  const exchanges: Exchange[] = []
  const all = [
    ...behind.map((one) => ['old cursor', one] as const),
    ...followUps(pool, corpusServices[service] as CorpusService),
  ]
  for (const [kind, request] of all) {
    const { answer } = await player.play({ wait: 5, request })
    exchanges.push({ kind, wait: 5, request, answer })
  }
  await player.end()
  await folder()
  return { setting, time, database, exchanges }
}

/** Requests with the links, keys, tags and identifiers of earlier answers. */
function* followUps(pool: Pool, { service, main }: CorpusService): Generator<[kind: string, request: Request]> {
  const chance = chanceOf('kept')
  const who = main === undefined ? {} : { who: main }
  const get = (target: string, headers: Request['headers'] = []): Request => ({
    method: 'GET',
    target,
    headers,
    ...who,
  })
  for (const link of pool.links.slice(-8)) yield ['old link', get(link)]
  for (const keyed of pool.keyed.slice(-12)) yield ['old idempotency key', keyed]
  for (const { path, tag } of pool.items.slice(-25)) {
    yield ['old item', get(path)]
    if (tag !== undefined) yield ['old tag', get(path, [['If-None-Match', tag]])]
  }
  for (const list of pool.lists)
    for (const label of service.editions.keys()) yield ['old rows in each version', get(list, [['Version', label]])]
  for (const { path, tag } of pool.items.slice(-12).filter(() => chance.once(2))) {
    if (tag === undefined) continue
    const headers: Request['headers'] = [
      ['If-Match', tag],
      ['Content-Type', 'application/merge-patch+json'],
    ]
    yield ['old tag, change', { method: 'PATCH', target: path, headers, body: '{}', ...who }]
  }
  for (const path of pool.removed.slice(-4)) yield ['old tombstone', get(path)]
}

export async function keepDatabases(to: string): Promise<string> {
  const all: KeptDatabase[] = []
  for (const service of services) all.push(await keptOf(service))
  writeFileSync(to, packed(all))
  const count = all.reduce((sum, { exchanges }) => sum + exchanges.length, 0)
  return `${all.length} databases with ${count} requests kept.`
}

export async function replayDatabases(from: string): Promise<Verdict> {
  const judge = new Judge()
  for (const kept of unpacked(readFileSync(from)) as KeptDatabase[]) {
    const { file, drop } = inFile()
    writeFileSync(file, Buffer.from(kept.database, 'base64'))
    const player = await reopened(kept, file)
    for (const [number, exchange] of kept.exchanges.entries())
      judge.compare(kept, number, exchange, (await player.play(exchange)).answer)
    await player.end()
    await drop()
  }
  return judge.verdict()
}
