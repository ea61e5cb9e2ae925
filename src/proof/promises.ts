/** Promises: what every version says of its items, tried with one of them. Part 9, versioning. */
import type { Violation } from '../errors/problem.ts'
import { parameterOf } from '../lists/rules.ts'
import type { Member } from '../resources/resource.ts'
import type { Service } from '../service.ts'
import { type Chance, one } from './chance.ts'
import { derivedAt, derivedFrom } from './derived.ts'
import { fitting } from './make.ts'
import { type Answer, type Body, pathOf, type Request, type Stand } from './trial.ts'

export type Tell = (stand: Stand, request: Request) => Promise<Answer>

/** The life of one item: written in one version, met in another, and in the newest. */
export interface Life {
  /** The name of the resource in the newest version. */
  readonly name: string
  readonly ground: { readonly service: Service; readonly lossy: Set<string> }
  readonly writer: Stand
  readonly reader: Stand
  readonly newest: Stand
  readonly request: Request
  readonly chance: Chance
  readonly tell: Tell
}

/** The first promise that does not hold, in words; null where all do. */
export async function promisesOf(made: Answer, life: Life): Promise<string | null> {
  const { writer, reader, request, tell } = life
  if (made.status === 409) return null // what is unique is taken
  if (made.status !== 201) return `${labelOf(writer)} refuses what it declares: ${made.status} ${toldIn(made)}`
  const item = made.body as Body
  const fault = misfit(writer, item) ?? unlike(writer, request.body as Body, item, life)
  if (fault !== null) return fault
  const path = pathOf(reader, 'read', item)
  if (path === undefined) return null
  const read = await tell(reader, { method: 'GET', path })
  if (read.status !== 200 || !read.body)
    return `${labelOf(reader)} does not read what ${labelOf(writer)} wrote: ${read.status} ${toldIn(read)}`
  return (
    misfit(reader, read.body) ??
    (await putBack(read, path, life)) ??
    (await changed(read.body, path, life)) ??
    (await found(path, life))
  )
}

const labelOf = ({ release }: Stand): string => release.label
const toldIn = ({ body }: Answer): string => {
  const errors = body?.errors
  const first = Array.isArray(errors) ? (errors[0] as Body) : undefined
  return first ? `${first.pointer ?? first.name ?? ''} ${first.message}` : String(body?.message ?? '')
}

/** Why a document is none of a version; null where it is. */
function misfit({ release, resource }: Stand, document: Body): string | null {
  const seen = resource.members.filter(({ hidden }) => !hidden)
  const lost = seen.find(({ name }) => !Object.hasOwn(document, name))
  if (lost) return `${release.label} promises \`${lost.name}\` in ${resource.name}, and it is not answered.`
  const strange = Object.keys(document).find((name) => name !== '_links' && !seen.some((one) => one.name === name))
  if (strange) return `${release.label} does not know \`${strange}\` in ${resource.name}, and it is answered.`
  for (const { name, check, field } of seen) {
    const faults: Violation[] = []
    const value = document[name]
    if (name === 'id' && !resource.isId(String(value))) return `${release.label}: \`id\` is no id of ${resource.name}.`
    if (value === null && field.options.readOnly) continue // not set yet
    const read = check(value, `/${name}`, faults)
    const [first] = faults
    if (first)
      return `${release.label}: what is answered of ${resource.name} does not fit: ${first.pointer} ${first.message}`
    if (JSON.stringify(read) !== JSON.stringify(value))
      return `${release.label}: \`${name}\` of ${resource.name} is answered in another form than ${release.label} writes it.`
  }
  return null
}

/** A value that was sent and comes back as another one; where a change makes it of others, that is only told. */
function unlike(
  { release, resource }: Stand,
  sent: Body,
  answered: Body,
  { name: newest, ground }: Pick<Life, 'name' | 'ground'>,
): string | null {
  const derived = derivedAt(ground.service.changes, newest, release.label)
  for (const { name, check, hidden } of resource.members) {
    if (hidden || !Object.hasOwn(sent, name)) continue
    if (JSON.stringify(check(sent[name], '', [])) === JSON.stringify(answered[name])) continue
    if (!derived.has(name))
      return `${release.label}: \`${name}\` of ${resource.name} does not come back as it was sent.`
    ground.lossy.add(`${release.label}: ${name} of ${resource.name}`)
  }
  return null
}

