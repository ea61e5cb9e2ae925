/** Row writer: makes the write of a row from its document, with the effects that follow from it. Part 4, methods. */
import { DerivedMisfit } from '../errors/derived-misfit.ts'
import type { Decision, Decisions, ProposedWrite } from '../flow/decision.ts'
import type { FoundRow, ReadResult } from '../flow/found-row.ts'
import type { Document } from '../flow/intent.ts'
import type { Consequences, Create, Effect, Remove, RemovedRow, RowChange, RowGuard, RowWrite } from '../flow/plan.ts'
import { decodeDocument } from '../resources/document.ts'
import type { Resource } from '../resources/resource.ts'
import { encodeDocument, withDerivedValues } from '../rows/collection.ts'
import {
  consequencesOf,
  type DocumentAct,
  type DocumentWrite,
  type EffectMaker,
  type EffectTools,
  LaterDocument,
} from './effect-maker.ts'
import { type ChangedRowPlan, encodedChange, encodedCreation, type NewRowPlan } from './encoded-writes.ts'

type NewRow = NewRowPlan & Guarded

interface Guarded {
  readonly guard?: RowGuard | undefined
  /** The handlers that decide on the write; undefined without such handlers. */
  readonly handled?: HandledWrite | undefined
}

/** The operations and the transition that write, and the decisions of its handlers. */
interface HandledWrite extends Pick<ProposedWrite, 'operations' | 'input'> {
  readonly decisions: Decisions
}

/** Names the operations of a write; undefined if the request has no handlers. */
export const handledBy = (
  { decisions }: { readonly decisions?: Decisions },
  operations: () => readonly string[],
  input?: ProposedWrite['input'],
): HandledWrite | undefined => decisions && { decisions, operations: operations(), ...(input && { input }) }

/** An existing row, the time of its change, and its guard. */
interface SeenRow extends ChangedRowPlan, Guarded {
  /** Whether the write counts as a change even if the document stays the same. R112 */
  readonly always: boolean
}

/** Makes all writes of rows, so that no write lacks its effects. */
export interface RowWriter {
  readonly create: (resource: Resource, document: Document, row: NewRow) => Create
  /** Writes nothing if the row has this document already. */
  readonly update: (resource: Resource, document: Document, row: SeenRow) => RowWrite
  readonly remove: (
    resource: Resource,
    row: Omit<Remove, 'do' | 'collection' | 'revision'> & Guarded,
    current: FoundRow,
  ) => Remove
}

export function rowWriter(resources: ReadonlyMap<string, Resource>, makers: readonly EffectMaker[]): RowWriter {
  const byResource = Map.groupBy(makers, ({ resource }) => resource)
  const follow: FollowWrite = ({ name }, write, make) => {
    const own = byResource.get(name)
    if (!own) return undefined
    const plan = write()
    return consequencesOf(own, plan, changeAt(plan.time), make)
  }
  const changeAt =
    (time: number): EffectTools['change'] =>
    (name, key, act) =>
      rowChange(writer, resources.get(name) as Resource, { key, time }, [act])
  const onRemove = new Map(
    [...byResource.keys()].map((name) => [
      name,
      (row: RemovedRow) => followRemoval(follow, resources.get(name) as Resource, row, { do: 'keep' }) as Consequences,
    ]),
  )
  const held = heldByState(resources)
  const writer: RowWriter = {
    create: (resource, document, row) => newRow(follow, resource, document, row),
    update: (...given) => changedRow(follow, ...given),
    remove: (resource, { guard, handled, ...row }, current) => {
      const gone = { ...current, ...row }
      const isFollowed = ({ name }: Resource) => onRemove.has(name) || handled?.decisions.cover(name, ['remove'])
      const all = handled ? cascadeOf([...resources.values()].filter(isFollowed), follow, handled.decisions) : onRemove
      const write: Remove = {
        ...{ do: 'remove', collection: resource.name, revision: current.revision, held, ...row },
        onRemove: all,
      }
      if (!isCovered(resource, handled)) return guarded(write, followRemoval(follow, resource, gone, write), guard)
      return decidedLater(write, guard, () => {
        const decided = { ...write, ...effectsOf(decisionOnRemoval(resource, gone, handled)) }
        return guarded(decided, followRemoval(follow, resource, gone, decided), undefined)
      })
    },
  }
  return writer
}

const isCovered = ({ name }: Resource, handled: HandledWrite | undefined): handled is HandledWrite =>
  handled?.decisions.cover(name, handled.operations) === true

const effectsOf = (decided: Decision | null): { readonly effects?: readonly Effect[] } =>
  decided ? { effects: decided.effects } : {}

/** A write that its handlers decide on after the check of its guard; for a creation, also after that of its key. */
const decidedLater = <W extends RowWrite>(write: W, guard: RowGuard | undefined, decide: () => RowWrite): W => ({
  ...write,
  consequences: {
    reads: guard?.reads ?? [],
    decide: (results) => {
      guard?.admit(results)
      return decide()
    },
  },
})

const decisionOnRemoval = (
  resource: Resource,
  { key, time, revision, doc, hidden }: RemovedRow,
  { decisions, operations }: HandledWrite,
): Decision | null =>
  decisions.on({
    ...{ resource, operations, key, time, revision, after: null },
    before: decodeDocument(resource, doc, hidden),
  })

