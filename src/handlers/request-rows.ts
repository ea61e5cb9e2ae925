/** Request rows: the rows and lists that the handlers of a request have read, with their writes applied. Part 3, handlers. R226. */
import type { RowWriter } from '../effects/row-writer.ts'
import type { Decisions, ProposedWrite } from '../flow/decision.ts'
import type { FoundRow, ReadResult, RowKey } from '../flow/found-row.ts'
import type { Document } from '../flow/intent.ts'
import type { Effect, ListRows, RowChange, RowWrite } from '../flow/plan.ts'
import type { Store } from '../flow/store.ts'
import { decodeDocument } from '../resources/document.ts'
import type { Resource } from '../resources/resource.ts'
import { HandlerFault, ReadsChanged } from './handler-fault.ts'
import { listWithWrites } from './list-with-writes.ts'
import { announcedName } from './turns.ts'

/** A row that handlers read or write. */
export interface HeldRow {
  readonly resource: Resource
  readonly key: RowKey
  /** The revision that was read; 0 if there was no row. */
  readonly revision: number
  /** The row as a handler read it; null if there was none, or the request has read it itself. */
  readonly current: FoundRow | null
  /** The document that was read; null if there was no row. */
  readonly before: Document | null
  /** The document with all writes so far; null if there was no row, or a handler has removed it. */
  now: Document | null
  /** Whether it was only read, or is written by a handler or by the request itself. */
  part: 'read' | 'written' | 'requested'
  /** Whether a transition enters its state anew. */
  entered: boolean
}

/** A list that was read, as one text. */
interface HeldList {
  readonly list: ListRows
  readonly documents: string
}

/** The parts of a service that the rows of a request use. */
export interface RowSources {
  readonly store: Store
  readonly writer: RowWriter
  readonly resources: ReadonlyMap<string, Resource>
  /**
   * Set if a later part of the same transaction may write rows that were only read here. They are locked exclusively at once,
   * as two transactions that upgrade a shared lock would deadlock.
   */
  readonly exclusive?: true
}

/** How handlers share rows with those of other requests. */
export interface RowSharing {
  /** Throws if a row, or a list of a collection, must not be read yet. */
  readonly admit: (name: string) => void
  /** A row as it will be after the commit of another request, by its `announcedName`. */
  readonly announced: (name: string) => FoundRow | undefined
}

const notShared: RowSharing = { admit: () => {}, announced: () => undefined }
const mostWritten = 100

/** The name of a row in messages. */
export const heldName = ({ name }: Resource, { id, parent }: RowKey): string =>
  `${name} ${parent === null ? '' : `${parent}/`}${id}`

export class RequestRows {
  readonly #sources: RowSources
  readonly #sharing: RowSharing
  readonly time: number
  readonly #rows = new Map<string, HeldRow>()
  readonly #lists: HeldList[] = []

  constructor(sources: RowSources, time: number, sharing: RowSharing = notShared) {
    this.#sources = sources
    this.#sharing = sharing
    this.time = time
  }

