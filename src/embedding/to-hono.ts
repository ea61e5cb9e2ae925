/** To Hono: an open service as a middleware. Part 1. */
import { targetBelow } from '../corridor/versioned-path.ts'
import { type App, openedApp } from './app.ts'
import { toFetch } from './to-fetch.ts'

/** The part of Hono's context that is used; Hono is no dependency of this package. */
interface HonoContext {
  readonly req: { readonly raw: Request; readonly url: string }
  /** What the server gives; `@hono/node-server` gives `incoming`. */
  readonly env: unknown
}

/** A middleware that `hono.use` takes. */
export type HonoMiddleware = (context: HonoContext, next: () => Promise<void>) => Promise<Response | undefined>

/** How `toHono` finds the address of a client. */
export interface HonoOptions {
  /** The client's address: `addressOf: ({ env }) => env.remoteAddress`. */
  readonly addressOf?: (context: HonoContext) => string | undefined
}

/**
 * Makes the middleware of Hono. It answers requests below the base path of the service; all others go on to the routes of
 * Hono. On `@hono/node-server` it finds the client's address itself; on other servers it needs `addressOf`.
 * @example hono.use(toHono(app))
 */
export function toHono(app: App, { addressOf = nodeAddress }: HonoOptions = {}): HonoMiddleware {
  const { service } = openedApp(app).context
  const answer = toFetch(app, { addressOf: (_, context: HonoContext) => addressOf(context) })
  return async (context, next) => {
    const { pathname } = new URL(context.req.url)
    if (targetBelow(pathname, service) !== null) return answer(context.req.raw, context)
    await next()
    return undefined
  }
}

function nodeAddress({ env }: HonoContext): string | undefined {
  const { incoming } = (env ?? {}) as { readonly incoming?: { readonly socket?: { readonly remoteAddress?: string } } }
  return incoming?.socket?.remoteAddress
}