/** The consequences of each row that a cascade removes, with the decisions of the handlers of its removal. */
const cascadeOf = (
  followed: readonly Resource[],
  follow: FollowWrite,
  decisions: Decisions,
): NonNullable<Remove['onRemove']> =>
  new Map(
    followed.map((resource) => [
      resource.name,
      (row: RemovedRow) => {
        const decided = decisionOnRemoval(resource, row, { decisions, operations: ['remove'] })
        const keep = { do: 'keep' } as const
        const { reads, decide } = followRemoval(follow, resource, row, keep) ?? {
          reads: [],
          decide: (): RowWrite => keep,
        }
        return {
          reads,
          decide: (results) => {
            const write = decide(results)
            return { ...write, effects: [...(write.effects ?? []), ...(decided?.effects ?? [])] }
          },
        }
      },
    ]),
  )

/** By resource: whether the state of a row forbids its removal. */
const heldByState = (resources: ReadonlyMap<string, Resource>): NonNullable<Remove['held']> =>
  new Map(
    [...resources.values()].flatMap(({ name, machine }) => {
      const allowed = machine?.writable.remove
      return machine && allowed
        ? [[name, (doc: string) => !allowed.includes(String((JSON.parse(doc) as Document)[machine.field]))]]
        : []
    }),
  )

function newRow(follow: FollowWrite, resource: Resource, document: Document, row: NewRow): Create {
  const { guard, handled } = row
  const encoded = (after: Document) =>
    encodedCreation(resource, withDerivedValues(resource.collection.fields, after), row)
  const create = encoded(document)
  if (isCovered(resource, handled))
    return decidedLater(create, guard, () => {
      const decided = handled.decisions.on({ ...handled, ...row, resource, revision: 0, before: null, after: document })
      const undecided = { ...row, guard: undefined, handled: undefined }
      return { ...newRow(follow, resource, { ...decided?.after }, undecided), ...effectsOf(decided) }
    })
  return guarded(
    create,
    follow(resource, () => ({ ...row, before: null, after: document }), encoded),
    guard,
  )
}

function changedRow(follow: FollowWrite, resource: Resource, document: Document, row: SeenRow): RowWrite {
  const { guard, handled } = row
  const { fields } = resource.collection
  const texts = encodeDocument(resource.collection, withDerivedValues(fields, document))
  if (!row.always && texts.doc === row.current.doc && texts.hidden === row.current.hidden)
    return guarded({ do: 'keep' }, undefined, guard)
  const update = encodedChange(resource, document, texts, row)
  if (isCovered(resource, handled))
    return decidedLater(update, guard, () => {
      const decided = handled.decisions.on({
        ...handled,
        ...row,
        resource,
        revision: row.current.revision,
        after: document,
      })
      const undecided = { ...row, guard: undefined, handled: undefined }
      return { ...changedRow(follow, resource, { ...decided?.after }, undecided), ...effectsOf(decided) }
    })
  const again = (after: Document) => {
    const derived = withDerivedValues(fields, after)
    return encodedChange(resource, derived, encodeDocument(resource.collection, derived), row)
  }
  return guarded(
    update,
    follow(resource, () => ({ ...row, after: document }), again),
    guard,
  )
}

/** The consequences of a write; undefined if no maker follows the writes of the resource. */
type FollowWrite = (
  resource: Resource,
  write: () => DocumentWrite,
  make: (after: Document) => RowWrite,
) => Consequences | undefined

const followRemoval = (
  follow: FollowWrite,
  resource: Resource,
  { key, time, doc, hidden }: RemovedRow,
  write: RowWrite,
): Consequences | undefined =>
  follow(
    resource,
    () => ({ key, time, before: decodeDocument(resource, doc, hidden), after: null }),
    () => write,
  )

/** A write with its consequences, if the check of its guard lets it pass. */
function guarded<W extends RowWrite>(write: W, follows: Consequences | undefined, guard: RowGuard | undefined): W {
  if (guard === undefined) return follows === undefined ? write : { ...write, consequences: follows }
  const consequences: Consequences = {
    reads: [...guard.reads, ...(follows?.reads ?? [])],
    decide: (all) => {
      guard.admit(all.slice(0, guard.reads.length))
      return follows ? follows.decide(all.slice(guard.reads.length)) : write
    },
  }
  return { ...write, consequences }
}

function inOtherRow<T>({ title }: Resource, { id }: Document, make: () => T): T {
  try {
    return make()
  } catch (error) {
    throw error instanceof DerivedMisfit ? error.with({ row: { title, id: String(id) } }) : error
  }
}

/** A change of the document of a row, by one act after the other; does nothing if the row does not exist. */
function rowChange(
  writer: RowWriter,
  resource: Resource,
  { key, time }: Pick<RowChange, 'key' | 'time'>,
  acts: readonly DocumentAct[],
): RowChange {
  const change = (current: ReadResult): RowWrite => {
    if (current.is !== 'found') return { do: 'keep' }
    const before = decodeDocument(resource, current.doc, current.hidden)
    const row = { key, time, current, before, always: acts.some(({ always }) => always) }
    const checked = (document: Document) => acts.reduce((next, { check }) => check?.(next) ?? next, document)
    const from = (i: number, document: Document): RowWrite => {
      const act = acts[i]
      if (!act) return inOtherRow(resource, before, () => writer.update(resource, checked(document), row))
      const after = act.make(document)
      if (!(after instanceof LaterDocument)) return from(i + 1, after)
      return { do: 'keep', consequences: { reads: after.reads, decide: (rows) => from(i + 1, after.make(rows)) } }
    }
    return from(0, before)
  }
  const joined = (all: readonly unknown[]) => rowChange(writer, resource, { key, time }, all as readonly DocumentAct[])
  return { collection: resource.name, key, time, change, joins: { acts, change: joined } }
}
