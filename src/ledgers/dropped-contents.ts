/** Dropped contents: contents of files go when the copies of their dropped fields do, and stay if the fields come back. The store. */
import { shardKeyOf } from '../flow/shard-key.ts'
import { type Dialect, shardCondition } from '../sql/dialect.ts'
import type { Statement } from '../sql/statements.ts'

/** Which contents are in use, and from when on others are not: `file-table.ts` of the room `files`. */
const contentTable = 'bylaw_files'

/** The name of the content of a file that is copied; null for values of other kinds. */
export const contentOf = (kind: string, value: unknown): string | null =>
  kind === 'file' && typeof value === 'object' ? String((value as { readonly href?: unknown } | null)?.href) : null

/** Marks a content as unused once the copy of its field has expired; `time` is that of the copy, null for the clock of the database. */
export const releaseDropped = (dialect: Dialect, content: string, time: number | null, retention: number): Statement =>
  setUnused(dialect, content, `${time === null ? dialect.now : Math.trunc(time)} + ${Math.trunc(retention)}`)

/** Marks a content as used again. It returns no row if the content is gone. */
export const useRestored = (dialect: Dialect, content: string): Statement => setUnused(dialect, content, 'NULL')

function setUnused(dialect: Dialect, content: string, unused: string): Statement {
  const at = shardCondition(shardKeyOf(content), 2, dialect)
  const text = `UPDATE ${contentTable} SET unused = ${unused} WHERE name = ${dialect.mark(1)}${at.text} RETURNING name`
  return { text, values: [content, ...at.values] }
}
