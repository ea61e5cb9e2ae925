/** Exchanges: requests and answers of a version, recorded when it is locked, and replayed later. Part 9, versioning. */
import { isObject } from '../fields/value-check.ts'
import type { AskVersion, TrialAnswer, TrialRequest } from './version-service.ts'

/** A request and its answer, as far as consumers may rely on it. */
export interface RecordedExchange {
  readonly request: TrialRequest
  readonly answer: TrialAnswer
}

/** Headers that consumers rely on. */
const keptHeaders = [
  'content-type',
  'location',
  'content-location',
  'etag',
  'link',
  'allow',
  'www-authenticate',
  'version',
]
/** Texts for people, and members that identify a single request. */
const ignoredMembers = new Set(['message', 'detail', 'title', 'requestId', 'request_id', 'instance'])

export function recordExchange(request: TrialRequest, { status, headers, body }: TrialAnswer): RecordedExchange {
  const own = keptHeaders.filter((name) => headers[name] !== undefined)
  return {
    request,
    answer: { status, headers: Object.fromEntries(own.map((name) => [name, headers[name] as string])), body },
  }
}

/** An exchange whose answer differs from the recorded one by more than additions. */
export interface Deviation extends RecordedExchange {
  readonly says: string
  readonly came: TrialAnswer
}

/**
 * Replays recorded requests in order and returns the first deviation. Identifiers, cursors and tags may differ; later
 * requests use the new ones. Fields that a change computes must be present, with any value.
 */
export async function replayExchanges(
  exchanges: readonly RecordedExchange[],
  version: string,
  ask: AskVersion,
  derived: ReadonlySet<string> = new Set(),
): Promise<Deviation | null> {
  const nameMap = new Map<string, string>()
  for (const exchange of exchanges) {
    const came = await ask(version, substituteNames(exchange.request, nameMap) as TrialRequest)
    if (!queriesDerived(exchange.request, derived)) learnNames(exchange.answer, came, nameMap)
    const says = deviationText(exchange, came, nameMap, derived)
    if (says !== null) return { ...exchange, came, says }
  }
  return null
}

/** Replaces recorded identifiers, cursors and tags by their current values. */
function substituteNames(value: unknown, nameMap: ReadonlyMap<string, string>): unknown {
  if (nameMap.size === 0) return value
  if (typeof value === 'string') return [...nameMap].reduce((text, [was, is]) => text.replaceAll(was, is), value)
  if (Array.isArray(value)) return value.map((one) => substituteNames(one, nameMap))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, substituteNames(one, nameMap)]))
}

const identifierNames = new Set(['id', 'old_id', 'nextCursor', 'prevCursor'])

function learnNames(recorded: TrialAnswer, came: TrialAnswer, nameMap: Map<string, string>): void {
  const [tag, other] = [recorded.headers.etag, came.headers.etag]
  if (tag !== undefined && other !== undefined && tag !== other) nameMap.set(tag, other)
  forEachTextPair(recorded.body, came.body, (name, was, is) => {
    if (identifierNames.has(name) && was !== is) nameMap.set(was, is)
  })
}

/** Visits every pair of texts at the same place in both values. */
function forEachTextPair(
  was: unknown,
  is: unknown,
  see: (name: string, was: string, is: string) => void,
  name = '',
): void {
  if (typeof was === 'string' && typeof is === 'string') see(name, was, is)
  else if (Array.isArray(was) && Array.isArray(is))
    for (const [i, one] of was.entries()) forEachTextPair(one, is[i], see, name)
  else if (isObject(was) && isObject(is))
    for (const own of Object.keys(was)) forEachTextPair(was[own], is[own], see, own)
}

function deviationText(
  { request, answer: recorded }: RecordedExchange,
  came: TrialAnswer,
  nameMap: ReadonlyMap<string, string>,
  derived: ReadonlySet<string>,
): string | null {
  if (recorded.status !== came.status) return `the status ${recorded.status} was recorded, and ${came.status} came`
  for (const [name, was] of Object.entries(recorded.headers)) {
    const is = came.headers[name]
    if (!isSameHeader(name, was, is, nameMap)) return `${name}: ${was} was recorded, and ${is ?? 'none'} came`
  }
  if (queriesDerived(request, derived)) return null
  return bodyDeviation(substituteNames(recorded.body, nameMap), came.body, '', derived)
}

/** Whether a list is filtered or sorted by a derived field: its result depends on the change functions. */
const queriesDerived = ({ path }: TrialRequest, derived: ReadonlySet<string>): boolean =>
  [...new URLSearchParams(path.split('?')[1] ?? '')].some(([name, value]) =>
    derived.has(name === 'sort' ? value : (name.split('[')[0] as string)),
  )

function isSameHeader(
  name: string,
  was: string,
  is: string | undefined,
  nameMap: ReadonlyMap<string, string>,
): boolean {
  if (is === undefined) return false
  if (name === 'etag') return was.startsWith('W/') === is.startsWith('W/')
  if (name === 'allow') return includesAll(was.split(', '), is.split(', '))
  if (name === 'link') return includesAll(linkRelations(was), linkRelations(is))
  return substituteNames(was, nameMap) === is
}

const includesAll = (some: readonly string[], all: readonly string[]): boolean => some.every((one) => all.includes(one))
const linkRelations = (link: string): string[] => [...link.matchAll(/rel="([^"]*)"/g)].map(([, name = '']) => name)

/** Describes the first value that differs; members that were not recorded are fine. */
function bodyDeviation(was: unknown, is: unknown, at: string, derived: ReadonlySet<string>): string | null {
  if (Array.isArray(was) && Array.isArray(is) && was.length === is.length)
    return firstText(was.map((one, i) => bodyDeviation(one, is[i], `${at}/${i}`, derived)))
  if (isObject(was) && isObject(is))
    return firstText(
      Object.entries(was).map(([name, one]) => {
        if (!Object.hasOwn(is, name)) return `${at}/${name} was recorded, and is not there`
        if (derived.has(name) || (ignoredMembers.has(name) && typeof one === typeof is[name])) return null
        return bodyDeviation(one, is[name], `${at}/${name}`, derived)
      }),
    )
  if (was === is) return null
  return `${at === '' ? 'the body' : at}: ${JSON.stringify(was)} was recorded, and ${JSON.stringify(is)} came`
}

const firstText = (texts: readonly (string | null)[]): string | null => texts.find((one) => one !== null) ?? null

/** The exchanges as JSON, each on two lines. */
export const exchangesText = (exchanges: readonly RecordedExchange[]): string =>
  `[\n${exchanges
    .map(({ request, answer }) => `  {"request": ${JSON.stringify(request)},\n   "answer": ${JSON.stringify(answer)}}`)
    .join(',\n')}\n]\n`

/** Parses exchanges; returns the reason as text if that fails. */
export function parseExchanges(text: string): readonly RecordedExchange[] | string {
  try {
    const read: unknown = JSON.parse(text)
    const fits = (one: unknown) =>
      isObject(one) &&
      isObject(one.request) &&
      typeof one.request.path === 'string' &&
      isObject(one.answer) &&
      isObject(one.answer.headers)
    return Array.isArray(read) && read.every(fits)
      ? (read as RecordedExchange[])
      : 'it is not a list of requests and answers'
  } catch (error) {
    return `it is not JSON (${(error as Error).message})`
  }
}
