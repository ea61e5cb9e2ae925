/** Served versions: the URLs of the resources in each version, and the methods of each URL. Part 4, endpoints. */

import type { ChangeStep, FindMovedField } from '../changes/conversion.ts'
import { movedFieldFinder, type ResourceHistory, type VersionAt, versionHistory } from '../changes/history.ts'
import { servedOperations } from '../changes/older-inputs.ts'
import { servedSummaries } from '../changes/older-summaries.ts'
import { olderRepresentation, type Representation, storedRepresentation } from '../changes/representation.ts'
import { changesDocuments } from '../changes/stored.ts'
import type { EffectMaker } from '../effects/effect-maker.ts'
import type { RowWriter } from '../effects/row-writer.ts'
import { type EndpointContext, itemPath } from '../endpoints/item.ts'
import { handledStateProblem } from '../endpoints/state-refusal.ts'
import { extendCatalogue } from '../errors/catalogue.ts'
import type { FieldKinds } from '../fields/kind.ts'
import type { Endpoint, Route, ServedVersion } from '../flow/route.ts'
import { pairRoutes } from '../pairs/pair-routes.ts'
import { type Change, majorOf } from '../resources/change.ts'
import type { ResourceDeclaration, VersionedDeclaration } from '../resources/declaration.ts'
import { inputFields } from '../resources/machine.ts'
import { makeResource, type Resource } from '../resources/resource.ts'
import { isStatusResource } from '../resources/service-fields.ts'
import type { Settings } from '../settings.ts'
import { fileLinker } from '../views/file-links.ts'
import { itemLinker, linkForm, linkRulesOf } from '../views/item-links.ts'
import { type ViewSource, viewsOf } from '../views/view.ts'
import { routeTreeOf } from './locate.ts'
import type { OperationRoutes } from './operations.ts'
import { allMethods, endpointOf } from './options.ts'
import { servedTimers, servedTransitions, statusForm, transitionsByValue } from './served-actions.ts'

/** R4: a child with an id of its own has top-level item URLs and a flat list; with a composite key it has neither. */
function resourceEndpoints(context: EndpointContext, operations: readonly OperationRoutes[]): Endpoint[] {
  const paired = pairRoutes(context)
  if (paired) return paired.map(([path, routes]) => endpointOf(path, routes))
  const { name, parent, key, collection } = context.resource
  const otherCollections = context.representation.joined.map((one) => one.collection)
  const all = operations.flatMap((routesOf) => routesOf(context)).map((route) => ({ ...route, otherCollections }))
  const onCollection = all.filter(({ at }) => at === 'collection')
  const below = parent && `/${parent.resource}/{${parent.field}}/${name}`
  const item = collection.composite ? `${below}/{${key}}` : `/${name}/{id}`
  const flat = below ? onCollection.filter(({ safe }) => safe) : onCollection
  const lists = [...(below ? [below] : []), ...(collection.composite ? [] : [`/${name}`])]
  /** The paths that routes are below: reads such as summaries are below each path of the list. */
  const basesOf = (at: Route['at'], routes: readonly Route[]) => {
    if (at.startsWith('item')) return [item]
    if (routes.some(({ importing }) => importing)) return [below ?? `/${name}`] // where single items are created
    return routes.every(({ safe }) => safe) ? lists : [`/${name}`]
  }
  return [
    ...[...Map.groupBy(all, ({ at }) => at)]
      .filter(([at]) => at !== 'collection')
      .flatMap(([at, routes]) =>
        basesOf(at, routes).map((base) =>
          endpointOf(
            at.replace(/^(collection|item)/, () => base),
            routes,
          ),
        ),
      ),
    ...(below ? [endpointOf(below, onCollection)] : []),
    ...(collection.composite ? [] : [endpointOf(`/${name}`, flat)]),
  ].filter(({ methods }) => methods.size > 0)
}

/** The lists that an extension adds entries to. */
export interface ServiceLists {
  readonly operations: readonly OperationRoutes[]
  readonly effects: readonly EffectMaker[]
  readonly kinds: FieldKinds
}

