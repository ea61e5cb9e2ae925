/** Databases that crash, and nodes of a service on them. */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Misfits } from '../../src/fields/bounds.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import { listen } from '../../src/http/listening.ts'
import type { Consent } from '../../src/schema/hazard.ts'
import type { Service } from '../../src/service.ts'
import { openStore } from '../../src/terminal/open.ts'
import { openContext } from '../help/context.ts'
import { type Door, keyFor, overSocket, throughFetch } from '../help/door.ts'
import { rows } from '../help/file.ts'
import type { Issuer } from '../help/issuer.ts'
import type { Place } from '../help/places.ts'
import { freshPostgres, sql } from '../help/postgres.ts'
import type { Setup } from './factors.ts'

/** A database that can crash: it loses its clients, or the process that writes its file. */
export interface CrashableDatabase {
  readonly url: () => string
  /** The database for the helpers of migrations. */
  readonly place: () => Place
  /** Ends everything like a crash; afterwards `url` is the remaining database. */
  readonly crash: () => Promise<void>
  readonly drop: () => Promise<void>
}

export async function crashableDatabase({ store }: Setup): Promise<CrashableDatabase> {
  if (store === 'SQLite') {
    const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'bylaw-pairs-'))
    let count = 0
    const file = () => join(folder, `db${count}`)
    return {
      url: () => `sqlite:${file()}`,
      place: () => ({
        url: `sqlite:${file()}`,
        rows: async (text) => rows(file(), text),
        now: "unixepoch('subsec') * 1000",
      }),
      crash: async () => {
        const before = file()
        count++
        for (const part of ['', '-wal']) if (existsSync(before + part)) copyFileSync(before + part, file() + part)
      },
      drop: async () => rmSync(folder, { recursive: true, force: true }),
    }
  }
  const { url, drop } = await freshPostgres()
  const name = `pairs_${process.pid}_${Math.random().toString(36).slice(2)}`
  return {
    url: () => `${url}&application_name=${name}`,
    place: () => ({ url, rows: (text) => sql(url, text), now: 'extract(epoch FROM now()) * 1000' }),
    crash: async () => {
      await sql(url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE '${name}%'`)
    },
    drop,
  }
}

export interface Node {
  readonly api: Service
  readonly misfits: Misfits
  readonly send: Door['send']
  readonly keys: Readonly<Record<'ann' | 'amy', Record<string, string>>>
  readonly close: () => Promise<void>
}

interface Opening {
  readonly setup: Setup
  readonly url: string
  readonly issuer: Issuer
  /** The credentials that an earlier node has issued. */
  readonly keys: Node['keys'] | null
}

const consent: Consent = { allowLoss: ['things.hint'], allowMisfits: true }

export async function nodeOn(api: Service, { setup, url, issuer, keys }: Opening): Promise<Node> {
  const store = await openStore(api, url, 'apply', consent)
  const world = serviceWorld(realWorld, store)
  const account = setup.account === 'own' ? 'north' : null
  const scopes = setup.scope === 'lacking' ? [] : ['things:use']
  const credential = async (name: string, own: readonly string[], tier: string) => {
    if (setup.credential === 'API key') return keyFor(store, name, { account, scopes: own, tier }, world.now())
    const claims = { sub: name, scope: own.join(' '), tier, ...(account && { org: account }) }
    return { authorization: `Bearer ${await issuer.sign(claims)}` }
  }
  const own = keys ?? {
    ann: await credential('ann', scopes, 'few'),
    amy: await credential('amy', ['things:use', 'pii'], 'quick'),
  }
  const log = { error: () => {}, warn: () => {}, info: () => {} }
  const context = openContext(api, store, world, log)
  const listening = setup.door === 'node' ? await listen(context, { port: 0, host: '127.0.0.1' }) : null
  const send = listening ? overSocket(Number(new URL(listening.url).port)) : throughFetch(fetchDoor(context))
  return {
    api,
    misfits: store.misfits ?? {},
    send,
    keys: own,
    close: async () => {
      await listening?.stop(1000)
      await store.close()
    },
  }
}
