/** Erase item: empties the personal fields of an item and of those that belong to it, also where they are recorded. Part 8. */
import { changePlan } from '../deliveries/delivery-context.ts'
import { takeBackCursors } from '../deliveries/delivery-tables.ts'
import { hasWebhooks } from '../deliveries/endpoint-makers.ts'
import { hasEvents } from '../events/event-relay.ts'
import { emptyFailurePlan, type FailureRow, findFailuresOf } from '../events/reaction-tables.ts'
import { giveUpContents, releaseContent } from '../files/file-table.ts'
import type { RowKey } from '../flow/found-row.ts'
import { type ErasedKind, type ErasedRecords, isCommitted, type Outcome, rowsIn } from '../flow/outcome.ts'
import type { FamilyRows, Plan, Sequence } from '../flow/plan.ts'
import { tablePlan } from '../flow/table.ts'
import type { Resource } from '../resources/resource.ts'
import { hasPersonal, personalValues, storedNameOf, withoutPersonal } from '../rows/collection.ts'
import type { Service } from '../service.ts'
import { hasTimers } from '../timers/run-timers.ts'
import { timerKey } from '../timers/timer-maker.ts'
import { emptyTimerPlan, findTimersOf, type TimerRow } from '../timers/timer-table.ts'
import { eraseDeliveries } from './erase-deliveries.ts'
import { eraseOperations } from './erase-operations.ts'
import { addTo, type Counts, type ErasedItem, type ErasureContext, erasedText } from './erasure-context.ts'

export interface Erasure {
  /** By the name of the resource. */
  readonly counts: ReadonlyMap<string, Counts>
  /** The operations that have not ended: they keep their inputs. */
  readonly unended: readonly string[]
}

/** The resources whose items may be erased with one of a resource, its own included. */
export function erasedWith({ resources }: Pick<Service, 'resources'>, first: string): ReadonlySet<string> {
  const names = new Set([first])
  for (const name of names)
    for (const { onDelete, collection: below } of resources.get(name)?.collection.dependents ?? [])
      if (onDelete === 'cascade') names.add(below)
  return names
}

/** Whether an erasure of items of a resource empties anything. */
export const canErase = ({ resources }: Pick<Service, 'resources'>, { name }: Resource): boolean =>
  [...erasedWith({ resources }, name)].some((one) => hasPersonal(resources.get(one)?.collection.fields ?? []))

/** Each item is erased in one transaction. After a failure, a repeat goes on. */
export async function eraseItem(context: ErasureContext, first: ErasedItem): Promise<Erasure> {
  const counts = new Map<string, Counts>()
  const unended: string[] = []
  const all = new Map([[nameOf(first), first]])
  for (const item of all.values()) {
    const own = counts.get(item.resource.name) ?? new Map()
    counts.set(item.resource.name, own)
    const below = await itemsBelow(context, item)
    const records = await eraseStored(context, item, own)
    await inTransaction(context, item, own, (counted) => revokingReads(context, item, counted))
    unended.push(...(await eraseOperations(context, item, own)))
    await eraseDeliveries(context, item, new Set(records.events), own)
    const removed = records.removed.flatMap(({ collection: name, key }) => {
      const resource = context.service.resources.get(name)
      return resource ? [{ resource, key }] : []
    })
    for (const one of removed) if (!(await isPresent(context, one))) below.push(one)
    for (const one of below) if (!all.has(nameOf(one))) all.set(nameOf(one), one)
  }
  return { counts, unended }
}

const nameOf = ({ resource, key }: ErasedItem): string => JSON.stringify([resource.name, key])

/** Whether the item exists, or another one that was created with its id later. */
const isPresent = async ({ store, world }: ErasureContext, { resource, key }: ErasedItem): Promise<boolean> =>
  (await store.execute({ do: 'read', collection: resource.name, key, time: world.now() })).is === 'found'

/** The items that a removal of the item would remove too. */
async function itemsBelow(
  { service: { resources }, store }: ErasureContext,
  { resource: { collection }, key }: ErasedItem,
): Promise<ErasedItem[]> {
  const items: ErasedItem[] = []
  for (const { collection: name, column, ids, onDelete, pairs } of collection.dependents) {
    const resource = resources.get(name)
    if (onDelete !== 'cascade' || !resource) continue
    const account = pairs || collection.account === null ? undefined : key.account
    const plan = { do: 'family', collection: name, column, ids, value: key.id, account } as const
    const rows = (await store.execute(plan)) as FamilyRows
    for (const row of rows.rows) items.push({ resource, key: row.key })
  }
  return items
}

