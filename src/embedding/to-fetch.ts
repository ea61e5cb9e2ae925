/** To fetch: an open service as a function from Request to Response. Part 1. */
import { fetchDoor } from '../http/fetch.ts'
import { type App, openedApp } from './app.ts'

/** Answers a Request. `from` is where it came from; other arguments of a host are ignored. */
export type FetchHandler = (request: Request, from?: { readonly address?: string | undefined }) => Promise<Response>

/**
 * Makes the function that answers a Request, as Hono, Remix and other programs call it. Give it the client's address if you
 * can: without one, all callers without credentials share one quota and one count of failed attempts.
 * @example const response = await toFetch(app)(request, { address: socket.remoteAddress })
 */
export function toFetch(app: App): FetchHandler {
  const { context, enter } = openedApp(app)
  const answer = fetchDoor(context, { logs: true })
  let isKnown = true
  return async (request, from) => {
    const address = typeof from?.address === 'string' ? from.address : ''
    if (address === '' && isKnown) {
      isKnown = false
      context.log.warn(
        {},
        'Requests come without the address of their client, so all callers without credentials share one quota and one count of failed attempts. Give it: toFetch(app)(request, { address }).',
      )
    }
    const leave = enter()
    try {
      return await answer(request, address)
    } finally {
      leave()
    }
  }
}
