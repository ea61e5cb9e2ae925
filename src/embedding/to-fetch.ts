/** To fetch: an open service as a function from Request to Response. Part 1. */
import { fetchDoor } from '../http/fetch.ts'
import { type App, openedApp } from './app.ts'

/** How `toFetch` finds the address of a client, from the arguments that the host passes with each request. */
export interface FetchOptions<Rest extends readonly unknown[]> {
  /** The client's address: `addressOf: (_, { incoming }) => incoming.socket.remoteAddress`. */
  readonly addressOf?: (request: Request, ...rest: Rest) => string | undefined
}

/**
 * Makes the function that answers a Request, as Hono, Remix and other programs call it. Without `addressOf` all callers without
 * credentials share one quota and one count of failed attempts, as a Request does not know where it came from.
 * @example serve({ fetch: toFetch(app, { addressOf: (_, { incoming }) => incoming.socket.remoteAddress }) })
 */
export function toFetch<Rest extends readonly unknown[] = readonly unknown[]>(
  app: App,
  { addressOf }: FetchOptions<Rest> = {},
): (request: Request, ...rest: Rest) => Promise<Response> {
  const { context, enter } = openedApp(app)
  const answer = fetchDoor(context, { logs: true })
  let isKnown = true
  return async (request, ...rest) => {
    const address = addressOf?.(request, ...rest) ?? ''
    if (address === '' && isKnown) {
      isKnown = false
      context.log.warn(
        {},
        'Requests come without the address of their client, so all callers without credentials share one quota and one count of failed attempts. Give `addressOf`, as toFetch(app, { addressOf: (_, { incoming }) => incoming.socket.remoteAddress }).',
      )
    }
    const leave = enter()
    try {
      return await answer(request, address, leave)
    } catch (error) {
      leave()
      throw error
    }
  }
}
