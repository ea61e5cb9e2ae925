/** Record: makes requests from the declaration of a version, and records their answers. Part 9, versioning. */
import { summarySegment } from '../fields/summary.ts'
import { filterParameter } from '../lists/list-rules.ts'
import { revisionSegment } from '../resources/own-operations.ts'
import type { Resource } from '../resources/resource.ts'
import { everydayChance, seededChance } from './chance.ts'
import { type RecordedExchange, recordExchange } from './exchanges.ts'
import { makeValue } from './make.ts'
import {
  type AskVersion,
  creationRequest,
  inDependencyOrder,
  isScalar,
  type JsonBody,
  operationPath,
  type ResourceInVersion,
  type TrialAnswer,
  type TrialRequest,
  type VersionService,
} from './version-service.ts'

/** Sends a version a few requests of every kind, always the same ones. */
export async function recordExchanges(release: VersionService, ask: AskVersion): Promise<readonly RecordedExchange[]> {
  const exchanges: RecordedExchange[] = []
  const tell: SendRecorded = async (request) => {
    const answer = await ask(release.label, request)
    exchanges.push(recordExchange(request, answer))
    return answer
  }
  const items = new Map<string, JsonBody[]>()
  const resources = inDependencyOrder(release.service.resources)
  for (const resource of resources)
    items.set(resource.name, await recordCreates({ version: release, resource }, items, tell))
  for (const resource of resources)
    await recordReads({ version: release, resource }, items.get(resource.name) ?? [], tell)
  for (const resource of resources.toReversed())
    await recordWrites({ version: release, resource }, items.get(resource.name) ?? [], tell)
  return exchanges
}

type SendRecorded = (request: TrialRequest) => Promise<TrialAnswer>

const itemCount = 2

/** Creates two items, repeats an idempotency key, and sends two bodies that are refused. */
async function recordCreates(
  inVersion: ResourceInVersion,
  items: ReadonlyMap<string, JsonBody[]>,
  tell: SendRecorded,
): Promise<JsonBody[]> {
  const bodies: JsonBody[] = []
  for (let i = 0; i < itemCount; i++) {
    const request = creationRequest(inVersion, everydayChance(seededChance(i + 1, [])), (name) => items.get(name) ?? [])
    if (!request) continue
    const keyed = { ...request, headers: { 'idempotency-key': `${inVersion.resource.name}-${i}` } }
    const answer = await tell(keyed)
    if (answer.status === 201 && answer.body) bodies.push(answer.body)
    if (i > 0) continue
    await tell(keyed)
    await tell({ ...request, body: {} })
    await tell({ ...request, body: { ...request.body, notDeclared: 1 } })
  }
  return bodies
}

const mostQuestions = 4

/** Reads an item, and lists with each kind of query that is declared, and their summaries. */
async function recordReads(
  inVersion: ResourceInVersion,
  items: readonly JsonBody[],
  tell: SendRecorded,
): Promise<void> {
  const { resource } = inVersion
  const [item] = items
  const one = item && operationPath(inVersion, 'read', item)
  if (one !== undefined) {
    await tell({ method: 'GET', path: one })
    await tell({ method: 'GET', path: `${one}0` })
    await tell({ method: 'OPTIONS', path: one })
    if (resource.declaration.history)
      for (const end of ['', '?limit=1', '/1', '/1?against=1', '/0'])
        await tell({ method: 'GET', path: `${one}/${revisionSegment}${end}` })
  }
  const list = item && operationPath(inVersion, 'list', item)
  if (list === undefined || !item) return
  for (const query of [
    '',
    ...pageQueries(resource),
    ...filterQueries(resource, item),
    ...sortQueries(resource),
    '?notDeclared=1',
    ...resource.summaries.slice(0, mostQuestions).map(({ segment }) => `/${summarySegment}/${segment}`),
  ])
    await tell({ method: 'GET', path: list + query })
}

function pageQueries({ settings }: Resource): string[] {
  const { styles } = settings.list.pagination
  const all = { page: '?page=1&page_size=1', offset: '?limit=1&offset=1', cursor: '?cursor=&limit=1' }
  return [...styles.map((style) => all[style]), `?page_size=${settings.list.maxPageSize + 1}`]
}

function filterQueries({ members }: Resource, item: JsonBody): string[] {
  const filtered = members.filter(({ name, field }) => field.options.filter && isScalar(item[name]))
  return filtered
    .slice(0, mostQuestions)
    .map(({ name }) => `?${filterParameter(name)}=${encodeURIComponent(String(item[name]))}`)
}

function sortQueries({ members, declaration }: Resource): string[] {
  const sorted = members.filter(({ field }) => field.options.sort).slice(0, mostQuestions)
  const customs = Object.keys(declaration.sorts ?? {}).slice(0, mostQuestions)
  return [...sorted.map(({ name }) => `?sort=${name}&order=desc`), ...customs.map((name) => `?custom_sort=${name}`)]
}

/** Replaces, changes and removes the first item, and then reads it once more. */
async function recordWrites(
  inVersion: ResourceInVersion,
  items: readonly JsonBody[],
  tell: SendRecorded,
): Promise<void> {
  const { resource } = inVersion
  const [item] = items
  const path = item && operationPath(inVersion, 'read', item)
  if (path === undefined || !item) return
  const offered = (name: Resource['methods'][number]) => resource.methods.includes(name)
  const condition = async () => {
    const { headers } = await tell({ method: 'GET', path })
    const strong = headers.etag !== undefined && !headers.etag.startsWith('W/')
    return strong ? { headers: { 'if-match': headers.etag as string } } : {}
  }
  if (offered('replace')) await tell({ method: 'PUT', path, body: item, ...(await condition()) })
  const patch = patchFor(resource)
  if (offered('change') && patch) await tell({ method: 'PATCH', path, body: patch, ...(await condition()) })
  if (offered('change')) await tell({ method: 'PATCH', path, body: { notDeclared: 1 }, ...(await condition()) })
  if (!offered('remove')) return
  await tell({ method: 'DELETE', path, ...(await condition()) })
  await tell({ method: 'GET', path })
}

/** A value for the first field that can be changed. */
function patchFor({ members, key, rules }: Resource): JsonBody | undefined {
  const simple = members.filter(
    ({ from, immutable, field, name }) =>
      from === 'caller' && !immutable && !field.options.unique && field.kind !== 'ref' && name !== key,
  )
  for (const member of simple) {
    const value = makeValue(member, rules, { chance: everydayChance(seededChance(7, [])), idOf: () => undefined })
    if (value !== undefined) return { [member.name]: value }
  }
  return undefined
}
