/** Row reader: the documents of lines, of JSON or of CSV, without what the service sets itself. R238. */
import { isUtf8 } from 'node:buffer'
import { mediaTypeOf } from '../endpoints/content-negotiation.ts'
import { invalidBody, Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import type { Document } from '../flow/intent.ts'
import type { Resource } from '../resources/resource.ts'
import { CsvRecords } from './csv-records.ts'
import { csvRows } from './csv-rows.ts'
import type { Line } from './lines.ts'

export interface RowReader {
  /** The document or the mistake that a line completes; null if it completes none. `isDone` if the line was imported before. */
  readonly take: (line: Line, isDone: boolean) => Document | Problem | null
  /** The mistake at the end of the content, as an unfinished record. */
  readonly end: () => Problem | null
}

export const csvType = 'text/csv'

/** Parses a line as one JSON object. */
type ParseObject = (bytes: Buffer) => Document

export const rowReader = (call: Call, resource: Resource, owner: string | undefined, parse: ParseObject): RowReader =>
  mediaTypeOf(call) === csvType ? csvReader(resource, owner, parse) : jsonReader(resource, owner, parse)

function jsonReader(resource: Resource, owner: string | undefined, parse: ParseObject): RowReader {
  const own = withoutManaged(resource, owner)
  return {
    take: (line, isDone) => (isDone || isBlank(line) ? null : orProblem(() => own(parse(bytesOf(line, resource))))),
    end: () => null,
  }
}

/** Throws mistakes in the line of names, as no record can be read without it. */
function csvReader(resource: Resource, owner: string | undefined, parse: ParseObject): RowReader {
  const records = new CsvRecords(resource.settings.limits.body)
  const own = withoutManaged(resource, owner)
  let rows: ReturnType<typeof csvRows> | null = null
  return {
    take: (line, isDone) => {
      if (rows === null) {
        const names = isBlank(line) && !records.isOpen ? null : records.take(textOf(line, resource))
        if (names) rows = csvRows(names, resource, parse)
        return null
      }
      const read = rows
      return orProblem(() => {
        if (line.bytes === null) records.lose()
        if (isBlank(line) && !records.isOpen) return null
        const cells = records.take(textOf(line, resource))
        return cells && !isDone ? own(read(cells)) : null
      })
    },
    end: () => orProblem(() => records.end() ?? null),
  }
}

function orProblem<T>(read: () => T): T | Problem {
  try {
    return read()
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

const isBlank = ({ bytes }: Line): boolean => bytes?.every((byte) => byte <= 0x20) === true

function bytesOf({ bytes }: Line, { settings: { limits } }: Resource): Buffer {
  if (bytes) return bytes
  throw new Problem('content-too-large', `The line is larger than ${limits.body} bytes, the maximum here.`)
}

function textOf(line: Line, resource: Resource): string {
  const bytes = bytesOf(line, resource)
  if (isUtf8(bytes)) return bytes.toString()
  throw new Problem('invalid-encoding', 'The line is not valid UTF-8.')
}

/**
 * Leaves out what the service sets, so that an export can be imported: ids, times and derived values, and other values that
 * clients cannot set, if they are those of a new item. `owner` is the id in the URL.
 */
function withoutManaged(resource: Resource, owner: string | undefined): (document: Document) => Document {
  const { members, key, settings, parent, created, updated } = resource
  const chosen = key !== null || settings.resource.id === 'client'
  const dropped = [...(chosen && key === null ? [] : ['id']), created, updated, '_links', '_embedded']
  const managed = members.filter(({ name, from }) => from === 'service' && !dropped.includes(name))
  return (document) => {
    for (const name of dropped) delete document[name]
    for (const { name, field, absent } of managed)
      if (field.options.derived || JSON.stringify(document[name]) === JSON.stringify(absent)) delete document[name]
    if (parent && Object.hasOwn(document, parent.field)) {
      if (document[parent.field] !== owner) throw otherOwner(parent.field, owner)
      delete document[parent.field]
    }
    return document
  }
}

const otherOwner = (field: string, owner = ''): Problem =>
  invalidBody([
    {
      message: `${field} differs from ${owner}, which the URL names. Leave it out to create the item there.`,
      ...{ type: 'invalid-value', in: 'body', pointer: `/${field}` },
    },
  ])
