/** Item calls: the methods of a resource, each as the requests that carry it out. Part 4, methods. */

import { summarySegment } from '../fields/summary.ts'
import { toKebab } from '../formats/naming.ts'
import {
  alternativeParameters,
  embedParameters,
  fieldParameters,
  queryText,
  whereParameters,
} from '../lists/where-parameters.ts'
import { revisionSegment } from '../resources/own-operations.ts'
import { answerLinks } from './answer-links.ts'
import { ApiError } from './api-error.ts'
import type { ClientCallOptions } from './client-types.ts'
import { entityTag, isTagged, type TaggedItem, withTag } from './entity-tag.ts'
import type { ApiRequest, CallTime, Exchange } from './exchange.ts'
import type { ListTerms } from './list-pages.ts'

type ItemTarget = string | TaggedItem
type Fields = Readonly<Record<string, unknown>>
type ItemChange = Fields | ((item: TaggedItem) => Fields | Promise<Fields>)
type PostOptions = ClientCallOptions & { readonly idempotencyKey?: string }

/** A segment of a path. An empty id, `.` and `..` would make it another path. */
export function pathSegment(target: string | { readonly id: string }): string {
  const id = typeof target === 'string' ? target : target.id
  if (typeof id !== 'string' || id === '' || id === '.' || id === '..')
    throw new TypeError(`${JSON.stringify(id)} is not an id that a URL can have.`)
  return encodeURIComponent(id)
}

/** The condition of a write: with an item that was read, the service refuses the write if the item has changed since. */
function conditionOf(target: ItemTarget): Record<string, string> {
  if (typeof target === 'string') return {}
  const tag = target[entityTag]
  if (typeof tag === 'string') return { 'if-match': tag }
  throw new TypeError(
    `${target.id} has no strong ETag, so a write cannot depend on it. Items of lists have none: read it with \`get\`, or give its id to write in any case.`,
  )
}

export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')

/** Whether a key was made by the client, not given to it. */
export const isRandomKey = (key: string): boolean => /^[0-9a-f]{32}$/.test(key)

/** The methods of the resource with this path. */
export class ItemCalls {
  readonly #exchange: Exchange
  readonly #path: string

  constructor(exchange: Exchange, path: string) {
    this.#exchange = exchange
    this.#path = path
  }

  readonly get = (
    target: ItemTarget,
    options?: ClientCallOptions & { readonly fields?: readonly string[]; readonly embed?: readonly string[] },
  ): Promise<TaggedItem> => {
    const query = queryText([...fieldParameters(options?.fields), ...embedParameters(options?.embed)])
    return this.#item({ method: 'GET', path: this.#at(target), query }, this.#exchange.begin(options))
  }

  /** An item as it was, or the merge patch from another revision. */
  readonly revision = async (
    target: ItemTarget,
    number: string | number,
    { against, ...options }: ClientCallOptions & { readonly against?: string | number } = {},
  ): Promise<unknown> => {
    const path = `${this.#at(target)}/${revisionSegment}/${pathSegment(String(number))}`
    const headers = { accept: 'application/merge-patch+json' }
    const patch = against === undefined ? {} : { query: queryText([['against', String(against)]]), headers }
    const { body } = await this.#exchange.send({ method: 'GET', path, ...patch }, this.#exchange.begin(options))
    return body
  }

  /** If an answer was lost, the refusal of the repeat names the id of the item, which is then read. */
  readonly create = async (body: Fields, options: PostOptions = {}): Promise<TaggedItem> => {
    const time = this.#exchange.begin(options)
    const { idempotencyKey = newKey() } = options
    try {
      return await this.#item(
        { method: 'POST', path: this.#path, body, headers: { 'idempotency-key': idempotencyKey } },
        time,
      )
    } catch (error) {
      if (!(error instanceof ApiError && error.uncertain && error.type === 'idempotency-key-reused')) throw error
      const { oldId, body: answered } = error
      // An answer without a type does not say whether the key was used with the same payload.
      if (oldId === null || !(options.idempotencyKey === undefined || 'type' in answered)) throw error
      return this.#readLate(this.#created(error, oldId), time, { oldId })
    }
  }

  readonly update = async (
    target: ItemTarget,
    change: ItemChange,
    options?: ClientCallOptions,
  ): Promise<TaggedItem | null> => {
    const time = this.#exchange.begin(options)
    if (typeof change !== 'function') return this.#write('PATCH', target, change, time)
    const read = () => this.#item({ method: 'GET', path: this.#at(target) }, time)
    for (let item = typeof target === 'string' ? await read() : target; ; item = await read()) {
      const headers = conditionOf(item)
      try {
        return await this.#item({ method: 'PATCH', path: this.#at(target), body: await change(item), headers }, time)
      } catch (error) {
        const isChanged = error instanceof ApiError && error.type === 'precondition-failed'
        if (!isChanged || error.uncertain || performance.now() >= time.end) throw error
      }
    }
  }

  readonly replace = (target: ItemTarget, body: Fields, options?: ClientCallOptions): Promise<TaggedItem | null> =>
    this.#write('PUT', target, body, this.#exchange.begin(options))

