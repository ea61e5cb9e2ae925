/** Asks what several requests ask in the same words as one statement, and gives to each what is its own. The cellar. */
import type { Answer } from '../store/cellar.ts'
import type { Many, Statement } from '../store/compile.ts'
import type { Connection, Question } from './connect.ts'

/** A statement that can be asked for many. */
export type Gathered = Statement & { readonly many: Many }

export const isGathered = (statement: Statement): statement is Gathered => statement.many !== undefined

type Rows = readonly Answer[]

interface Member {
  readonly statement: Gathered
  /** The row that it is about. */
  readonly name: string
  readonly resolve: (rows: Rows) => void
  readonly reject: (error: unknown) => void
}

interface Gathering {
  /** Gives a connection to those who are gathered by then. */
  readonly lend: (act: (connection: Connection) => Promise<void>) => Promise<void>
  readonly send: (connection: Connection, question: Question) => Promise<Rows>
  /** Asks for one whose company failed, so that nobody is refused for another one's sake. */
  readonly alone: (statement: Gathered) => Promise<Rows>
  /** Whether a failure is that of all of them, as it is not known what was done or the connection is lost. */
  readonly isForAll: (error: unknown) => boolean
  /** Whether some may be about the same row, as nothing is changed. */
  readonly shares: boolean
}

/** Asks one question once for all that a turn of the event loop brings; what comes when it was sent may know of more, and asks again. */
export function onceATurn<T>(ask: () => Promise<T>): () => Promise<T> {
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
const few = 16

export function gather(gathering: Gathering): (statement: Gathered) => Promise<Rows> {
  const kinds = new Map<string, Member[]>()

  /** What one turn of the event loop brings waits for its end, and what comes while no connection is free waits with it. */
  function call(text: string, members: Member[]): void {
    kinds.set(text, members)
    setImmediate(async () => {
      const act = async (connection: Connection): Promise<void> => {
        kinds.delete(text)
        const { company, rest } = parted(members, gathering.shares)
        if (rest.length > 0) call(text, rest)
        await carried(gathering, connection, company)
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
      const member = { statement, name: nameOf(statement), resolve, reject }
      const members = kinds.get(text)
      if (members) members.push(member)
      else call(text, [member])
    })
}

/** What names the row that a statement is about. */
function nameOf({ many: { at }, values }: Gathered): string {
  let name = String(values[at[0] as number])
  for (let i = 1; i < at.length; i++) name += `\0${values[at[i] as number]}`
  return name
}

/** Members by the row that they are about. */
type Company = ReadonlyMap<string, readonly Member[]>

/** Those who go together, and those for whom there is no room or whose row another one changes already. */
function parted(members: readonly Member[], shares: boolean): { company: Company; rest: Member[] } {
  const company = new Map<string, Member[]>()
  const rest: Member[] = []
  const room = shares ? most : Math.min(most, Math.max(few, members.length / 2))
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
async function carried({ send, alone, isForAll }: Gathering, connection: Connection, company: Company): Promise<void> {
  try {
    const rows = new Map<string, Rows>()
    for (const row of await send(connection, together(company))) rows.set(answered(row), [row])
    for (const [name, members] of company) for (const { resolve } of members) resolve(rows.get(name) ?? [])
  } catch (error) {
    const members = [...company.values()].flat()
    if (company.size === 1 || isForAll(error)) for (const { reject } of members) reject(error)
    else for (const { statement, resolve, reject } of members) alone(statement).then(resolve, reject)
  }
}

/** In the order of their names, so that two who change the same rows do it in the same order. */
function together(company: Company): Question {
  const statements = [...company.keys()].sort().map((name) => (company.get(name) as readonly [Member])[0].statement)
  const [{ many }] = statements as [Gathered]
  const lists = { types: many.types, rows: statements.map(({ values }) => values) }
  return { text: many.text, values: [], lists, isWhole: true }
}

/** The name of the row that an answer is about. */
function answered(row: Answer): string {
  let name = String(row.at0)
  for (let i = 1; row[`at${i}`] !== undefined; i++) name += `\0${row[`at${i}`]}`
  return name
}
