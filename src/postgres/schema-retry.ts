/** Schema retry: repeats a step of a migration that others block, and changes indexes while they read and write. The store. */
import { pause, type World } from '../flow/world.ts'
import { quoted } from '../sql/dialect.ts'
import { plainStatement } from '../sql/statements.ts'
import type { AskDatabase } from './connect.ts'

/** Lock failures are retried after a pause: a statement that waits in the lock queue blocks all readers behind it. */
const lockFailures = ['55P03', '40P01', '40001']

/** Another node created the same table at the same time. */
export const alreadyExists = ['42P07', '42710', '23505']

const maxTries = 40

export async function retryOnCodes<T>(world: World, act: () => Promise<T>, also = lockFailures): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await act()
    } catch (error) {
      const { code = '' } = error as { code?: string }
      if (!also.includes(code) || tries === maxTries) throw error
    }
    await pause(world, 100 + world.random() * 400)
  }
}

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
