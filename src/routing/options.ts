/** Options: the methods of a URL, for OPTIONS and for refusals with Allow. Part 4, methods. */
import { Problem } from '../errors/problem.ts'
import type { Reply } from '../flow/reply.ts'
import type { Endpoint, Route } from '../flow/route.ts'

const methodOrder = ['GET', 'HEAD', 'OPTIONS', 'QUERY', 'POST', 'PUT', 'PATCH', 'DELETE']

/** An endpoint with its routes. */
export function endpointOf(template: string, routes: readonly Route[]): Endpoint {
  const methods = new Map(routes.map((route) => [route.method, route]))
  const get = methods.get('GET')
  if (get) methods.set('HEAD', get)
  const allow = methodOrder.filter((method) => methods.has(method) || method === 'OPTIONS').join(', ')
  const options = {
    Allow: allow,
    ...acceptHeader('Accept-Patch', methods.get('PATCH')),
    ...acceptHeader('Accept-Query', methods.get('QUERY')),
  }
  return { template, methods, allow, options }
}

const acceptHeader = (name: string, route: Route | undefined): Record<string, string> =>
  route ? { [name]: route.content.join(', ') } : {}

/** An endpoint without routes, only to answer OPTIONS and to refuse methods. */
export const endpointWithoutRoutes = (template: string, allow: string): Endpoint => ({
  template,
  methods: new Map(),
  allow,
  options: { Allow: allow },
})

export const optionsReply = ({ options }: Endpoint): Reply => ({ status: 204, headers: { ...options }, body: null })

/** The methods of all endpoints together, for `OPTIONS *` and for unknown methods. R13. */
export const allMethods = (places: readonly Endpoint[]): string =>
  methodOrder.filter((method) => method === 'OPTIONS' || places.some(({ methods }) => methods.has(method))).join(', ')

/** The refusal of a method. `offered` are the methods of the request's own URL for `Allow`; an operation of a batch has another path. */
export function methodNotAllowed(method: string, { allow }: Endpoint, offered = allow): Problem {
  return new Problem('method-not-allowed', `${method} is not offered here. Offered: ${allow}.`, {
    headers: { Allow: offered },
  })
}
