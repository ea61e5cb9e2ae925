/** One statement on its way: sent, and its rows made of what comes back. What the columns are is asked once for a statement. The cellar. */
import pg from 'pg'
import type { Cell } from '../resources/collection.ts'
import type { Answer } from '../store/cellar.ts'
import type { Many } from '../store/compile.ts'

/** What the driver has of a connection, for those who send by themselves. */
interface Wire {
  readonly parsedStatements: Record<string, string>
  readonly submittedNamedStatements: Record<string, string>
  readonly query: (text: string) => void
  readonly parse: (statement: { readonly text: string; readonly name: string | undefined }) => void
  readonly bind: (bound: {
    readonly statement: string | undefined
    readonly values: readonly Value[]
    readonly valueMapper: (value: Value) => string | Buffer | null
  }) => void
  readonly describe: (what: { readonly type: 'P'; readonly name: string }) => void
  readonly execute: (portal: object) => void
  readonly sync: () => void
}

interface Column {
  readonly name: string
  readonly read: (text: string) => unknown
}

/** The columns of statements that are prepared, by their name. */
const known = new Map<string, readonly Column[]>()

/** After a server sent something wrong, the columns that it described may be wrong too. */
export const forgetColumns = (): void => known.clear()

const [bool, int8, int2, int4] = [16, 20, 21, 23]
const asText = (text: string): string => text
const readers: Readonly<Record<number, Column['read']>> = {
  [bool]: (text) => text === 't',
  /** As numbers, where they are exact, and else as big ones. */
  [int8]: (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text)),
  [int2]: Number,
  [int4]: Number,
}

/** What a mark stands for: a value, or a list of values as the server has them. */
type Value = Cell | Buffer

const sent = (value: Value): string | Buffer | null =>
  value === null || Buffer.isBuffer(value) ? value : String(value)

/** The values of many rows, of which each mark takes those at its place. */
export interface Lists {
  readonly types: Many['types']
  readonly rows: readonly (readonly Cell[])[]
}

/**
 * The list for each mark, in the form that the server sends and takes without reading it: as text each one would be escaped here and
 * read there, which takes either side twice as long.
 */
export function listed({ types, rows }: Lists): readonly Buffer[] {
  let at = 0
  const ends = types.map((type, i) => {
    at = type === 'text' ? texts(rows, i, at) : integers(rows, i, at)
    return at
  })
  const all = Buffer.from(room.subarray(0, at))
  return ends.map((end, i) => all.subarray(ends[i - 1] ?? 0, end))
}

const [ofText, ofIntegers] = [25, 20]
const mostOfHead = 20
/** Where lists are written. */
let room = Buffer.allocUnsafe(65_536)

/** So many bytes fit behind a place. */
function ensure(at: number, bytes: number): void {
  if (at + bytes <= room.length) return
  const more = Buffer.allocUnsafe(Math.max(at + bytes, room.length * 2))
  room.copy(more, 0, 0, at)
  room = more
}

function int32(value: number, at: number): number {
  room[at] = value >>> 24
  room[at + 1] = value >>> 16
  room[at + 2] = value >>> 8
  room[at + 3] = value
  return at + 4
}

/** One dimension, whether there are nulls, what it is of, how many, and from which number on. */
function head(rows: Lists['rows'], i: number, type: number, at: number): number {
  ensure(at, mostOfHead)
  const nulls = rows.some((row) => (row[i] ?? null) === null)
  return int32(1, int32(rows.length, int32(type, int32(Number(nulls), int32(1, at)))))
}

function texts(rows: Lists['rows'], i: number, from: number): number {
  let at = head(rows, i, ofText, from)
  for (const row of rows) {
    const value = row[i] ?? null
    const text = value === null ? '' : String(value)
    ensure(at, 4 + text.length * 3)
    const bytes = text === '' ? 0 : room.write(text, at + 4)
    at = int32(value === null ? -1 : bytes, at) + bytes
  }
  return at
}

function integers(rows: Lists['rows'], i: number, from: number): number {
  let at = head(rows, i, ofIntegers, from)
  ensure(at, rows.length * 12)
  for (const row of rows) {
    const value = row[i] ?? null
    at = int32(value === null ? -1 : 8, at)
    if (Number.isSafeInteger(value)) at = int32(value as number, int32(Math.floor((value as number) / 2 ** 32), at))
    else if (value !== null) at = room.writeBigInt64BE(BigInt(value), at)
  }
  return at
}

export interface Asked {
  readonly text: string
  readonly values: readonly Value[]
  /** What it is prepared as; undefined for once. */
  readonly name: string | undefined
}

interface Description {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[]
}

/** A statement as the driver takes it. */
export function query(
  { text, values, name }: Asked,
  done: (rows: readonly Answer[]) => void,
  fail: (error: Error) => void,
) {
  const rows: Answer[] = []
  let isComplete = false
  const complete = (): void => {
    isComplete = true
  }
  let columns = name === undefined ? undefined : known.get(name)
  const own = {
    text,
    name,
    callback: () => {},
    submit: (wire: Wire): null => {
      if (values.length === 0 && name === undefined) wire.query(text)
      else prepared(wire, { text, values, name }, columns === undefined)
      return null
    },
    handleRowDescription: ({ fields }: Description) => {
      columns = fields.map(({ name, dataTypeID }) => ({ name, read: readers[dataTypeID] ?? asText }))
    },
    handleDataRow: ({ fields }: { readonly fields: readonly (string | null)[] }) => {
      if (fields.length !== columns?.length) throw new Error('A row does not have the columns that were described.')
      rows.push(row(columns, fields))
    },
    handleCommandComplete: complete,
    handleEmptyQuery: complete,
    handleReadyForQuery: () => {
      if (!isComplete) throw failed(fail, 'The server went on before it had answered.')
      if (name !== undefined && columns) known.set(name, columns)
      done(rows)
    },
    ...neverAsked,
    handleError: fail,
  }
  return Object.assign(Object.create(pg.Query.prototype), own) as pg.Submittable
}

/** Rows are never asked for in parts, and nothing is copied. */
function unexpected(): never {
  throw new Error('The server sent a message that answers nothing that it was asked.')
}

const neverAsked = {
  handlePortalSuspended: unexpected,
  handleCopyInResponse: unexpected,
  handleCopyData: unexpected,
}

/** The driver does not know any more whose answer it is, so it is not left to it to say so. */
function failed(fail: (error: Error) => void, message: string): Error {
  const error = new Error(message)
  fail(error)
  return error
}

function prepared(wire: Wire, { text, values, name }: Asked, describes: boolean): void {
  const isThere =
    name !== undefined && (wire.parsedStatements[name] ?? wire.submittedNamedStatements[name]) !== undefined
  if (!isThere) wire.parse({ text, name })
  if (!isThere && name !== undefined) wire.submittedNamedStatements[name] = text
  wire.bind({ statement: name, values, valueMapper: sent })
  if (describes) wire.describe({ type: 'P', name: '' })
  wire.execute({})
  wire.sync()
}

function row(columns: readonly Column[], fields: readonly (string | null)[]): Answer {
  const made: Record<string, unknown> = {}
  for (let i = 0; i < columns.length; i++) {
    const { name, read } = columns[i] as Column
    const text = fields[i] ?? null
    made[name] = text === null ? null : read(text)
  }
  return made
}
