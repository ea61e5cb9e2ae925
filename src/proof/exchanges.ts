/** Answers: what a version answered when it was locked, kept to be asked for again. Part 9, versioning. */
import { isObject } from '../fields/value-check.ts'
import type { AskVersion, TrialAnswer, TrialRequest } from './fixture.ts'

/** A request with what came back for it, as far as consumers may rely on it. */
export interface RecordedExchange {
  readonly request: TrialRequest
  readonly answer: TrialAnswer
}

/** Headers that consumers go by. */
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
/** Texts for people, and what names a single request. */
const ignoredMembers = new Set(['message', 'detail', 'title', 'requestId', 'instance'])

export function recordExchange(request: TrialRequest, { status, headers, body }: TrialAnswer): RecordedExchange {
  const own = keptHeaders.filter((name) => headers[name] !== undefined)
  return {
    request,
    answer: { status, headers: Object.fromEntries(own.map((name) => [name, headers[name] as string])), body },
  }
}

/** What is answered otherwise than it was recorded; null where everything is the same, or more. */
export interface Deviation extends RecordedExchange {
  readonly says: string
  readonly came: TrialAnswer
}

/**
 * Sends what was recorded again, in its order. Identifiers, cursors and tags may be others: they are followed. Fields that
 * a change makes of others have to be there, with whatever value it makes.
 */
export async function replayExchanges(
  exchanges: readonly RecordedExchange[],
  version: string,
  ask: AskVersion,
  derived: ReadonlySet<string> = new Set(),
): Promise<Deviation | null> {
  const known = new Map<string, string>()
  for (const exchange of exchanges) {
    const came = await ask(version, substituteNames(exchange.request, known) as TrialRequest)
    if (!queriesDerived(exchange.request, derived)) learnNames(exchange.answer, came, known)
    const says = deviationText(exchange, came, known, derived)
    if (says !== null) return { ...exchange, came, says }
  }
  return null
}

/** A value with what is known by another name today. */
function substituteNames(value: unknown, known: ReadonlyMap<string, string>): unknown {
  if (known.size === 0) return value
  if (typeof value === 'string') return [...known].reduce((text, [was, is]) => text.replaceAll(was, is), value)
  if (Array.isArray(value)) return value.map((one) => substituteNames(one, known))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, substituteNames(one, known)]))
}

const identifierNames = new Set(['id', 'old_id', 'nextCursor', 'prevCursor'])

function learnNames(recorded: TrialAnswer, came: TrialAnswer, known: Map<string, string>): void {
  const [tag, other] = [recorded.headers.etag, came.headers.etag]
  if (tag !== undefined && other !== undefined && tag !== other) known.set(tag, other)
  forEachTextPair(recorded.body, came.body, (name, was, is) => {
    if (identifierNames.has(name) && was !== is) known.set(was, is)
  })
}

/** Every text at the same place of both. */
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
  known: ReadonlyMap<string, string>,
  derived: ReadonlySet<string>,
): string | null {
  if (recorded.status !== came.status) return `the status ${recorded.status} was recorded, and ${came.status} came`
  for (const [name, was] of Object.entries(recorded.headers)) {
    const is = came.headers[name]
    if (!isSameHeader(name, was, is, known)) return `${name}: ${was} was recorded, and ${is ?? 'none'} came`
  }
  if (queriesDerived(request, derived)) return null
  return bodyDeviation(substituteNames(recorded.body, known), came.body, '', derived)
}

/** Whether a list is asked for by a field that is made of others: what it finds follows from what that makes. */
const queriesDerived = ({ path }: TrialRequest, derived: ReadonlySet<string>): boolean =>
  [...new URLSearchParams(path.split('?')[1] ?? '')].some(([name, value]) =>
    derived.has(name === 'sort' ? value : (name.split('[')[0] as string)),
  )

function isSameHeader(name: string, was: string, is: string | undefined, known: ReadonlyMap<string, string>): boolean {
  if (is === undefined) return false
  if (name === 'etag') return was.startsWith('W/') === is.startsWith('W/')
  if (name === 'allow') return includesAll(was.split(', '), is.split(', '))
  if (name === 'link') return includesAll(linkRelations(was), linkRelations(is))
  return substituteNames(was, known) === is
}

const includesAll = (some: readonly string[], all: readonly string[]): boolean => some.every((one) => all.includes(one))
const linkRelations = (link: string): string[] => [...link.matchAll(/rel="([^"]*)"/g)].map(([, name = '']) => name)

/** Where a value is another one; more members than were recorded are fine. */
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

const firstText = (found: readonly (string | null)[]): string | null => found.find((one) => one !== null) ?? null

/** One exchange on two lines. */
export const exchangesText = (exchanges: readonly RecordedExchange[]): string =>
  `[\n${exchanges
    .map(({ request, answer }) => `  {"request": ${JSON.stringify(request)},\n   "answer": ${JSON.stringify(answer)}}`)
    .join(',\n')}\n]\n`

/** The exchanges in a text; a sentence where there are none. */
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
      : 'it is no list of requests and answers'
  } catch (error) {
    return `it is no JSON (${(error as Error).message})`
  }
}