/** A version with the contexts of its resources. */
export interface VersionContexts {
  readonly label: string
  readonly contexts: ReadonlyMap<string, EndpointContext>
}

/** A route that belongs to no resource, with its path. */
export type ServiceRoute = readonly [path: string, route: Route]

interface DeclaredService extends Omit<ServiceLists, 'effects'> {
  /** Makes the writes of rows. */
  readonly writer: RowWriter
  readonly declaration: VersionedDeclaration & { readonly name: string }
  readonly changes: readonly Change[]
  /** The resources as they are stored. */
  readonly today: ReadonlyMap<string, Resource>
  readonly settings: Settings
  /** Makes the routes of a version that belong to no resource. */
  readonly serviceRoutes: (version: VersionContexts) => readonly ServiceRoute[]
  /** The challenge (WWW-Authenticate) for callers without the rights. R169. */
  readonly challenge: string
}

/** All versions of a service, the oldest first. */
export function servedVersions(declared: DeclaredService): ServedVersion[] {
  const all = versionHistory(declared.declaration, declared.changes, declared.kinds)
  const names = (name: string) => declared.today.get(name)?.members.map((member) => member.name) ?? []
  const elsewhere = movedFieldFinder(all, names)
  const versions = new Map<string, Map<string, EndpointContext>>(all.map(({ label }) => [label, new Map()]))
  return all.map((past) => servedVersion(past, { ...declared, versions }, elsewhere))
}

function servedVersion(
  past: VersionAt<VersionedDeclaration>,
  declared: DeclaredService & { readonly versions: ReadonlyMap<string, Map<string, EndpointContext>> },
  elsewhere: FindMovedField,
): ServedVersion {
  const { label, declaration, histories, errors } = past
  const { today: stored, challenge, writer, versions } = declared
  const contexts = versions.get(label) as Map<string, EndpointContext>
  const contextsOfVersion = [...histories].map(([name, way]) =>
    contextOf(past, declared.today.get(name) as Resource, way, { declared, elsewhere }),
  )
  const served = withStatusForm(contextsOfVersion, past, declared)
  const resources = new Map(served.map(({ resource }) => [resource.name, resource]))
  const shared = { versions, service: declared.declaration.name, stored, writer, challenge }
  const endpoints = served.flatMap(({ source, ...own }) => {
    const view = viewAndLinks(source, own, resources)
    const context = { ...own, ...view, ...shared, version: label, contexts, resources }
    contexts.set(own.resource.name, context)
    return resourceEndpoints(context, declared.operations)
  })
  for (const [path, route] of declared.serviceRoutes({ label, contexts })) endpoints.push(endpointOf(path, [route]))
  const forms = new Map(served.map(({ resource, representation }) => [resource.name, representation]))
  return {
    label,
    resources,
    namesOf: (name, collection, field) => {
      const form = forms.get(name)
      if (collection === form?.today.name) return form.names(field)
      return form?.joined.some((one) => one.collection === collection) ? form.names(field, collection) : []
    },
    stateProblem: (refused) => handledStateProblem({ version: label, contexts }, refused),
    unlinked: (name) => unlinkedFields(forms.get(name), resources.get(name)),
    endpoints,
    tree: routeTreeOf(endpoints),
    methods: allMethods(endpoints),
    errors: extendCatalogue(declaration.errors ?? {}),
    errorFields: errorFieldsOf(declaration, resources),
    errorNames: errors,
  }
}

/** The further members of the declared types of errors. */
function errorFieldsOf(
  { errors = {}, concepts = {} }: VersionedDeclaration,
  resources: ReadonlyMap<string, Resource>,
): ServedVersion['errorFields'] {
  const [first] = resources.values()
  if (!first) return new Map() // a version whose resources have all ended
  return new Map(
    Object.entries(errors).map(([type, { fields = {} }]) => [type, inputFields(fields, concepts, first.rules)]),
  )
}

/** The moved fields of a resource that are null in items without a link. */
function unlinkedFields(form: Representation | undefined, resource: Resource | undefined): readonly string[] {
  const moved = form?.moved.filter(({ isOptional }) => isOptional) ?? []
  return moved.flatMap(({ name }) => (resource?.byName.get(name)?.absent === undefined ? name : []))
}

