/** Entity tags and the conditions of a request, evaluated in the order of HTTP. Part 4, methods; part 7, conditional read. */

import { Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import type { Conditions, Tags } from '../flow/intent.ts'
import type { Found } from '../flow/plan.ts'
import { updatedIn } from '../resources/row.ts'
import { etag, sameState, tagOf } from './tag.ts'
import type { View } from './view.ts'

const one = /^\s*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*$/
const several = /\s*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*(?:,|$)|\s*,/gy

/** The tags of `If-Match` or `If-None-Match`. */
function tags(text: string | undefined): Tags | null {
  if (text === undefined) return null
  if (text.trim() === '*') return '*'
  const single = one.exec(text)
  if (single) return [{ tag: single[2] as string, weak: single[1] !== undefined }]
  const found: { tag: string; weak: boolean }[] = []
  several.lastIndex = 0
  let end = 0
  for (let match = several.exec(text); match && match[0] !== ''; match = several.exec(text)) {
    end = several.lastIndex
    if (match[2] !== undefined) found.push({ tag: match[2], weak: match[1] !== undefined })
  }
  return end === text.length && found.length > 0 ? found : 'malformed'
}

/** The conditions of a call; null where it has none, as most have. */
export function conditions({ headers }: Call, now: number, secret = ''): Conditions | null {
  const match = headers['if-match']
  const noneMatch = headers['if-none-match']
  const unmodified = headers['if-unmodified-since']
  const modified = headers['if-modified-since']
  if (match === undefined && noneMatch === undefined && unmodified === undefined && modified === undefined) return null
  return {
    match: tags(match),
    noneMatch: tags(noneMatch),
    unmodifiedSince: instant(unmodified),
    modifiedSince: instant(modified),
    now,
    secret,
  }
}

const dates = [
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\d\d) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) (?<clock>[\d:]{8}) GMT$/,
  /^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\d\d)-(?<month>[A-Z][a-z]{2})-(?<year>\d\d) (?<clock>[\d:]{8}) GMT$/,
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) (?<clock>[\d:]{8}) (?<year>\d{4})$/,
]

/** An HTTP date, in its present form or one of the two old ones, in seconds. Unparsable ones are ignored. R130. */
function instant(text: string | undefined): number | null {
  if (text === undefined) return null
  const parts = dates.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined)
  if (!parts) return null
  const { day = '', month, year = '', clock } = parts
  const exact = `${day.replace(' ', '0')} ${month} ${year.length > 2 ? year : year < '70' ? `20${year}` : `19${year}`} ${clock} GMT`
  const time = Date.parse(exact)
  return new Date(time).toUTCString().endsWith(exact) ? time / 1000 : null // the parser takes 31 February
}

const holds = (given: Exclude<Tags, 'malformed'>, current: string | null, weakly: boolean): boolean =>
  given === '*' ? true : current !== null && given.some(({ tag, weak }) => (weakly || !weak) && sameState(tag, current))

/** Refuses a write whose conditions the present row does not meet. R124 to R129. */
export function admitWrite(given: Conditions | null, seen: Found | null, view: View): void {
  if (seen && view.required && !given?.match && given?.unmodifiedSince == null && !given?.noneMatch)
    throw unconditional()
  if (!given) return
  for (const [name, one] of [
    ['If-Match', given.match],
    ['If-None-Match', given.noneMatch],
  ] as const)
    if (one === 'malformed') throw malformed(name)
  const { match, noneMatch } = given as {
    match: Exclude<Tags, 'malformed'> | null
    noneMatch: Exclude<Tags, 'malformed'> | null
  }
  const current = seen && tagOf(view, seen, given.secret)
  const strong = view.mode === 'strong' ? current : null
  if (match && (!seen || !holds(match, strong, false))) throw failed('If-Match', seen, view, given)
  if (!match && seen && isChangedSince(given.unmodifiedSince, lastChange(seen.doc, seen.beside), given.now))
    throw failed('If-Unmodified-Since', seen, view, given)
  if (noneMatch && seen && holds(noneMatch, view.mode === 'off' ? null : current, true))
    throw failed('If-None-Match', seen, view, given)
}

/** When a row, or another row that the answer is made of, was last changed, as documents write times. */
export function lastChange(doc: string, beside: Found['beside'] = []): string {
  let last = updatedIn(doc)
  for (const one of beside) if (one !== null && updatedIn(one.doc) > last) last = updatedIn(one.doc)
  return last
}

const second = 1000
/** How far the clock of another node may be behind, which may then still write in a second that is over here. */
const skew = 2 * second

/** Whether the second of a last change is over on every node, so that no other change can have the same date. */
export const isSettled = (changed: string, now: number): boolean =>
  Date.parse(`${changed.slice(0, 19)}Z`) + second + skew <= now

/**
 * Whether something may have changed since a date. Dates count whole seconds, so that of two changes in one second they
 * show only the first: a date of the present second proves nothing, and neither does a change that is not settled. R130.
 */
export function isChangedSince(date: number | null, changed: string, now: number): boolean {
  if (date === null) return false
  return date * second > now - second || Date.parse(changed) >= (date + 1) * second || !isSettled(changed, now)
}

function malformed(name: string): Problem {
  return new Problem('invalid-precondition', `${name} must be *, or entity tags in double quotes, as "1-1-k3f9".`, {
    extra: { in: 'header', name },
  })
}

function failed(name: string, seen: Found | null, view: View, { secret }: Conditions): Problem {
  const message = seen
    ? `${name} does not hold: the resource has changed or is there already. Read it again and retry with its ETag.`
    : `${name} does not hold: there is no such resource.`
  return new Problem(
    'precondition-failed',
    message,
    seen && view.mode !== 'off' ? { headers: { ETag: etag(view, seen, secret) } } : {},
  )
}

function unconditional(): Problem {
  return new Problem(
    'precondition-required',
    'Send If-Match with the ETag of the version that you read, so that nobody else’s change is lost.',
  )
}

/** On a creating POST only `If-None-Match: *` means something, and the collection is always there. R128. */
export function admitCreate(given: Conditions | null): void {
  for (const [name, one] of [
    ['If-Match', given?.match],
    ['If-None-Match', given?.noneMatch],
  ] as const) {
    if (one === undefined || one === null || (name === 'If-Match' && one === '*')) continue
    if (one !== '*')
      throw new Problem('invalid-precondition', `${name} on a creating POST can only be *.`, {
        extra: { in: 'header', name },
      })
    throw new Problem('precondition-failed', `${name} does not hold: the collection exists.`)
  }
}
