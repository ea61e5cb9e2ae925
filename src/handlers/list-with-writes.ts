/** List with writes: a list from the store with the writes of handlers applied to it, filtered and sorted again. R226. */
import type { Document } from '../flow/intent.ts'
import type { Condition, ListRows, Term } from '../flow/plan.ts'
import type { Resource } from '../resources/resource.ts'
import { type Cell, cellIn, compareCells } from '../rows/collection.ts'

type WrittenDocument = { readonly key: { readonly id: string }; readonly now: Document | null }

export function listWithWrites(
  resource: Resource,
  { where, parent, order, window }: ListRows,
  documents: readonly Document[],
  written: readonly WrittenDocument[],
): Document[] {
  if (written.length === 0) return [...documents]
  const field = resource.parent?.field
  const ids = new Set(written.map(({ key }) => key.id))
  const changed = written.flatMap(({ now }) => (now === null ? [] : [now]))
  const matching = changed.filter(
    (one) =>
      (parent === null || one[field ?? ''] === parent.id) &&
      where.every((condition) => meets(resource, one, condition)),
  )
  const all = [...documents.filter(({ id }) => !ids.has(String(id))), ...matching]
  return all.sort((a, b) => compared(resource, order, a, b)).slice(0, window.limit)
}

/** The value of a column of a document, as the database compares it. */
function cellAt({ collection }: Resource, document: Document, column: string): Cell {
  const columnOfName = collection.columns.find(({ name }) => name === column)
  return columnOfName
    ? cellIn(columnOfName, document)
    : String(document[column === 'parent' ? (collection.parent?.field ?? '') : column])
}

function meets(resource: Resource, document: Document, condition: Condition): boolean {
  const cell = cellAt(resource, document, condition.column)
  switch (condition.is) {
    case 'null':
      return cell === null
    case 'present':
      return cell !== null
    case 'in':
      return condition.values.some((one) => cell !== null && compareCells(cell, one) === 0)
    case 'like':
      return typeof cell === 'string' && isLike(cell, condition.parts)
    case 'any':
      return condition.of.some((all) => all.every((one) => meets(resource, document, one)))
    case 'search': // handlers do not search
    case 'among':
      return true // only filters of older versions are like this
    default:
      return cell !== null && signs[condition.is](compareCells(cell, condition.value))
  }
}

const signs = {
  eq: (order: number) => order === 0,
  ne: (order: number) => order !== 0,
  gt: (order: number) => order > 0,
  gte: (order: number) => order >= 0,
  lt: (order: number) => order < 0,
  lte: (order: number) => order <= 0,
}

/** Whether a text has these parts in their order, with anything between them. */
function isLike(text: string, parts: readonly string[]): boolean {
  const [first = '', last = ''] = [parts[0], parts.at(-1)]
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false
  let at = first.length
  for (const part of parts.slice(1, -1)) {
    const start = text.indexOf(part, at)
    if (start < 0) return false
    at = start + part.length
  }
  return at <= text.length - last.length
}

function compared(resource: Resource, order: readonly Term[], a: Document, b: Document): number {
  for (const { column, descending, nulls } of order) {
    const [one, other] = [cellAt(resource, a, column), cellAt(resource, b, column)]
    if (one === null && other === null) continue
    if (one === null || other === null) return (one === null) === (nulls === 'first') ? -1 : 1
    const comparison = compareCells(one, other)
    if (comparison !== 0) return descending ? -comparison : comparison
  }
  return 0
}
