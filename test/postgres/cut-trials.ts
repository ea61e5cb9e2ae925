/** Sends requests while connections to the database are cut, and checks their answers and the stored rows. */
import assert from 'node:assert/strict'
import pg from 'pg'
import { type AnswerSeen, type Node, untilWell } from './service-on-server.ts'

/** The node of a trial, and a connection to the database that is never cut. */
export interface Place {
  readonly call: Node['call']
  readonly rows: (text: string, ...values: readonly string[]) => Promise<readonly StoredRow[]>
}

export interface StoredRow {
  readonly id: string
  readonly revision: string
  // biome-ignore lint/suspicious/noExplicitAny: documents of any resource
  readonly doc: any
}

export async function databaseOf(url: string): Promise<Pick<Place, 'rows'> & { readonly close: () => Promise<void> }> {
  const client = new pg.Client(url)
  client.on('error', () => {}) // its server may be stopped before it
  await client.connect()
  const rows: Place['rows'] = async (text, ...values) =>
    (await client.query(text, [...values])).rows.map((row) => ({ ...row, doc: JSON.parse(row.doc) }))
  return { rows, close: () => client.end() }
}

export interface Trial {
  readonly send: () => Promise<readonly AnswerSeen[]>
  /**
   * Checks the answers against the database, and that the same requests succeed on other connections. In an outage no other
   * connection was there for a read, or to look up a key.
   */
  readonly check: (answers: readonly AnswerSeen[], inOutage: boolean) => Promise<void>
}

export interface Step {
  readonly name: string
  /** Makes what a trial needs, and its requests; the name is used once. */
  readonly make: (place: Place, name: string) => Promise<Trial>
}

type Verdict = 'done' | 'unchanged' | 'unknown'

/** The result of a write according to its answer: done, not done, or unknown. */
export function verdictOf({ status, json, retryAfter }: AnswerSeen, success: number): Verdict {
  if (status === success) return 'done'
  assert.equal(status, 503, `the status, with ${JSON.stringify(json)}`)
  assert.ok(['dependency-unavailable', 'timeout', 'overloaded'].includes(json.type), json.type)
  assert.match(retryAfter ?? '', /^[1-9]\d*$/)
  if (/nothing was changed/.test(json.message)) return 'unchanged'
  assert.match(json.message, /not known whether this was done/)
  return 'unknown'
}

/** How often a write may have happened after its answer. */
export function assertDone(times: number, verdict: Verdict): void {
  const allowed = { done: [1], unchanged: [0], unknown: [0, 1] }[verdict]
  assert.ok(allowed.includes(times), `it was answered as ${verdict}, and was done ${times} times`)
}

/** A write with a key that was done is found by the key, except in an outage. */
export function assertFound(times: number, verdict: Verdict, inOutage: boolean): void {
  if (times > 0 && !inOutage) assert.equal(verdict, 'done', 'a write that was done is found by its key')
}

export const keyed = (key: string | null): Record<string, string> => (key === null ? {} : { 'idempotency-key': key })

/** Repeats a request until the service has recovered. */
export async function recovered(ask: () => Promise<AnswerSeen>): Promise<AnswerSeen> {
  let last: AnswerSeen | undefined
  await untilWell(async () => {
    last = await ask()
    return last
  })
  return last as AnswerSeen
}
