/** Wire query: sends one statement and decodes its rows; prepared statements are described only once. The store. */
import pg from 'pg'
import type { ResultRow } from '../catalog/steps.ts'
import { Memo } from '../flow/memo.ts'
import type { Cell } from '../rows/collection.ts'
import type { ValueLists } from '../sql/statements.ts'

/** The driver's methods for callers that send protocol messages themselves. */
export interface Wire {
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
  readonly close: (what: { readonly type: 'S'; readonly name: string }) => void
  readonly execute: (portal: object) => void
  readonly sync: () => void
}

interface ResultColumn {
  readonly name: string
  readonly read: (text: string) => unknown
}

/** A statement that a connection has prepared. */
interface PreparedStatement {
  readonly name: string
  /** Its columns once they were described, so that later executions need no description. */
  columns: readonly ResultColumn[] | undefined
  /** Until when it is used, and its lifetime, in milliseconds. */
  readonly until: number
  readonly lifetime: number
}

/** How many statements a connection keeps prepared by default: lists with many different filters would fill the server's memory. */
const usuallyPrepared = 500

/**
 * How many statements a connection keeps prepared for so many resources, each of which has statements of its own: if they did
 * not fit, each would be evicted before its next use.
 */
export const preparedFor = (resources: number): number => Math.max(usuallyPrepared, 4 * resources)

/**
 * How long a statement stays prepared, at first and at most, in milliseconds. PostgreSQL keeps its plan, also one that reads a
 * table as a whole because it was small: until it is analyzed, such a plan would slow down every request as the table grows.
 */
const [firstLifetime, longestLifetime] = [1000, 300_000]

/**
 * Finds the prepared statement of a text on one connection; undefined at its first use, as many are not repeated. The least
 * recently used ones are closed. Each is prepared again from time to time, so that its plan follows the sizes of tables.
 */
export function preparedStatements(
  wire: Wire,
  now: () => number,
  most = usuallyPrepared,
): (text: string) => PreparedStatement | undefined {
  const once = new Memo<string, true>(most)
  let count = 0
  const dropped = ({ name }: PreparedStatement): void => {
    delete wire.parsedStatements[name] // a query that still waits for its turn prepares it again
    delete wire.submittedNamedStatements[name]
    wire.close({ type: 'S', name })
  }
  const named = new Memo<string, PreparedStatement>(most, { dropped })
  const prepare = (text: string, lifetime: number): PreparedStatement =>
    named.set(text, { name: `bylaw_${++count}`, columns: undefined, until: now() + lifetime, lifetime })
  return (text) => {
    const existing = named.get(text)
    if (existing && now() < existing.until) return existing
    if (existing) {
      named.delete(text)
      dropped(existing)
      return prepare(text, Math.min(4 * existing.lifetime, longestLifetime))
    }
    if (once.get(text)) return prepare(text, firstLifetime)
    once.set(text, true)
    return undefined
  }
}

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

/**
 * Encodes one array per placeholder in PostgreSQL's binary format: text arrays would be escaped here and parsed there, which
 * takes both sides twice as long.
 */
export function encodeLists({ types, rows }: ValueLists): readonly Buffer[] {
  return types.map((type, i) => (type === 'text' ? textList(rows, i) : integerList(rows, i)))
}

const [ofText, ofIntegers] = [25, 20]
const headSize = 20

function writeInt32(into: Buffer, value: number, at: number): number {
  into[at] = value >>> 24
  into[at + 1] = value >>> 16
  into[at + 2] = value >>> 8
  into[at + 3] = value
  return at + 4
}

/** The head of a binary array: dimensions, null flag, element type, length, and first index. */
function writeListHead(into: Buffer, rows: ValueLists['rows'], i: number, type: number): number {
  const nulls = rows.some((row) => (row[i] ?? null) === null)
  return [1, Number(nulls), type, rows.length, 1].reduce((at, value) => writeInt32(into, value, at), 0)
}

function textList(rows: ValueLists['rows'], i: number): Buffer {
  const most = rows.reduce((sum, row) => sum + 4 + 3 * String(row[i] ?? '').length, headSize)
  const into = Buffer.allocUnsafe(most)
  let at = writeListHead(into, rows, i, ofText)
  for (const row of rows) {
    const value = row[i] ?? null
    const bytes = value === null || value === '' ? 0 : into.write(String(value), at + 4)
    at = writeInt32(into, value === null ? -1 : bytes, at) + bytes
  }
  return into.subarray(0, at)
}

