/** Closed corridor: the answers of a service whose database is closed. Part 8, termination. */
import { check, corridorOf } from '../corridor/phase.ts'
import { Problem } from '../errors/problem.ts'

/** Refuses everything. */
export const closedCorridor = corridorOf(
  check({
    name: 'closed',
    pass: () => {
      throw new Problem('unavailable', 'The service has stopped.', { headers: { Connection: 'close' } })
    },
  }),
)
