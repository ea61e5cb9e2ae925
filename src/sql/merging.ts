/** Merging: which rows nodes of two declarations may write in turn only if all of them merge what they write. Pure. The cellar. */
import type { Collection } from '../rows/collection.ts'
import { fieldSources } from './field-sources.ts'
import { formerTableOf, type Layout, type TableLayout } from './layout.ts'
import { isConverted } from './stored-version.ts'

/** Nodes of this release say by their name that they merge; those of earlier ones are named by host and process alone. */
export const nodeName = (host: string, pid: number): string => `${host}+2:${pid}`
export const isEarlierReleaseNode = (node: string): boolean => /:\d+$/.test(node) && !/\+2:\d+$/.test(node)

/** The collections whose rows are safe beside nodes of the former declaration only where all nodes merge what they write. */
export const collectionsToMerge = (was: Layout | null, is: Layout, collections: readonly Collection[]): string[] =>
  collections.flatMap((one) => {
    const old = formerTableOf(one, collections, was)
    const isOther = old !== undefined && old.shape !== is.tables[one.name]?.shape
    return isOther && (isConverted(one, old) || hasOtherLists(one, old)) ? [one.name] : []
  })

/** Earlier releases answer a list as their own declaration wrote it last where it has another name, or stands in an object. */
const hasOtherLists = ({ fields }: Collection, { kinds }: TableLayout): boolean =>
  fieldSources(fields, kinds).some(
    ({ path, kind, from }) => kind === 'list' && from !== null && (from !== path || /^[^*]*\.[^*]*$/.test(path)),
  )
