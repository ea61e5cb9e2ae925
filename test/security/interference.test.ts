/** Non-interference: hidden data changes no answer, and a caller changes nothing that it may not write. Part 5. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import type { Field, Service } from 'bylaw'
import fc from 'fast-check'
import pg from 'pg'
import { type Operation, ruleFor } from '../../src/resources/declaration.ts'
import type { Resource } from '../../src/resources/resource.ts'
import { callers, type Daring, hidingService, type Who } from '../help/hiding-service.ts'
import { freshPostgres } from '../help/postgres.ts'
import { runsOf } from '../help/runs.ts'
import { type Asked, type Has, type Hidden, type Pool, prepared, requestOf, versions } from '../help/visitor.ts'
import { type Reply, type World, worldOf } from '../help/worlds.ts'

const seed = Number(process.env.BYLAW_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))

/** Database files lie in memory where the system offers that, so that no run waits for a disk. */
const quick = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

interface TestDatabase {
  readonly url: string
  readonly rows: (text: string) => Promise<Record<string, unknown>[]>
  readonly drop: () => Promise<void>
}
const databases: readonly (readonly [store: string, runs: number, make: () => Promise<TestDatabase>])[] = [
  [
    'SQLite',
    runsOf(40),
    async () => {
      const folder = mkdtempSync(join(quick, 'bylaw-world-'))
      const file = join(folder, 'db')
      let db: DatabaseSync | undefined
      const rows: TestDatabase['rows'] = async (text) => {
        db ??= new DatabaseSync(file, { timeout: 5000 })
        return db.prepare(text).all()
      }
      const drop = async () => {
        db?.close()
        rmSync(folder, { recursive: true, force: true })
      }
      return { url: `sqlite:${file}`, rows, drop }
    },
  ],
  [
    'PostgreSQL',
    runsOf(12),
    async () => {
      const { url, drop } = await freshPostgres()
      const client = new pg.Client(url)
      client.on('error', () => {})
      await client.connect()
      const rows: TestDatabase['rows'] = async (text) => (await client.query(text)).rows
      return { url, rows, drop: () => client.end().then(drop) }
    },
  ],
]

/** A world with its data, and the identifiers, tags and cursors that requests can use. */
interface Filled {
  readonly world: World<Who>
  readonly pool: Pool
  readonly database: TestDatabase
  readonly close: () => Promise<void>
}

async function filled(api: Service, make: () => Promise<TestDatabase>, hidden: Hidden, has: Has): Promise<Filled> {
  const database = await make()
  const world = await worldOf<Who>(api, database.url, callers)
  const close = async () => {
    await world.close()
    await database.drop()
  }
  try {
    return { world, database, pool: await prepared(world, hidden, has), close }
  } catch (error) {
    await close()
    throw error
  }
}

const text = (own: string) => fc.constantFrom(own, 'a', null)
const hiddenOf = (own: string): fc.Arbitrary<Hidden> =>
  fc.record({
    ...{ ssn: text(own), city: text(own), pin: text(own), code: text(own), seal: text(own), note: text(own) },
    score: fc.constantFrom(0, 1, 7, 9),
    cost: fc.constantFrom(0, 1, 7),
    foreign: fc.constantFrom(2, 3),
    edits: fc.nat(3),
    words: fc.constant(own),
  })
const steps = fc.array(fc.array(fc.nat(210), { minLength: 30, maxLength: 30 }), { minLength: 4, maxLength: 24 })
const settings = (numRuns: number) => ({ seed, numRuns, endOnFailure: false, interruptAfterTimeLimit: 120_000 })

/** An answer as text for comparison; identifiers of the other account are replaced by their number, as they differ between worlds. */
function learnt({ status, headers, text }: Reply, { foreign }: Pool): string {
  const { date: _, ...rest } = headers
  let comparable = JSON.stringify([status, rest, text])
  for (const [name, ids] of Object.entries(foreign))
    for (const [i, id] of ids.entries())
      if (id.includes('_0')) comparable = comparable.replaceAll(id, `{${name} ${i} of others}`)
  return comparable
}

