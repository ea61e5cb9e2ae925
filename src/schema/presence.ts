/** Presence: which nodes use the database, and which of them have not been heard of for a while. The cellar. */
import { nodeTable } from '../sql/compile.ts'
import type { Dialect } from '../sql/dialect.ts'
import type { Steps } from '../store/steps.ts'

/** A node that was not seen for so long, in milliseconds, does not run any more. */
const presenceTimeout = 30_000

/** How often a node says that it runs. */
export const presenceInterval = 10_000

/** How soon it says so again where it could not, as others were in the way. */
export const presenceRetryDelay = 1000

/** Says that a node runs, and what it is declared by. */
export function* writePresence({ mark, now }: Dialect, node: string, name: string): Steps<void> {
  yield {
    text: `INSERT INTO ${nodeTable} (node, name, seen) VALUES (${mark(1)}, ${mark(2)}, ${now})
      ON CONFLICT (node) DO UPDATE SET name = excluded.name, seen = excluded.seen`,
    values: [node, name],
  }
}

export function* deletePresence({ mark }: Dialect, node: string): Steps<void> {
  yield { text: `DELETE FROM ${nodeTable} WHERE node = ${mark(1)}`, values: [node] }
}

/** Forgets nodes that did not depart; only by a clock that nobody sets, as rows of running nodes would be deleted too. */
export function* forgetLostNodes({ now }: Dialect): Steps<void> {
  yield { text: `DELETE FROM ${nodeTable} WHERE seen < ${now} - ${presenceTimeout * 10}`, values: [] }
}

/** What a node of another declaration said last, where the clock says that this was long ago, or is yet to come. */
export interface SilentNode {
  readonly node: string
  readonly seen: number
}

export function* readSilentNodes({ mark, now }: Dialect, name: string): Steps<readonly SilentNode[]> {
  const text = `SELECT node, seen FROM ${nodeTable} WHERE name <> ${mark(1)} AND abs(seen - ${now}) >= ${presenceTimeout} ORDER BY node`
  return (yield { text, values: [name] }) as unknown as readonly SilentNode[]
}

/** Forgets a node, unless it said since that it runs. */
export function* forgetNode({ mark }: Dialect, { node, seen }: SilentNode): Steps<void> {
  yield { text: `DELETE FROM ${nodeTable} WHERE node = ${mark(1)} AND seen = ${mark(2)}`, values: [node, seen] }
}

/** The nodes that run another declaration than the one with a name. */
export function* readOtherNodes({ mark, now }: Dialect, name: string): Steps<string[]> {
  const text = `SELECT node FROM ${nodeTable} WHERE name <> ${mark(1)} AND seen > ${now} - ${presenceTimeout} ORDER BY node`
  return (yield { text, values: [name] }).map(({ node }) => node as string)
}
