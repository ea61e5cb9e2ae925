/** Thread: runs statements one by one on a read-only connection; imports nothing else of the library. The cellar. */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { Statement } from '../sql/compile.ts'
import type { ResultRow } from '../store/steps.ts'

/** A statement, and whether a new snapshot begins with it; null ends the snapshot when no other job waits. */
export type ThreadRequest = (Statement & { readonly first: boolean }) | null

/** The reply of the thread: rows or an error. */
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

/** Prepares each text once; most lists differ only in their values. */
function prepareOnce(text: string): StatementSync {
  const statement = prepared.get(text) ?? db.prepare(text)
  if (prepared.size >= maxPrepared) prepared.clear()
  prepared.set(text, statement)
  return statement
}

/** An open snapshot would prevent checkpoints of the WAL file. */
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
