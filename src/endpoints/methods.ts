/** The places of a resource: which URLs it has, and which methods each of them. Part 4, endpoints. */
import type { Place, Route } from '../flow/route.ts'
import type { Operation } from '../resources/declaration.ts'
import { change } from './change.ts'
import { create } from './create.ts'
import type { Scene } from './item.ts'
import { list, search } from './list.ts'
import { placeOf } from './options.ts'
import { read } from './read.ts'
import { remove } from './remove.ts'
import { replace } from './replace.ts'

const stories: Readonly<Record<Operation, (scene: Scene) => Route>> = { list, read, create, replace, change, remove }
const onCollection = { GET: 'list', POST: 'create' } as const
const onItem = { GET: 'read', PUT: 'replace', PATCH: 'change', DELETE: 'remove' } as const

/** R4: a child that is unique alone has its own item URLs and a flat list, one with a composite key stands below its parent only. */
export function places(scene: Scene): Place[] {
  const { name, parent, collection } = scene.resource
  const below = parent && `/${parent.resource}/{${parent.field}}/${name}`
  const item = collection.composite ? `${below}/{${scene.resource.key}}` : `/${name}/{id}`
  const found = [place(scene, item, onItem)]
  if (below) found.push(place(scene, below, onCollection))
  if (!collection.composite) found.push(place(scene, `/${name}`, below ? { GET: 'list' } : onCollection))
  return found.filter(({ methods }) => methods.size > 0)
}

function place(scene: Scene, template: string, operations: Readonly<Record<string, Operation>>): Place {
  const offered = Object.entries(operations).filter(([, operation]) => scene.resource.methods.includes(operation))
  const routes = Object.fromEntries(offered.map(([method, operation]) => [method, stories[operation](scene)]))
  const queried = scene.resource.settings.methods.query && routes.GET?.operation === 'list'
  return placeOf(template, queried ? { ...routes, QUERY: search(scene) } : routes)
}