/** Adds the tags, cursors and identifiers of an answer to those that later requests can use. */
function kept({ headers, json }: Reply, { asked, pool }: { asked: Asked; pool: Pool }): void {
  if (headers.etag) pool.tags.push(headers.etag)
  if (json?.pagination?.nextCursor) pool.cursors.push(json.pagination.nextCursor)
  const [, name, id] = /([a-z]+)\/([^/?]+)$/.exec(headers.location ?? '') ?? []
  if (asked.request.method === 'POST' && name !== undefined) pool.ids[name as keyof Pool['ids']].push(id as string)
}

const reading = (pool: Pool, has: Has): string[] =>
  versions.flatMap((version) => [
    ...(
      ['customers', 'visits', 'tags', 'labels', 'plans', ...(has('rooms') ? ['rooms', 'bookings'] : [])] as const
    ).flatMap((name) => [
      `/${version}/${name}?page_size=100`,
      ...pool.ids[name as keyof Pool['ids']].map((id) => `/${version}/${name}/${id}`),
    ]),
  ])

/** All rows of the collections, by collection and key. */
async function dumped(api: Service, { rows }: TestDatabase): Promise<Map<string, Record<string, unknown>>> {
  const found = new Map<string, Record<string, unknown>>()
  for (const { name, collection } of api.resources.values())
    for (const row of await rows(`SELECT * FROM "${name}"`))
      found.set(`${name} ${collection.account === null ? '' : row.account} ${row.id}`, row)
  return found
}

const documentOf = ({ doc, hidden }: Record<string, unknown>): Record<string, unknown> => ({
  ...JSON.parse(String(doc)),
  ...JSON.parse(String(hidden ?? '{}')),
})

/** Lists the differences between two states that the visitor, who has no scope, could not make directly. */
function trespasses(api: Service, before: Awaited<ReturnType<typeof dumped>>, after: typeof before): string[] {
  const complaints: string[] = []
  for (const key of new Set([...before.keys(), ...after.keys()])) {
    const [name = '', account] = key.split(' ')
    const { access, collection, members, updated, created } = api.resources.get(name) as Resource
    const [was, is] = [before.get(key), after.get(key)]
    if (JSON.stringify(was) === JSON.stringify(is)) continue
    if (collection.account !== null && account !== 'north') complaints.push(`${key} is of another account`)
    const deeds = is === undefined ? ['remove'] : was === undefined ? ['create', 'replace'] : ['change', 'replace']
    if (deeds.every((deed) => ruleFor(access, deed as Operation) !== 'authenticated'))
      complaints.push(`${key}: ${deeds.join(' and ')} take a scope`)
    if (is === undefined) continue
    const usual = (field: Field) => field.options.default ?? null
    const [old, now] = [was && documentOf(was), documentOf(is)]
    for (const { name: field, write, field: declared } of members) {
      const isDerived = declared?.options.derived !== undefined
      if (isDerived || write.length === 0 || [updated, created, 'id'].includes(field)) continue
      const stood = old ? old[field] : declared && usual(declared)
      if (JSON.stringify(now[field] ?? null) !== JSON.stringify(stood ?? null))
        complaints.push(`${key}: ${field} takes ${write.join(' and ')}; it was ${stood} and is ${now[field]}`)
    }
  }
  return complaints
}

/** Declarations that are safe only if the service refuses them at start, or refuses the requests that cross a border. */
const daring: readonly Daring[] = [
  {},
  { derived: true },
  { sharedPlans: true },
  { sharedRooms: true },
  { guardedVisits: true },
]
const started = (given: Daring): Service | null => {
  try {
    return hidingService(given, true)
  } catch (error) {
    assert.match(String(error), /scope|account/, 'the refusal names the scope or the account')
    return null
  }
}

