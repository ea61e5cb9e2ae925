/** Handler tools: the functions with which a handler reads, writes and refuses. Part 3, handlers. R226, R227. */
import type { Catalogue } from '../errors/catalogue.ts'
import { Problem } from '../errors/problem.ts'
import { valueInWords } from '../fields/value-check.ts'
import type { Caller } from '../flow/caller.ts'
import type { RowKey } from '../flow/found-row.ts'
import type { Document } from '../flow/intent.ts'
import type { Log } from '../flow/world.ts'
import { listInWords, sentenceCase } from '../formats/naming.ts'
import { durationMilliseconds, timestampOf, timestampText } from '../formats/time-texts.ts'
import { stampDocument } from '../resources/document.ts'
import { readInput } from '../resources/machine.ts'
import { pairSides } from '../resources/references.ts'
import type { Resource } from '../resources/resource.ts'
import type { HandledList, ListReader } from './handled-list.ts'
import { admitState } from './handled-states.ts'
import { HandlerFault, HandlerRefusal, readFaultless, writesWrongly } from './handler-fault.ts'
import type { ReadErrorFields } from './handler-sources.ts'
import { queueOperation } from './queued-operation.ts'
import type { HeldRow, RequestRows } from './request-rows.ts'
import { newDocument, patchedDocument } from './written-document.ts'

/** The id of an item; with that of its parent if ids are unique only below it. */
type GivenId = string | Readonly<Record<string, unknown>>

/** When an operation is to start, and on which item. */
interface LaterOptions {
  readonly id?: GivenId
  readonly after?: string
  readonly at?: string
}

type Refusal = { readonly pointer?: string; readonly message?: string; readonly fields?: Document }

/** A write that a handler has requested; the handler of that write runs afterwards. */
export interface RequestedWrite {
  readonly row: HeldRow
  readonly operations: readonly string[]
  readonly item: Document | null
  readonly input?: ReadonlyMap<string, unknown>
}

/** The context of the tools of one handler. */
export interface ToolContext {
  readonly rows: RequestRows
  readonly lists: ListReader
  readonly resources: ReadonlyMap<string, Resource>
  readonly types: Catalogue
  readonly readErrorFields: ReadErrorFields
  readonly caller: Caller
  readonly account: string | null
  readonly time: number
  readonly newId: (prefix: string) => string
}

/** The reads and writes of one handler, in the order in which it asks for them. */
export class HandlerTools {
  readonly #context: ToolContext
  /** The row of the handler; null if it belongs to an operation on a collection. */
  readonly #own: HeldRow | null
  /** Its document before the write that the handler decides on; undefined for operations, which decide on no write. */
  readonly #item: Document | null | undefined
  /** Settles when all calls so far are done. */
  #last: Promise<unknown> = Promise.resolve()
  readonly requested: RequestedWrite[] = []
  /** Set when the handler has ended: later calls, by code that it did not await, would be lost. */
  #isOver = false

  constructor(context: ToolContext, own: HeldRow | null, item: Document | null | undefined) {
    this.#context = context
    this.#own = own
    this.#item = item
  }

  /** Waits for all calls of the handler and for the calls that these cause; throws the first mistake. */
  readonly finish = async (): Promise<void> => {
    try {
      for (let last: unknown; last !== this.#last; await last) last = this.#last
    } finally {
      this.#isOver = true
    }
  }

  readonly get = (name: string, id: GivenId): Promise<Document | null> =>
    this.#next(async () => {
      const row = await this.#row(name, id)
      return copied(row === this.#own && this.#item !== undefined ? this.#item : row.now)
    })

