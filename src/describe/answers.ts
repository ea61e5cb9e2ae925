/** Describes the answers of an operation: what it does where it succeeds, and everything that it can be refused with. Part 13. */
import type { Edition, Place, Route } from '../flow/route.ts'
import type { Resource } from '../resources/resource.ts'
import type { Service } from '../service.ts'
import { itemRef, listRef, once } from './bodies.ts'
import { nameOfStatus, refusalContent, titleOf } from './errors.ts'
import { type Heads, refusedWith } from './headers.ts'
import { type Refusal, refusalsOf, takesKeys } from './refusals.ts'
import type { Part, Ref } from './shelf.ts'
import type { Around } from './values.ts'

/** What answers are made from. */
export interface Scene {
  readonly service: Service
  readonly edition: Edition
  readonly around: Around
  readonly heads: Heads
  /** The refusals that are written already. */
  readonly refused: Map<string, Ref>
}

/** The answers of a route; those of OPTIONS where there is none. */
export function answersOf(scene: Scene, place: Place, method: string, route: Route | null): Part {
  const done = route === null ? optionsAnswer(scene, place) : successes(scene, method, route)
  const refused = refusalsOf(scene.service, scene.edition, place, route).map((refusal) => [
    refusal.status,
    refusedRef(scene, refusal, route),
  ])
  return Object.fromEntries([...Object.entries(done), ...refused])
}

/** Most operations are refused alike, so that each refusal is written once. */
function refusedRef({ around: { shelf }, heads, refused }: Scene, refusal: Refusal, route: Route | null): Ref {
  const { status, types } = refusal
  const minimal = route?.resource.settings.idempotency.conflictBody === 'minimal'
  const names = ['Content-Language', ...refusedWith(refusal, route)]
  const key = JSON.stringify([refusal, minimal, names])
  const before = refused.get(key)
  if (before) return before
  const description = `${titleOf(status)}: ${types.join(', ')}`
  const content = refusalContent(refusal, minimal, shelf)
  const ref = shelf.put('responses', [nameOfStatus(status)], { description, headers: heads(names, true), content })
  refused.set(key, ref)
  return ref
}

const names = {
  list: 'list',
  read: 'get',
  create: 'create',
  replace: 'replace',
  change: 'update',
  remove: 'delete',
} as const

export const operationName = (method: string, { operation }: Route): string =>
  method === 'QUERY' ? 'query' : names[operation]

function optionsAnswer({ around, heads, service }: Scene, { options }: Place): Part {
  const browsers = ['Access-Control-Allow-Methods', 'Access-Control-Allow-Headers', 'Access-Control-Max-Age']
  const own = service.settings.cors.origins.length > 0 ? browsers : []
  const part = { description: 'What is offered here.', headers: heads([...Object.keys(options), ...own], false) }
  return { 204: around.shelf.put('responses', ['Offered'], part) }
}

const json = (schema: Part): Part => ({ 'application/json': { schema } })

/** The answers of a route that does what it is asked for. */
// long because: one answer after the other
function successes(scene: Scene, method: string, route: Route): Part {
  const { heads, around } = scene
  const { resource, operation } = route
  const { settings, title } = resource
  const reads = operation === 'list' || operation === 'read'
  const tag = settings.etag.mode === 'off' ? [] : ['ETag']
  const groups = settings.cache.groups ? [reads ? 'Cache-Groups' : 'Cache-Group-Invalidation'] : []
  const item = () => ({ content: json({ ...once(itemRef, resource, around) }) })
  const of = (description: string, own: readonly string[], more: Part = {}): Part => ({
    description,
    headers: heads([...groups, ...own], 'content' in more),
    ...more,
  })
  const dated = [...tag, 'Last-Modified']
  const replayed = takesKeys(route) && settings.idempotency.mode === 'replay' ? ['Idempotency-Replayed'] : []
  const bare = (name: string, description: string, own: readonly string[]): Part => ({
    ...around.shelf.put('responses', [name], of(description, own)),
  })
  const unchanged = () => bare('NotModified', 'It is as the client has it.', [...dated, 'Content-Location', 'Link'])
  const short = ['Preference-Applied']
  const less = (own: readonly string[]) =>
    bare('DoneInShort', 'It was done, and is answered without content as Prefer asked.', [...dated, ...short, ...own])
  switch (operation) {
    case 'list': {
      const page = of('A page of the list.', [...tag, 'Link'], {
        content: json({ ...once(listRef, resource, around) }),
      })
      return method === 'QUERY' ? { 200: page } : { 200: page, 304: unchanged() }
    }
    case 'read':
      return { 200: of(`${title}.`, dated, item()), 304: unchanged() }
    case 'create': {
      const how = settings.prefer.minimalOnCreate ? short : []
      return {
        201: of(`${title} was created.`, [...dated, 'Location', 'Content-Location', ...how, ...replayed], item()),
      }
    }
    case 'replace': {
      const replaced = of(`${title} was replaced.`, [...dated, 'Content-Location'], item())
      const created = of(`${title} was created.`, [...dated, 'Location', 'Content-Location'], item())
      return { 200: replaced, ...(makes(resource) ? { 201: created } : {}), 204: less(['Content-Location']) }
    }
    case 'change':
      return { 200: of(`${title} was changed.`, [...dated, ...replayed], item()), 204: less(replayed) }
    case 'remove':
      return { 204: bare('Removed', 'It is no longer there.', []) }
  }
}

/** Whether PUT makes what is not there. R110. */
const makes = ({ settings, methods, collection, parent }: Resource): boolean =>
  settings.resource.putCreates && methods.includes('create') && (collection.composite || !parent)
