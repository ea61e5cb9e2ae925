/** The reading thread: runs one statement after the other on a connection that cannot write. It brings in nothing else. The cellar. */
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { Answer } from '../store/cellar.ts'
import type { Statement } from '../store/compile.ts'

/** What the thread answers: rows, or what went wrong. */
export interface Told {
  readonly rows?: readonly Answer[]
  readonly error?: { readonly message: string; readonly errcode?: number }
}

const db = new DatabaseSync(workerData.file, { readOnly: true, timeout: 1000 })
db.exec('PRAGMA trusted_schema = OFF')
parentPort?.on('message', (statement: Statement) => parentPort?.postMessage(told(statement)))

function told({ text, values }: Statement): Told {
  try {
    return { rows: db.prepare(text).all(...values) as Answer[] }
  } catch (error) {
    const { message, errcode } = error as Error & { errcode?: number }
    return { error: errcode === undefined ? { message } : { message, errcode } }
  }
}
