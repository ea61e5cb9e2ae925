/** Promises: what every version says of its items, tried with one of them. Part 9, versioning. */
import type { Violation } from '../errors/problem.ts'
import { parameterOf } from '../lists/rules.ts'
import type { Member } from '../resources/resource.ts'
import type { Service } from '../service.ts'
import type { Fault } from './blame.ts'
import { type Chance, one } from './chance.ts'
import { derivedAt, derivedFrom } from './derived.ts'
import { fitting } from './make.ts'
import { inOrder } from './order.ts'
import { type Answer, type Body, foundBy, pathOf, type Request, type Stand } from './trial.ts'

export type Tell = (stand: Stand, request: Request) => Promise<Answer>

/** The life of one item: written in one version, met in another, and in the newest. */
export interface Life {
  /** The name of the resource in the newest version. */
  readonly name: string
  readonly ground: { readonly service: Service; readonly lossy: Map<string, string> }
  readonly writer: Stand
  readonly reader: Stand
  readonly newest: Stand
  readonly request: Request
  readonly chance: Chance
  readonly tell: Tell
  /** Another request of its kind. */
  readonly another: () => Request | undefined
}

/** The first promise that does not hold; null where all do. */
export async function promisesOf(made: Answer, life: Life): Promise<Fault | null> {
  const { writer, reader, request, tell } = life
  if (made.status === 409) return null // what is unique is taken
  if (made.status !== 201) return refused(writer, made, 'refuses what it declares')
  const item = made.body as Body
  const fault = misfit(writer, item) ?? unlike(writer, request.body as Body, item, life) ?? (await settled(item, life))
  if (fault !== null) return fault
  const path = pathOf(reader, 'read', foundBy(item, writer, reader))
  if (path === undefined) return null
  const read = await tell(reader, { method: 'GET', path })
  if (read.status !== 200 || !read.body)
    return refused(reader, read, `does not read what ${labelOf(writer)} wrote`, 'response')
  return (
    misfit(reader, read.body) ??
    (await putBack(read, path, life)) ??
    (await changed(read.body, path, life)) ??
    (await found(path, life)) ??
    (await inOrder(read.body, life))
  )
}

const labelOf = ({ release }: Stand): string => release.label

function refused(stand: Stand, { status, body }: Answer, what: string, by: Fault['by'] = 'request'): Fault {
  const label = labelOf(stand)
  const errors = body?.errors
  const first = Array.isArray(errors) ? (errors[0] as Body) : undefined
  const pointer = String(first?.pointer ?? '')
  const reason = first ? `${first.pointer ?? first.name ?? ''} ${first.message}` : thrown(body)
  const says = `${label} ${what}: ${status} ${reason}`
  // What throws is told with its place, and may be either way.
  return status >= 500 ? { says, label, by: 'both' } : { says, label, field: pointer.split('/')[1] || undefined, by }
}

/** What was thrown, and where; else what is told of it. */
function thrown(body: Body | null): string {
  const { message = '' } = (body?.cause ?? body ?? {}) as Body
  return String(message)
    .split('\n')
    .slice(0, 2)
    .map((line) => line.trim())
    .join(' ')
}

/** Why a document is none of a version; null where it is. */
function misfit(stand: Stand, document: Body): Fault | null {
  const { release, resource } = stand
  const { label } = release
  const fault = (says: string, field?: string): Fault => ({ says, label, field, by: 'response' })
  const seen = resource.members.filter(({ hidden }) => !hidden)
  const lost = seen.find(({ name }) => !Object.hasOwn(document, name))
  if (lost) return fault(`${label} promises \`${lost.name}\` in ${resource.name}, and it is not answered.`, lost.name)
  const strange = Object.keys(document).find((name) => name !== '_links' && !seen.some((one) => one.name === name))
  if (strange) return fault(`${label} does not know \`${strange}\` in ${resource.name}, and it is answered.`)
  for (const { name, check, field } of seen) {
    const faults: Violation[] = []
    const value = document[name]
    if (name === 'id' && !resource.isId(String(value))) return fault(`${label}: \`id\` is no id of ${resource.name}.`)
    if (value === null && field.options.readOnly) continue // not set yet
    const read = check(value, `/${name}`, faults)
    const [first] = faults
    if (first)
      return fault(
        `${label}: what is answered of ${resource.name} does not fit: ${first.pointer} ${first.message}`,
        name,
      )
    if (JSON.stringify(read) !== JSON.stringify(value))
      return fault(
        `${label}: \`${name}\` of ${resource.name} is answered in another form than ${label} writes it.`,
        name,
      )
  }
  return null
}

