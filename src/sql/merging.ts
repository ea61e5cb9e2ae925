/** Merging: which collections require all nodes to merge their writes during a rolling upgrade. Pure. The store. */
import type { Collection } from '../rows/collection.ts'
import { fieldSources } from './field-sources.ts'
import { formerTables, type Layout, type TableLayout } from './layout.ts'
import { isConverted } from './stored-version.ts'

/**
 * Nodes of this release show by their name that they merge writes; nodes of earlier releases are named by host and process
 * alone.
 */
export const nodeName = (host: string, pid: number): string => `${host}+2:${pid}`
export const isEarlierReleaseNode = (node: string): boolean => /:\d+$/.test(node) && !/\+2:\d+$/.test(node)

/** The collections that old and new nodes can write at the same time only if all nodes merge their writes. */
export function collectionsToMerge(was: Layout | null, is: Layout, collections: readonly Collection[]): string[] {
  const formerTable = formerTables(collections, was)
  return collections.flatMap((one) => {
    const old = formerTable(one)
    const isOther = old !== undefined && old.shape !== is.tables[one.name]?.shape
    return isOther && (isConverted(one, old) || hasOtherLists(one, old)) ? [one.name] : []
  })
}

/** Nodes of earlier releases answer a list that was renamed or lies in an object as they themselves wrote it last. */
const hasOtherLists = ({ fields }: Collection, { kinds }: TableLayout): boolean =>
  fieldSources(fields, kinds).some(
    ({ path, kind, from }) => kind === 'list' && from !== null && (from !== path || /^[^*]*\.[^*]*$/.test(path)),
  )
