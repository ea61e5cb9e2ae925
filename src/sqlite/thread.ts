/** The reading thread: runs one statement after the other on a connection that cannot write. It brings in nothing else. The cellar. */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { Statement } from '../sql/compile.ts'
import type { ResultRow } from '../store/steps.ts'

/** A statement, and whether a look begins with it; null where one has ended and no other one follows. */
export type ThreadRequest = (Statement & { readonly first: boolean }) | null

/** What the thread answers: rows, or what went wrong. */
export interface ThreadReply {
  readonly rows?: readonly ResultRow[]
  readonly error?: { readonly message: string; readonly errcode?: number }
}

const db = new DatabaseSync(workerData.file, { readOnly: true, timeout: 1000 })
db.exec('PRAGMA trusted_schema = OFF')
parentPort?.on('message', (asked: ThreadRequest) => {
  if (asked) parentPort?.postMessage(replyTo(asked))
  else endSnapshot()
})

const maxPrepared = 100
const prepared = new Map<string, StatementSync>()

/** As what is looked at differs in its values, a text is planned once. */
function prepareOnce(text: string): StatementSync {
  const statement = prepared.get(text) ?? db.prepare(text)
  if (prepared.size >= maxPrepared) prepared.clear()
  prepared.set(text, statement)
  return statement
}

/** An open state would keep the log from being written back. */
function endSnapshot(): void {
  if (db.isTransaction) db.exec('COMMIT')
}

function replyTo({ text, values, first }: Exclude<ThreadRequest, null>): ThreadReply {
  try {
    if (first) {
      endSnapshot()
      db.exec('BEGIN')
    }
    return { rows: prepareOnce(text).all(...values) as ResultRow[] }
  } catch (error) {
    const { message, errcode } = error as Error & { errcode?: number }
    return { error: errcode === undefined ? { message } : { message, errcode } }
  }
}