/** A value that was sent and comes back as another one; where a change makes it of others, that is only told. */
function unlike(
  { release, resource }: Stand,
  sent: Body,
  answered: Body,
  { name: newest, ground }: Pick<Life, 'name' | 'ground'>,
): Fault | null {
  const { label } = release
  const derived = derivedAt(ground.service.changes, newest, label)
  for (const { name, check, hidden } of resource.members) {
    if (hidden || !Object.hasOwn(sent, name)) continue
    const [was, is] = [JSON.stringify(check(sent[name], '', [])), JSON.stringify(answered[name])]
    if (was === is) continue
    if (!derived.has(name))
      return {
        says: `${label}: \`${name}\` of ${resource.name} does not come back as it was sent.`,
        label,
        field: name,
        by: 'response',
      }
    const place = `${label}: ${name} of ${resource.name}`
    const example = `${was} comes back as ${is}`
    if (example.length < (ground.lossy.get(place)?.length ?? Number.POSITIVE_INFINITY)) ground.lossy.set(place, example)
  }
  return null
}

/** What comes back otherwise than it was sent is what it is meant to be: sent again, it comes back the same. */
async function settled(
  item: Body,
  { writer, request, tell, another, name: newest, ground }: Life,
): Promise<Fault | null> {
  const { release, resource } = writer
  const derived = derivedAt(ground.service.changes, newest, release.label)
  const own = resource.members.filter(({ name, hidden }) => !hidden && derived.has(name) && Object.hasOwn(item, name))
  const names = own.filter(({ from }) => from === 'caller').map(({ name }) => name)
  const turned = names.filter(
    (name) => Object.hasOwn(request.body ?? {}, name) && !alike(request.body?.[name], item[name]),
  )
  const seen = [request.body as Body, item]
  while (turned.length > 0 && seen.length < mostTurns) {
    const [next, last] = [another(), seen.at(-1) as Body]
    if (!next) return null
    const body = { ...next.body, ...Object.fromEntries(names.map((name) => [name, last[name]])) }
    const again = await tell(writer, { ...next, body })
    if (again.status === 409) return null // what is unique is taken
    if (again.status !== 201 || !again.body) return refused(writer, again, 'refuses what it answered')
    if (turned.every((one) => alike(last[one], again.body?.[one]))) return null
    seen.push(again.body)
  }
  const name = turned.find((one) => !alike(seen.at(-1)?.[one], seen.at(-2)?.[one]))
  if (name === undefined) return null
  const values = seen.map((one) => JSON.stringify(one[name])).join(', then ')
  const says = `${release.label}: \`${name}\` of ${resource.name} never comes to rest: sent again and again, it is ${values}.`
  return { says, label: release.label, field: name, by: 'both' }
}

/** How often a value is looked at until it has to be at rest: what is cut and trimmed may take two turns. */
const mostTurns = 4

/** Who puts back what was read changes nothing, whatever its version does not know. */
async function putBack(
  read: Answer,
  path: string,
  { reader, newest, tell, name: own, ground }: Life,
): Promise<Fault | null> {
  if (!reader.resource.methods.includes('replace') || !newest.resource.methods.includes('read')) return null
  const item = read.body as Body
  const there = pathOf(newest, 'read', foundBy(item, reader, newest)) as string
  const before = await tell(newest, { method: 'GET', path: there })
  const put = await tell(reader, { method: 'PUT', path, body: item, ...ifUnchanged(read.headers) })
  if (put.status !== 200) return refused(reader, put, 'refuses what it answered')
  const after = await tell(newest, { method: 'GET', path: there })
  const derived = derivedFrom(ground.service.changes, own, labelOf(reader))
  const other = newest.resource.members.find(
    ({ name }) =>
      !derived.has(name) && name !== newest.resource.updated && !alike(before.body?.[name], after.body?.[name]),
  )
  if (!other) return null
  const says = `\`${other.name}\` of ${newest.resource.name} is another one since ${labelOf(reader)} put back what it read.`
  return { says, label: labelOf(reader), by: 'request' }
}

