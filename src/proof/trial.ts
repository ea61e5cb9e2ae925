/** Trial: a service that is asked in its versions without a socket, and where its resources stand in each of them. Part 9, versioning. */

import { declarationOf, servedOf } from '../contract/gate.ts'
import type { Place } from '../flow/route.ts'
import { type Change, majorOf } from '../resources/change.ts'
import type { Operation } from '../resources/declaration.ts'
import type { Resource } from '../resources/resource.ts'
import { type Service, service } from '../service.ts'
import { type Chance, seeded } from './chance.ts'
import { bodyFor } from './make.ts'

export type Body = Readonly<Record<string, unknown>>

export interface Request {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Body
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Body | null
}

/** Sends a request in a version. */
export type Ask = (version: string, request: Request) => Promise<Answer>

/** A service on an empty store. */
export interface Stage {
  readonly ask: Ask
  readonly close: () => Promise<void>
}

/** A version as a service of its own, for what it declares: its resources and their places. */
export interface Released {
  readonly label: string
  readonly service: Service
}

/** All versions that are served, the newest one first. */
export function releasedOf(made: Service): readonly Released[] {
  return servedOf(made.declaration)
    .toReversed()
    .map((label) => ({ label, service: service(declarationOf(made, label)) as Service }))
}

/** The changes of one resource since a version, the newest first. */
export function between(changes: readonly Change[], newest: string, label: string): readonly Change[] {
  const found: Change[] = []
  let name = newest
  for (const change of changes) {
    if (majorOf(change.version) <= majorOf(label) || change.resource !== name) continue
    found.push(change)
    name = change.was ?? name
  }
  return found
}

/** The name that a resource of the newest version has in another one; undefined where it is not there. */
export function nameAt(changes: readonly Change[], newest: string, label: string): string | undefined {
  const since = between(changes, newest, label)
  if (since.some(({ begins }) => begins)) return undefined
  return since.reduce((name, { was = name }) => was, newest)
}

/** A resource in one release. */
export interface Stand {
  readonly release: Released
  readonly resource: Resource
}

export function standOf(changes: readonly Change[], newest: string, release: Released): Stand | undefined {
  const name = nameAt(changes, newest, release.label)
  const resource = name === undefined ? undefined : release.service.resources.get(name)
  return resource && { release, resource }
}

/** The path of an operation, with ids in place of its names; undefined where it is not offered. */
export function pathOf({ release, resource }: Stand, operation: Operation, item: Body): string | undefined {
  const fits = ({ methods }: Place) =>
    [...methods.values()].some((route) => route.operation === operation && route.resource.name === resource.name)
  const place = release.service.places.filter(fits).toSorted((a, b) => a.template.length - b.template.length)[0]
  return place?.template.replace(/\{([^}]*)\}/g, (_, name: string) =>
    encodeURIComponent(String(name === resource.parent?.field ? item[name] : item.id)),
  )
}

/** What an item that one version answered is found by in another one: the key is its id, the owner's may have another name. */
export const foundBy = (item: Body, { resource: from }: Stand, { resource: to }: Stand): Body =>
  from.parent && to.parent ? { id: item.id, [to.parent.field]: item[from.parent.field] } : { id: item.id }

/** Items that others can refer to, by resource. */
export type Pool = Map<string, Body[]>

/** Resources so that each comes after those that it needs. */
export function inNeed(resources: ReadonlyMap<string, Resource>): Resource[] {
  const found: Resource[] = []
  const visit = (resource: Resource, way: readonly string[]): void => {
    if (found.includes(resource) || way.includes(resource.name)) return
    const needed = resource.members.flatMap(({ field }) => (field.kind === 'ref' ? [field.target as string] : []))
    const owners = resource.parent ? [resource.parent.resource] : []
    for (const name of [...owners, ...needed]) {
      const other = resources.get(name)
      if (other) visit(other, [...way, resource.name])
    }
    found.push(resource)
  }
  for (const resource of resources.values()) visit(resource, [])
  return found
}

/** A body for a new item and the path that it is sent to; undefined where it cannot be made. */
export function creation(
  stand: Stand,
  chance: Chance,
  items: (resource: string) => readonly Body[],
): Request | undefined {
  const idOf = (name: string): string | undefined => {
    const all = items(name)
    return all.length === 0 ? undefined : String((all[chance.below(all.length)] as Body).id)
  }
  const { parent } = stand.resource
  const owner = parent ? idOf(parent.resource) : undefined
  if (parent && owner === undefined) return undefined
  const body = bodyFor(stand.resource, { chance, idOf })
  const path = pathOf(stand, 'create', parent ? { [parent.field]: owner } : {})
  return path === undefined || !body ? undefined : { method: 'POST', path, body }
}

/** Makes some items of every resource; what cannot be made has none. */
export async function filled(release: Released, ask: Ask, seed: number, count = 6): Promise<Pool> {
  const pool: Pool = new Map()
  for (const resource of inNeed(release.service.resources)) {
    const items: Body[] = []
    pool.set(resource.name, items)
    for (let i = 0; i < count; i++) {
      const request = creation({ release, resource }, seeded(seed + i, []), (name) => pool.get(name) ?? [])
      const answer = request && (await ask(release.label, request))
      if (answer?.status === 201 && answer.body) items.push(answer.body)
    }
  }
  return pool
}