  /** If the answer to a try was lost, an item that is gone has been removed. */
  readonly remove = async (target: ItemTarget, options?: ClientCallOptions): Promise<void> => {
    const request = { method: 'DELETE', path: this.#at(target), headers: conditionOf(target) }
    await this.#exchange.send(request, this.#exchange.begin(options)).catch((error: unknown) => {
      if (!(error instanceof ApiError && error.uncertain && (error.status === 404 || error.status === 410))) throw error
    })
  }

  /** Only the id of an item is used: its ETag is not that of the pair. */
  readonly link = (
    other: string | { readonly id: string },
    body: Fields = {},
    options?: ClientCallOptions,
  ): Promise<TaggedItem | null> =>
    this.#item({ method: 'PUT', path: `${this.#path}/${pathSegment(other)}`, body }, this.#exchange.begin(options))

  readonly unlink = async (other: string | { readonly id: string }, options?: ClientCallOptions): Promise<void> => {
    const request = { method: 'DELETE', path: `${this.#path}/${pathSegment(other)}` }
    await this.#exchange.send(request, this.#exchange.begin(options))
  }

  /** A transition or an operation: of an item if the first argument is one, otherwise of the collection. */
  readonly act = async (name: string, parameters: readonly unknown[]): Promise<unknown> => {
    const isOnItem = typeof parameters[0] === 'string' || isTagged(parameters[0])
    const [target, body, options = {}] = (isOnItem ? parameters : [null, ...parameters]) as [
      ItemTarget | null,
      unknown,
      PostOptions?,
    ]
    const request = {
      ...{ method: 'POST', path: `${target === null ? this.#path : this.#at(target)}/${name}`, body },
      headers: { 'idempotency-key': options.idempotencyKey ?? newKey(), ...(target !== null && conditionOf(target)) },
    }
    const { headers, body: answer } = await this.#exchange.send(request, this.#exchange.begin(options))
    return headers.has('etag') ? withTag(answer, headers) : answer
  }

  /** The groups of a summary. */
  readonly summarize =
    (name: string) =>
    async ({ where = {}, or }: Pick<ListTerms, 'where' | 'or'> = {}, options?: ClientCallOptions): Promise<unknown> => {
      const query = queryText([...whereParameters(where), ...alternativeParameters(or)])
      const path = `${this.#path}/${summarySegment}/${toKebab(name)}`
      const { body } = await this.#exchange.send({ method: 'GET', path, query }, this.#exchange.begin(options))
      return body.data
    }

  #at = (target: ItemTarget): string => `${this.#path}/${pathSegment(target)}`

  /** With a tag, a 412 after a lost answer is resolved by reading: the item has what was written, or the error stands. */
  async #write(method: 'PUT' | 'PATCH', target: ItemTarget, body: Fields, time: CallTime): Promise<TaggedItem | null> {
    const path = this.#at(target)
    try {
      return await this.#item({ method, path, body, headers: conditionOf(target) }, time)
    } catch (error) {
      if (!(error instanceof ApiError && error.type === 'precondition-failed' && error.uncertain)) throw error
      const item = await this.#readLate(path, time, { uncertain: true })
      // An item that was read before also has these members, which are never written.
      const { updatedAt, updated_at, _links, _embedded, ...written } = body
      const isShown = Object.entries(written).every(([name, value]) => value === undefined || name in item)
      if (isShown && includes(item, written)) return item
      throw error
    }
  }

  /** Reads the item that a lost answer would have shown; an error of this read gets the given details about the write. */
  #readLate(path: string, time: CallTime, details: Partial<ApiError>): Promise<TaggedItem> {
    return this.#item({ method: 'GET', path }, time).catch((error: unknown) => {
      throw error instanceof ApiError ? Object.assign(error, details) : error
    })
  }

  async #item(request: ApiRequest, time: CallTime): Promise<TaggedItem> {
    const { headers, body } = await this.#exchange.send(request, time)
    return body === null ? body : withTag(body, headers)
  }

  /** The path of a created item. An item that can only be addressed below its parent keeps that path. */
  #created(error: ApiError, id: string): string {
    const [, name = ''] = /^.*\/([^/]+)$/.exec(this.#path) ?? []
    const isBelow =
      answerLinks(error.headers)
        .get('related')
        ?.endsWith(`${this.#path}/${encodeURIComponent(id)}`) ?? false
    return `${isBelow ? this.#path : `/${name}`}/${pathSegment(id)}`
  }
}

/** Whether an item has the values that were written. Numbers and times may be written in another form. */
function includes(actual: unknown, written: unknown): boolean {
  if (written === null || typeof written !== 'object') return canonical(actual) === canonical(written)
  if (Array.isArray(written))
    return (
      Array.isArray(actual) && actual.length === written.length && written.every((one, i) => includes(actual[i], one))
    )
  if (typeof actual !== 'object' || actual === null) return false
  return Object.entries(written).every(
    ([name, value]) => value === undefined || includes((actual as Fields)[name] ?? null, value),
  )
}

function canonical(value: unknown): unknown {
  if (typeof value !== 'string') return value
  if (/^-?\d+(?:\.\d+)?$/.test(value)) return value.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '')
  return /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/.test(value) ? Date.parse(value) : value
}