/** Shows the statuses of asynchronous operations as the version does. */
const withStatusForm = (
  all: readonly ReturnType<typeof contextOf>[],
  { label, errors }: VersionAt<VersionedDeclaration>,
  declared: DeclaredService,
): typeof all =>
  all.map((one) => {
    const representation = isStatusResource(one.resource.declaration) ? statusForm(one, all, errors) : null
    if (!representation) return one
    return { ...one, representation, source: { ...one.source, changes: changesAfter(declared, label) } }
  })

type UnlinkedSource = Omit<ViewSource, 'rules'>

/** How callers see a resource, and the links that are added to its items. */
function viewAndLinks(
  source: UnlinkedSource,
  actions: Pick<EndpointContext, 'transitions' | 'operations'>,
  resources: ReadonlyMap<string, Resource>,
): Pick<EndpointContext, 'view' | 'linker' | 'fileLinker' | 'isPersonal'> {
  const { resource: own, today, joined } = source
  const links = linkRulesOf(own, actions, resources)
  return {
    view: viewsOf({
      ...source,
      rules: links?.rules ?? [],
      links: links && linkForm(links),
      hasRowLinks: links?.actions.some(({ rowRule }) => rowRule !== undefined) ?? false,
    }),
    linker: links && itemLinker({ own, today }, links, itemPath),
    fileLinker: fileLinker(own, itemPath),
    isPersonal:
      [own, today, ...joined].some(({ hasScopedFields }) => hasScopedFields) ||
      (links?.rules.some((rule) => rule !== 'public') ?? false),
  }
}

/** Whether a step changes how items are sent, shown, filtered or sorted. */
const changesFields = (step: ChangeStep): boolean => {
  const { shown, filters, sorts } = step.change
  return changesDocuments(step) || [shown, filters, sorts].some((one) => one !== undefined)
}

const changesAfter = ({ changes }: Pick<DeclaredService, 'changes'>, label: string): readonly Change[] =>
  changes.filter(({ version }) => majorOf(version) > majorOf(label))

/** The actions and summaries of a resource in a version, each with the newest one. */
const servedParts = (own: Resource, today: Resource, steps: ResourceHistory['steps']) => ({
  transitions: servedTransitions(own, today, steps),
  timed: servedTimers(own, today, steps),
  operations: servedOperations(own, today, steps),
  summaries: servedSummaries(own, today, steps),
})

/** A resource as a version has it: the current one if nothing has changed since. */
function contextOf(
  { label, declaration }: VersionAt<VersionedDeclaration>,
  today: Resource,
  { name, steps }: ResourceHistory,
  { declared, elsewhere }: { declared: DeclaredService; elsewhere: FindMovedField },
): Pick<
  EndpointContext,
  'resource' | 'representation' | 'transitions' | 'timed' | 'operations' | 'summaries' | 'byValue'
> & {
  readonly source: UnlinkedSource
} {
  const current = declaration.resources[name] as ResourceDeclaration
  if (steps.length === 0 && current === today.declaration)
    return {
      resource: today,
      representation: storedRepresentation(today),
      ...servedParts(today, today, []),
      byValue: null,
      source: { resource: today, today, major: majorOf(label), changes: [], joined: [] },
    }
  const own = makeResource(name, current, {
    resources: declaration.resources,
    concepts: declaration.concepts ?? {},
    settings: declared.settings,
    kinds: declared.kinds,
  })
  const later = changesAfter(declared, label)
  const form = steps.some(changesFields)
    ? olderRepresentation(own, today, steps, { elsewhere, resources: declared.today })
    : storedRepresentation(today)
  const joined = form.joined.map(({ collection }) => declared.today.get(collection) as Resource)
  return {
    resource: { ...own, collection: today.collection },
    representation: form,
    ...servedParts(own, today, steps),
    byValue: transitionsByValue(own, today, steps),
    source: { resource: own, today, major: majorOf(label), changes: later, joined },
  }
}
