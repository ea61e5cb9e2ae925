/** Encoded writes: a document as the creation or the change of its row. Part 4, methods. */
import type { FoundRow } from '../flow/found-row.ts'
import type { Document } from '../flow/intent.ts'
import type { Create, RowChange, Update } from '../flow/plan.ts'
import { timestampOf } from '../formats/time-texts.ts'
import { encodeRow } from '../resources/document.ts'
import { mayRefer, referencesIn } from '../resources/references.ts'
import type { Resource } from '../resources/resource.ts'
import {
  cellsAfter,
  cellsIn,
  type DocumentTexts,
  type Reference,
  updatedAtIn,
  withUpdatedAt,
} from '../rows/collection.ts'

/** A new row, without the parts that are computed from its document. */
export type NewRowPlan = Pick<Create, 'key' | 'parent' | 'time'> & Partial<Pick<Create, 'id' | 'claim'>>

/** An existing row, and when it is changed. */
export interface ChangedRowPlan extends Pick<RowChange, 'key' | 'time'> {
  readonly current: FoundRow
  readonly before: Document
  /** Whether a transition enters the state anew, even if it is the same one. */
  readonly entered?: boolean
}

export function encodedCreation(resource: Resource, document: Document, row: NewRowPlan): Create {
  const { key, parent, time, claim = null } = row
  const chosen = resource.key !== null || resource.settings.resource.id !== 'typeid'
  return {
    ...{ do: 'create', collection: resource.name, key, parent, time, claim },
    id: row.id ?? (chosen ? 'chosen' : 'fresh'),
    row: encodeRow(resource, document),
    references: changedReferences(resource, document),
  }
}

export function encodedChange(
  resource: Resource,
  document: Document,
  { doc, hidden }: DocumentTexts,
  row: ChangedRowPlan,
): Update {
  const { key, time, current, before, entered } = row
  const last = laterTime(timestampOf(time), updatedAtIn(current.doc))
  document[resource.updated] = last
  const stood = cellsIn(resource.collection, before)
  const cells = cellsAfter(resource.collection, document, { before, cells: stood })
  return {
    do: 'update',
    collection: resource.name,
    key,
    revision: current.revision,
    time,
    row: { doc: withUpdatedAt(doc, last), hidden, cells },
    changedCells: cells.flatMap((cell, i) => (cell === stood[i] ? [] : [i])),
    references: changedReferences(resource, document, before),
    ...(entered && resource.machine && { entered: String(document[resource.machine.field]) }),
  }
}

const laterTime = (a: string, b: string): string => (a > b ? a : b)

/** The references of a document that differ from those it had before. */
function changedReferences({ members }: Resource, document: Document, before?: Document): Reference[] {
  const references: Reference[] = []
  for (const { name, field } of members) {
    if (!mayRefer(field) || (before && JSON.stringify(before[name]) === JSON.stringify(document[name]))) continue
    references.push(...referencesIn(field, document[name], `/${name}`))
  }
  return references
}
