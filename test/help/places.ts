/** Databases of both stores, with a connection for the test's own statements. */
import type { TestContext } from 'node:test'
import type { Service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { openMigration } from '../../src/terminal/open.ts'
import { freshFile, rows } from './file.ts'
import { freshPostgres, sql } from './postgres.ts'

export interface Place {
  readonly url: string
  readonly rows: (text: string) => Promise<Record<string, unknown>[]>
  /** An SQL expression: the time of the database, in milliseconds. */
  readonly now: string
}

export const places: readonly (readonly [name: string, make: (t: TestContext) => Promise<Place>])[] = [
  [
    'SQLite',
    async (t) => {
      const file = freshFile(t)
      return { url: `sqlite:${file}`, rows: async (text) => rows(file, text), now: "unixepoch('subsec') * 1000" }
    },
  ],
  [
    'PostgreSQL',
    async (t) => {
      const { url, drop } = await freshPostgres()
      t.after(drop)
      return { url, rows: (text) => sql(url, text), now: 'extract(epoch FROM now()) * 1000' }
    },
  ],
]

export interface NodeAnswer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked at as they are
  readonly json: any
  readonly text: string
}

export interface Node {
  readonly ask: (method: string, path: string, json?: unknown, headers?: Record<string, string>) => Promise<NodeAnswer>
  readonly close: () => Promise<void>
}

/** Runs a service on a database until `close`. */
export function nodeOn({ url }: Pick<Place, 'url'>, api: Service, allowLoss: readonly string[] = []): Node {
  const { call, close } = testing(api, { database: url, allowLoss, allowMisfits: true })
  const ask: Node['ask'] = async (method, path, json, headers = {}) => {
    const answer = await call(path, { method, headers, ...(json === undefined ? {} : { json }) })
    const text = await answer.text()
    const isJson = text !== '' && !answer.headers.get('content-type')?.startsWith('application/x-ndjson')
    return { status: answer.status, headers: answer.headers, json: isJson ? JSON.parse(text) : null, text }
  }
  return { ask, close }
}

/** Adds the presence of a node with another declaration. */
export const alive = ({ rows: run, now }: Place): Promise<unknown> =>
  run(`INSERT INTO bylaw_nodes VALUES ('old', 'old', ${now})`)

export async function applied({ url }: Place, api: Service, allowLoss: readonly string[] = []) {
  const migration = await openMigration(api, url, { allowLoss, allowMisfits: true })
  try {
    return await migration.apply()
  } finally {
    migration.close()
  }
}
