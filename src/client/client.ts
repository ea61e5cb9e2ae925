/** Client: calls a service with the types of its declaration, in browsers and in Node. It needs no module of Node. Part 1. */

import { summarySegment } from '../fields/summary.ts'
import { revisionSegment } from '../resources/own-operations.ts'
import { exportedItems, importItems } from './all-items.ts'
import type { Client, ClientOptions } from './client-types.ts'
import { type EventTerms, followStream } from './event-follower.ts'
import { Exchange } from './exchange.ts'
import { fileCalls } from './file-calls.ts'
import { ItemCalls, pathSegment } from './item-calls.ts'
import { type ListTerms, listPages } from './list-pages.ts'

export { ApiError, type ApiErrorPart, type ErrorOf, isApiError } from './api-error.ts'
export type {
  Client,
  ClientOptions,
  DeprecationNotice,
  ImportReport,
  ItemList,
  OperationStatus,
  Revision,
  Tagged,
} from './client-types.ts'
export { entityTag } from './entity-tag.ts'
export type { FileContent, UploadOptions } from './upload-types.ts'

/**
 * Makes the client of a service. `typeof api` gives it its types; nothing of the declaration is loaded.
 * @example
 * import { client } from 'bylaw/client'
 * import type api from './api.ts'
 *
 * const shop = client<typeof api>({ url: 'http://localhost:3000', key: process.env.API_KEY })
 * const order = await shop.orders.create({ customerId })
 */
export function client<S>(options: ClientOptions<S>): Client<S> {
  const exchange = new Exchange(options as ClientOptions<unknown>)
  return byName((name) => resourceAt(exchange, `/${name}`)) as Client<S>
}

/** An object with a property for each name that a resource, an operation or a summary can have. */
function byName(
  make: (name: string) => unknown,
  target: object = {},
  call?: (parameters: unknown[]) => unknown,
  names = /^(?:[a-z][a-z\d-]*|removeFile)$/,
): unknown {
  const isName = (name: string | symbol): name is string =>
    typeof name === 'string' && name !== 'then' && names.test(name)
  return new Proxy(target, {
    get: (_, name) => (isName(name) ? make(name) : undefined),
    apply: (_, __, parameters) => call?.(parameters),
  })
}

function resourceAt(exchange: Exchange, path: string): unknown {
  const calls = new ItemCalls(exchange, path)
  const { get, create, update, replace, remove, link, unlink, revision } = calls
  const list = (...parameters: [ListTerms?, object?]) => listPages(exchange, path, ...parameters)
  const history = (target: string | { readonly id: string }, ...parameters: [ListTerms?, object?]) =>
    listPages(exchange, `${path}/${pathSegment(target)}/${revisionSegment}`, ...parameters)
  const files = fileCalls(exchange, path)
  const own = { get, create, update, replace, remove, link, unlink }
  const methods: Readonly<Record<string, unknown>> = {
    ...{ ...own, list, history, revision },
    ...files,
    export: (...parameters: [ListTerms?, object?]) => exportedItems(exchange, path, ...parameters),
    import: (items: Iterable<object>, ...parameters: [object?]) => importItems(exchange, path, items, ...parameters),
  }
  const method = (name: string) => {
    const act = (parameters: unknown[]) => calls.act(name, parameters)
    if (name === summarySegment) return byName(calls.summarize, () => {}, act, /^[a-z][a-z\d_-]*$/i)
    return Object.hasOwn(methods, name) ? methods[name] : (...parameters: unknown[]) => act(parameters)
  }
  return byName(
    method,
    () => {},
    ([first, ...rest]) => {
      const isParent = typeof first === 'string' || (typeof first === 'object' && first !== null && 'id' in first)
      if (!isParent && path === '/events')
        return followStream(exchange, (first ?? {}) as EventTerms, (rest[0] as { signal?: AbortSignal })?.signal)
      const parent = `${path}/${pathSegment(first as string)}`
      return byName((name) => resourceAt(exchange, `${parent}/${name}`))
    },
  )
}
