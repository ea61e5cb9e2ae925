/** `bylaw timers`: lists the transitions by the clock that are due or were refused, and repeats refused ones. Part 3, states. */
import { rowsIn } from '../flow/outcome.ts'
import { realWorld } from '../flow/real-world.ts'
import { tablePlan } from '../flow/table.ts'
import { serviceWorld } from '../flow/world.ts'
import { type Command, type CommandInput, declarationArgument, formatTable } from '../terminal/command.ts'
import { commandError } from '../terminal/command-error.ts'
import { databaseFlag, databaseOf } from '../terminal/flags.ts'
import { loadService } from '../terminal/load.ts'
import { openStoreUnchanged } from '../terminal/start.ts'
import { hasTimers } from '../timers/run-timers.ts'
import { findFailedTimers, findTimers, retryTimers, type TimerRow } from '../timers/timer-table.ts'

export const timersCommand: Command = {
  name: 'timers',
  about: 'Lists transitions by the clock, or repeats those that were refused.',
  details:
    'list prints the first 100 in the order of their time, those that were refused before the others and with the reason. retry makes all that were refused due at once; a running service carries them out within seconds.',
  arguments: [{ name: 'list|retry', about: 'an action: list or retry' }, declarationArgument],
  flags: { database: databaseFlag, json: { about: 'Prints JSON.' } },
  examples: ['bylaw timers list api.ts', 'bylaw timers retry api.ts --database postgres://localhost/shop'],
  run,
}

async function run(input: CommandInput): Promise<number> {
  const [action = '', file = ''] = input.arguments
  if (action !== 'list' && action !== 'retry')
    throw commandError(`There is no action "${action}".`, 'Write list or retry.')
  const service = await loadService(file)
  if (!hasTimers(service.resources))
    throw commandError('No transition takes place by the clock.', "Declare one, as after: 'P7D'.")
  const store = await openStoreUnchanged(service, databaseOf(input, service))
  try {
    if (action === 'retry') {
      const now = serviceWorld(realWorld, store).due()
      const rows = rowsIn(await store.execute(tablePlan(retryTimers, { now, none: 0 })))
      console.log(input.isOn('json') ? JSON.stringify({ retried: rows.length }) : `${rows.length} are due now.`)
      return 0
    }
    const failed = rowsIn(
      await store.execute(tablePlan(findFailedTimers, { none: 0 })),
    ) as unknown as readonly TimerRow[]
    const stored = rowsIn(await store.execute(tablePlan(findTimers))) as unknown as readonly TimerRow[]
    const all = [...failed, ...stored.filter(({ id, tries }) => id !== '' && tries === 0)]
    const timers = all.slice(0, mostListed)
    console.log(input.isOn('json') ? JSON.stringify(timers.map(shownTimer), null, 2) : timersText(timers, all.length))
    return 0
  } finally {
    await store.close()
  }
}

const mostListed = 100

const shownTimer = ({ collection, account, parent, id, transition, due, tries, failure }: TimerRow) => ({
  ...{ collection, id, transition, due: new Date(due).toISOString(), tries, failure },
  ...(account !== '' && { account }),
  ...(parent !== '' && { parent }),
})

function timersText(timers: readonly TimerRow[], all: number): string {
  if (timers.length === 0) return 'No item waits for a transition by the clock.'
  const rows = timers
    .map(shownTimer)
    .map(({ due, collection, id, transition, tries, failure }) => [
      ...[due, `${collection}/${id}`, transition],
      tries === 0 ? '' : `refused ${tries === 1 ? 'once' : `${tries} times`}: ${failure}`,
    ])
  const table = formatTable([['due', 'item', 'transition', ''], ...rows])
  return all > timers.length ? `${table}\nThese are the first ${timers.length}.` : table
}
