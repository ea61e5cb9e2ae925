/** Shown rows: stored rows as a version shows them to a caller, with their links. Part 2, shape of a response. */
import type { Representation } from '../changes/representation.ts'
import type { CarriedVersion } from '../flow/call.ts'
import type { StoredRows } from '../flow/found-row.ts'
import type { RequestContext } from '../flow/intent.ts'
import { documentSeparator } from '../flow/outcome.ts'
import type { Resource } from '../resources/resource.ts'
import type { FileLinker } from './file-links.ts'
import type { ItemLinker } from './item-links.ts'
import { maskDocuments, maskJoinedPages, omitUnseen, type View, type ViewingCaller, viewWhile } from './view.ts'

/** A resource as a version shows it. */
export interface ShownResource {
  /** The resource, and all resources, as the version declares them. */
  readonly resource: Resource
  readonly resources: ReadonlyMap<string, Resource>
  /** How a caller sees the resource. */
  readonly view: (caller: ViewingCaller) => View
  /** Converts between stored documents and those of the version. */
  readonly representation: Representation
  /** Adds links to its documents; null if they have none. */
  readonly linker: ItemLinker | null
  /** Sets the URLs of its files; null if it has none. */
  readonly fileLinker: FileLinker | null
  /** Whether callers who may read an item see it differently: its fields, or its links. R143. */
  readonly isPersonal: boolean
}

/** How a caller sees the resource at the moment. */
export const viewNow = (
  { view, representation }: Pick<ShownResource, 'view' | 'representation'>,
  caller: ViewingCaller,
  { waiting }: Pick<RequestContext['world'], 'waiting'>,
): View => viewWhile(view(caller), waiting(representation.today.name))

/** The documents of a version, joined by commas, with all fields that the caller may read. */
export function convertedRows(
  { representation: { answers } }: Pick<ShownResource, 'representation'>,
  view: View,
  { data, joined = [] }: StoredRows,
  documents?: readonly Readonly<Record<string, unknown>>[],
): string {
  if (answers === null) return data
  return answers(
    maskDocuments(view, data),
    maskJoinedPages(view, joined),
    view.masked,
    view.masked.size === 0 ? documents : undefined,
  )
}

/** The documents of a version as its callers see them, without links between items. */
export function seenRows(
  shown: Pick<ShownResource, 'representation' | 'fileLinker'>,
  view: View,
  carried: CarriedVersion,
  rows: StoredRows,
  documents?: readonly Readonly<Record<string, unknown>>[],
): string {
  const converted = convertedRows(shown, view, rows, documents)
  return omitUnseen(view, shown.fileLinker?.(carried, converted) ?? converted)
}

/** The text of each row, with links. */
export function shownRows(
  shown: Pick<ShownResource, 'representation' | 'linker' | 'fileLinker'>,
  view: View,
  carried: CarriedVersion,
  rows: StoredRows,
  documents?: readonly Readonly<Record<string, unknown>>[],
): readonly string[] {
  if (rows.data === '') return []
  const { linker } = shown
  const stored = rows.data.split(documentSeparator)
  const seen = seenRows(shown, view, carried, rows, documents)
  const texts =
    seen === rows.data ? stored : (JSON.parse(`[${seen}]`) as object[]).map((document) => JSON.stringify(document))
  return linker ? texts.map((text, i) => linker(view, carried, stored[i] as string, text)) : texts
}
