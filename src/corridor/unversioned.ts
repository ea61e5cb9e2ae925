/** Unversioned paths: /healthz and /readyz, and documents about the service. Part 1; part 13. */
import { hash } from 'node:crypto'
import { refuseCredentialsInOptions, refuseCredentialsInTarget } from '../auth/credentials.ts'
import { prefersHtml } from '../endpoints/content-negotiation.ts'
import { Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import { Remembered } from '../flow/remembered.ts'
import type { Reply } from '../flow/reply.ts'
import type { ServedVersion } from '../flow/route.ts'
import { listInWords } from '../formats/naming.ts'
import { endpointWithoutRoutes, methodNotAllowed, optionsReply } from '../routing/options.ts'
import type { Service } from '../service.ts'
import { openVersions } from '../versions/version-choice.ts'
import { onceSendable } from './admission.ts'
import { applyPreconditions } from './cached-answer.ts'
import { encodeReply, replyCoding } from './coding.ts'
import type { Corridor } from './corridor-phase.ts'
import { admitCaller } from './identify-caller.ts'
import { check } from './phase.ts'
import { addVary, varyByCaller } from './reply-headers.ts'
import type { ServerContext } from './server-context.ts'

/** /healthz and /readyz are answered even while the service is overloaded. */
export const healthPhase = check({
  name: 'health',
  pass: (state) => {
    const reply = healthReply(state.call, state.context)
    return reply?.then((own) => {
      state.reply = own
    })
  },
})

export const documentPhase = check({
  name: 'documents',
  pass: (state) => {
    const reply = documentReply(state.call, state.context, state.corridor)
    return reply?.then(async (own) => {
      state.reply = await onceSendable(state.call, own, state.admission)
    })
  },
})

const unversionedEndpoint = endpointWithoutRoutes('/healthz', 'GET, HEAD, OPTIONS')

/** The answer of /healthz and /readyz, outside the versioned interface; null for all other paths. R186, R197. */
function healthReply(call: Call, context: ServerContext): Promise<Reply> | null {
  const { target } = call
  if (target.charCodeAt(target.length - 1) !== 0x7a && !target.includes('z?')) return null // both end in z
  const path = target.split('?', 1)[0]
  return path === '/healthz' || path === '/readyz' ? answerHealth(call, context, path === '/readyz') : null
}

async function answerHealth(call: Call, { service, store, open }: ServerContext, ready: boolean): Promise<Reply> {
  const options = optionsReplyFor(call, service)
  if (options) return options
  refuseCredentialsInTarget(call.target, service.settings.auth)
  if (ready && !open()) throw new Problem('unavailable', 'The service is stopping.')
  const reason = ready ? await store.ready() : null
  if (reason !== null) throw new Problem('dependency-unavailable', 'The store does not answer.', { cause: reason })
  return documentReplyOf(ready ? '{"status":"ready"}' : '{"status":"alive"}', 'no-store')
}

/** A document about the service, outside the versioned interface; null for all other paths. R171, R197, R214. */
function documentReply(call: Call, context: ServerContext, corridor: Corridor): Promise<Reply> | null {
  const { target } = call
  const second = target.charCodeAt(1)
  const { pages, settings } = context.service
  const placed = settings.server.basePath + target
  const apart =
    target.length === 1 ||
    second === 0x2e || // `.`
    second === 0x3f || // `?`
    target.startsWith('/openapi') ||
    placed.startsWith(pages.docs) ||
    placed.startsWith(pages.problems)
  if (!apart) return null
  const path = target.split('?', 1)[0] as string
  const described = descriptionPath.exec(path)
  if (described) return descriptionReply(call, described[1] ?? null, context, corridor)
  const page = pageAt(path, context.service) ?? (path === '/' && prefersHtml(call) ? newestReference : null)
  if (page) return pageReply(call, page, context, corridor)
  const text = context.service.documents.get(path)
  if (text !== undefined) return serveDocument(call, { name: path, text }, context)
  return pointerPaths.includes(path) ? pointerReply(call, path, context) : null
}

const descriptionPath = /^\/openapi(?:\/(v\d+))?\.json$/
const pointerPaths = ['/', '/.well-known/api-catalog']

/** A page in HTML: the reference of a version (null for the newest), or the page of an error type (null for their list). */
type PagePlace = { readonly reference: string | null } | { readonly problem: string | null }

const newestReference: PagePlace = { reference: null }

/** The page at a path below the base path; null if there is none. */
function pageAt(below: string, { pages: { docs, problems }, settings }: Service): PagePlace | null {
  const path = settings.server.basePath + below
  if (path === docs) return newestReference
  if (path === problems) return { problem: null }
  const [above, last = ''] = [path.slice(0, path.lastIndexOf('/')), path.slice(path.lastIndexOf('/') + 1)]
  if (above === docs && /^v\d+$/.test(last)) return { reference: last }
  return above === problems && /^[a-z][a-z0-9-]*$/.test(last) ? { problem: last } : null
}

/** For `explain`: who may read an unversioned path; null if the path belongs to the resources. */
export function unversionedRule(target: string, service: Service): 'public' | 'authenticated' | null {
  const { documents, settings } = service
  const path = target.split('?', 1)[0] as string
  if (descriptionPath.test(path) || pageAt(path, service)) return settings.openapi.public ? 'public' : 'authenticated'
  return ['/healthz', '/readyz', ...pointerPaths].includes(path) || documents.has(path) ? 'public' : null
}

/** Answers the root and the API catalog, which link to the descriptions. R214. */
async function pointerReply(call: Call, path: string, context: ServerContext): Promise<Reply> {
  const { catalogText, rootLinks, rootText } = await import('../describe/catalog.ts')
  const { service, world } = context
  const open = openVersions(service.choice, world.due())
  const [name, text] = path === '/' ? [path, rootText(service)] : [`${path} ${open}`, catalogText(service, open)]
  const reply = await serveDocument(call, { name, text }, context)
  if (call.method === 'OPTIONS') return reply
  reply.headers.Link = rootLinks(service)
  if (path === '/') addVary(reply.headers, ['Accept'])
  if (path !== '/' && reply.status === 200)
    reply.headers['Content-Type'] = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'
  return reply
}

/** The description of a version, by default the newest. If it is private, anonymous callers learn nothing of versions. R214, R218. */
async function descriptionReply(
  call: Call,
  label: string | null,
  context: ServerContext,
  corridor: Corridor,
): Promise<Reply> {
  const closed = await admitReader(call, context)
  return serveDocument(call, { ...descriptionOf(label, context, corridor), closed }, context)
}

/** Identifies the readers of descriptions, unless these are public; returns whether they are not. */
async function admitReader(call: Call, context: ServerContext): Promise<boolean> {
  const closed = !context.service.settings.openapi.public
  if (closed && call.method !== 'OPTIONS') await admitCaller(call, 'authenticated', context)
  return closed
}

function descriptionOf(label: string | null, context: ServerContext, corridor: Corridor) {
  const { service, world, store } = context
  const named = describedVersion(service, label, world.due())
  const name = `${named} ${JSON.stringify([store.misfits ?? {}, unfilledFields(context)])}`
  return { named, name, text: () => descriptionText(context, named, corridor) }
}

/** A page, made from the description of its version. It is cached under its place and all that it depends on. */
async function pageReply(call: Call, place: PagePlace, context: ServerContext, corridor: Corridor): Promise<Reply> {
  const closed = await admitReader(call, context)
  const { service, world } = context
  const { editions, choice } = service
  const open = openVersions(choice, world.due())
  const described = descriptionOf('reference' in place ? place.reference : null, context, corridor)
  const types = new Map(open.flatMap((label) => [...(editions.get(label) as ServedVersion).errors]))
  if ('problem' in place && place.problem !== null && !types.has(place.problem))
    throw new Problem('route-not-found', `There is no error type of this name. All: ${service.pages.problems}`)
  const text = async () => {
    const document = JSON.parse((await cachedDocument(context, described.name, described.text)).text)
    if ('problem' in place)
      return (await import('../pages/problem-page.ts')).problemPage(service, types, document, place.problem)
    return (await import('../pages/reference-page.ts')).referencePage(service, document, {
      label: described.named,
      open,
    })
  }
  const name = `${JSON.stringify(place)} ${open} ${described.name}`
  const reply = await serveDocument(call, { name, text, closed, type: 'text/html; charset=utf-8' }, context)
  if (call.method === 'OPTIONS') return reply
  if (call.target.split('?', 1)[0] === '/') {
    addVary(reply.headers, ['Accept'])
    reply.headers.Link = (await import('../describe/catalog.ts')).rootLinks(service)
  }
  return { ...reply, headers: { ...reply.headers, ...(await import('../pages/page-frame.ts')).pageHeaders } }
}

function describedVersion({ choice }: Service, label: string | null, now: number): string {
  const served = openVersions(choice, now)
  const named = label ?? served.at(-1)
  if (named !== undefined && served.includes(named)) return named
  const mend = `Described: ${listInWords(served, 'and') || 'none'}.`
  if (label !== null && !choice.ended.has(label))
    throw new Problem('unknown-version', `There is no version of this name. ${mend}`)
  throw new Problem(
    'version-retired',
    `${label ?? 'No version'} is ${label === null ? '' : 'not '}served any more. ${mend}`,
  )
}

/** The derived fields that are null until a change of the database is finished, by collection. */
const unfilledFields = ({ service, world }: ServerContext): readonly (readonly [string, readonly string[]])[] =>
  [...service.resources.keys()].flatMap((name) => {
    const { derived } = world.waiting(name) ?? {}
    return derived?.size ? [[name, [...derived]] as const] : []
  })

/** Made at the first request, which also loads the code for it. */
async function descriptionText(context: ServerContext, label: string, corridor: Corridor): Promise<string> {
  const { service, numbers, store } = context
  const [{ openapiText }, versionNumbers] = await Promise.all([import('../describe/openapi.ts'), numbers?.()])
  const version = versionNumbers?.get(label)
  const { misfits = {} } = store
  const stored = { misfits, unfilled: unfilledFields(context) }
  return openapiText(service, label, corridor, version === undefined ? stored : { version, ...stored })
}

/** A cached document: its text, its tag, and its body in each coding that was sent. */
interface CachedDocument {
  readonly text: string
  readonly tag: string
  readonly encoded: Map<string, Buffer>
}

/** Cached by name, which includes everything that the text depends on. The size is in characters. */
const makeDocumentCache = (caches: boolean) => new Remembered<Promise<CachedDocument>, null>(caches ? 16_777_216 : 0)

function cachedDocument(
  context: ServerContext,
  name: string,
  text: () => Promise<string> | string,
): Promise<CachedDocument> {
  const own = context.world.state.of(makeDocumentCache, context.store.caches)
  const before = own.get(name, null)
  if (before) return before
  const pending = (async () => {
    const content = await text()
    return { text: content, tag: `"${hash('sha1', content, 'base64url').slice(0, 22)}"`, encoded: new Map() }
  })()
  own.put(name, null, pending, 1)
  pending.then(
    ({ text }) => own.put(name, null, pending, 2 * text.length), // its compressed bodies are kept with it
    () => own.delete(name), // so that the next request tries again
  )
  return pending
}

interface DocumentSource {
  readonly name: string
  readonly text: string | (() => Promise<string>)
  /** Whether it is only for authenticated callers. */
  readonly closed?: boolean
  /** The media type, by default that of JSON. */
  readonly type?: string
}

async function serveDocument(
  call: Call,
  { name, text, closed = false, type = 'application/json' }: DocumentSource,
  context: ServerContext,
): Promise<Reply> {
  const options = optionsReplyFor(call, context.service)
  if (options) return options
  const { settings } = context.service
  refuseCredentialsInTarget(call.target, settings.auth)
  const own = await cachedDocument(context, name, typeof text === 'string' ? () => text : text)
  const reply = documentReplyOf(own.text, closed ? 'private, no-cache' : 'no-cache', type)
  reply.headers.ETag = own.tag
  reply.headers.Vary = closed ? varyByCaller(settings.auth) : 'Accept-Encoding'
  const coding = replyCoding(call, reply, settings)
  const checked = applyPreconditions(call, reply, coding, context.world)
  return coding !== null && checked === reply
    ? encodeReply(call, reply, coding, { kept: own.encoded, thoroughly: true })
    : checked
}

function optionsReplyFor(call: Call, { settings }: Service): Reply | null {
  const { method } = call
  if (method === 'OPTIONS') {
    refuseCredentialsInOptions(call, settings.auth)
    return optionsReply(unversionedEndpoint)
  }
  if (method !== 'GET' && method !== 'HEAD') throw methodNotAllowed(method, unversionedEndpoint)
  return null
}

const documentReplyOf = (body: string, caching: string, type = 'application/json'): Reply => ({
  status: 200,
  headers: { 'Content-Type': type, 'X-Content-Type-Options': 'nosniff', 'Cache-Control': caching },
  body,
})
