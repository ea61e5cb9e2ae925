/** The places of each version: which URLs its resources have, and which methods each of them. Part 4, endpoints. */
import { extend } from '../errors/catalogue.ts'
import type { Edition, Place, Route } from '../flow/route.ts'
import { type Change, majorOf, type Versioned } from '../resources/change.ts'
import type { Operation, ResourceDeclaration } from '../resources/declaration.ts'
import { type Resource, resource } from '../resources/resource.ts'
import type { Settings } from '../resources/settings.ts'
import { isOfRows } from '../versions/epoch.ts'
import type { Elsewhere, Step } from '../versions/program.ts'
import { older, stored } from '../versions/translate.ts'
import { elsewhereOf, type Past, pasts, type Way } from '../versions/version.ts'
import { rulesBeyond } from './borders.ts'
import { change } from './change.ts'
import { create } from './create.ts'
import type { Scene } from './item.ts'
import { list, search } from './list.ts'
import { allMethods, placeOf } from './options.ts'
import { read } from './read.ts'
import { remove } from './remove.ts'
import { replace } from './replace.ts'
import { plant } from './route.ts'
import { views } from './view.ts'

const stories: Readonly<Record<Operation, (scene: Scene) => Route>> = { list, read, create, replace, change, remove }
const onCollection = { GET: 'list', POST: 'create' } as const
const onItem = { GET: 'read', PUT: 'replace', PATCH: 'change', DELETE: 'remove' } as const

/** R4: a child that is unique alone has its own item URLs and a flat list, one with a composite key stands below its parent only. */
function places(scene: Scene): Place[] {
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
  const beside = scene.form.beside.map(({ collection }) => collection)
  const routes = Object.fromEntries(
    offered.map(([method, operation]) => {
      const beyond = rulesBeyond(scene, operation)
      return [method, { ...stories[operation](scene), beside, beyond }]
    }),
  )
  const queried = scene.resource.settings.methods.query && routes.GET?.operation === 'list'
  return placeOf(template, queried ? { ...routes, QUERY: { ...search(scene), beside } } : routes)
}

interface Declared {
  readonly declaration: Versioned
  readonly changes: readonly Change[]
  /** The resources as they are stored. */
  readonly today: ReadonlyMap<string, Resource>
  readonly settings: Settings
  /** How a caller is asked for more rights. R169. */
  readonly challenge: string
}

/** All versions of a service, the oldest first. */
export function editions(declared: Declared): Edition[] {
  const all = pasts(declared.declaration, declared.changes)
  const names = (name: string) => declared.today.get(name)?.members.map((member) => member.name) ?? []
  const elsewhere = elsewhereOf(all, names)
  return all.map((past) => edition(past, declared, elsewhere))
}

function edition(past: Past<Versioned>, declared: Declared, elsewhere: Elsewhere): Edition {
  const { label, declaration, ways, errors } = past
  const scenes = [...ways].map(([name, way]) =>
    sceneOf(past, declared.today.get(name) as Resource, way, { declared, elsewhere }),
  )
  const resources = new Map(scenes.map(({ resource }) => [resource.name, resource]))
  const found = scenes.flatMap((scene) =>
    places({ ...scene, resources, stored: declared.today, challenge: declared.challenge }),
  )
  const forms = new Map(scenes.map(({ resource, form }) => [resource.name, form]))
  return {
    label,
    resources,
    namesOf: (name, collection, field) => {
      const form = forms.get(name)
      if (collection === form?.today.name) return form.names(field)
      return form?.beside.some((one) => one.collection === collection) ? form.names(field, collection) : []
    },
    places: found,
    tree: plant(found),
    methods: allMethods(found),
    errors: extend(declaration.errors ?? {}),
    errorNames: errors,
  }
}

/** Whether items are sent, answered or asked for otherwise since then. */
const isOfFields = (step: Step): boolean => {
  const { shown, filters, sorts } = step.change
  return isOfRows(step) || [shown, filters, sorts].some((one) => one !== undefined)
}

/** A resource as a version has it: where nothing changed since, it is that of today. */
function sceneOf(
  { label, declaration }: Past<Versioned>,
  today: Resource,
  { name, steps }: Way,
  { declared, elsewhere }: { declared: Declared; elsewhere: Elsewhere },
): Pick<Scene, 'resource' | 'form' | 'view'> {
  const given = declaration.resources[name] as ResourceDeclaration
  if (steps.length === 0 && given === today.declaration)
    return {
      resource: today,
      form: stored(today),
      view: views({ resource: today, today, major: majorOf(label), made: [], beside: [] }),
    }
  const own = resource(name, given, {
    resources: declaration.resources,
    concepts: declaration.concepts ?? {},
    settings: declared.settings,
  })
  const later = declared.changes.filter(({ version }) => majorOf(version) > majorOf(label))
  const form = steps.some(isOfFields)
    ? older(own, today, steps, { elsewhere, resources: declared.today })
    : stored(today)
  const beside = form.beside.map(({ collection }) => declared.today.get(collection) as Resource)
  return {
    resource: { ...own, collection: today.collection },
    form,
    view: views({ resource: own, today, major: majorOf(label), made: later, beside }),
  }
}
