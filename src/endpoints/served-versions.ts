/** The places of each version: which URLs its resources have, and which methods each of them. Part 4, endpoints. */

import type { ChangeStep, FindMovedField } from '../changes/conversion.ts'
import { movedFieldFinder, type ResourceHistory, type VersionAt, versionHistory } from '../changes/history.ts'
import { olderRepresentation, storedRepresentation } from '../changes/representation.ts'
import { changesDocuments } from '../changes/stored.ts'
import { extendCatalogue } from '../errors/catalogue.ts'
import type { Endpoint, Route, ServedVersion } from '../flow/route.ts'
import { type Change, majorOf } from '../resources/change.ts'
import type { Operation, ResourceDeclaration, VersionedDeclaration } from '../resources/declaration.ts'
import { makeResource, type Resource } from '../resources/resource.ts'
import type { Settings } from '../settings.ts'
import { changeItemRoute } from './change-item.ts'
import { createItemRoute } from './create-item.ts'
import { furtherRules } from './further-rules.ts'
import type { EndpointContext } from './item.ts'
import { listItemsRoute, queryItemsRoute } from './list-items.ts'
import { routeTreeOf } from './locate.ts'
import { allMethods, endpointOf } from './options.ts'
import { readItemRoute } from './read-item.ts'
import { removeItemRoute } from './remove-item.ts'
import { replaceItemRoute } from './replace-item.ts'
import { viewsOf } from './view.ts'

const routeMakers: Readonly<Record<Operation, (scene: EndpointContext) => Route>> = {
  list: listItemsRoute,
  read: readItemRoute,
  create: createItemRoute,
  replace: replaceItemRoute,
  change: changeItemRoute,
  remove: removeItemRoute,
}
const onCollection = { GET: 'list', POST: 'create' } as const
const onItem = { GET: 'read', PUT: 'replace', PATCH: 'change', DELETE: 'remove' } as const

/** R4: a child that is unique alone has its own item URLs and a flat list, one with a composite key stands below its parent only. */
function resourceEndpoints(scene: EndpointContext): Endpoint[] {
  const { name, parent, collection } = scene.resource
  const below = parent && `/${parent.resource}/{${parent.field}}/${name}`
  const item = collection.composite ? `${below}/{${scene.resource.key}}` : `/${name}/{id}`
  const found = [resourceEndpoint(scene, item, onItem)]
  if (below) found.push(resourceEndpoint(scene, below, onCollection))
  if (!collection.composite) found.push(resourceEndpoint(scene, `/${name}`, below ? { GET: 'list' } : onCollection))
  return found.filter(({ methods }) => methods.size > 0)
}

function resourceEndpoint(
  scene: EndpointContext,
  template: string,
  operations: Readonly<Record<string, Operation>>,
): Endpoint {
  const offered = Object.entries(operations).filter(([, operation]) => scene.resource.methods.includes(operation))
  const otherCollections = scene.representation.joined.map(({ collection }) => collection)
  const routes = Object.fromEntries(
    offered.map(([method, operation]) => {
      const route = routeMakers[operation](scene)
      return [method, { ...route, otherCollections, furtherRules: furtherRules(scene, operation) }]
    }),
  )
  const queried = scene.resource.settings.methods.query && routes.GET?.operation === 'list'
  return endpointOf(template, queried ? { ...routes, QUERY: { ...queryItemsRoute(scene), otherCollections } } : routes)
}

interface DeclaredService {
  readonly declaration: VersionedDeclaration
  readonly changes: readonly Change[]
  /** The resources as they are stored. */
  readonly today: ReadonlyMap<string, Resource>
  readonly settings: Settings
  /** How a caller is asked for more rights. R169. */
  readonly challenge: string
}

/** All versions of a service, the oldest first. */
export function servedVersions(declared: DeclaredService): ServedVersion[] {
  const all = versionHistory(declared.declaration, declared.changes)
  const names = (name: string) => declared.today.get(name)?.members.map((member) => member.name) ?? []
  const elsewhere = movedFieldFinder(all, names)
  return all.map((past) => servedVersion(past, declared, elsewhere))
}

function servedVersion(
  past: VersionAt<VersionedDeclaration>,
  declared: DeclaredService,
  elsewhere: FindMovedField,
): ServedVersion {
  const { label, declaration, histories, errors } = past
  const scenes = [...histories].map(([name, way]) =>
    contextOf(past, declared.today.get(name) as Resource, way, { declared, elsewhere }),
  )
  const resources = new Map(scenes.map(({ resource }) => [resource.name, resource]))
  const found = scenes.flatMap((scene) =>
    resourceEndpoints({ ...scene, resources, stored: declared.today, challenge: declared.challenge }),
  )
  const forms = new Map(scenes.map(({ resource, representation }) => [resource.name, representation]))
  return {
    label,
    resources,
    namesOf: (name, collection, field) => {
      const form = forms.get(name)
      if (collection === form?.today.name) return form.names(field)
      return form?.joined.some((one) => one.collection === collection) ? form.names(field, collection) : []
    },
    endpoints: found,
    tree: routeTreeOf(found),
    methods: allMethods(found),
    errors: extendCatalogue(declaration.errors ?? {}),
    errorNames: errors,
  }
}

/** Whether items are sent, answered or asked for otherwise since then. */
const changesFields = (step: ChangeStep): boolean => {
  const { shown, filters, sorts } = step.change
  return changesDocuments(step) || [shown, filters, sorts].some((one) => one !== undefined)
}

/** A resource as a version has it: where nothing changed since, it is that of today. */
function contextOf(
  { label, declaration }: VersionAt<VersionedDeclaration>,
  today: Resource,
  { name, steps }: ResourceHistory,
  { declared, elsewhere }: { declared: DeclaredService; elsewhere: FindMovedField },
): Pick<EndpointContext, 'resource' | 'representation' | 'view'> {
  const given = declaration.resources[name] as ResourceDeclaration
  if (steps.length === 0 && given === today.declaration)
    return {
      resource: today,
      representation: storedRepresentation(today),
      view: viewsOf({ resource: today, today, major: majorOf(label), changes: [], joined: [] }),
    }
  const own = makeResource(name, given, {
    resources: declaration.resources,
    concepts: declaration.concepts ?? {},
    settings: declared.settings,
  })
  const later = declared.changes.filter(({ version }) => majorOf(version) > majorOf(label))
  const form = steps.some(changesFields)
    ? olderRepresentation(own, today, steps, { elsewhere, resources: declared.today })
    : storedRepresentation(today)
  const beside = form.joined.map(({ collection }) => declared.today.get(collection) as Resource)
  return {
    resource: { ...own, collection: today.collection },
    representation: form,
    view: viewsOf({ resource: own, today, major: majorOf(label), changes: later, joined: beside }),
  }
}
