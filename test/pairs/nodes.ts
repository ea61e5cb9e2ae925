/** Databases that crash, and nodes of a service on them. */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fetchDoor } from '../../src/http/fetch.ts'
import { gate, type House } from '../../src/http/house.ts'
import { listen } from '../../src/http/node.ts'
import { realWorld } from '../../src/http/world.ts'
import type { Service } from '../../src/service.ts'
import { openStore } from '../../src/terminal/open.ts'
import { type Door, keyFor, overSocket, throughFetch } from '../help/door.ts'
import { freshPostgres, sql } from '../help/postgres.ts'
import type { Setup } from './factors.ts'

/** A database that can lose its clients, or the process that writes its files. */
export interface Ground {
  readonly url: () => string
  /** Ends all that is under way, as a crash does; `url` names what is left. */
  readonly crash: () => Promise<void>
  readonly drop: () => Promise<void>
}

export async function groundOf({ store }: Setup): Promise<Ground> {
  if (store === 'SQLite') {
    const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'bylaw-pairs-'))
    let count = 0
    const file = () => join(folder, `db${count}`)
    return {
      url: () => `sqlite:${file()}`,
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
    crash: async () => {
      await sql(url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE '${name}%'`)
    },
    drop,
  }
}

export interface Node {
  readonly send: Door['send']
  readonly keys: Readonly<Record<'ann' | 'amy', Record<string, string>>>
  readonly close: () => Promise<void>
}

export async function nodeOn(api: Service, setup: Setup, url: string, keys: Node['keys'] | null): Promise<Node> {
  const store = await openStore(api, url, 'apply')
  const world = realWorld([store.secret])
  const account = setup.account === 'own' ? 'north' : null
  const scopes = setup.scope === 'lacking' ? [] : ['things:use']
  const own = keys ?? {
    ann: await keyFor(store, 'ann', { account, scopes, tier: 'few' }, world.now()),
    amy: await keyFor(store, 'amy', { account, scopes: ['things:use', 'pii'], tier: 'quick' }, world.now()),
  }
  const log = { error: () => {}, warn: () => {}, info: () => {} }
  const house: House = { service: api, store, world, authenticate: gate(api, store, world), log, open: () => true }
  const listening = setup.door === 'node' ? await listen(house, { port: 0, host: '127.0.0.1' }) : null
  const send = listening ? overSocket(Number(new URL(listening.url).port)) : throughFetch(fetchDoor(house))
  return {
    send,
    keys: own,
    close: async () => {
      await listening?.stop(1000)
      await store.close()
    },
  }
}
