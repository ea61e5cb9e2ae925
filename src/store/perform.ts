/** Carries a plan out, statement by statement, whoever runs them: the same story on every database. The cellar. */
import type { Duplicate, Outcome } from '../flow/outcome.ts'
import type { Absent, Create, Decide, List, Once, Plan, Read, Seen, Update, Write } from '../flow/plan.ts'
import { along, besideOf, completed, together, told } from './beside.ts'
import { identify, issue, revoke, spend, stored, tally, usage } from './callers.ts'
import {
  admitColumns,
  aside,
  type Cellar,
  found,
  type Held,
  moved as movedRow,
  type Steps,
  settled,
  shelf,
} from './cellar.ts'
import { hold, keep, recall } from './claim.ts'
import { updateText } from './compile.ts'
import { keyValues } from './dialect.ts'
import { markWritten } from './dropped.ts'
import { changing, fusedCreate, reading } from './fused.ts'
import { page } from './list.ts'
import { absentOwner, departed, exhume, parentOf, remove, whose } from './removal.ts'
import { admitOrder, remark } from './spread.ts'

type Reference = Create['references'][number]
type Cell = Update['row']['cells'][number]

/** Where rows moved before, they are `held` from being read to being written. */
export function perform(cellar: Cellar, plan: Plan, held = false): Steps<Outcome> {
  const steps = plan.do === 'read' ? read(cellar, plan) : performed(cellar, plan, held)
  const { beside, account } = besideOf(plan)
  return beside.length === 0 ? steps : completed(cellar, steps, beside, account)
}

function* performed(cellar: Cellar, plan: Plan, held: boolean): Steps<Outcome> {
  switch (plan.do) {
    case 'read':
      return yield* read(cellar, plan)
    case 'list':
      return yield* list(cellar, plan)
    case 'recall':
      return yield* recall(cellar, plan)
    case 'create':
      return yield* write(cellar, plan, null)
    case 'decide': {
      const seen = yield* whole(cellar, plan.read, held)
      return yield* write(cellar, plan.decide(seen), seen)
    }
    case 'once':
      return yield* once(cellar, plan, held)
    case 'raise':
      if (cellar.lag) yield* cellar.lag.raise()
      return { is: 'raised' }
    case 'spend':
      return yield* spend(cellar, plan)
    case 'tally':
      return yield* tally(cellar, plan)
    case 'usage':
      return yield* usage()
    case 'identify':
      return yield* identify(cellar, plan)
    case 'keys':
      return yield* stored(cellar, plan)
    case 'whose':
      return yield* whose(cellar, plan)
    case 'issue':
      return yield* issue(cellar, plan)
    case 'revoke':
      return yield* revoke(cellar, plan)
  }
}

/** A key is looked at behind the target and its conditions, and before the fields. R99 */
function* once(
  cellar: Cellar,
  { claim, admit, decide: { read: target, decide } }: Once,
  held: boolean,
): Steps<Outcome> {
  const seen = yield* whole(cellar, target, held)
  admit(seen)
  const taken = yield* hold(cellar, target, claim)
  if (taken) return taken
  const outcome = yield* write(cellar, decide(seen), seen)
  const made = outcome.is === 'kept' ? seen : outcome
  if (made.is === 'found' || made.is === 'changed')
    yield* keep(cellar, claim, { doc: made.doc, revision: made.revision })
  return outcome
}

function* write(cellar: Cellar, plan: Write, seen: Seen | null): Steps<Outcome> {
  if (plan.do === 'remove' || plan.along === undefined) return yield* alone(cellar, plan, seen)
  const decided = (one: Decide) => together(performed(cellar, one, true))
  return yield* along(plan, yield* together(alone(cellar, plan, seen)), decided)
}

function* alone(cellar: Cellar, plan: Write, seen: Seen | null): Steps<Outcome> {
  switch (plan.do) {
    case 'create':
      return yield* cellar.lag ? told(cellar, plan, create(cellar, plan)) : create(cellar, plan)
    case 'update':
      return yield* cellar.lag
        ? told(cellar, plan, update(cellar, plan, seen as Held))
        : update(cellar, plan, seen as Held)
    case 'remove':
      return yield* remove(cellar, plan)
    case 'keep':
      return { is: 'kept', seen: seen as Seen }
  }
}

/** A row with those beside it, which its tag is made of too. */
const whole = (cellar: Cellar, plan: Read, held: boolean): Steps<Seen> => {
  const steps = read(cellar, plan, held)
  const { beside = [], key } = plan
  return beside.length === 0 ? steps : (completed(cellar, steps, beside, key.account) as Steps<Seen>)
}

function* read(cellar: Cellar, { collection, key, time }: Read, held = false): Steps<Seen> {
  const own = shelf(cellar, collection)
  const values = keyValues(own.collection, key, cellar.dialect)
  const [row] = yield held
    ? { text: own.texts.own, values }
    : { ...reading(own.collection, own.texts.read, cellar.dialect), values, lone: 'read' }
  if (row) return found(own, row)
  if (own.collection.composite) {
    const owner = yield* absentOwner(cellar, parentOf(own.collection, key), key.account, time)
    if (owner) return owner
  }
  return yield* departed(cellar, own.collection, key, time)
}

