/** Embedding: the public functions that put a service into another program. Part 1. */
export type { Caller } from '../flow/caller.ts'
export { type App, type AppOptions, type AuthenticateOptions, openApp } from './app.ts'
export { RefusedRequest } from './refused-request.ts'
export { type FastifyPlugin, toFastify } from './to-fastify.ts'
export { type FetchOptions, toFetch } from './to-fetch.ts'
export { type HonoMiddleware, type HonoOptions, toHono } from './to-hono.ts'
export { type NodeHandler, toNode } from './to-node.ts'
