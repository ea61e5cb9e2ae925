/** File table: which contents are in use, and since when others are not. Part 2, fields. */
import type { Table, TableOperation } from '../flow/table.ts'

export const fileTable: Table = {
  name: 'bylaw_files',
  columns: {
    name: 'text',
    /** The row and the field that it was uploaded for. */
    resource: 'text',
    item: 'text',
    field: 'text',
    /** The time from which on no row uses it, in milliseconds; null while a row uses it. */
    unused: 'integer?',
  },
  key: ['name'],
  resource: 'resource',
  shardKey: 'name',
  indexes: [{ name: 'unused', columns: ['unused'] }],
}

const table = fileTable

/** Records a content before it is written, so that the sweep finds it if the upload fails. */
export const noteContent: TableOperation = { do: 'insert', table }
/** Marks a content as used by a row, unless it was used or swept before. */
export const useContent: TableOperation = {
  ...{ do: 'set', table, where: { name: 'name', unused: { above: 'since' } } },
  to: { unused: 'none' },
}
/** Marks a content as unused from a time on. */
export const releaseContent: TableOperation = { do: 'set', table, where: { name: 'name' }, to: { unused: 'unused' } }
/** The contents that an erasure has given up. */
export const findGivenUp: TableOperation = { do: 'find', table, where: { unused: { upTo: 'none' } } }
/**
 * Marks the contents that no row and no revision of an item uses any more. With the time 0 they are removed at once; others
 * are kept for a day.
 */
export const giveUpContents: TableOperation = {
  ...{ do: 'set', table, to: { unused: 'none' } },
  where: { resource: 'resource', item: 'item', field: { in: 'fields' }, unused: { above: 'none', upTo: 'now' } },
}
/** Finds contents that have been unused since before a time. */
export const unusedContents: TableOperation = {
  ...{ do: 'find', table, where: { unused: { upTo: 'time' } } },
  ...{ order: ['unused'], limit: 100 },
}
export const forgetContent: TableOperation = { do: 'sweep', table, where: { name: 'name', unused: { upTo: 'time' } } }
