/** Asks what several requests ask in the same words as one statement, and gives to each what is its own. The cellar. */

import type { CoalescedStatement, Statement } from '../sql/compile.ts'
import type { ResultRow } from '../store/steps.ts'
import type { Connection, DatabaseQuery } from './connect.ts'

/** A statement that can be asked for many. */
export type CoalescableStatement = Statement & { readonly many: CoalescedStatement }

export const isCoalescable = (statement: Statement): statement is CoalescableStatement => statement.many !== undefined

type ResultRows = readonly ResultRow[]

interface QueuedStatement {
  readonly statement: CoalescableStatement
  /** The row that it is about. */
  readonly name: string
  readonly resolve: (rows: ResultRows) => void
  readonly reject: (error: unknown) => void
}

interface CoalesceDeps {
  /** Gives a connection to those who are gathered by then. */
  readonly lend: (act: (connection: Connection) => Promise<void>) => Promise<void>
  readonly send: (connection: Connection, question: DatabaseQuery) => Promise<ResultRows>
  /** Asks for one whose company failed, so that nobody is refused for another one's sake. */
  readonly alone: (statement: CoalescableStatement) => Promise<ResultRows>
  /** Whether a failure is that of all of them, as it is not known what was done or the connection is lost. */
  readonly isForAll: (error: unknown) => boolean
  /** Whether some may be about the same row, as nothing is changed. */
  readonly allowsSameRow: boolean
}

/** Asks one question once for all that a turn of the event loop brings; what comes when it was sent may know of more, and asks again. */
export function oncePerTurn<T>(ask: () => Promise<T>): () => Promise<T> {
  let asking: Promise<T> | null = null
  return () => {
    asking ??= new Promise((resolve) =>
      setImmediate(() => {
        asking = null
        resolve(ask())
      }),
    )
    return asking
  }
}

/** As many are asked in one, and as many characters. */
const [most, mostText] = [100, 1_000_000]
/**
 * Of changes that wait, half go at once: all in one would come back as one, and leave the database without work while they are answered
 * here, and this side while it has them. So few are not worth parting.
 */
const smallBatch = 16

export function coalesce(gathering: CoalesceDeps): (statement: CoalescableStatement) => Promise<ResultRows> {
  const kinds = new Map<string, QueuedStatement[]>()

  /** What one turn of the event loop brings waits for its end, and what comes while no connection is free waits with it. */
  function call(text: string, members: QueuedStatement[]): void {
    kinds.set(text, members)
    setImmediate(async () => {
      const act = async (connection: Connection): Promise<void> => {
        kinds.delete(text)
        const { company, rest } = splitBatch(members, gathering.allowsSameRow)
        if (rest.length > 0) call(text, rest)
        await sendBatch(gathering, connection, company)
      }
      try {
        await gathering.lend(act)
      } catch (error) {
        kinds.delete(text) // there was no connection
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

/** What names the row that a statement is about. */
function rowName({ many: { at }, values }: CoalescableStatement): string {
  let name = String(values[at[0] as number])
  for (let i = 1; i < at.length; i++) name += `\0${values[at[i] as number]}`
  return name
}

/** Members by the row that they are about. */
type StatementsByRow = ReadonlyMap<string, readonly QueuedStatement[]>

/** Those who go together, and those for whom there is no room or whose row another one changes already. */
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

/** Never fails itself. */
async function sendBatch(
  { send, alone, isForAll }: CoalesceDeps,
  connection: Connection,
  company: StatementsByRow,
): Promise<void> {
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

/** In the order of their names, so that two who change the same rows do it in the same order. */
function batchQuery(company: StatementsByRow): DatabaseQuery {
  const statements = [...company.keys()]
    .sort()
    .map((name) => (company.get(name) as readonly [QueuedStatement])[0].statement)
  const [{ many }] = statements as [CoalescableStatement]
  const lists = { types: many.types, rows: statements.map(({ values }) => values) }
  return { text: many.text, values: [], lists, flush: true }
}

/** The name of the row that an answer is about. */
function answeredRowName(row: ResultRow): string {
  let name = String(row.at0)
  for (let i = 1; row[`at${i}`] !== undefined; i++) name += `\0${row[`at${i}`]}`
  return name
}
