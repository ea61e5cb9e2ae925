/** The reading thread: runs one statement after the other on a connection that cannot write. It brings in nothing else. The cellar. */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { Answer } from '../store/cellar.ts'
import type { Statement } from '../store/compile.ts'

/** A statement, and whether a look begins with it; null where one has ended and no other one follows. */
export type Asked = (Statement & { readonly first: boolean }) | null

/** What the thread answers: rows, or what went wrong. */
export interface Told {
  readonly rows?: readonly Answer[]
  readonly error?: { readonly message: string; readonly errcode?: number }
}

const db = new DatabaseSync(workerData.file, { readOnly: true, timeout: 1000 })
db.exec('PRAGMA trusted_schema = OFF')
parentPort?.on('message', (asked: Asked) => {
  if (asked) parentPort?.postMessage(told(asked))
  else end()
})

const mostPrepared = 100
const prepared = new Map<string, StatementSync>()

/** As what is looked at differs in its values, a text is planned once. */
function statementOf(text: string): StatementSync {
  const statement = prepared.get(text) ?? db.prepare(text)
  if (prepared.size >= mostPrepared) prepared.clear()
  prepared.set(text, statement)
  return statement
}

/** An open state would keep the log from being written back. */
function end(): void {
  if (db.isTransaction) db.exec('COMMIT')
}

function told({ text, values, first }: Exclude<Asked, null>): Told {
  try {
    if (first) {
      end()
      db.exec('BEGIN')
    }
    return { rows: statementOf(text).all(...values) as Answer[] }
  } catch (error) {
    const { message, errcode } = error as Error & { errcode?: number }
    return { error: errcode === undefined ? { message } : { message, errcode } }
  }
}
