/** Wire query: sends one statement and decodes its rows; prepared statements are described only once. The cellar. */
import pg from 'pg'
import type { Cell } from '../rows/collection.ts'
import type { CoalescedStatement } from '../sql/compile.ts'
import type { ResultRow } from '../store/steps.ts'

/** The driver's methods for callers that send protocol messages themselves. */
interface Wire {
  readonly parsedStatements: Record<string, string>
  readonly submittedNamedStatements: Record<string, string>
  readonly query: (text: string) => void
  readonly parse: (statement: { readonly text: string; readonly name: string | undefined }) => void
  readonly bind: (bound: {
    readonly statement: string | undefined
    readonly values: readonly WireValue[]
    readonly valueMapper: (value: WireValue) => string | Buffer | null
  }) => void
  readonly describe: (what: { readonly type: 'P'; readonly name: string }) => void
  readonly execute: (portal: object) => void
  readonly sync: () => void
}

interface ResultColumn {
  readonly name: string
  readonly read: (text: string) => unknown
}

/** Columns by the name of the prepared statement, so that later executions need no description. */
const describedColumns = new Map<string, readonly ResultColumn[]>()

/** After a malformed message the described columns may be wrong too. */
export const forgetColumns = (): void => describedColumns.clear()

const [bool, int8, int2, int4] = [16, 20, 21, 23]
const asText = (text: string): string => text
const valueReaders: Readonly<Record<number, ResultColumn['read']>> = {
  [bool]: (text) => text === 't',
  /** As a number if that is exact, otherwise as a BigInt. */
  [int8]: (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text)),
  [int2]: Number,
  [int4]: Number,
}

/** The value of a placeholder: a cell, or an encoded array. */
type WireValue = Cell | Buffer

const encodeValue = (value: WireValue): string | Buffer | null =>
  value === null || Buffer.isBuffer(value) ? value : String(value)

/** Rows of values: placeholder n takes the array of the n-th values. */
export interface ValueLists {
  readonly types: CoalescedStatement['types']
  readonly rows: readonly (readonly Cell[])[]
}

/**
 * Encodes one array per placeholder in PostgreSQL's binary format: text arrays would be escaped here and parsed there, which
 * takes both sides twice as long.
 */
export function encodeLists({ types, rows }: ValueLists): readonly Buffer[] {
  let at = 0
  const ends = types.map((type, i) => {
    at = type === 'text' ? writeTexts(rows, i, at) : writeIntegers(rows, i, at)
    return at
  })
  const all = Buffer.from(listBuffer.subarray(0, at))
  return ends.map((end, i) => all.subarray(ends[i - 1] ?? 0, end))
}

const [ofText, ofIntegers] = [25, 20]
const maxHeadSize = 20
/** Reused for all arrays; grows when needed. */
let listBuffer = Buffer.allocUnsafe(65_536)

function ensureRoom(at: number, bytes: number): void {
  if (at + bytes <= listBuffer.length) return
  const more = Buffer.allocUnsafe(Math.max(at + bytes, listBuffer.length * 2))
  listBuffer.copy(more, 0, 0, at)
  listBuffer = more
}

function writeInt32(value: number, at: number): number {
  listBuffer[at] = value >>> 24
  listBuffer[at + 1] = value >>> 16
  listBuffer[at + 2] = value >>> 8
  listBuffer[at + 3] = value
  return at + 4
}

/** The head of a binary array: dimensions, null flag, element type, length, and first index. */
function writeListHead(rows: ValueLists['rows'], i: number, type: number, at: number): number {
  ensureRoom(at, maxHeadSize)
  const nulls = rows.some((row) => (row[i] ?? null) === null)
  return writeInt32(1, writeInt32(rows.length, writeInt32(type, writeInt32(Number(nulls), writeInt32(1, at)))))
}

