/** Verify: what a declaration promises between its versions, tried with items that are made from it. Part 9, versioning. */
import type { Violation } from '../errors/problem.ts'
import { parameterOf } from '../lists/rules.ts'
import type { Service } from '../service.ts'
import { again, type Chance, one, seeded, smallest } from './chance.ts'
import { derivedAt, derivedFrom } from './derived.ts'
import {
  type Answer,
  type Ask,
  type Body,
  creation,
  filled,
  nameAt,
  type Pool,
  pathOf,
  type Released,
  type Request,
  releasedOf,
  type Stage,
  type Stand,
  standOf,
} from './trial.ts'

export interface Failure {
  /** What was promised and did not hold. */
  readonly says: string
  /** The requests that led there, each with its answer. */
  readonly steps: readonly Step[]
}

export interface Step {
  readonly version: string
  readonly request: Request
  readonly answer: Answer
}

export interface Verdict {
  readonly versions: readonly string[]
  /** How many cases were tried, by resource. */
  readonly cases: ReadonlyMap<string, number>
  /** Fields that changes make of others and that did not come back as they were sent; that may be meant. */
  readonly lossy: ReadonlySet<string>
  /** Resources of which no item could be made, so that nothing was tried. */
  readonly untried: readonly string[]
  readonly failure: Failure | null
}

interface Ground {
  readonly service: Service
  readonly released: readonly Released[]
  readonly pool: Pool
  readonly ask: Ask
  readonly lossy: Set<string>
}

/** Opens an empty service. */
type Open = () => Promise<Stage>

/** Tries every resource so many times; what fails is made as small as it can be, on a new store each time. */
export async function verify(
  service: Service,
  open: Open,
  { seed, runs }: { seed: number; runs: number },
): Promise<Verdict> {
  const released = releasedOf(service)
  const newest = released[0] as Released
  const cases = new Map<string, number>()
  const lossy = new Set<string>()
  const verdict = { versions: released.map(({ label }) => label), cases, lossy }
  const within = async <T>(work: (ground: Ground) => Promise<T>): Promise<T> => {
    const { ask, close } = await open()
    const ground = { service, released, ask, lossy, pool: await filled(newest, ask, seed) }
    return work(ground).finally(close)
  }
  const alone = (name: string, row: readonly number[]) => within((ground) => lifeOf(name, again(row), ground))
  const found = await within((ground) => firstFailure(ground, { seed, runs }, cases))
  const untried = [...service.resources.keys()].filter((name) => !cases.has(name))
  if (!found) return { ...verdict, untried, failure: null }
  const { name, row, failure } = found
  const least = await alone(name, await smallest(row, async (less) => isFailure(await alone(name, less))))
  return { ...verdict, untried: [], failure: isFailure(least) ? least : failure }
}

/** The resource and the choices of the first item that breaks a promise. */
async function firstFailure(
  ground: Ground,
  { seed, runs }: { seed: number; runs: number },
  cases: Map<string, number>,
) {
  for (const name of ground.service.resources.keys()) {
    for (let run = 0; run < runs; run++) {
      const row: number[] = []
      const tried = await lifeOf(name, seeded(seed * 7919 + run, row), ground)
      if (tried !== 'untried') cases.set(name, (cases.get(name) ?? 0) + 1)
      if (isFailure(tried)) return { name, row, failure: tried }
    }
  }
  return null
}

type Outcome = Failure | 'untried' | null
const isFailure = (outcome: Outcome): outcome is Failure => outcome !== null && outcome !== 'untried'

/** One item, written in one version and met in another. */
async function lifeOf(name: string, chance: Chance, ground: Ground): Promise<Outcome> {
  const { service, released, pool } = ground
  const stands = released.flatMap((release) => standOf(service.changes, name, release) ?? [])
  const [writer, reader] = [one(chance, stands), one(chance, stands)]
  const steps: Step[] = []
  const tell: Tell = async ({ release: { label: version } }, request) => {
    const answer = await ground.ask(version, request)
    steps.push({ version, request, answer })
    return answer
  }
  const items = (own: string) => pool.get(newestName(own, writer.release, ground)) ?? []
  const request = creation(writer, chance, items)
  if (!request) return 'untried'
  const made = await tell(writer, request)
  const promised = await promisesOf(made, {
    name,
    ground,
    writer,
    reader,
    newest: stands[0] as Stand,
    request,
    chance,
    tell,
  })
  return promised === null ? null : { says: promised, steps }
}

type Tell = (stand: Stand, request: Request) => Promise<Answer>

const newestName = (own: string, { label }: Released, { service }: Ground): string =>
  [...service.resources.keys()].find((name) => nameAt(service.changes, name, label) === own) ?? own

interface Life {
  /** The name of the resource in the newest version. */
  readonly name: string
  readonly ground: Ground
  readonly writer: Stand
  readonly reader: Stand
  readonly newest: Stand
  readonly request: Request
  readonly chance: Chance
  readonly tell: Tell
}

/** The first promise that does not hold, in words; null where all do. */
async function promisesOf(made: Answer, life: Life): Promise<string | null> {
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
  return misfit(reader, read.body) ?? (await putBack(read, path, life)) ?? (await found(read.body, life))
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
  { name: newest, ground }: Life,
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
  const tag = read.headers.etag
  const condition = tag === undefined || tag.startsWith('W/') ? {} : { headers: { 'if-match': tag } }
  const put = await tell(reader, { method: 'PUT', path, body: item, ...condition })
  if (put.status !== 200) return `${labelOf(reader)} refuses what it answered: ${put.status} ${toldIn(put)}`
  const after = await tell(newest, { method: 'GET', path: there })
  const derived = derivedFrom(ground.service.changes, own, labelOf(reader))
  const other = newest.resource.members.find(
    ({ name }) =>
      !derived.has(name) &&
      name !== newest.resource.updated &&
      JSON.stringify(before.body?.[name]) !== JSON.stringify(after.body?.[name]),
  )
  return other
    ? `\`${other.name}\` of ${newest.resource.name} is another one since ${labelOf(reader)} put back what it read.`
    : null
}

/** The id of the owner, under the name it has in the newest version. */
function parentIn(item: Body, { resource: from }: Stand, { resource: to }: Stand): Body {
  return from.parent && to.parent ? { [to.parent.field]: item[from.parent.field] } : {}
}

const scalars = new Set(['string', 'number', 'boolean'])

/** A list finds an item by what it says of itself. */
async function found(item: Body, { reader, chance, tell }: Life): Promise<string | null> {
  const { resource } = reader
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