for (const [store, runs, make] of databases)
  describe(`non-interference (${store}, seed ${seed})`, () => {
    const api = hidingService({ derived: true }, true)
    const has: Has = (thing) => thing === 'foreign plans'
    it('R170 R172: hidden data changes no answer that the caller gets, and no later read', async () => {
      const property = fc.asyncProperty(hiddenOf('A-1'), hiddenOf('B-2'), steps, async (a, b, given) => {
        const both = [await filled(api, make, a, has), await filled(api, make, b, has)] as const
        try {
          const exchanges: string[] = []
          const same = async (how: (one: Filled) => Promise<[about: string, reply: Reply]>) => {
            const [first, second] = [await how(both[0]), await how(both[1])]
            exchanges.push(`${first[0]} -> ${first[1].status}`)
            assert.equal(learnt(second[1], both[1].pool), learnt(first[1], both[0].pool), exchanges.join('\n'))
          }
          for (const numbers of given)
            await same(async ({ world, pool }) => {
              const asked = requestOf(numbers, pool, has)
              const reply = await world.send('ann', asked.request)
              kept(reply, { asked, pool })
              return [JSON.stringify(asked.request), reply]
            })
          for (const i of reading(both[0].pool, has).keys())
            await same(async ({ world, pool }) => {
              const own = reading(pool, has)[i] as string
              return [own, await world.send('ann', { method: 'GET', path: own })]
            })
          for (const path of ['/v3/tags/red', '/v1/tags/red', '/v3/tags', '/v1/tags'])
            await same(async ({ world, pool }) => {
              const headers = { 'if-none-match': pool.others.filter((tag) => tag !== '').join(', ') }
              return [`${path} with tags of others`, await world.send('ann', { method: 'GET', path, headers })]
            })
          for (const seal of ['A-1', 'B-2', 'a'])
            await same(async ({ world }) => {
              const headers = { 'idempotency-key': 'amy-drop' }
              const json = { text: 'a', seal }
              return [
                `${seal} with the key of a colleague`,
                await world.send('ann', { method: 'POST', path: '/v3/drops', headers, json }),
              ]
            })
        } finally {
          for (const one of both) await one.close()
        }
      })
      await fc.assert(property, settings(runs))
    })

    for (const given of daring)
      it(`R170 R195: no request of a caller changes what it may not write (${Object.keys(given).join() || 'plain'})`, async () => {
        const api = started(given)
        if (api === null) return
        const has: Has = (thing) => (thing === 'rooms' ? given.sharedRooms === true : given.sharedPlans !== true)
        const property = fc.asyncProperty(hiddenOf('A-1'), steps, async (hidden, given) => {
          const one = await filled(api, make, { ...hidden, foreign: 3 }, has)
          try {
            const before = await dumped(api, one.database)
            const exchanges: string[] = []
            for (const numbers of given) {
              const asked = requestOf(numbers, one.pool, has)
              const reply = await one.world.send('ann', asked.request)
              exchanges.push(`${JSON.stringify(asked.request)} -> ${reply.status}`)
              kept(reply, { asked, pool: one.pool })
              const after = await dumped(api, one.database)
              assert.deepEqual(trespasses(api, before, after), [], exchanges.join('\n'))
            }
          } finally {
            await one.close()
          }
        })
        await fc.assert(property, settings(runs))
      })

    it('R195: a caller has the same permissions in every version', async () => {
      const property = fc.asyncProperty(hiddenOf('A-1'), steps, async (hidden, given) => {
        const [older, newest] = [await filled(api, make, hidden, has), await filled(api, make, hidden, has)]
        try {
          const exchanges: string[] = []
          for (const numbers of given) {
            const asked = requestOf(numbers, older.pool, has)
            if (asked.newest === null) continue
            const [reply, same] = [
              await older.world.send('ann', asked.request),
              await newest.world.send('ann', asked.newest),
            ]
            exchanges.push(`${JSON.stringify(asked.request)} -> ${reply.status}, ${same.status} ${reply.text}`)
            kept(reply, { asked, pool: older.pool })
            assert.deepEqual([reply.status, reply.json?.type], [same.status, same.json?.type], exchanges.join('\n'))
            assert.deepEqual(
              await dumped(api, older.database),
              await dumped(api, newest.database),
              exchanges.join('\n'),
            )
          }
        } finally {
          await older.close()
          await newest.close()
        }
      })
      await fc.assert(property, settings(runs))
    })
  })
