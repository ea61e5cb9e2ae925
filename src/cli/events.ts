/** `bylaw events`: shows events and the failures of reactions, and retries or skips failures. Part 6. R231. */
import { hasEvents } from '../events/event-relay.ts'
import { eventTypeOf } from '../events/event-scope.ts'
import {
  type FailureRow,
  findFailures,
  findReactions,
  removePlan,
  retryPlan,
  statusOf,
} from '../events/reaction-tables.ts'
import type { StoredEvent } from '../flow/found-row.ts'
import { type EventPage, rowsIn } from '../flow/outcome.ts'
import { realWorld } from '../flow/real-world.ts'
import type { Store } from '../flow/store.ts'
import { tablePlan } from '../flow/table.ts'
import { serviceWorld } from '../flow/world.ts'
import { listInWords, nearestName } from '../formats/naming.ts'
import { timestampOf } from '../formats/time-texts.ts'
import type { Service } from '../service.ts'
import { type Command, type CommandInput, declarationArgument, formatTable } from '../terminal/command.ts'
import { commandError } from '../terminal/command-error.ts'
import { databaseFlag, databaseOf } from '../terminal/flags.ts'
import { loadService } from '../terminal/load.ts'
import { openStoreUnchanged } from '../terminal/start.ts'

export const eventsCommand: Command = {
  name: 'events',
  about: 'Shows events, and repeats or skips those that a reaction could not handle.',
  details:
    'list prints the newest 50 events; show prints one as JSON. parked prints the events that reactions have failed at, and as those of events.publish the ones that the broker refuses, with the reason. retry makes them due at once, all or one; skip gives one up, so that the later events of its item go on.',
  arguments: [
    { name: 'list|show|parked|retry|skip', about: 'an action: list, show, parked, retry or skip' },
    declarationArgument,
    { name: 'event', about: 'the id of an event', optional: true },
  ],
  flags: {
    database: databaseFlag,
    reaction: { value: 'NAME', about: 'The reaction that retry or skip is for; all unless given.' },
    json: { about: 'Prints JSON.' },
  },
  examples: [
    'bylaw events list api.ts',
    'bylaw events parked handlers.ts',
    'bylaw events retry handlers.ts evt_01j… --reaction receipts',
  ],
  run,
}

async function run(input: CommandInput): Promise<number> {
  const [action = '', file = '', id] = input.arguments
  const act = Object.hasOwn(actions, action) ? actions[action] : undefined
  if (!act) throw commandError(`There is no action "${action}".`, 'Write list, show, parked, retry or skip.')
  if ((action === 'show' || action === 'skip') && id === undefined)
    throw commandError(`${action} needs the id of an event.`, `As in:  bylaw events ${action} ${file} evt_01j…`)
  if (action === 'list' && id !== undefined)
    throw commandError('list takes no event.', `Show one with:  bylaw events show ${file} ${id}`)
  const service = await loadService(file)
  if (!hasEvents(service.resources)) throw commandError('The service has no events.', 'Declare events: true.')
  const store = await openStoreUnchanged(service, databaseOf(input, service))
  try {
    await act({ service, store, input, id })
    return 0
  } finally {
    await store.close()
  }
}

interface EventsInput {
  readonly service: Service
  readonly store: Store
  readonly input: CommandInput
  readonly id: string | undefined
}

const actions: Readonly<Record<string, (input: EventsInput) => Promise<void>>> = {
  list: listEvents,
  show: showEvent,
  parked: listFailures,
  retry: (input) => settleFailures(input, 'retried'),
  skip: (input) => settleFailures(input, 'skipped'),
}

const mostListed = 50

/** Prints an object as JSON with `--json`, otherwise a text. */
function print({ input }: EventsInput, value: unknown, text: string): void {
  console.log(input.isOn('json') ? JSON.stringify(value, null, 2) : text)
}

async function listEvents(input: EventsInput): Promise<void> {
  const { service, store } = input
  const head = await store.execute({ do: 'head' })
  const after = head.is === 'numbered' ? Math.max(0, head.position - mostListed) : 0
  const open = [...service.resources.keys()]
  const plan = { do: 'events', after, limit: mostListed, open, owned: [], account: null } as const
  const { events } = (await store.execute(plan)) as EventPage
  const shownEvents = events.map((event) => shownEvent(service, event))
  const rows = shownEvents.map(({ id, type, timestamp, item, sequence }) => [
    timestamp,
    type,
    item,
    String(sequence),
    id,
  ])
  const text =
    rows.length === 0 ? 'There are no events.' : formatTable([['time', 'type', 'item', 'sequence', 'event'], ...rows])
  print(input, shownEvents, text)
}

