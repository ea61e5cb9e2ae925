/** Checks every answer that a test gets against the OpenAPI document of its version. Part 13. */
import assert from 'node:assert/strict'
import { standardCorridor } from '../../src/corridor/handle.ts'
import { openapiDocument } from '../../src/describe/openapi.ts'
import type { Misfits } from '../../src/fields/bounds.ts'
import type { Service } from '../../src/service.ts'
import { type Exchange, type Judge, judgeOf } from './described.ts'
import type { Answer, Sent } from './door.ts'

type Send = (method: string, path: string, sent?: Sent) => Promise<Answer>

/** Exchanges that no document describes, and why. */
const outside: readonly [why: string, is: (exchange: Exchange) => boolean][] = [
  ['health is no part of the interface, R197', ({ target }) => /^\/(?:healthz|readyz)(?:\?|$)/.test(target)],
  [
    'descriptions, and what leads to them, do not describe themselves',
    ({ target }) => /^\/(?:(?:openapi|\.well-known|docs|problems)\b|-\/|\?|$)/.test(target),
  ],
  ['pages for people are not described', ({ headers }) => /^text\/html/.test(headers['content-type'] ?? '')],
  ['a path with a slash too many is sent to the one without, R7', ({ status }) => status === 308],
  ['OPTIONS * is about the whole service', ({ target }) => target === '*'],
  [
    'a version that is not there has no description',
    ({ status, text }) => status === 404 && /unknown-version/.test(text),
  ],
]

/** A target without its parts that have no effect: a trailing slash, ignored parameters, and the version, R188. */
function plain({ settings }: Service, target: string): string {
  const { path, query } = settings
  const [own = '', given = ''] = target.split('?', 2)
  const short = path.trailingSlash === 'ignore' ? own.replace(/(?<=.)\/$/, '') : own
  const idle = (name: string) => query.unknown === 'ignore' || name === 'version' || query.ignored.includes(name)
  const kept = [...new URLSearchParams(given)].filter(([name]) => !idle(name))
  return kept.length === 0 ? short : `${short}?${new URLSearchParams(kept)}`
}

const judges = new WeakMap<Service, Map<string, Judge>>()

/** The check of a version, made for its first answer. Only OpenAPI 3.2 can describe QUERY. */
function judgeFor(service: Service, label: string, method: string, misfits: Misfits): Judge {
  const own = judges.get(service) ?? new Map<string, Judge>()
  judges.set(service, own)
  const newer = method === 'QUERY' && service.settings.methods.query
  const name = `${label}${newer ? ' 3.2' : ''} ${JSON.stringify(misfits)}`
  const made =
    own.get(name) ??
    judgeOf(openapiDocument(service, label, standardCorridor, { misfits, ...(newer && { openapi: '3.2' as const }) }))
  own.set(name, made)
  return made
}

/** Differences between an exchange and the document of its version; `misfits` are stored rows that do not fit. */
export function undescribed(service: Service, exchange: Exchange, misfits: Misfits = {}): string[] {
  const { basePath } = service.settings.server
  const below = exchange.target.startsWith(basePath)
    ? exchange.target.slice(basePath.length).replace(/^(?!\/|\*)/, '/')
    : null
  if (below === null || outside.some(([, is]) => is({ ...exchange, target: below }))) return []
  const { headers, method, target } = exchange
  const label = headers.version ?? (service.choice.served.at(-1) as string) // a refusal before a version is chosen has none
  return judgeFor(service, label, method, misfits)({ ...exchange, target: plain(service, target) })
}

interface SendOptions {
  /** Whether the test replaced the store: then any error is possible. */
  readonly replaced: boolean
  /** Whether the client resolves dots in paths before it sends them, as fetch does. */
  readonly resolves: boolean
}

/** The content of the request, if it is JSON without a content coding. */
function contentOf({ json, body, headers = {} }: Sent = {}): Pick<Exchange, 'sent'> {
  const named = Object.entries(headers).map(([name, value]): [string, string] => [name.toLowerCase(), value])
  const { 'content-type': kind = 'application/json', 'content-encoding': coding } = Object.fromEntries(named)
  const text = json === undefined ? body : JSON.stringify(json)
  if (typeof text !== 'string' || text === '' || coding !== undefined || !/[/+]json/i.test(kind)) return {}
  return { sent: { kind: (kind.split(';', 1)[0] as string).trim().toLowerCase(), value: parsed(text) } }
}

/** A `send` that fails if an answer differs from the document. */
export function checkedSend(send: Send, service: Service, { replaced, resolves }: SendOptions): Send {
  return async (method, path, sent) => {
    const answer = await send(method, path, sent)
    const { status, headers, text } = answer
    if (sent?.mismatch !== undefined || (replaced && status >= 400)) return answer
    const form = method === 'QUERY' && typeof sent?.body === 'string' ? `?${sent.body}` : ''
    const target =
      form !== '' && !path.includes('?')
        ? path + form
        : resolves
          ? path.replace(/^[^?]*/, (own) => new URL(`http://localhost${own}`).pathname)
          : path
    const complaints = undescribed(service, { method, target, status, headers, text, ...contentOf(sent) })
    const says = `${method} ${path} was answered ${status}, and the description says otherwise:`
    assert.ok(complaints.length === 0, `${says}\n${complaints.join('\n')}\n${text.slice(0, 500)}`)
    return answer
  }
}

/** The parsed text; null if it is not JSON, as the service refuses it. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
