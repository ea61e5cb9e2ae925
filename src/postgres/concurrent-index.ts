/** Concurrent index: builds and drops indexes while others read and write. The cellar. */

import { quoted } from '../sql/dialect.ts'
import { plainStatement } from '../sql/statements.ts'
import type { AskDatabase } from './connect.ts'

/** Builds or drops an index concurrently. A failed build leaves an invalid index, which has to be dropped before a retry. */
export async function changeIndexConcurrently(ask: AskDatabase, text: string): Promise<void> {
  const index = /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY IF NOT EXISTS "((?:[^"]|"")+)"/
    .exec(text)?.[1]
    ?.replaceAll('""', '"')
  if (index !== undefined) await dropInvalidIndex(ask, index)
  try {
    await ask(plainStatement(text))
  } catch (error) {
    if (index !== undefined) await dropInvalidIndex(ask, index).catch(() => {})
    throw error
  }
}

async function dropInvalidIndex(ask: AskDatabase, index: string): Promise<void> {
  const [rest] = await ask({
    text: 'SELECT 1 AS found FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid',
    values: [quoted(index)],
  })
  if (rest) await ask(plainStatement(`DROP INDEX CONCURRENTLY IF EXISTS ${quoted(index)}`))
}