  readonly list = (name: string, query: HandledList = {}): Promise<Document[]> =>
    this.#next(async () => {
      const resource = this.#resource(name)
      const list = this.#context.lists.read(resource, query, this.#context)
      const documents = await this.#context.rows.list(resource, list, this.#item === undefined ? null : this.#own)
      if (query.limit === undefined && documents.length >= list.window.limit)
        throw new HandlerFault(
          `It lists more than ${list.window.limit - 1} ${name}; narrow it by where, or give a limit.`,
        )
      return documents
    })

  readonly set = (patch: unknown): void => {
    if (this.#isOver) throw overFault()
    if (this.#own === null) throw new HandlerFault('It sets fields, but it has no item; use change.')
    const { resource, now } = this.#own
    if (now === null) throw new HandlerFault('It sets fields of an item that is removed.')
    this.#context.rows.write(this.#own, patchedDocument(resource, now, patch))
  }

  readonly create = (name: string, fields: unknown): string => {
    const resource = this.#resource(name)
    const document = newDocument(resource, fields)
    const id = resource.key === null ? this.#newId(resource, document) : String(document[resource.key])
    const { account, time, rows } = this.#context
    if (resource.collection.account !== null && account === null)
      throw new HandlerFault(`It creates one of ${name}, which belong to accounts, but the caller has none.`)
    const owner = resource.parent && String(document[resource.parent.field])
    stampDocument(resource, document, { id }, owner, time)
    const key = { id, parent: resource.collection.composite ? owner : null, account }
    this.#say(async () => {
      const row = await rows.get(resource, key)
      if (row.now !== null) throw new Problem('already-exists', `There is an item with the id ${id} already.`)
      await this.#admitOwner(resource, document)
      rows.write(row, document)
      this.requested.push({ row, operations: ['create'], item: null })
    })
    return id
  }

  readonly change = (name: string, id: GivenId, patch: unknown): void =>
    this.#say(async () => {
      const row = await this.#presentRow(name, id)
      const { resource, now } = row
      admitState(resource, now, resource.machine?.writable.change, 'cannot be changed')
      await this.#admitOwner(resource, now)
      const changes = typeof patch === 'function' ? patch(copied(now)) : patch
      const item = copied(now)
      this.#context.rows.write(row, patchedDocument(resource, now as Document, changes))
      if (JSON.stringify(item) !== JSON.stringify(row.now)) this.requested.push({ row, operations: ['change'], item })
    })

  readonly remove = (name: string, id: GivenId): void =>
    this.#say(async () => {
      const row = await this.#presentRow(name, id)
      const item = copied(row.now)
      admitState(row.resource, item, row.resource.machine?.writable.remove, 'cannot be removed')
      await this.#admitOwner(row.resource, item)
      this.#context.rows.write(row, null)
      this.requested.push({ row, operations: ['remove'], item })
    })

  readonly move = (name: string, id: GivenId, transition: string, body: Document = {}): void =>
    this.#say(async () => {
      const row = await this.#presentRow(name, id)
      const { resource, now } = row
      const declared = resource.machine?.transitions.find((one) => one.name === transition)
      if (!declared)
        throw new HandlerFault(`It moves ${name} by ${valueInWords(transition)}, which is not one of its transitions.`)
      admitState(resource, now, declared.from, { transition })
      const input = readFaultless(writesWrongly(name), () => readInput(declared.input, body, resource.settings))
      const { time, caller, rows } = this.#context
      const item = copied(now)
      row.entered = true
      rows.write(row, { ...now, ...declared.values({ time, caller: caller.id === '' ? null : caller.id, input }) })
      this.requested.push({ row, operations: [transition], item, input })
    })

  readonly later = (called: string, body: Document = {}, when: LaterOptions = {}): string => {
    const [name = '', own] = called.split('.')
    const resource = this.#resource(name)
    const operation = resource.operations.find((one) => one.name === own)
    if (!operation?.asynchronous)
      throw new HandlerFault(`It says ${valueInWords(called)} for later, which is no asynchronous operation.`)
    const says = `It says ${called} for later with a wrong input`
    const input = readFaultless(says, () => readInput(operation.input, body, resource.settings))
    const { id, after, at, ...others } = when
    for (const member of Object.keys(others))
      throw new HandlerFault(`It says ${called} for later with ${member}; allowed are id, after and at.`)
    if ((operation.at === 'item') !== (id !== undefined))
      throw new HandlerFault(`It says ${called} for later; write the \`id\` of an item for operations on items only.`)
    const { time, rows } = this.#context
    const due =
      at === undefined
        ? time + (durationMilliseconds(after ?? 'PT0S') ?? Number.NaN)
        : Date.parse(timestampText(at, true) ?? '')
    if (!Number.isFinite(due) || (at !== undefined && after !== undefined))
      throw new HandlerFault(`It says ${called} for later; write either after: 'PT1H' or at: '2026-12-01T10:00:00Z'.`)
    const item = id === undefined ? null : this.#keyOf(resource, id)
    const { statuses, key, document } = queueOperation({ resource, operation, item, input }, this.#context, due)
    this.#say(async () => rows.write(await rows.get(statuses, key), document))
    return key.id
  }

  /** Makes the refusal of the request with a declared type, for the handler to throw. */
  readonly refuse = (type: string, { pointer, message, fields = {} }: Refusal = {}): Problem => {
    const { types, readErrorFields } = this.#context
    if (!types.has(type))
      throw new HandlerFault(`It refuses with the type ${valueInWords(type)}, which is not declared in errors.`)
    const says = message ?? `${sentenceCase(type)}.`
    const members = readFaultless(`The fields of its error ${type} are not as declared`, () =>
      readErrorFields(type, structuredClone(fields)),
    )
    return new HandlerRefusal(type, says, {
      extra: Object.fromEntries(members),
      violations: pointer === undefined ? [] : [{ message: says, type, in: 'body', pointer }],
    })
  }

  /** Runs the calls of the handler one after the other. */
  #next<T>(act: () => Promise<T>): Promise<T> {
    if (this.#isOver) throw overFault()
    const own = this.#last.then(act)
    this.#last = own
    own.catch(() => {}) // `finish` reports the failure, even if the handler does not await this call
    return own
  }

  #say(act: () => Promise<void>): void {
    void this.#next(act)
  }

  #resource(name: string): Resource {
    const { resources } = this.#context
    const resource = resources.get(name)
    if (resource && !pairSides(resource)) return resource
    const others = [...resources.values()].filter((one) => !pairSides(one)).map((one) => one.name)
    const says = resource ? 'Handlers cannot use the pairs' : 'There is no resource'
    throw new HandlerFault(`${says} ${valueInWords(name)}; there are ${listInWords(others)}.`)
  }

  #row(name: string, id: GivenId): Promise<HeldRow> {
    const resource = this.#resource(name)
    return this.#context.rows.get(resource, this.#keyOf(resource, id))
  }

  async #presentRow(name: string, id: GivenId): Promise<HeldRow> {
    const row = await this.#row(name, id)
    if (row.now !== null) return row
    throw new HandlerFault(`It writes to ${name} ${row.key.id}, which does not exist.`)
  }

  #keyOf({ name, parent, collection }: Resource, target: GivenId): RowKey {
    const { account } = this.#context
    if (typeof target === 'string' && !collection.composite) return { id: target, parent: null, account }
    const owner = typeof target === 'object' && target !== null ? target[parent?.field ?? ''] : undefined
    const id = typeof target === 'object' && target !== null ? target.id : target
    if (typeof id === 'string' && (!collection.composite || typeof owner === 'string'))
      return { id, parent: collection.composite ? (owner as string) : null, account }
    const form = collection.composite ? `{ ${parent?.field}, id }` : 'a text'
    throw new HandlerFault(`It names one of ${name} by ${valueInWords(target)}; write its id as ${form}.`)
  }

  #newId(resource: Resource, document: Document): string {
    const { id: maker } = resource.settings.resource
    if (typeof document.id === 'string') return document.id
    return typeof maker === 'function'
      ? `${resource.prefix}_${maker()}`
      : this.#context.newId(resource.prefix as string)
  }

  /** Refuses a write below an owner whose state, as it was before the request, does not allow it. */
  async #admitOwner({ parent }: Resource, document: Document | null): Promise<void> {
    if (parent === null || parent.while === null) return
    const owner = await this.#row(parent.resource, String(document?.[parent.field]))
    admitState(owner.resource, owner.before ?? owner.now, parent.while, 'what belongs to it cannot be written')
  }

  /** The tools as the handler sees them. */
  get face() {
    const { get, list, set, create, change, remove, move, later, refuse } = this
    const { caller, time, newId } = this.#context
    const { id, account, scopes } = caller
    return {
      ...{ get, list, set, create, change, remove, move, later, refuse },
      caller: { id: id === '' ? null : id, account, scopes: [...scopes] },
      now: timestampOf(time),
      newId: (name: string) => newId(this.#resource(name).prefix as string),
    }
  }
}

const overFault = (): HandlerFault =>
  new HandlerFault('It reads or writes after it has ended, which is lost; await everything that it starts.')

/** Handlers get copies, as a document must not change behind the engine. `structuredClone` takes ten times as long. */
export const copied = <T>(value: T): T => {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(copied) as T
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, copied(one)])) as T
}

/** The log of a handler; it adds `about` to each line. */
export function handlerLog(log: Log, about: object) {
  const write =
    (level: keyof Log) =>
    (text: string, fields: object = {}) =>
      log[level]({ ...fields, ...about }, text)
  return { info: write('info'), warn: write('warn'), error: write('error') }
}
