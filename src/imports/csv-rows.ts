/** CSV rows: the documents of records, by the names of their columns, as exports write them. Part 4. R238. */
import { invalidBody, Problem, type Violation } from '../errors/problem.ts'
import type { Field } from '../fields/field.ts'
import { partsOf } from '../fields/file-kind.ts'
import { type FieldKinds, fieldKind } from '../fields/kind.ts'
import type { Document } from '../flow/intent.ts'
import { unguardFormula } from '../formats/formula-guard.ts'
import { listInWords, nearestName } from '../formats/naming.ts'
import { idempotencyKeyField } from '../idempotency/key.ts'
import type { Resource } from '../resources/resource.ts'
import type { CsvCells } from './csv-records.ts'

/** How many mistakes in the line of names are looked for. */
const mostFaults = 50

type ReadRow = (cells: CsvCells) => Document

/** The value of a cell; undefined to leave the field out. */
type ReadCell = (text: string | null) => unknown

interface Column {
  readonly path: readonly string[]
  readonly read: ReadCell
  readonly hasJson: boolean
}

/**
 * Makes the function that reads the records below a line of names. Throws all mistakes in the names. `parse` parses JSON strictly:
 * a cell can hold no value that a body cannot.
 */
export function csvRows(names: CsvCells, resource: Resource, parse: (bytes: Buffer) => Document): ReadRow {
  const columns = namedColumns(resource)
  const faults: Violation[] = []
  const known = new Set<string | null>()
  for (const name of names) {
    const message = nameFault(name, known.has(name), columns)
    known.add(name)
    if (message !== null) faults.push({ message, type: 'unknown-field', in: 'body' })
    if (faults.length === mostFaults) break
  }
  if (faults.length > 0) throw invalidBody(faults)
  const read = names.map((name) => columns.get(name as string) as Column)
  const objects = requiredObjects(resource)
  return (cells) => {
    if (cells.length !== read.length)
      throw new Problem(
        'malformed-request',
        `The record has ${cells.length} cells, and the line of names ${read.length}. Separate cells by commas, and put a text with commas in quotes.`,
      )
    const document: Document = {}
    for (const name of objects) document[name] = {}
    read.forEach(({ path, read, hasJson }, i) => {
      const cell = cells[i] as string | null
      const value = read(cell)
      if (value !== undefined) setAt(document, path, value)
      if (cell === null) return
      if (hasJson && typeof value !== 'string') parse(memberAt(path, cell))
      else if (cell.includes('\0')) parse(memberAt(path, JSON.stringify(cell)))
    })
    return document
  }
}

function nameFault(name: string | null, isTwice: boolean, columns: ReadonlyMap<string, Column>): string | null {
  if (name === null) return 'A column has no name. Name each by its field in the first line, nested ones with dots.'
  if (isTwice) return `The column ${JSON.stringify(name.slice(0, 100))} is there twice. Leave one of them out.`
  if (columns.has(name)) return null
  const guess = nearestName(name, [...columns.keys()])
  const mend = guess ? `Did you mean ${guess}?` : `There are ${listInWords([...columns.keys()], 'and')}.`
  return `There is no column ${JSON.stringify(name.slice(0, 100))}. ${mend}`
}

/** All columns by name: the fields of the resource, nested ones with dots, and the key of a line. */
function namedColumns({ members, rules, settings }: Resource): ReadonlyMap<string, Column> {
  const key = idempotencyKeyField(settings)
  const columns = members.flatMap(({ name, field }) => columnsOf([name], field, rules.kinds))
  if (key !== null) columns.push({ path: [key], read: (text) => text ?? undefined, hasJson: false })
  return new Map(columns.map((column) => [column.path.join('.'), column]))
}

function columnsOf(path: readonly string[], field: Field, kinds: FieldKinds): Column[] {
  const parts = partsOf(field)
  if (parts === undefined) return [{ path, read: cellReader(field, kinds), hasJson: jsonKinds.includes(field.kind) }]
  return Object.entries(parts).flatMap(([name, inner]) => columnsOf([...path, name], inner, kinds))
}

/** Objects that have to be sent, even if all of their cells are empty. */
const requiredObjects = ({ members }: Resource): readonly string[] =>
  members.flatMap(({ name, field, absent }) => (field.fields !== undefined && absent === undefined ? name : []))

const jsonKinds: readonly string[] = ['list', 'metadata', 'json']

function cellReader({ kind, options }: Field, kinds: FieldKinds): ReadCell {
  const [parse] = fieldKind(kind, kinds).parse ?? []
  // An empty cell means null only if a left-out field would get a default instead.
  const empty = options.optional && options.default !== undefined ? null : undefined
  const read = jsonKinds.includes(kind) ? parsedJson : (text: string) => parse?.(text) ?? unguardFormula(text)
  return (text) => (text === null ? empty : read(text))
}

/** A cell that is not JSON stays a text, which the check of the field refuses. */
function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** An object with a JSON text at a path, so that mistakes in it point to their field. */
const memberAt = (path: readonly string[], json: string): Buffer =>
  Buffer.from(path.reduceRight((inner, name) => `{${JSON.stringify(name)}:${inner}}`, json))

function setAt(document: Document, path: readonly string[], value: unknown): void {
  let at = document
  for (const name of path.slice(0, -1)) {
    at[name] ??= {}
    at = at[name] as Document
  }
  at[path.at(-1) as string] = value
}
