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
    /** Since when, or from when on, no row has it, in milliseconds; null while a row has it. */
    unused: 'integer?',
  },
  key: ['name'],
  resource: 'resource',
  shardKey: 'name',
  indexes: [{ name: 'unused', columns: ['unused'] }],
}

const table = fileTable

/** Notes a content before it is written, so that none is left behind. */
export const noteContent: TableOperation = { do: 'insert', table }
/** A row has the content from now on, unless another row had it or it was swept. */
export const useContent: TableOperation = {
  ...{ do: 'set', table, where: { name: 'name', unused: { above: 'since' } } },
  to: { unused: 'none' },
}
/** No row has the content from a time on. */
export const releaseContent: TableOperation = { do: 'set', table, where: { name: 'name' }, to: { unused: 'unused' } }
/** The contents that an erasure has given up. */
export const findGivenUp: TableOperation = { do: 'find', table, where: { unused: { upTo: 'none' } } }
/** Marks the contents that no row and no revision of an item uses any more. The time 0 lets them be removed at once, without the day that others are kept. */
export const giveUpContents: TableOperation = {
  ...{ do: 'set', table, to: { unused: 'none' } },
  where: { resource: 'resource', item: 'item', field: { in: 'fields' }, unused: { above: 'none', upTo: 'now' } },
}
/** Contents that no row had for a while are forgotten, and then removed. */
export const unusedContents: TableOperation = {
  ...{ do: 'find', table, where: { unused: { upTo: 'time' } } },
  ...{ order: ['unused'], limit: 100 },
}
export const forgetContent: TableOperation = { do: 'sweep', table, where: { name: 'name', unused: { upTo: 'time' } } }