function* list(cellar: Cellar, asked: List): Steps<Outcome> {
  const own = shelf(cellar, asked.collection)
  const plan = settled(cellar, asked)
  admitOrder(cellar, plan)
  yield* admitColumns(cellar, own, plan)
  if (plan.parent) {
    const owner = yield* absentOwner(cellar, plan.parent, plan.account, plan.time)
    if (owner) return owner
  }
  return yield* page(cellar, plan)
}

function* create(cellar: Cellar, plan: Create): Steps<Outcome> {
  const own = shelf(cellar, plan.collection)
  const { collection, texts, shape } = own
  const least = collection.retention === null ? 1 : plan.time
  const { doc, cells } = plan.row
  const hidden = aside(own, null, plan.row)
  const fused = fusedCreate(cellar, own, { ...plan, row: { ...plan.row, hidden } }, least)
  if (fused && (yield fused).length > 0) return { is: 'created', doc, revision: least }
  if (plan.parent) {
    const owner = yield* absentOwner(cellar, plan.parent, plan.key.account, plan.time, 'kept')
    if (owner) return owner
  }
  const taken = plan.claim && (yield* hold(cellar, plan, plan.claim))
  if (taken) return taken
  const references = yield* unmet(cellar, plan, plan.references)
  if (references.length > 0) return { is: 'unmet', references }
  const before = plan.id === 'fresh' ? null : yield* claimed(cellar, plan)
  if (before && before.is !== 'missing') return before
  const revision = Math.max(least, (before?.revision ?? 0) + 1)
  const clash = yield* remark(cellar, own, plan, null, { doc, hidden, shape })
  if (clash) return clash
  const row = [...keyValues(collection, plan.key, cellar.dialect), revision, shape, doc, hidden, ...cells]
  const last = before === null && plan.claim === null
  yield { text: texts.insert, values: row, ...(last && { lone: 'write' }) }
  if (before && cellar.dialect.holds) {
    // Made and deleted by others since it was looked for: what they left behind is to be seen.
    const since = yield* departed(cellar, collection, plan.key, plan.time)
    if (since.revision > 0) throw movedRow(plan.collection)
  }
  if (plan.claim?.keeps) yield* keep(cellar, plan.claim, { doc, revision })
  return { is: 'created', doc, revision }
}

/** What is known of a chosen id: it may be in use, or have been and be remembered. R36, R91. */
function* claimed(cellar: Cellar, { collection: name, key, id, time }: Create): Steps<Absent | Duplicate> {
  const { collection, texts } = shelf(cellar, name)
  const [row] = yield { text: texts.exists, values: keyValues(collection, key, cellar.dialect) }
  if (row) return { is: 'duplicate', fields: ['id'] }
  const before = yield* departed(cellar, collection, key, time)
  if (before.revision === 0 || (before.is === 'gone' && id === 'chosen')) return before
  yield* exhume(cellar, collection, key)
  return { ...before, is: 'missing' }
}

/** References to rows that are not there; a row may refer to itself. */
function* unmet(
  cellar: Cellar,
  { collection, key }: Create | Update,
  references: readonly Reference[],
): Steps<Reference[]> {
  const missing: Reference[] = []
  for (const reference of references) {
    if (reference.collection === collection && reference.id === key.id) continue
    const { collection: target, texts } = shelf(cellar, reference.collection)
    const named = { id: reference.id, parent: null, account: key.account }
    const [row] = yield { text: texts.kept, values: keyValues(target, named, cellar.dialect) }
    if (!row) missing.push(reference)
  }
  return missing
}

function* update(cellar: Cellar, plan: Update, seen: Held): Steps<Outcome> {
  const own = shelf(cellar, plan.collection)
  const { collection, shape } = own
  const references = yield* unmet(cellar, plan, plan.references)
  if (references.length > 0) return { is: 'unmet', references }
  const { doc, cells } = plan.row
  const hidden = aside(own, seen, plan.row)
  const was = { doc: seen.doc, hidden: seen.hidden, shape }
  if (cellar.dropped) yield* markWritten(cellar, collection, plan.key, [was, plan.row])
  const clash = yield* remark(cellar, own, plan, was, { doc, hidden, shape })
  if (clash) return clash
  const which = seen.shape === shape ? plan.moved : [...cells.keys()] // another shape may lack what is the same
  const moved = which.map((i) => cells[i] as Cell)
  const [row] = yield {
    ...changing(collection, which, updateText, cellar.dialect),
    values: [shape, doc, hidden, ...moved, ...keyValues(collection, plan.key, cellar.dialect), plan.revision],
    lone: 'write',
  }
  if (!row) throw movedRow(plan.collection)
  return { is: 'changed', doc, revision: Number(row.revision) }
}
