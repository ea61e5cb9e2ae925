/** Presence: which nodes use the database, and which of them have not reported for a while. The store. */
import { hostname } from 'node:os'
import type { Steps } from '../catalog/steps.ts'
import type { Cancel, World } from '../flow/world.ts'
import type { Dialect } from '../sql/dialect.ts'
import { nodeName } from '../sql/merging.ts'
import { nodeTable } from '../sql/statements.ts'

/** A node that has not reported for this long, in milliseconds, is considered stopped. */
export const presenceTimeout = 30_000

/** How often a node reports that it runs, in milliseconds. */
export const presenceInterval = 10_000

/** How soon a node reports again after a failed report, for example because of a lock. */
export const presenceRetryDelay = 1000

/** Reports that a node runs, and the name of its layout. */
function* writePresence({ mark, now }: Dialect, node: string, name: string): Steps<void> {
  yield {
    text: `INSERT INTO ${nodeTable} (node, name, seen) VALUES (${mark(1)}, ${mark(2)}, ${now})
      ON CONFLICT (node) DO UPDATE SET name = excluded.name, seen = excluded.seen`,
    values: [node, name],
  }
}

export function* deletePresence({ mark }: Dialect, node: string): Steps<void> {
  yield { text: `DELETE FROM ${nodeTable} WHERE node = ${mark(1)}`, values: [node] }
}

/** Deletes nodes that crashed. Requires a clock that never jumps: otherwise rows of running nodes would be deleted too. */
export function* forgetLostNodes({ now }: Dialect): Steps<void> {
  yield { text: `DELETE FROM ${nodeTable} WHERE seen < ${now} - ${presenceTimeout * 10}`, values: [] }
}

/** The last report of a node of another declaration, if by the clock it is long ago or in the future. */
export interface SilentNode {
  readonly node: string
  readonly seen: number
}

export function* readSilentNodes({ mark, now }: Dialect, name: string): Steps<readonly SilentNode[]> {
  const text = `SELECT node, seen FROM ${nodeTable} WHERE name <> ${mark(1)} AND abs(seen - ${now}) >= ${presenceTimeout} ORDER BY node`
  return (yield { text, values: [name] }) as unknown as readonly SilentNode[]
}

/** Deletes a node, unless it has reported since. */
export function* forgetNode({ mark }: Dialect, { node, seen }: SilentNode): Steps<void> {
  yield { text: `DELETE FROM ${nodeTable} WHERE node = ${mark(1)} AND seen = ${mark(2)}`, values: [node, seen] }
}

/** The running nodes whose layout name differs from a name. */
export function* readOtherNodes({ mark, now }: Dialect, name: string): Steps<string[]> {
  const text = `SELECT node FROM ${nodeTable} WHERE name <> ${mark(1)} AND seen > ${now} - ${presenceTimeout} ORDER BY node`
  return (yield { text, values: [name] }).map(({ node }) => node as string)
}

/** A node of another declaration, and how long ago it last reported, in milliseconds. */
export interface OtherNode {
  readonly node: string
  readonly silent: number
}

/** All nodes of other declarations that have not ended in order, also those that were lost. */
export function* readUnendedNodes({ mark, now }: Dialect, name: string): Steps<readonly OtherNode[]> {
  const text = `SELECT node, ${now} - seen AS silent FROM ${nodeTable} WHERE name <> ${mark(1)} ORDER BY node`
  return (yield { text, values: [name] }).map(({ node, silent }) => ({ node: String(node), silent: Number(silent) }))
}

interface PresenceDeps {
  readonly world: World
  readonly dialect: Dialect
  /** Names the declaration that the node serves. */
  readonly name: string
  readonly run: (steps: Steps<void>) => void | Promise<void>
  /** Deletes copies of dropped values whose retention is over. */
  readonly expire: (() => Steps<void>) | null
  /** Deletes the report of the node when it ends. */
  readonly leave: (node: string) => Steps<void>
}

/** Reports regularly that a node runs, soon again after a failed report, and deletes the report when the node ends. */
export function nodePresence({ world, dialect, name, run, expire, leave }: PresenceDeps) {
  const node = nodeName(hostname(), process.pid)
  let cancel: Cancel | undefined
  let reporting: Promise<boolean> | undefined
  let over = false
  const report = async (steps: Steps<void>): Promise<boolean> => {
    try {
      await run(steps)
      return true
    } catch {
      return false
    }
  }
  const begin = async (): Promise<void> => {
    reporting = report(writePresence(dialect, node, name))
    if (expire) void report(expire())
    const rest = (await reporting) ? presenceInterval : presenceRetryDelay
    if (!over) cancel = world.inBackground(rest, begin)
  }
  const end = async (): Promise<void> => {
    over = true
    cancel?.()
    if (reporting === undefined) return
    await reporting // a report under way must not arrive after the deletion
    await report(leave(node))
  }
  return { begin, end }
}
