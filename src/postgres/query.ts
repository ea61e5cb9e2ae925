/** One statement on its way: sent, and its rows made of what comes back. What the columns are is asked once for a statement. The cellar. */
import pg from 'pg'
import type { Cell } from '../resources/collection.ts'
import type { Answer } from '../store/cellar.ts'

/** What the driver has of a connection, for those who send by themselves. */
interface Wire {
  readonly parsedStatements: Record<string, string>
  readonly submittedNamedStatements: Record<string, string>
  readonly query: (text: string) => void
  readonly parse: (statement: { readonly text: string; readonly name: string | undefined }) => void
  readonly bind: (bound: {
    readonly statement: string | undefined
    readonly values: readonly Value[]
    readonly valueMapper: (value: Value) => string | null
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

const [bool, int8, int2, int4] = [16, 20, 21, 23]
const asText = (text: string): string => text
const readers: Readonly<Record<number, Column['read']>> = {
  [bool]: (text) => text === 't',
  /** As numbers, where they are exact, and else as big ones. */
  [int8]: (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text)),
  [int2]: Number,
  [int4]: Number,
}

/** What a mark stands for: a value, or a list of values where a statement takes many. */
export type Value = Cell | readonly Cell[]

const sent = (value: Value): string | null =>
  value === null ? null : typeof value === 'object' ? listed(value) : String(value)

/** A list as PostgreSQL writes it. */
function listed(values: readonly Cell[]): string {
  let text = ''
  for (const value of values)
    text += value === null ? ',NULL' : typeof value === 'string' ? `,"${escaped(value)}"` : `,${value}`
  return `{${text.slice(1)}}`
}

function escaped(text: string): string {
  const plain = text.includes('\\') ? text.replaceAll('\\', '\\\\') : text
  return plain.includes('"') ? plain.replaceAll('"', '\\"') : plain
}

export interface Asked {
  readonly text: string
  readonly values: readonly Value[]
  /** What it is prepared as; undefined for once. */
  readonly name: string | undefined
}

/** A statement as the driver takes it. */
export function query(
  { text, values, name }: Asked,
  done: (rows: readonly Answer[]) => void,
  fail: (error: unknown) => void,
) {
  const rows: Answer[] = []
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
    handleRowDescription: ({
      fields,
    }: {
      readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[]
    }) => {
      columns = fields.map(({ name, dataTypeID }) => ({ name, read: readers[dataTypeID] ?? asText }))
      if (name !== undefined) known.set(name, columns)
    },
    handleDataRow: ({ fields }: { readonly fields: readonly (string | null)[] }) => {
      rows.push(row(columns as readonly Column[], fields))
    },
    handleCommandComplete: () => {},
    handleEmptyQuery: () => {},
    handleReadyForQuery: () => done(rows),
    handleError: fail,
  }
  return Object.assign(Object.create(pg.Query.prototype), own) as pg.Submittable
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
