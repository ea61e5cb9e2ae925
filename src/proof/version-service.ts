/** Version service: a service that is called in its versions without a socket, and its resources' paths. Part 9, versioning. */

import { declarationOfVersion, servedLabels } from '../contract/gate.ts'
import type { Endpoint } from '../flow/route.ts'
import { type Change, majorOf } from '../resources/change.ts'
import type { Operation } from '../resources/declaration.ts'
import type { Resource } from '../resources/resource.ts'
import { type Service, service } from '../service.ts'
import { type Chance, seededChance } from './chance.ts'
import { makeBody } from './make.ts'

export type JsonBody = Readonly<Record<string, unknown>>

/** Whether a value can be written into a query. */
export const isScalar = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value)

export interface TrialRequest {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: JsonBody
}

export interface TrialAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: JsonBody | null
}

/** Sends a request in a version. */
export type AskVersion = (version: string, request: TrialRequest) => Promise<TrialAnswer>

/** A service on an empty store. */
export interface TrialService {
  readonly ask: AskVersion
  readonly close: () => Promise<void>
}

/** A version as a service of its own, which knows the version's resources and paths. */
export interface VersionService {
  readonly label: string
  readonly service: Service
}

/** All served versions, newest first. */
export function versionServices(declared: Service): readonly VersionService[] {
  return servedLabels(declared.declaration)
    .toReversed()
    .map((label) => ({ label, service: service(declarationOfVersion(declared, label)) as Service }))
}

/** The changes of one resource since a version, newest first. */
export function changesSince(changes: readonly Change[], newest: string, label: string): readonly Change[] {
  const since: Change[] = []
  let name = newest
  for (const change of changes) {
    if (majorOf(change.version) <= majorOf(label) || change.resource !== name) continue
    since.push(change)
    name = change.was ?? name
  }
  return since
}

/** The name in a version of a resource of the newest one; undefined if the version does not have it. */
export function nameInVersion(changes: readonly Change[], newest: string, label: string): string | undefined {
  const since = changesSince(changes, newest, label)
  if (since.some(({ begins }) => begins)) return undefined
  return since.reduce((name, { was = name }) => was, newest)
}

/** A resource in one version. */
export interface ResourceInVersion {
  readonly version: VersionService
  readonly resource: Resource
}

export function resourceInVersion(
  changes: readonly Change[],
  newest: string,
  release: VersionService,
): ResourceInVersion | undefined {
  const name = nameInVersion(changes, newest, release.label)
  const resource = name === undefined ? undefined : release.service.resources.get(name)
  return resource && { version: release, resource }
}

/** The path of an operation with ids filled in; undefined if it is not offered. */
export function operationPath(
  { version, resource }: ResourceInVersion,
  operation: Operation,
  item: JsonBody,
): string | undefined {
  const fits = ({ methods }: Endpoint) =>
    [...methods.values()].some((route) => route.operation === operation && route.resource.name === resource.name)
  const endpoint = version.service.places.filter(fits).toSorted((a, b) => a.template.length - b.template.length)[0]
  return endpoint?.template.replace(/\{([^}]*)\}/g, (_, name: string) =>
    encodeURIComponent(String(name === resource.parent?.field ? item[name] : item.id)),
  )
}

/** The identifiers that find an item in another version: its id, and its owner's, whose field may have another name. */
export const identifiersIn = (
  item: JsonBody,
  { resource: from }: ResourceInVersion,
  { resource: to }: ResourceInVersion,
): JsonBody =>
  from.parent && to.parent ? { id: item.id, [to.parent.field]: item[from.parent.field] } : { id: item.id }

/** Items that others can refer to, by resource. */
export type ItemPool = Map<string, JsonBody[]>

/** Sorts resources so that each comes after those that it refers to or belongs to. */
export function inDependencyOrder(resources: ReadonlyMap<string, Resource>): Resource[] {
  const order: Resource[] = []
  const visit = (resource: Resource, way: readonly string[]): void => {
    if (order.includes(resource) || way.includes(resource.name)) return
    const needed = resource.members.flatMap(({ field }) => (field.kind === 'ref' ? [field.target as string] : []))
    const owners = resource.parent ? [resource.parent.resource] : []
    for (const name of [...owners, ...needed]) {
      const other = resources.get(name)
      if (other) visit(other, [...way, resource.name])
    }
    order.push(resource)
  }
  for (const resource of resources.values()) visit(resource, [])
  return order
}

/** A request that creates an item; undefined if no body can be made, or the resource has no such operation. */
export function creationRequest(
  inVersion: ResourceInVersion,
  chance: Chance,
  items: (resource: string) => readonly JsonBody[],
): TrialRequest | undefined {
  const idOf = (name: string): string | undefined => {
    const all = items(name)
    return all.length === 0 ? undefined : String((all[chance.below(all.length)] as JsonBody).id)
  }
  const { parent } = inVersion.resource
  const owner = parent ? idOf(parent.resource) : undefined
  if (parent && owner === undefined) return undefined
  const body = makeBody(inVersion.resource, { chance, idOf })
  const path = operationPath(inVersion, 'create', parent ? { [parent.field]: owner } : {})
  return path === undefined || !body ? undefined : { method: 'POST', path, body }
}

/** Creates some items of every resource; the list is empty for a resource of which none can be created. */
export async function fillItemPool(
  release: VersionService,
  ask: AskVersion,
  seed: number,
  count = 6,
): Promise<ItemPool> {
  const pool: ItemPool = new Map()
  for (const resource of inDependencyOrder(release.service.resources)) {
    const items: JsonBody[] = []
    pool.set(resource.name, items)
    for (let i = 0; i < count; i++) {
      const request = creationRequest(
        { version: release, resource },
        seededChance(seed + i, []),
        (name) => pool.get(name) ?? [],
      )
      const answer = request && (await ask(release.label, request))
      if (answer?.status === 201 && answer.body) items.push(answer.body)
    }
  }
  return pool
}