/** Who puts back what was read changes nothing, whatever its version does not know. */
async function putBack(
  read: Answer,
  path: string,
  { reader, newest, tell, name: own, ground }: Life,
): Promise<string | null> {
  if (!reader.resource.methods.includes('replace') || !newest.resource.methods.includes('read')) return null
  const item = read.body as Body
  const there = pathOf(newest, 'read', { ...item, ...parentIn(item, reader, newest) }) as string
  const before = await tell(newest, { method: 'GET', path: there })
  const put = await tell(reader, { method: 'PUT', path, body: item, ...ifUnchanged(read.headers) })
  if (put.status !== 200) return `${labelOf(reader)} refuses what it answered: ${put.status} ${toldIn(put)}`
  const after = await tell(newest, { method: 'GET', path: there })
  const derived = derivedFrom(ground.service.changes, own, labelOf(reader))
  const other = newest.resource.members.find(
    ({ name }) =>
      !derived.has(name) && name !== newest.resource.updated && !alike(before.body?.[name], after.body?.[name]),
  )
  return other
    ? `\`${other.name}\` of ${newest.resource.name} is another one since ${labelOf(reader)} put back what it read.`
    : null
}

/** Who changes one field changes that field. */
async function changed(
  item: Body,
  path: string,
  { reader, chance, tell, name: own, ground }: Life,
): Promise<string | null> {
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
    return `${labelOf(reader)} refuses a change of \`${member.name}\` that it declares: ${patched.status} ${toldIn(patched)}`
  const derived = derivedAt(ground.service.changes, own, labelOf(reader))
  const other = resource.members.find(
    ({ name }) =>
      ![member.name, resource.updated].includes(name) && !derived.has(name) && !alike(item[name], patched.body?.[name]),
  )
  if (other)
    return `\`${other.name}\` of ${resource.name} is another one since ${labelOf(reader)} changed \`${member.name}\`.`
  return misfit(reader, patched.body) ?? unlike(reader, { [member.name]: value }, patched.body, { name: own, ground })
}

/** Whether a change goes into what is there, so that more than it comes back. */
const merges = ({ field: { kind } }: Member): boolean => kind === 'object' || kind === 'metadata'

const alike = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** A condition that holds as long as nobody writes. */
function ifUnchanged({ etag }: Answer['headers']): Pick<Request, 'headers'> {
  return etag === undefined || etag.startsWith('W/') ? {} : { headers: { 'if-match': etag } }
}

/** The id of the owner, under the name it has in the newest version. */
function parentIn(item: Body, { resource: from }: Stand, { resource: to }: Stand): Body {
  return from.parent && to.parent ? { [to.parent.field]: item[from.parent.field] } : {}
}

const scalars = new Set(['string', 'number', 'boolean'])

/** A list finds an item by what it says of itself. */
async function found(at: string, { reader, chance, tell }: Life): Promise<string | null> {
  const { resource } = reader
  const { body: item } = await tell(reader, { method: 'GET', path: at })
  if (!item) return null
  const path = resource.methods.includes('list') ? pathOf(reader, 'list', item) : undefined
  const asked = resource.members.filter(
    ({ name, field }) => field.options.filter && scalars.has(typeof item[name]) && name !== 'id',
  )
  if (path === undefined || asked.length === 0) return null
  const { name } = one(chance, asked)
  const query = `${encodeURIComponent(parameterOf(name))}=${encodeURIComponent(String(item[name]))}&id=${encodeURIComponent(String(item.id))}`
  const sorts = resource.members.filter(({ field }) => field.options.sort)
  const sort = sorts.length > 0 && chance.below(2) === 1 ? `&sort=${one(chance, sorts).name}` : ''
  const list = await tell(reader, { method: 'GET', path: `${path}?${query}${sort}` })
  if (list.status !== 200) return `${labelOf(reader)} refuses a filter that it declares: ${list.status} ${toldIn(list)}`
  const data = list.body?.data
  const [first] = Array.isArray(data) ? (data as Body[]) : []
  if (first?.id !== item.id) return `${labelOf(reader)} does not find an item of ${resource.name} by its \`${name}\`.`
  return misfit(reader, first as Body)
}
