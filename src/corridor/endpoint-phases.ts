/** Endpoint phases: find the endpoint and the route of a call; answer OPTIONS and redirect. Part 4, path rules and methods. */
import { refuseCredentialsInOptions } from '../auth/credentials.ts'
import { Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'
import type { Endpoint, Route, ServedVersion } from '../flow/route.ts'
import { locate, type RouteMatch } from '../routing/locate.ts'
import { endpointWithoutRoutes, methodNotAllowed, optionsReply } from '../routing/options.ts'
import type { Service } from '../service.ts'
import type { Settings } from '../settings.ts'
import { admitNoContent } from './payload.ts'
import { check, phase, type RequestParts, type RequestState, type VersionedPath } from './phase.ts'

export const pathPhase = phase({
  name: 'path',
  needs: ['versioned'],
  gives: 'match',
  pass: (state) => {
    const match = findEndpoint(state.call, state.versioned, state.context.service)
    if (!('status' in match)) return match
    state.reply = match
    return null
  },
})

/** Answers OPTIONS at an endpoint; all later phases have a route. */
export const optionsPhase = check({
  name: 'options',
  needs: ['match'],
  pass: (state) => (state.call.method === 'OPTIONS' ? answerOptions(state) : null),
  refuses: ({ route, service }) => {
    if (route !== null) return []
    return ['credentials-in-url', ...(service.settings.body.onBodyless === 'reject' ? ['unexpected-body'] : [])]
  },
})

async function answerOptions(state: RequestState & Pick<RequestParts, 'match'>): Promise<void> {
  const { settings } = state.context.service
  refuseCredentialsInOptions(state.call, settings.auth)
  await admitNoContent(state.call, settings)
  state.noticed = state.match.endpoint
  state.reply = optionsReply(state.match.endpoint)
}

export const methodPhase = phase({
  name: 'method',
  needs: ['versioned', 'match'],
  gives: 'route',
  pass: (state) => {
    const { call, match, versioned, context } = state
    const route = findRoute(call, match.endpoint, versioned.version, context.service.settings)
    state.noticed = route
    return route
  },
})

/** The endpoint of a target, or the redirect to it. */
export function findEndpoint(
  { target }: Call,
  { version, path }: VersionedPath,
  { settings }: Service,
): RouteMatch | Reply {
  const { tree, methods } = version
  if (!target.startsWith('/')) return { endpoint: endpointWithoutRoutes('*', methods), params: [] } // R11: the service itself
  const match = locate(tree, path)
  if (match) return match
  if (path.length > 1 && path.endsWith('/') && settings.path.trailingSlash !== 'reject') {
    const withoutSlash = locate(tree, path.slice(0, -1)) // R7
    if (withoutSlash && settings.path.trailingSlash === 'ignore') return withoutSlash
    const end = target.indexOf('?')
    const short = end < 0 ? target.slice(0, -1) : target.slice(0, end - 1) + target.slice(end)
    const Location = settings.server.basePath + short
    if (withoutSlash) return { status: 308, headers: { Location, 'Cache-Control': 'no-store' }, body: '' }
  }
  throw new Problem('route-not-found', 'There is no such path. Check the spelling, and that it has no trailing slash.')
}

export function findRoute({ method }: Call, endpoint: Endpoint, { methods }: ServedVersion, settings: Settings): Route {
  const route = endpoint.methods.get(method)
  if (route) return route
  if (settings.methods.unknown === 405 || methods.split(', ').includes(method)) throw methodNotAllowed(method, endpoint)
  throw new Problem('not-implemented', `${method} is not a method of this service.`) // R13
}
