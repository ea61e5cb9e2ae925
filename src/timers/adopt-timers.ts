/** Adopt timers: starts the timers of rows that were in a state before its timer was declared, or declared differently. R223. */
import type { RowKey } from '../flow/found-row.ts'
import type { Document } from '../flow/intent.ts'
import { rowsIn } from '../flow/outcome.ts'
import type { FamilyRead, FamilyRows, RowChange } from '../flow/plan.ts'
import type { Store } from '../flow/store.ts'
import { type TablePlan, tablePlan } from '../flow/table.ts'
import type { ServiceWorld } from '../flow/world.ts'
import { decodeDocument } from '../resources/document.ts'
import type { TimedTransition } from '../resources/machine.ts'
import type { Resource } from '../resources/resource.ts'
import { adoptAgainMark } from '../schema/behaviour-steps.ts'
import { newTimer, timerKey } from './timer-maker.ts'
import { findTimer, startMissingTimer, startTimer } from './timer-table.ts'

interface AdoptContext {
  readonly resources: ReadonlyMap<string, Resource>
  readonly store: Store
  readonly world: ServiceWorld
}

const makeAdopted = () => ({ done: false })

/** Runs once in each process. A marker row of the table, without an item, records the timing that was adopted. */
export async function adoptTimers(context: AdoptContext): Promise<void> {
  const adopted = context.world.state.of(makeAdopted, null)
  if (adopted.done) return
  for (const resource of context.resources.values())
    for (const timed of resource.machine?.timed ?? []) await adoptTimer(context, resource, timed)
  adopted.done = true
}

/** Far in the future, so that no marker is ever due. */
const never = Number.MAX_SAFE_INTEGER

async function adoptTimer(context: AdoptContext, resource: Resource, timed: TimedTransition): Promise<void> {
  const { store } = context
  const marker = {
    collection: resource.collection.name,
    account: '',
    parent: '',
    id: '',
    transition: timed.name,
  }
  const [timer] = rowsIn(await store.execute(tablePlan(findTimer, marker)))
  const present = JSON.stringify([timed.from, timed.after, timed.at])
  if (timer?.failure === present) return
  // Running timers keep their time if the timing is the same, or if rows may have entered the state since the start.
  const isSame = timer === undefined || timer.failure === adoptAgainMark + present
  const starts = isSame ? startMissingTimer : startTimer
  for (const state of timed.from) await adoptState(context, resource, timed, { state, starts })
  const values = { ...marker, due: never, taken: 0, tries: 0, failure: present }
  await store.execute(tablePlan(startTimer, values))
}

const pageSize = 100

/** Starts the timers of all rows in a state, of all accounts, in batches. */
async function adoptState(
  { store, world }: AdoptContext,
  resource: Resource,
  timed: TimedTransition,
  { state, starts }: { readonly state: string; readonly starts: TablePlan['run'] },
): Promise<void> {
  const column = `by_${resource.machine?.field}`
  let after: RowKey | null = null
  for (;;) {
    const page = { after, limit: pageSize }
    const plan: FamilyRead = { do: 'family', collection: resource.name, column, value: state, account: undefined, page }
    const { rows } = (await store.execute(plan)) as FamilyRows
    const due = world.due()
    // Locks each row: its transition may have fired since it was read, and must not fire again.
    const effects = rows.map(({ key }): RowChange => {
      const change: RowChange['change'] = (current) => {
        const document = current.is === 'found' ? decodeDocument(resource, current.doc, current.hidden) : {}
        const isInState = document[resource.machine?.field ?? ''] === state
        const timer = isInState ? adoptedTimer(resource, timed, { key, document }, due) : undefined
        return { do: 'keep', effects: timer ? [tablePlan(starts, { ...timer })] : [] }
      }
      return { collection: resource.name, key, time: world.now(), lock: 'share', change }
    })
    const read = { do: 'none', collection: resource.name, key: { id: '', parent: null, account: null } } as const
    if (rows.length > 0) await store.execute({ do: 'decide', read, decide: () => ({ do: 'keep', effects }) })
    if (rows.length < pageSize) return
    after = rows.at(-1)?.key ?? null
  }
}

interface TimedRow {
  readonly key: RowKey
  readonly document: Document
}

function adoptedTimer(resource: Resource, timed: TimedTransition, { key, document }: TimedRow, time: number) {
  const entered = timed.catchUp ? Date.parse(String(document[resource.updated])) : time
  return newTimer(timerKey(resource, key), timed, document, entered)
}

/** The timers of a resource that are due for a row as soon as they are adopted. */
export const dueAtOnce = (resource: Resource, row: TimedRow, time: number): readonly TimedTransition[] =>
  (resource.machine?.timed ?? []).filter((timed) => {
    const { due } = adoptedTimer(resource, timed, row, time) ?? {}
    return due !== undefined && due <= time && timed.from.includes(String(row.document[resource.machine?.field ?? '']))
  })
