/** Response headers: the meaning of each header, and the answers that have it. Part 13; parts 5, 7, 8 and 9. */

import type { ComponentRef, Components, DocumentPart } from '../bodies/components.ts'
import type { Route, ServedVersion } from '../flow/route.ts'
import type { Service } from '../service.ts'
import type { StatusRefusal } from './refusals.ts'

const textHeader = (description: string): DocumentPart => ({ description, schema: { type: 'string' } })
const patternHeader = (description: string, pattern: string): DocumentPart => ({
  description,
  schema: { type: 'string', pattern },
})
const countHeader = (description: string): DocumentPart => ({ description, schema: { type: 'integer', minimum: 0 } })
const methodPattern = '(?:GET|HEAD|OPTIONS|QUERY|POST|PUT|PATCH|DELETE)'

/** All headers that answers may have, except those that every answer has, which the introduction describes. */
const headerParts: Readonly<Record<string, DocumentPart>> = {
  Accept: textHeader('The media types that are taken here.'),
  'Accept-Encoding': textHeader('The content codings that are taken here.'),
  'Accept-Patch': textHeader('The media types that PATCH takes here.'),
  'Accept-Query': textHeader('The media type that QUERY takes here.'),
  'Accept-Ranges': textHeader('Ranges of bytes can be read.'),
  'Access-Control-Allow-Headers': textHeader('What pages of other origins may send.'),
  'Access-Control-Allow-Methods': textHeader('What pages of other origins may ask.'),
  'Access-Control-Allow-Origin': textHeader('The origin whose pages may read the answer.'),
  'Access-Control-Expose-Headers': textHeader('What pages of other origins may read.'),
  'Access-Control-Max-Age': countHeader('For how many seconds a page need not ask again.'),
  Allow: patternHeader('The methods that are offered here.', `^${methodPattern}(?:, ${methodPattern})*$`),
  'Cache-Group-Invalidation': textHeader('The group of answers that are old from now on.'),
  'Cache-Groups': textHeader('The group of answers that it belongs to.'),
  'Content-Disposition': textHeader('The name of the file, and whether browsers may show it themselves.'),
  'Content-Range': textHeader('The range of bytes that is answered, and how many there are in all.'),
  'Content-Security-Policy': textHeader('Lets browsers run and load nothing.'),
  'Content-Location': {
    description: 'Where the item that is answered stands.',
    schema: { type: 'string', format: 'uri-reference' },
  },
  Deprecation: patternHeader(
    'The version or the operation is to be left: true, or since when.',
    '^(?:true|@-?[0-9]+)$',
  ),
  ETag: patternHeader('The tag of what is answered, for If-Match and If-None-Match.', '^(?:W/)?"[^"]*"$'),
  'Idempotency-Replayed': {
    description: 'The answer is that of the first request with this key.',
    schema: { type: 'string', const: 'true' },
  },
  'Last-Modified': textHeader('When it was changed last; left out for some seconds behind a change.'),
  Link: patternHeader('Where to go from here: pages of a list, what was made before, notices of a version.', '^<'),
  Location: {
    description: 'Where the new item stands.',
    required: true,
    schema: { type: 'string', format: 'uri-reference' },
  },
  'Preference-Applied': patternHeader(
    'What Prefer asked for and was given.',
    '^(return=minimal|respond-async|wait=[0-9]+)$',
  ),
  RateLimit: textHeader('What is left of each quota, and in how many seconds it begins anew.'),
  'RateLimit-Policy': textHeader('The quotas of the caller, with their windows in seconds.'),
  'Retry-After': { description: 'In how many seconds to ask again.', schema: { type: 'integer', minimum: 0 } },
  'Server-Timing': textHeader('How long the service took, in milliseconds.'),
  Sunset: textHeader('When it is planned to end.'),
  'WWW-Authenticate': textHeader('How to say who calls.'),
  'X-RateLimit-Limit': countHeader('The quota with the least left.'),
  'X-RateLimit-Remaining': countHeader('What is left of it.'),
  'X-RateLimit-Reset': countHeader('In how many seconds it begins anew.'),
}

/** The member `headers` of an answer, with those that every answer of the version has; no member if there are none. */
export type HeaderRefs = (names: readonly string[]) => { readonly headers?: Readonly<Record<string, ComponentRef>> }

export function headerRefs(service: Service, version: ServedVersion, components: Components): HeaderRefs {
  const own = commonHeaders(service, version)
  const refs = new Map<string, ComponentRef>()
  const header = (name: string): ComponentRef => {
    const ref = refs.get(name) ?? components.put('headers', [name], headerParts[name] as DocumentPart)
    refs.set(name, ref)
    return ref
  }
  return (names) => {
    const all = [...new Set([...own, ...names])].toSorted()
    return all.length === 0 ? {} : { headers: Object.fromEntries(all.map((name) => [name, header(name)])) }
  }
}

/** The headers that every answer may have by the settings and the versions. */
function commonHeaders({ settings, quotas, going, notices }: Service, { label, endpoints }: ServedVersion): string[] {
  const routes = endpoints.flatMap((endpoint) => [endpoint, ...endpoint.methods.values()])
  const allNotices = [notices.get(label), ...routes.map((one) => going.get(one))].flatMap((one) => one ?? [])
  const rates = {
    'draft-11': ['RateLimit', 'RateLimit-Policy'],
    'x-ratelimit': ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'],
    none: [],
  }
  const goes = allNotices.some(({ deprecation, sunset }) => deprecation !== null || sunset !== null)
  return [
    ...(settings.serverTiming ? ['Server-Timing'] : []),
    ...(quotas === null ? [] : rates[quotas.headers]),
    ...(allNotices.some(({ deprecation }) => deprecation !== null) ? ['Deprecation'] : []),
    ...(allNotices.some(({ sunset }) => sunset !== null) ? ['Sunset'] : []),
    ...(goes ? ['Link'] : []),
    ...(settings.cors.origins.length > 0 ? ['Access-Control-Allow-Origin', 'Access-Control-Expose-Headers'] : []),
  ]
}

/** The headers of a refusal, by its status. */
export function refusalHeaders({ status, types }: StatusRefusal, route: Route): readonly string[] {
  const accepted = ['Accept', ...(route.method === 'PATCH' ? ['Accept-Patch'] : [])]
  const queried = route.method === 'QUERY' ? ['Accept', 'Accept-Query'] : []
  switch (status) {
    case 400:
      return ['Link', ...queried]
    case 401:
    case 403:
      return ['WWW-Authenticate']
    case 405:
      return ['Allow']
    case 409:
      return ['Link', 'Retry-After']
    case 410:
      return ['Link']
    case 412:
      return ['ETag']
    case 415:
      return [...accepted, ...queried, 'Accept-Encoding']
    case 416:
      return ['Content-Range']
    case 429:
    case 503:
      return ['Retry-After']
    case 500:
      return isList(route) && types.includes('version-conversion-failed') ? ['Link'] : []
    default:
      return []
  }
}

/** A list of items or of revisions. */
const isList = ({ offer, about }: Route): boolean =>
  offer !== undefined || about.answers.some(({ body }) => body === 'revisions')
