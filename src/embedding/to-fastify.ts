/** To Fastify: an open service as a plugin. Part 1. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type App, openedApp } from './app.ts'
import { toNode } from './to-node.ts'

/** What the plugin uses of a request and of its reply. */
interface FastifyExchange {
  readonly request: { readonly raw: IncomingMessage }
  readonly reply: { readonly raw: ServerResponse; readonly hijack: () => unknown }
}

/** What the plugin uses of Fastify, which is no dependency of this package. */
interface FastifyHooks {
  addHook(
    name: 'onRequest',
    hook: (request: FastifyExchange['request'], reply: FastifyExchange['reply'], done: () => void) => void,
  ): unknown
  addHook(name: 'preClose' | 'onClose', hook: () => Promise<void>): unknown
}

/** A plugin that `fastify.register` takes. */
export type FastifyPlugin = (fastify: FastifyHooks) => Promise<void>

/**
 * Makes the plugin of Fastify. It answers requests below the base path of the service; all others go on to the routes of
 * Fastify. When Fastify closes, it closes the app.
 * @example await fastify.register(toFastify(app))
 */
export function toFastify(app: App): FastifyPlugin {
  const { endStreams, close } = openedApp(app)
  const answer = toNode(app)
  const plugin = async (fastify: FastifyHooks): Promise<void> => {
    fastify.addHook('onRequest', ({ raw: request }, reply, done) => {
      let isAnswered = true
      answer(request, reply.raw, () => {
        isAnswered = false
      })
      if (isAnswered) reply.hijack()
      else done()
    })
    fastify.addHook('preClose', endStreams)
    fastify.addHook('onClose', () => close())
  }
  // Otherwise Fastify would run the hooks for routes of this plugin only.
  return Object.assign(plugin, { [Symbol.for('skip-override')]: true })
}