/** Empties the item, its records and its files in one transaction. */
async function eraseStored(context: ErasureContext, item: ErasedItem, counts: Counts): Promise<ErasedRecords> {
  let records: ErasedRecords | null = null
  const note = (found: ErasedRecords): void => {
    records = found
  }
  await inTransaction(context, item, counts, (counted) => erasingSteps(context, item, counted, note))
  return records as unknown as ErasedRecords
}

/** Carries out plans in one transaction, which may be repeated; adds what they have emptied to the counts. */
async function inTransaction(
  { store, isDry }: ErasureContext,
  item: ErasedItem,
  counts: Counts,
  begins: (counts: Counts) => Generator<Plan, undefined, Outcome>,
): Promise<void> {
  let counted: Counts = new Map()
  const begin = () => {
    counted = new Map()
    const steps = begins(counted)
    const next = (before: { readonly is: string } | null): Plan | null => {
      const outcome = before as Outcome | null
      if (outcome && !isCommitted(outcome)) throw new Error(`The database refused the erasure: ${outcome.is}.`)
      return steps.next(outcome as Outcome).value ?? null
    }
    return { next, answer: () => '{}' }
  }
  const plan: Sequence = { do: 'sequence', collection: item.resource.name, key: item.key, claim: null, begin }
  await store.execute({ ...plan, by: erasedBy, ...(isDry && { dry: true as const }) })
  for (const [kind, count] of counted) addTo(counts, kind, count)
}

/** The caller in the history. */
const erasedBy = 'command:erase'

const isQuote = ({ failure }: { readonly failure?: unknown }): boolean => failure !== null && failure !== erasedText

/** The plans of an erasure, each of which is given the outcome of the one before. */
function* erasingSteps(
  { service, world }: ErasureContext,
  { resource, key }: ErasedItem,
  counts: Counts,
  note: (records: ErasedRecords) => void,
): Generator<Plan, undefined, Outcome> {
  const { collection, name } = resource
  const { fields } = collection
  const contents = new Set<string>()
  const emptied = yield changePlan({ ...service, world }, resource, key, (document) => {
    for (const { kind, value } of personalValues(fields, document))
      if (kind === 'file' && value) contents.add((value as { readonly href: string }).href)
    return withoutPersonal(fields, document)
  })
  if (emptied.is === 'changed') addTo(counts, 'items')
  const records = (yield { do: 'erase', collection: name, key }) as ErasedRecords
  note(records)
  for (const [kind, count] of Object.entries(records.emptied)) addTo(counts, kind as ErasedKind, count)
  for (const content of [...contents, ...records.contents]) contents.add(content)
  yield* givingUp(resource, key, contents, { now: world.now(), counts })
}

/** After the commit, empties reasons and takes back cursors, so that processes that have read the item before can store nothing of it. */
function* revokingReads(
  { service }: ErasureContext,
  item: ErasedItem,
  counts: Counts,
): Generator<Plan, undefined, Outcome> {
  yield* emptyingReasons(service, item, counts)
  if (hasWebhooks(service.resources)) yield tablePlan(takeBackCursors, { free: 0, holder: '' })
}

function* givingUp(
  { name, members }: Resource,
  { id: item }: RowKey,
  contents: ReadonlySet<string>,
  { now, counts }: { readonly now: number; readonly counts: Counts },
): Generator<Plan, undefined, Outcome> {
  const fields = members.flatMap(({ name: field, field: { kind, options } }) =>
    kind === 'file' && options.personal ? [field] : [],
  )
  if (fields.length === 0) return
  for (const content of contents)
    addTo(counts, 'files', rowsIn(yield tablePlan(releaseContent, { name: content, unused: 0 })).length)
  addTo(counts, 'files', rowsIn(yield tablePlan(giveUpContents, { resource: name, item, fields, none: 0, now })).length)
}

/** Empties the reasons for which reactions and transitions by the clock have failed. */
function* emptyingReasons(
  { resources }: Pick<Service, 'resources'>,
  { resource, key }: ErasedItem,
  counts: Counts,
): Generator<Plan, undefined, Outcome> {
  const { collection } = resource
  if (hasEvents(resources)) {
    const [account, parent] = [
      collection.account === null ? null : key.account,
      collection.composite ? key.parent : null,
    ]
    const item = JSON.stringify([storedNameOf(collection), account, parent, key.id])
    const failures = rowsIn(yield tablePlan(findFailuresOf, { item })) as unknown as FailureRow[]
    for (const one of failures) yield emptyFailurePlan(one, erasedText)
    addTo(counts, 'reasons', failures.filter(isQuote).length)
  }
  if (!hasTimers(resources)) return
  const timers = rowsIn(yield tablePlan(findTimersOf, timerKey(resource, key))) as unknown as TimerRow[]
  for (const one of timers) if (isQuote(one) || one.taken > 0) yield emptyTimerPlan(one, erasedText)
  addTo(counts, 'reasons', timers.filter(isQuote).length)
}
