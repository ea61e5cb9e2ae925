/** Dropped contents: contents of files go with the copies of their dropped fields or their last revision, and stay if the fields come back. The store. */
import type { Steps } from '../catalog/steps.ts'
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

/** Those of some contents that no write, and no sweep, has released. */
export function* keptContents(names: readonly string[], { itemsOf, mark }: Dialect): Steps<readonly string[]> {
  if (names.length === 0) return []
  const text = `SELECT name FROM ${contentTable} WHERE name IN (${itemsOf(mark(1))}) AND unused IS NULL`
  return (yield { text, values: [JSON.stringify(names)] }).map(({ name }) => String(name))
}

/** Marks a content of an item as unused from a time on, unless it has been released since. */
export function releaseContentOf(dialect: Dialect, content: string, item: string, unused: number): Statement {
  const { mark } = dialect
  const at = shardCondition(shardKeyOf(content), 4, dialect)
  const text = `UPDATE ${contentTable} SET unused = ${mark(1)} WHERE name = ${mark(2)} AND item = ${mark(3)} AND unused IS NULL${at.text}`
  return { text, values: [unused, content, item, ...at.values] }
}

/** The names of contents in a document; an object of another kind with the same members may add more. */
export const contentsIn = (doc: string): string[] =>
  Object.values(JSON.parse(doc) as object).flatMap(
    (value: { readonly href?: unknown; readonly sha256?: unknown } | null) =>
      typeof value?.href === 'string' && typeof value.sha256 === 'string' ? [value.href] : [],
  )
