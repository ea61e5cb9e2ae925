/** Reserve: rows for values that have to be unique and for references, made anew for the rows that are there, where rows are spread. The cellar. */
import { keyColumns } from '../resources/collection.ts'
import type { Steps } from '../store/cellar.ts'
import { links, reserved } from '../store/compile.ts'
import { quoted } from '../store/dialect.ts'
import { uniqueName } from '../store/layout.ts'
import { remark } from '../store/spread.ts'
import type { Refilling } from './refill.ts'

/** As many rows are looked at in one go. */
const most = 500

/** Reserves what some rows have; gives the last of them, or null where none are left behind the one that is given. */
export function* reserve(
  { shelf, dialect, cellar }: Refilling,
  after: readonly string[] | null,
): Steps<readonly string[] | null> {
  if (!shelf)
    throw new Error(
      'this declaration has them otherwise. Carry this plan out with the declaration that it was made for.',
    )
  const { collection } = shelf
  const keys = keyColumns(collection)
  if (after === null) {
    // Begun anew where somebody was stopped in it.
    for (const { columns } of collection.uniques)
      yield {
        text: `DELETE FROM ${reserved} WHERE name = ${dialect.mark(1)}`,
        values: [uniqueName(collection, columns)],
      }
    yield { text: `DELETE FROM ${links} WHERE collection = ${dialect.mark(1)}`, values: [collection.name] }
  }
  const [key, marks] = [keys.join(', '), keys.map((_, i) => dialect.mark(i + 1)).join(', ')]
  const rows = yield {
    text: `SELECT ${key}, shape, doc, hidden FROM ${quoted(collection.table)} WHERE (${key}) > (${marks}) ORDER BY ${key} LIMIT ${most}`,
    values: after ?? keys.map(() => ''),
  }
  for (const row of rows) {
    const { account = null, parent = null, id } = row as Readonly<Record<string, string | null>>
    const own = { account, parent, id: id as string }
    const stored = { doc: row.doc as string, hidden: row.hidden as string | null, shape: Number(row.shape) }
    const clash = yield* remark(cellar, shelf, { key: own, time: 0 }, null, stored)
    if (clash) throw new Error(`several rows have the same ${clash.fields.join(' and ')}. Make them differ first.`)
  }
  const last = rows.at(-1)
  return last && rows.length === most ? keys.map((name) => last[name] as string) : null
}
