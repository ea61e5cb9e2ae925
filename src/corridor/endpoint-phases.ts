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
import { check, type Parts, phase, type VersionedPath, type Way } from './phase.ts'

export const pathPhase = phase({
  name: 'path',
  needs: ['versioned'],
  gives: 'match',
  pass: (way) => {
    const match = findEndpoint(way.call, way.versioned, way.context.service)
    if (!('status' in match)) return match
    way.reply = match
    return null
  },
})

/** Answers OPTIONS at an endpoint; all later phases have a route. */
export const optionsPhase = check({
  name: 'options',
  needs: ['match'],
  pass: (way) => (way.call.method === 'OPTIONS' ? answerOptions(way) : null),
  refuses: ({ route, service }) => {
    if (route !== null) return []
    return ['credentials-in-url', ...(service.settings.body.onBodyless === 'reject' ? ['unexpected-body'] : [])]
  },
})

async function answerOptions(way: Way & Pick<Parts, 'match'>): Promise<void> {
  const { settings } = way.context.service
  refuseCredentialsInOptions(way.call, settings.auth)
  await admitNoContent(way.call, settings)
  way.noticed = way.match.endpoint
  way.reply = optionsReply(way.match.endpoint)
}

export const methodPhase = phase({
  name: 'method',
  needs: ['versioned', 'match'],
  gives: 'route',
  pass: (way) => {
    const { call, match, versioned, context } = way
    const route = findRoute(call, match.endpoint, versioned.version, context.service.settings)
    way.noticed = route
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
    const found = locate(tree, path.slice(0, -1)) // R7
    if (found && settings.path.trailingSlash === 'ignore') return found
    const end = target.indexOf('?')
    const short = end < 0 ? target.slice(0, -1) : target.slice(0, end - 1) + target.slice(end)
    const Location = settings.server.basePath + short
    if (found) return { status: 308, headers: { Location, 'Cache-Control': 'no-store' }, body: '' }
  }
  throw new Problem('route-not-found', 'There is no such path. Check the spelling, and that it has no trailing slash.')
}

export function findRoute({ method }: Call, place: Endpoint, { methods }: ServedVersion, settings: Settings): Route {
  const route = place.methods.get(method)
  if (route) return route
  if (settings.methods.unknown === 405 || methods.split(', ').includes(method)) throw methodNotAllowed(method, place)
  throw new Problem('not-implemented', `${method} is not a method of this service.`) // R13
}
