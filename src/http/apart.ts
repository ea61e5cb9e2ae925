/** What stands apart from the resources: whether the process lives and can serve, and documents about the service. Part 1; part 13. */
import { hash } from 'node:crypto'
import { admitOptions, admitTarget } from '../auth/scheme.ts'
import { bare, notAllowed, optionsReply } from '../endpoints/options.ts'
import { Problem } from '../errors/problem.ts'
import { type Call, dueTime } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'
import { oneOf } from '../resources/naming.ts'
import type { Service } from '../service.ts'
import { standing } from '../versions/choose.ts'
import { coded, willCode } from './coding.ts'
import { varied } from './headers.ts'
import type { House } from './house.ts'
import { admitKnown } from './proven.ts'
import { unchanged } from './unchanged.ts'

const place = bare('/healthz', 'GET, HEAD, OPTIONS')

/** The answer of /healthz and /readyz, outside the versioned interface; null for all other paths. R186, R197. */
export function health(call: Call, house: House): Promise<Reply> | null {
  const { target } = call
  if (target.charCodeAt(target.length - 1) !== 0x7a && !target.includes('z?')) return null // both end in z
  const path = target.split('?', 1)[0]
  return path === '/healthz' || path === '/readyz' ? told(call, house, path === '/readyz') : null
}

async function told(call: Call, { service, store, open }: House, ready: boolean): Promise<Reply> {
  const options = optionsOf(call, service)
  if (options) return options
  admitTarget(call.target, service.settings.auth)
  if (ready && !open()) throw new Problem('unavailable', 'The service is stopping.')
  const reason = ready ? await store.ready() : null
  if (reason !== null) throw new Problem('dependency-unavailable', 'The store does not answer.', { cause: reason })
  return json(ready ? '{"status":"ready"}' : '{"status":"alive"}', 'no-store')
}

/** A document about the service, outside the versioned interface; null for all other paths. R171, R197, R214. */
export function document(call: Call, house: House): Promise<Reply> | null {
  const { target } = call
  const second = target.charCodeAt(1)
  const apart = target.length === 1 || second === 0x2e || second === 0x3f || target.startsWith('/openapi') // `.`, `?`
  if (!apart) return null
  const path = target.split('?', 1)[0] as string
  const described = descriptionPath.exec(path)
  if (described) return description(call, described[1] ?? null, house)
  const text = house.service.documents.get(path)
  if (text !== undefined) return shown(call, { name: path, text }, house)
  return pointers.includes(path) ? pointed(call, path, house) : null
}

const descriptionPath = /^\/openapi(?:\/(v\d+))?\.json$/
const pointers = ['/', '/.well-known/api-catalog']

/** Whom a path that stands apart is answered to, for those who explain it; null where resources answer. */
export function ruleApart(target: string, { documents, settings }: Service): 'public' | 'authenticated' | null {
  const path = target.split('?', 1)[0] as string
  if (descriptionPath.test(path)) return settings.openapi.public ? 'public' : 'authenticated'
  return ['/healthz', '/readyz', ...pointers].includes(path) || documents.has(path) ? 'public' : null
}

/** The root, and the catalog: where the descriptions are. R214. */
async function pointed(call: Call, path: string, house: House): Promise<Reply> {
  const { catalogText, rootLinks, rootText } = await import('../describe/catalog.ts')
  const { service, world } = house
  const open = standing(service.choice, dueTime(world))
  const [name, text] = path === '/' ? [path, rootText(service)] : [`${path} ${open}`, catalogText(service, open)]
  const reply = await shown(call, { name, text }, house)
  if (call.method === 'OPTIONS') return reply
  reply.headers.Link = rootLinks
  if (path !== '/' && reply.status === 200)
    reply.headers['Content-Type'] = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'
  return reply
}

/** The description of a version, of the newest one where none is named. Whoever may not see it is told nothing of versions. R214, R218. */
async function description(call: Call, label: string | null, house: House): Promise<Reply> {
  const { service, world, store } = house
  const open = service.settings.openapi.public
  if (!open && call.method !== 'OPTIONS') await admitKnown(call, house)
  const named = labelOf(service, label, dueTime(world))
  const name = `${named} ${JSON.stringify(store.misfits ?? {})}`
  return shown(call, { name, text: () => written(house, named), closed: !open }, house)
}

function labelOf({ choice }: Service, label: string | null, now: number): string {
  const served = standing(choice, now)
  const named = label ?? served.at(-1)
  if (named !== undefined && served.includes(named)) return named
  const mend = `Described: ${oneOf(served, 'and') || 'none'}.`
  if (label !== null && !choice.ended.has(label))
    throw new Problem('unknown-version', `There is no version of this name. ${mend}`)
  throw new Problem(
    'version-retired',
    `${label ?? 'No version'} is ${label === null ? '' : 'not '}served any more. ${mend}`,
  )
}

/** Made when it is first asked for, and by what is only then loaded. */
async function written({ service, numbers, store }: House, label: string): Promise<string> {
  const [{ openapiText }, known] = await Promise.all([import('../describe/openapi.ts'), numbers?.()])
  const version = known?.get(label)
  const { misfits = {} } = store
  return openapiText(service, label, version === undefined ? { misfits } : { version, misfits })
}

/** A document as it is kept: its text, its tag, and what it was coded as. */
interface Kept {
  readonly text: string
  readonly tag: string
  readonly coded: Map<string, Buffer>
}

const kept = new WeakMap<Service, Map<string, Promise<Kept>>>()

function keptOf(house: House, name: string, text: () => Promise<string> | string): Promise<Kept> {
  const own = kept.get(house.service) ?? new Map<string, Promise<Kept>>()
  kept.set(house.service, own)
  const before = own.get(name)
  if (before) return before
  const made = (async () => {
    const whole = await text()
    return { text: whole, tag: `"${hash('sha1', whole, 'base64url').slice(0, 22)}"`, coded: new Map() }
  })()
  made.catch(() => own.delete(name)) // it is tried again
  own.set(name, made)
  return made
}

interface Shown {
  readonly name: string
  readonly text: string | (() => Promise<string>)
  /** Whether it is only for callers that are known. */
  readonly closed?: boolean
}

async function shown(call: Call, { name, text, closed = false }: Shown, house: House): Promise<Reply> {
  const options = optionsOf(call, house.service)
  if (options) return options
  const { settings } = house.service
  admitTarget(call.target, settings.auth)
  const own = await keptOf(house, name, typeof text === 'string' ? () => text : text)
  const reply = json(own.text, closed ? 'private, no-cache' : 'no-cache')
  reply.headers.ETag = own.tag
  reply.headers.Vary = closed ? varied(settings.auth) : 'Accept-Encoding'
  const coding = willCode(call, reply, settings)
  const found = unchanged(call, reply, coding, house.world.now())
  return coding !== null && found === reply ? coded(call, reply, coding, own.coded) : found
}

function optionsOf(call: Call, { settings }: Service): Reply | null {
  const { method } = call
  if (method === 'OPTIONS') {
    admitOptions(call, settings.auth)
    return optionsReply(place)
  }
  if (method !== 'GET' && method !== 'HEAD') throw notAllowed(method, place)
  return null
}

const json = (body: string, caching: string): Reply => ({
  status: 200,
  headers: { 'Content-Type': 'application/json', 'X-Content-Type-Options': 'nosniff', 'Cache-Control': caching },
  body,
})