function integerList(rows: ValueLists['rows'], i: number): Buffer {
  const into = Buffer.allocUnsafe(headSize + 12 * rows.length)
  let at = writeListHead(into, rows, i, ofIntegers)
  for (const row of rows) {
    const value = row[i] ?? null
    at = writeInt32(into, value === null ? -1 : 8, at)
    if (Number.isSafeInteger(value))
      at = writeInt32(into, value as number, writeInt32(into, Math.floor((value as number) / 2 ** 32), at))
    else if (value !== null) at = into.writeBigInt64BE(BigInt(value), at)
  }
  return into.subarray(0, at)
}

export interface WireQuery {
  readonly text: string
  readonly values: readonly WireValue[]
  /** Undefined if it is not prepared. */
  readonly statement: PreparedStatement | undefined
}

interface Description {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[]
}

/** A query object for the driver, which calls `done` or `fail`. */
export function wireQuery(
  question: WireQuery,
  done: (rows: readonly ResultRow[]) => void,
  fail: (error: Error) => void,
) {
  const { text, values, statement } = question
  const isSimple = values.length === 0 && statement === undefined
  const describes = statement?.columns === undefined
  const answer = expectedAnswer(question, isSimple)
  const own = {
    text,
    name: statement?.name,
    callback: () => {},
    submit: (wire: Wire): null => {
      if (isSimple) wire.query(text)
      else sendPrepared(wire, question, describes)
      return null
    },
    handleRowDescription: answer.describe,
    handleDataRow: answer.add,
    handleCommandComplete: answer.complete,
    handleReadyForQuery: () => {
      if (!answer.isComplete()) throw failQuery(fail, 'The server went on before it had answered.')
      if (statement) statement.columns = answer.columns()
      done(answer.rows)
    },
    ...unexpectedMessages,
    // A step of a plan may consist of a comment only.
    handleEmptyQuery: () => (isSimple ? answer.complete({ text: '' }) : rejectMessage()),
    handleError: fail,
  }
  return Object.assign(Object.create(pg.Query.prototype), own) as pg.Submittable
}

/**
 * Takes the messages that answer a query, and throws if one does not follow from those before: then a message was lost or
 * changed, or it answers another query.
 */
function expectedAnswer({ text, statement }: WireQuery, isSimple: boolean) {
  const rows: ResultRow[] = []
  let columns = statement?.columns
  let isDescribed = columns !== undefined
  const expected = isSimple ? statementsIn(text) : 1
  /** How many statements are complete, and how many rows they returned together. */
  let done = 0
  let before = 0

  function describe({ fields }: Description): void {
    if (isDescribed || done === expected) rejectMessage()
    isDescribed = true
    columns = fields.map(({ name, dataTypeID }) => ({ name, read: valueReaders[dataTypeID] ?? asText }))
  }

  function add({ fields }: { readonly fields: readonly (string | null)[] }): void {
    if (done === expected || fields.length !== columns?.length)
      throw new Error('A row does not have the columns that were described.')
    rows.push(decodeRow(columns, fields))
  }

  function complete({ text: tag }: { readonly text: string }): void {
    if (done === expected) rejectMessage()
    const count = columns === undefined ? null : countOf(tag)
    if (count !== null && count !== rows.length - before)
      throw new Error('The server sent another number of rows than it counted.')
    before = rows.length
    done++
    if (!isSimple) return
    columns = undefined
    isDescribed = false
  }

  const isComplete = () => (expected === null ? done > 0 : done === expected)
  return { rows, describe, add, complete, isComplete, columns: () => columns }
}

/** How many statements a text has that is sent without values; null if its semicolons may be part of one. */
function statementsIn(text: string): number | null {
  if (!text.includes(';')) return 1
  return text.startsWith('BEGIN') ? text.split(';').length : null
}

/** How many rows a tag such as `SELECT 3` or `INSERT 0 3` says were answered; null if it says nothing. */
function countOf(tag: string): number | null {
  const [, count] = / (\d+)$/.exec(tag) ?? []
  return count === undefined ? null : Number(count)
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

function sendPrepared(wire: Wire, { text, values, statement }: WireQuery, describes: boolean): void {
  const name = statement?.name
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
  const row: Record<string, unknown> = {}
  for (let i = 0; i < columns.length; i++) {
    const { name, read } = columns[i] as ResultColumn
    const text = fields[i] ?? null
    row[name] = text === null ? null : read(text)
  }
  return row
}
