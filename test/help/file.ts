/** New database files for tests, and the answers of services on them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { type Declaration, type Field, type Service, service } from 'bylaw'
import { testing } from 'bylaw/testing'

/** The path of a new file, in a folder that is removed after the test. */
export function freshFile(t: TestContext, name = 'store.db'): string {
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, name)
}

/** A service with one resource of the given fields; `more` are other options of the resource. */
export function things(fields: Record<string, Field>, more: object = {}): Service {
  const resources = { things: { prefix: 'thg', fields, access: 'public', ...more } }
  return service({ name: 'tests', resources } as Declaration)
}

export interface TestAnswer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
  readonly json: any
}

/** Opens a service on a file, sends the requests, closes the service and returns the answers. */
export async function asked(
  place: string | { readonly file: string; readonly allowLoss?: readonly string[]; readonly allowMisfits?: boolean },
  api: Service,
  ...requests: readonly (readonly [method: string, path: string, json?: unknown, headers?: Record<string, string>])[]
): Promise<TestAnswer[]> {
  const { file, ...allowed } = typeof place === 'string' ? { file: place } : place
  const { call, close } = testing(api, { database: `sqlite:${file}`, ...allowed })
  const answers: TestAnswer[] = []
  try {
    for (const [method, path, json, headers = {}] of requests) {
      const response = await call(path, { method, headers, ...(json === undefined ? {} : { json }) })
      const text = await response.text()
      const { status } = response
      answers.push({ status, headers: response.headers, json: text === '' ? null : JSON.parse(text) })
    }
    return answers
  } finally {
    await close()
  }
}

/** Runs a statement on a connection outside of the service and returns its rows. */
export function rows(file: string, text: string): Record<string, unknown>[] {
  const db = new DatabaseSync(file, { timeout: 5000 })
  try {
    return db.prepare(text).all()
  } finally {
    db.close()
  }
}

/** Runs `act` as a user without rights, if the tests run as root. */
export function powerless<T>(act: () => T): T {
  const user = process.geteuid?.()
  if (user === 0) process.seteuid?.(65534)
  try {
    return act()
  } finally {
    if (user === 0) process.seteuid?.(0)
  }
}
