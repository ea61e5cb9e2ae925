/** Turns: queues for rows. Requests whose handlers conflicted at a row run one after the other in this process. R226. */
import type { FoundRow, RowKey } from '../flow/found-row.ts'
import type { Outcome } from '../flow/outcome.ts'
import { type ServiceWorld, within } from '../flow/world.ts'
import type { Resource } from '../resources/resource.ts'

/** The last request that queues for a row. */
interface QueueEnd {
  /** Settles when it and all earlier requests have passed their writes to the store. */
  readonly passed: Promise<unknown>
  /** Settles when they have ended. */
  readonly ended: Promise<unknown>
}

export interface Turn {
  /** Lets the next requests run, as their handlers can read what this one will commit (`announceRows`). */
  readonly pass: () => void
  readonly end: () => void
}

const makeTurns = (): Map<string, QueueEnd> => new Map()

/** Whether requests queue for a row. */
export const isQueued = ({ state }: ServiceWorld, row: string): boolean => state.of(makeTurns, null).has(row)

/**
 * Waits until the earlier requests for any of the rows have passed their turn on, or with `careful` have ended, or a time has
 * passed. A request queues for all rows at once, so that no two requests wait for each other.
 */
export async function takeTurn(
  world: ServiceWorld,
  rows: readonly string[],
  time: number,
  careful: boolean,
): Promise<Turn> {
  const turns = world.state.of(makeTurns, null)
  const earlier = [...new Set(rows.flatMap((row) => turns.get(row) ?? []))]
  const end = Promise.all(earlier.map(({ ended }) => ended))
  const before = careful ? end : Promise.all(earlier.map(({ passed }) => passed))
  const [pass, leave] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const own = { passed: before.then(() => pass.promise), ended: end.then(() => leave.promise) }
  for (const row of rows) turns.set(row, own)
  await within<unknown>(world, time, before, () => {})
  return {
    pass: pass.resolve,
    end: () => {
      pass.resolve()
      leave.resolve()
      for (const row of rows) if (turns.get(row) === own) turns.delete(row)
    },
  }
}

/** A row as it will be after the commit of a pending write. */
export interface AnnouncedRow {
  readonly row: FoundRow
  /** The outcome of the write. */
  readonly write: Promise<Outcome>
}

/** By account and name. */
const makeAnnounced = (): Map<string, AnnouncedRow> => new Map()

/** The name of a row that is unique in a service. */
export const announcedName = ({ name, collection }: Resource, { account, parent, id }: RowKey): string =>
  JSON.stringify([name, collection.account === null ? null : account, parent, id])

export const announcedRow = ({ state }: ServiceWorld, name: string): AnnouncedRow | undefined =>
  state.of(makeAnnounced, null).get(name)

/** Announces rows to other handlers before the commit. The rows are a guess: the transaction of the reader compares them. */
export function announceRows(
  { state }: ServiceWorld,
  rows: ReadonlyMap<string, FoundRow>,
  write: Promise<Outcome>,
): () => void {
  const announced = state.of(makeAnnounced, null)
  for (const [name, row] of rows) announced.set(name, { row, write })
  return () => {
    for (const [name, row] of rows) if (announced.get(name)?.row === row) announced.delete(name)
  }
}

/** How long a row is not announced after a wrong announcement. */
const unsureTime = 1000
const makeUnsure = (): Map<string, number> => new Map()

/** Records that a row was announced wrongly, for example because its totals depend on the same writes. */
export function noteUnsure({ state, monotonic }: ServiceWorld, row: string): void {
  const unsure = state.of(makeUnsure, null)
  const now = monotonic()
  for (const [name, until] of unsure) if (until <= now) unsure.delete(name)
  unsure.set(row, now + unsureTime)
}

export const isUnsure = ({ state, monotonic }: ServiceWorld, row: string): boolean =>
  (state.of(makeUnsure, null).get(row) ?? 0) > monotonic()
