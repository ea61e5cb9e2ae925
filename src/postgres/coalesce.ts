/** Coalesce: sends equal statements of several requests as one batch and gives each caller its own rows. The store. */

import type { ResultRow } from '../catalog/steps.ts'
import type { World } from '../flow/world.ts'
import type { CoalescedStatement, Statement } from '../sql/statements.ts'
import type { Connection, DatabaseQuery } from './connect.ts'

export type CoalescableStatement = Statement & { readonly many: CoalescedStatement }

export const isCoalescable = (statement: Statement): statement is CoalescableStatement => statement.many !== undefined

type ResultRows = readonly ResultRow[]

interface QueuedStatement {
  readonly statement: CoalescableStatement
  /** Identifies the row that the statement reads or writes. */
  readonly name: string
  readonly resolve: (rows: ResultRows) => void
  readonly reject: (error: unknown) => void
}

interface CoalesceDeps {
  /** Provides a connection; statements that arrive before it is free join the batch. */
  readonly lend: (act: (connection: Connection) => Promise<void>) => Promise<void>
  readonly count: (statements: number) => void
  readonly send: (connection: Connection, question: DatabaseQuery) => Promise<ResultRows>
  /** Runs one statement of a failed batch by itself, so that no caller gets another caller's error. */
  readonly alone: (statement: CoalescableStatement) => Promise<ResultRows>
  /** Whether an error applies to the whole batch: the connection is lost, the outcome is unknown, or callers retry. */
  readonly isForAll: (error: unknown) => boolean
  /** Whether callers may share the answer for a row. True for reads; a batch of writes takes one per row. */
  readonly allowsSameRow: boolean
  readonly world: World
}

/** Asks once for all callers of one turn of the event loop; later callers ask again, as the answer may have changed. */
export function oncePerTurn<T>(ask: () => Promise<T>, { nextTurn }: World): () => Promise<T> {
  let asking: Promise<T> | null = null
  return () => {
    asking ??= new Promise((resolve) =>
      nextTurn(() => {
        asking = null
        resolve(ask())
      }),
    )
    return asking
  }
}

/** Limits of one batch: rows, and characters beyond which no further row is added. */
const [most, mostText] = [100, 1_000_000]
/**
 * A batch takes half of the waiting writes, so that the database and this process work at the same time, but at least this
 * many.
 */
const smallBatch = 16

export function coalesce(gathering: CoalesceDeps): (statement: CoalescableStatement) => Promise<ResultRows> {
  const kinds = new Map<string, QueuedStatement[]>()

  /**
   * Sends a batch at the end of this turn of the event loop, as soon as a connection is free; later statements join until
   * then.
   */
  function call(text: string, members: QueuedStatement[]): void {
    kinds.set(text, members)
    gathering.world.nextTurn(async () => {
      const act = async (connection: Connection): Promise<void> => {
        kinds.delete(text)
        const { company, rest } = splitBatch(members, gathering.allowsSameRow)
        if (rest.length > 0) call(text, rest)
        await sendBatch(gathering, connection, company)
      }
      try {
        await gathering.lend(act)
      } catch (error) {
        kinds.delete(text) // no connection could be opened
        for (const { reject } of members) reject(error)
      }
    })
  }

  return (statement) =>
    new Promise((resolve, reject) => {
      const { text } = statement.many
      const member = { statement, name: rowName(statement), resolve, reject }
      const members = kinds.get(text)
      if (members) members.push(member)
      else call(text, [member])
    })
}

function rowName({ many: { at }, values }: CoalescableStatement): string {
  let name = String(values[at[0] as number])
  for (let i = 1; i < at.length; i++) name += `\0${values[at[i] as number]}`
  return name
}

/** The statements of a batch, by the row that they are about. */
type StatementsByRow = ReadonlyMap<string, readonly QueuedStatement[]>

/** Splits the waiting statements into the next batch and the rest: those beyond its limits, and second writes of a row. */
function splitBatch(
  members: readonly QueuedStatement[],
  shares: boolean,
): { company: StatementsByRow; rest: QueuedStatement[] } {
  const company = new Map<string, QueuedStatement[]>()
  const rest: QueuedStatement[] = []
  const room = shares ? most : Math.min(most, Math.max(smallBatch, members.length / 2))
  let length = 0
  for (const member of members) {
    const others = company.get(member.name)
    if (others && shares) others.push(member)
    else if (others || company.size >= room || length > mostText) rest.push(member)
    else {
      company.set(member.name, [member])
      for (const value of member.statement.values) if (typeof value === 'string') length += value.length
    }
  }
  return { company, rest }
}

/** Never throws: errors go to the callers. */
async function sendBatch(
  { send, count, alone, isForAll }: CoalesceDeps,
  connection: Connection,
  company: StatementsByRow,
): Promise<void> {
  count(company.size)
  try {
    const rows = new Map<string, ResultRows>()
    for (const row of await send(connection, batchQuery(company))) rows.set(answeredRowName(row), [row])
    for (const [name, members] of company) for (const { resolve } of members) resolve(rows.get(name) ?? [])
  } catch (error) {
    const members = [...company.values()].flat()
    if (company.size === 1 || isForAll(error)) for (const { reject } of members) reject(error)
    else for (const { statement, resolve, reject } of members) alone(statement).then(resolve, reject)
  }
}

/** Sorted by row, so that two batches that write the same rows lock them in the same order and cannot deadlock. */
function batchQuery(company: StatementsByRow): DatabaseQuery {
  const statements = [...company.keys()]
    .sort()
    .map((name) => (company.get(name) as readonly [QueuedStatement])[0].statement)
  const [{ many }] = statements as [CoalescableStatement]
  const lists = { types: many.types, rows: statements.map(({ values }) => values) }
  return { text: many.text, values: [], lists, flush: true }
}

/** The row that an answer is about, in the same form as `rowName`. */
function answeredRowName(row: ResultRow): string {
  let name = String(row.at0)
  for (let i = 1; row[`at${i}`] !== undefined; i++) name += `\0${row[`at${i}`]}`
  return name
}
