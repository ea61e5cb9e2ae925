/** Says what can be done at a URL: OPTIONS, and Allow where something else was tried. Part 4, methods. */
import { Problem } from '../errors/problem.ts'
import type { Reply } from '../flow/reply.ts'
import type { Place, Route } from '../flow/route.ts'
import { patchTypes } from './change.ts'
import { queryType } from './list.ts'

const order = ['GET', 'HEAD', 'OPTIONS', 'QUERY', 'POST', 'PUT', 'PATCH', 'DELETE']

/** A place from its routes by method. */
export function placeOf(template: string, routes: Readonly<Record<string, Route>>): Place {
  const methods = new Map(Object.entries(routes))
  const get = methods.get('GET')
  if (get) methods.set('HEAD', get)
  const allow = order.filter((method) => methods.has(method) || method === 'OPTIONS').join(', ')
  const options = {
    Allow: allow,
    ...(methods.has('PATCH') ? { 'Accept-Patch': patchTypes.join(', ') } : {}),
    ...(methods.has('QUERY') ? { 'Accept-Query': queryType } : {}),
  }
  return { template, methods, allow, options }
}

/** A place without routes, that only says what is offered. */
export const bare = (template: string, allow: string): Place => ({
  template,
  methods: new Map(),
  allow,
  options: { Allow: allow },
})

export const optionsReply = ({ options }: Place): Reply => ({ status: 204, headers: { ...options }, body: null })

/** The methods of all places together, for `OPTIONS *` and for methods that no place knows. R13. */
export const allMethods = (places: readonly Place[]): string =>
  order.filter((method) => method === 'OPTIONS' || places.some(({ methods }) => methods.has(method))).join(', ')

export function notAllowed(method: string, { allow }: Place): Problem {
  return new Problem('method-not-allowed', `${method} is not offered here. Offered: ${allow}.`, {
    headers: { Allow: allow },
  })
}
