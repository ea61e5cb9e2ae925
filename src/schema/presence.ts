/** Presence: which nodes use the database, and which of them have not reported for a while. The cellar. */
import { nodeTable } from '../sql/compile.ts'
import type { Dialect } from '../sql/dialect.ts'
import type { Steps } from '../store/steps.ts'

/** A node that has not reported for this long, in milliseconds, is considered stopped. */
const presenceTimeout = 30_000

/** How often a node reports that it runs, in milliseconds. */
export const presenceInterval = 10_000

/** How soon a node reports again after a failed report, for example because of a lock. */
export const presenceRetryDelay = 1000

/** Reports that a node runs, and the name of its layout. */
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

/** Deletes nodes that crashed. Needs a clock that nobody sets, or rows of running nodes would be deleted too. */
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
