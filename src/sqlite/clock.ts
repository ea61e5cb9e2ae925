/** Clock: the time of a file; it follows the monotonic clock and is saved in the file, so it never goes back. The store. */

import type { RunStatement } from '../catalog/steps.ts'
import type { Clock, World } from '../flow/world.ts'
import { metaTable } from '../sql/statements.ts'

/** In ms. If the machine's clock is `farAhead` of the file at start, it may be wrong: nothing expires for `caution`. */
const [farAhead, caution] = [5 * 60_000, 3_600_000]

/** The rows of `bylaw_meta` that hold the time of the file, and the time that has certainly passed. */
const [latestTime, certain] = ['clock', 'certain']

export interface SqliteClock extends Clock {
  /** How far `now` is ahead of `due`. Subtracting two calls could be wrong by the millisecond between them. */
  readonly lead: () => number
  /** Writes the time into the file. */
  readonly save: () => void
}

export function sqliteClock(run: RunStatement, world: Pick<World, 'now' | 'monotonic'>): SqliteClock {
  const rows = run({
    text: `SELECT name, value FROM ${metaTable} WHERE name IN ('${latestTime}', '${certain}')`,
    values: [],
  })
  const kept = (name: string) => Number(rows.find((one) => one.name === name)?.value ?? Number.NEGATIVE_INFINITY)
  const [began, here] = [world.monotonic(), world.now()]
  const [latest, sure] = [Math.max(here, kept(latestTime)), Math.max(here, kept(certain))]
  const ahead = Number.isFinite(kept(certain)) && here - kept(certain) > farAhead ? here - kept(certain) : null
  const passed = (): number => Math.floor(world.monotonic() - began)
  const now = (): number => latest + passed()
  const lead = (): number => latest - (ahead !== null && passed() < caution ? kept(certain) : sure)
  const due = (): number => now() - lead()
  return {
    now,
    due,
    lead,
    issued: () => sure + passed(),
    ahead,
    save: () => {
      run({
        text: `INSERT INTO ${metaTable} (name, value) VALUES ('${latestTime}', ?1), ('${certain}', ?2) ON CONFLICT (name)
          DO UPDATE SET value = excluded.value WHERE CAST(excluded.value AS INTEGER) > CAST(${metaTable}.value AS INTEGER)`,
        values: [String(now()), String(due())],
      })
    },
  }
}