async function showEvent({ service, store, id }: EventsInput): Promise<void> {
  const { events } = (await store.execute({ do: 'event', id: String(id) })) as EventPage
  const [event] = events
  if (!event) throw commandError(`There is no event ${id}.`, 'bylaw events list shows the newest ones.')
  console.log(JSON.stringify({ ...shownEvent(service, event), data: JSON.parse(event.doc) }, null, 2))
}

function shownEvent({ events }: Service, event: StoredEvent) {
  const { id, key, time, sequence, collection } = event
  const source = [...events.values()].at(-1)?.sources.find((one) => one.collection === collection)
  return {
    ...{ id, type: source ? eventTypeOf(source, event) : event.action, timestamp: timestampOf(time) },
    ...{ item: key.id, sequence, ...(key.account !== null && { account: key.account }) },
  }
}

async function failuresOf({ service, store, input, id }: EventsInput): Promise<readonly FailureRow[]> {
  const stored = rowsIn(await store.execute(tablePlan(findReactions))).map(({ name }) => String(name))
  const known = [...new Set([...stored, ...Object.keys(service.ownHandlers?.reactions ?? {})])].toSorted()
  const name = input.flagValue('reaction')?.text
  if (name !== undefined && !known.includes(name)) throw unknownReaction(name, known)
  const found: FailureRow[] = []
  for (const reaction of name === undefined ? known : [name])
    found.push(...(rowsIn(await store.execute(tablePlan(findFailures, { reaction }))) as unknown as FailureRow[]))
  return found.filter(({ event }) => (id ?? event) === event)
}

function unknownReaction(name: string, known: readonly string[]): Error {
  const guess = nearestName(name, known)
  const all = known.length === 0 ? 'No reaction has begun.' : `There are ${listInWords(known, 'and')}.`
  return commandError(`There is no reaction "${name}".`, guess ? `Did you mean ${guess}?` : all)
}

async function listFailures(input: EventsInput): Promise<void> {
  const failures = await failuresOf(input)
  const entries = []
  for (const row of failures) {
    const { reaction, event, due, tries, failure } = row
    const [stored] = ((await input.store.execute({ do: 'event', id: event })) as EventPage).events
    const [state, type] = [statusOf(row), stored ? shownEvent(input.service, stored).type : null]
    entries.push({
      ...{ reaction, event, type, state, tries, ...(state === 'waiting' && { due: timestampOf(due) }), failure },
    })
  }
  const rows = entries.map(({ reaction, event, type, state, due = '', tries, failure }) => [
    ...[reaction, event, type ?? '', state, String(tries), due, failure?.split('\n', 1)[0] ?? ''],
  ])
  const heading = ['reaction', 'event', 'type', 'state', 'tries', 'due', 'failure']
  print(input, entries, rows.length === 0 ? 'No reaction has failed.' : formatTable([heading, ...rows]))
}

async function settleFailures(input: EventsInput, done: 'retried' | 'skipped'): Promise<void> {
  const { store, id } = input
  const found = await failuresOf(input)
  const failures = found.filter((row) => statusOf(row) !== 'behind' || done === 'skipped')
  if (id !== undefined && failures.length === 0) throw unsettled(input, id, found.length > 0)
  const due = serviceWorld(realWorld, store).due()
  for (const row of failures) await store.execute(done === 'skipped' ? removePlan(row) : retryPlan(row, due))
  const text = `${failures.length} ${failures.length === 1 ? 'event was' : 'events were'} ${done}.`
  print(input, { [done]: failures.length }, text)
}

function unsettled({ input }: EventsInput, id: string, isBehind: boolean): Error {
  if (isBehind) return commandError(`${id} waits for an earlier event of its item.`, 'Retry or skip that one.')
  const name = input.flagValue('reaction')?.text
  const whose = name === undefined ? 'No reaction has' : `${name} has not`
  return commandError(`${whose} failed at the event ${id}.`, 'bylaw events parked lists what has failed.')
}
