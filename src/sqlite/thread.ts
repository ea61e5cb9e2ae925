/** Thread: runs statements one by one on a read-only connection; imports almost nothing of the library. The store. */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { ResultRow } from '../catalog/steps.ts'
import { Memo } from '../flow/memo.ts'
import type { Statement } from '../sql/statements.ts'

/** A statement, and whether a new snapshot begins with it; null ends the snapshot when no other job waits. */
export type ThreadRequest = (Statement & { readonly first: boolean }) | null

/** The reply of the thread: rows or an error. */
export interface ThreadReply {
  readonly rows?: readonly ResultRow[]
  readonly error?: { readonly message: string; readonly errcode?: number }
}

const db = new DatabaseSync(workerData.file, { readOnly: true, timeout: 1000 })
db.exec('PRAGMA trusted_schema = OFF')
parentPort?.on('message', (request: ThreadRequest) => {
  if (request) parentPort?.postMessage(replyTo(request))
  else endSnapshot()
})

/** The prepared statements of this thread's connection, as most lists differ only in their values. */
const prepared = new Memo<string, StatementSync>(100)

const prepareOnce = (text: string): StatementSync => prepared.get(text) ?? prepared.set(text, db.prepare(text))

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