/** Who changes one field changes that field. */
async function changed(
  item: Body,
  path: string,
  { reader, chance, tell, name: own, ground }: Life,
): Promise<Fault | null> {
  const { resource } = reader
  const free = resource.members.filter(
    ({ from, immutable, hidden, field, name }) =>
      from === 'caller' &&
      !immutable &&
      !hidden &&
      !field.options.unique &&
      field.kind !== 'ref' &&
      name !== resource.key,
  )
  if (!resource.methods.includes('change') || free.length === 0) return null
  const member = one(chance, free)
  const value = fitting(member, { chance, idOf: () => undefined })
  if (value === undefined || merges(member)) return null
  const { headers } = await tell(reader, { method: 'GET', path })
  const patched = await tell(reader, { method: 'PATCH', path, body: { [member.name]: value }, ...ifUnchanged(headers) })
  if (patched.status === 409) return null // what is unique together is taken
  if (patched.status !== 200 || !patched.body)
    return refused(reader, patched, `refuses a change of \`${member.name}\` that it declares`)
  const derived = derivedAt(ground.service.changes, own, labelOf(reader))
  const other = resource.members.find(
    ({ name }) =>
      ![member.name, resource.updated].includes(name) && !derived.has(name) && !alike(item[name], patched.body?.[name]),
  )
  if (other) {
    const says = `\`${other.name}\` of ${resource.name} is another one since ${labelOf(reader)} changed \`${member.name}\`.`
    return { says, label: labelOf(reader), field: member.name, by: 'request' }
  }
  return misfit(reader, patched.body) ?? unlike(reader, { [member.name]: value }, patched.body, { name: own, ground })
}

/** Whether a change goes into what is there, so that more than it comes back. */
const merges = ({ field: { kind } }: Member): boolean => kind === 'object' || kind === 'metadata'

const alike = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** A condition that holds as long as nobody writes. */
function ifUnchanged({ etag }: Answer['headers']): Pick<Request, 'headers'> {
  return etag === undefined || etag.startsWith('W/') ? {} : { headers: { 'if-match': etag } }
}

const scalars = new Set(['string', 'number', 'boolean'])

/** A list finds an item by what it says of itself. */
async function found(at: string, { reader, chance, tell }: Life): Promise<Fault | null> {
  const { resource } = reader
  const { body: item } = await tell(reader, { method: 'GET', path: at })
  if (!item) return null
  const path = resource.methods.includes('list') ? pathOf(reader, 'list', item) : undefined
  const asked = resource.members.filter(
    ({ name, field }) => field.options.filter && scalars.has(typeof item[name]) && name !== 'id',
  )
  if (path === undefined || asked.length === 0) return null
  const { name, field } = one(chance, asked)
  const filter = `${encodeURIComponent(parameterOf(name))}=${encodeURIComponent(String(item[name]))}`
  const sorts = resource.members.filter((one) => one.field.options.sort)
  const sort = sorts.length > 0 && chance.below(2) === 1 ? `&sort=${one(chance, sorts).name}` : ''
  const ask = (query: string) => tell(reader, { method: 'GET', path: `${path}?${filter}${query}` })
  const list = await ask(`&id=${encodeURIComponent(String(item.id))}${sort}`)
  if (list.status !== 200)
    return { ...refused(reader, list, 'refuses a filter that it declares'), field: name, by: 'filters' }
  const fault = (says: string): Fault => ({ says, label: labelOf(reader), field: name, by: 'filters' })
  const [first] = itemsIn(list)
  if (!first || first.id !== item.id)
    return fault(`${labelOf(reader)} does not find an item of ${resource.name} by its \`${name}\`.`)
  const whole = itemsIn(await ask(sort))
  for (const other of whole) {
    const odd = misfit(reader, other)
    if (odd) return odd
  }
  const stray = field.options.fold ? undefined : whole.find((other) => !alike(other[name], item[name]))
  if (stray)
    return fault(
      `${labelOf(reader)} finds items of ${resource.name} by a \`${name}\` of ${JSON.stringify(item[name])} that have ${JSON.stringify(stray[name])}.`,
    )
  return misfit(reader, first) ?? (alike(first, item) ? null : otherwise(reader, item, first))
}

const itemsIn = ({ body }: Answer): readonly Body[] => (Array.isArray(body?.data) ? (body.data as Body[]) : [])

/** An item that a list has otherwise than it is read by itself. */
function otherwise({ release: { label }, resource }: Stand, item: Body, listed: Body): Fault {
  const field = Object.keys(item).find((name) => !alike(item[name], listed[name])) ?? ''
  return { says: `${label}: \`${field}\` of ${resource.name} is another one in a list.`, label, field, by: 'response' }
}