  names(): readonly string[] {
    return [...this.#rows.keys(), ...this.#lists.map(({ list }) => list.collection)]
  }

  /** Takes the row of a write that the request makes itself. */
  request({ resource, key, revision, before, after }: ProposedWrite): HeldRow {
    const name = heldName(resource, key)
    const known = this.#rows.get(name)
    if (known && (known.revision !== revision || known.part === 'written')) throw new ReadsChanged(name)
    const row: HeldRow = {
      resource,
      key,
      revision,
      current: null,
      before,
      now: after,
      part: 'requested',
      entered: false,
    }
    this.#rows.set(name, row)
    return row
  }

  /** Takes a row that the request has read itself. */
  hold({ resource, key, revision, before }: Pick<ProposedWrite, 'resource' | 'key' | 'revision' | 'before'>): HeldRow {
    const row: HeldRow = { resource, key, revision, current: null, before, now: before, part: 'read', entered: false }
    this.#rows.set(heldName(resource, key), row)
    return row
  }

  async get(resource: Resource, key: RowKey): Promise<HeldRow> {
    const name = heldName(resource, key)
    this.#sharing.admit(name)
    const held = this.#rows.get(name) ?? heldRow(resource, key, await this.#readShared(resource, key))
    const row = this.#rows.get(name) ?? held // another read may have been faster
    this.#rows.set(name, row)
    return row
  }

  /** The documents of a list with all writes so far, except the write of `decided`, the row of the running handler. */
  async list(resource: Resource, list: ListRows, decided: HeldRow | null): Promise<Document[]> {
    this.#sharing.admit(list.collection)
    const documents = await this.#readList(list)
    this.#lists.push({ list, documents })
    const others = [...this.#rows.values()].filter((row) => row !== decided && row.part !== 'read')
    const written = others.filter((row) => row.resource === resource)
    return listWithWrites(resource, list, JSON.parse(`[${documents}]`), written)
  }

  /** Marks a row as written by a handler. */
  write(row: HeldRow, document: Document | null): void {
    if (row.part === 'requested' && document === null)
      throw new HandlerFault('It removes the item that the request writes; refuse the request instead.')
    row.now = document
    if (row.part === 'read') row.part = 'written'
    const written = [...this.#rows.values()].filter(({ part }) => part === 'written')
    if (written.length > mostWritten)
      throw new HandlerFault(
        `The handlers of one request write more than ${mostWritten} rows; write fewer, or several times.`,
      )
  }

  /** Throws if a row or a list has changed since it was read. Whether the row of a creation is new is left to the transaction. */
  async verify(): Promise<void> {
    for (const [name, row] of this.#rows)
      if ((row.part !== 'requested' || row.revision > 0) && !isAsRead(row, await this.#read(row.resource, row.key)))
        throw new ReadsChanged(name)
    for (const { list, documents } of this.#lists)
      if ((await this.#readList(list)) !== documents) throw new ReadsChanged(list.collection)
  }

  /** The effects that are committed with the write of the request. */
  effects(decisions: Decisions): Effect[] {
    const rows = [...this.#rows]
    return [
      ...this.#lists.map(
        ({ list, documents }): Effect => ({
          do: 'check',
          list,
          admit: (now: string) => {
            if (now !== documents) throw new ReadsChanged(list.collection)
          },
        }),
      ),
      ...rows.filter(([, { part }]) => part === 'read').map(([name, row]) => this.#effect(name, row, decisions)),
      ...rows.filter(([, { part }]) => part === 'written').map(([name, row]) => this.#effect(name, row, decisions)),
    ]
  }

  /** The rows as they will be after its writes, by `announcedName`; null if the rows also depend on something else. */
  outlook(): ReadonlyMap<string, FoundRow> | null {
    const outlook = new Map<string, FoundRow>()
    const listed = new Set(this.#lists.map(({ list }) => list.collection))
    for (const row of this.#rows.values()) {
      const { resource, key, current, before, now, part, entered, revision } = row
      if (part === 'read') continue
      if (listed.has(resource.name)) return null // only rows can be announced, and the next request may read this list
      if (revision === 0) continue
      if (part === 'requested' || current === null || before === null || now === null) return null
      const change = { key, time: this.time, current, before, always: entered, entered }
      const write = this.#sources.writer.update(resource, { ...now }, change)
      if (write.consequences) return null
      if (write.do !== 'update') continue
      const { doc, hidden } = write.row
      outlook.set(announcedName(resource, key), { is: 'found', doc, hidden, revision: revision + 1 })
    }
    return outlook
  }

  #effect(name: string, row: HeldRow, decisions: Decisions): RowChange {
    const { resource, key, part } = row
    const admit = (locked: ReadResult): void => {
      if (!isAsRead(row, locked)) throw new ReadsChanged(name)
    }
    return {
      ...{ collection: resource.name, key, time: this.time, admit },
      ...(part === 'read' && !this.#sources.exclusive && { lock: 'share' }),
      change: (current, locked) => {
        admit(locked) // a row that the write itself has changed was not locked before
        return part === 'read' ? { do: 'keep' } : this.#written(row, current, decisions)
      },
    }
  }

  #written(
    { resource, key, revision, before, now, entered }: HeldRow,
    current: ReadResult,
    decisions: Decisions,
  ): RowWrite {
    const { writer, resources } = this.#sources
    const time = this.time
    if (current.is !== 'found') {
      const owner = resource.parent
      const parent = owner && { collection: owner.resource, id: String(now?.[owner.field]) }
      return now === null ? { do: 'keep' } : writer.create(resource, { ...now }, { key, parent, time })
    }
    // The handlers of the row itself have run already; handlers of rows that a cascade removes still decide.
    const handled = { decisions, operations: [] }
    if (now === null) return writer.remove(resource, { key, time, takes: new Set(resources.keys()), handled }, current)
    const row = { key, time, current, always: entered, entered }
    if (current.revision === revision) return writer.update(resource, { ...now }, { ...row, before: before ?? {} })
    const stored = decodeDocument(resource, current.doc, current.hidden)
    return writer.update(resource, { ...stored, ...changedMembers(before ?? {}, now) }, { ...row, before: stored })
  }

  async #readShared(resource: Resource, key: RowKey): Promise<ReadResult> {
    return this.#sharing.announced(announcedName(resource, key)) ?? (await this.#read(resource, key))
  }

  async #read(resource: Resource, key: RowKey): Promise<ReadResult> {
    const read = { do: 'read', collection: resource.name, key, time: this.time } as const
    return (await this.#sources.store.execute(read)) as ReadResult
  }

  async #readList(list: ListRows): Promise<string> {
    const page = await this.#sources.store.execute(list)
    return page.is === 'page' ? page.data : ''
  }
}

/** The members that a handler has changed, for a row that its other writes have changed too. */
const changedMembers = (before: Document, now: Document): Document =>
  Object.fromEntries(
    Object.entries(now).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])),
  )

const revisionOf = (current: ReadResult): number => (current.is === 'found' ? current.revision : 0)

/** Whether a row is as a handler has read it: a row that was announced may have got another document with its revision. */
const isAsRead = ({ revision, current }: HeldRow, now: ReadResult): boolean =>
  revisionOf(now) === revision &&
  (current === null || now.is !== 'found' || (now.doc === current.doc && now.hidden === current.hidden))

function heldRow(resource: Resource, key: RowKey, current: ReadResult): HeldRow {
  const row = current.is === 'found' ? current : null
  const before = row && decodeDocument(resource, row.doc, row.hidden)
  return {
    resource,
    key,
    revision: revisionOf(current),
    current: row,
    before,
    now: before,
    part: 'read',
    entered: false,
  }
}