function writeTexts(rows: ValueLists['rows'], i: number, from: number): number {
  let at = writeListHead(rows, i, ofText, from)
  for (const row of rows) {
    const value = row[i] ?? null
    const text = value === null ? '' : String(value)
    ensureRoom(at, 4 + text.length * 3)
    const bytes = text === '' ? 0 : listBuffer.write(text, at + 4)
    at = writeInt32(value === null ? -1 : bytes, at) + bytes
  }
  return at
}

function writeIntegers(rows: ValueLists['rows'], i: number, from: number): number {
  let at = writeListHead(rows, i, ofIntegers, from)
  ensureRoom(at, rows.length * 12)
  for (const row of rows) {
    const value = row[i] ?? null
    at = writeInt32(value === null ? -1 : 8, at)
    if (Number.isSafeInteger(value))
      at = writeInt32(value as number, writeInt32(Math.floor((value as number) / 2 ** 32), at))
    else if (value !== null) at = listBuffer.writeBigInt64BE(BigInt(value), at)
  }
  return at
}

export interface WireQuery {
  readonly text: string
  readonly values: readonly WireValue[]
  /** The name of the prepared statement; undefined if it is not prepared. */
  readonly name: string | undefined
}

interface Description {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[]
}

/** A query object for the driver, which calls `done` or `fail`. */
export function wireQuery(
  { text, values, name }: WireQuery,
  done: (rows: readonly ResultRow[]) => void,
  fail: (error: Error) => void,
) {
  const rows: ResultRow[] = []
  let isComplete = false
  const complete = (): void => {
    isComplete = true
  }
  let columns = name === undefined ? undefined : describedColumns.get(name)
  const own = {
    text,
    name,
    callback: () => {},
    submit: (wire: Wire): null => {
      if (values.length === 0 && name === undefined) wire.query(text)
      else sendPrepared(wire, { text, values, name }, columns === undefined)
      return null
    },
    handleRowDescription: ({ fields }: Description) => {
      columns = fields.map(({ name, dataTypeID }) => ({ name, read: valueReaders[dataTypeID] ?? asText }))
    },
    handleDataRow: ({ fields }: { readonly fields: readonly (string | null)[] }) => {
      if (fields.length !== columns?.length) throw new Error('A row does not have the columns that were described.')
      rows.push(decodeRow(columns, fields))
    },
    handleCommandComplete: complete,
    handleEmptyQuery: complete,
    handleReadyForQuery: () => {
      if (!isComplete) throw failQuery(fail, 'The server went on before it had answered.')
      if (name !== undefined && columns) describedColumns.set(name, columns)
      done(rows)
    },
    ...unexpectedMessages,
    handleError: fail,
  }
  return Object.assign(Object.create(pg.Query.prototype), own) as pg.Submittable
}

/** Portals are never suspended and COPY is never used, so the server must not send these messages. */
function rejectMessage(): never {
  throw new Error('The server sent a message that belongs to no query.')
}

const unexpectedMessages = {
  handlePortalSuspended: rejectMessage,
  handleCopyInResponse: rejectMessage,
  handleCopyData: rejectMessage,
}

/** Fails the query here, as the driver no longer knows which query the message belongs to. */
function failQuery(fail: (error: Error) => void, message: string): Error {
  const error = new Error(message)
  fail(error)
  return error
}

function sendPrepared(wire: Wire, { text, values, name }: WireQuery, describes: boolean): void {
  const isThere =
    name !== undefined && (wire.parsedStatements[name] ?? wire.submittedNamedStatements[name]) !== undefined
  if (!isThere) wire.parse({ text, name })
  if (!isThere && name !== undefined) wire.submittedNamedStatements[name] = text
  wire.bind({ statement: name, values, valueMapper: encodeValue })
  if (describes) wire.describe({ type: 'P', name: '' })
  wire.execute({})
  wire.sync()
}

function decodeRow(columns: readonly ResultColumn[], fields: readonly (string | null)[]): ResultRow {
  const made: Record<string, unknown> = {}
  for (let i = 0; i < columns.length; i++) {
    const { name, read } = columns[i] as ResultColumn
    const text = fields[i] ?? null
    made[name] = text === null ? null : read(text)
  }
  return made
}
