/** Preconditions of a request, evaluated in the order of HTTP. Part 4, methods; part 7, conditional read. */

import { Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import type { FoundRow } from '../flow/found-row.ts'
import type { EntityTags, Preconditions } from '../flow/intent.ts'
import type { ServiceWorld } from '../flow/world.ts'
import { parseHttpDate } from '../formats/http-date.ts'
import { updatedAtIn } from '../rows/collection.ts'
import { etag, isSameState, tagKeyOf, tagOf } from '../views/tag.ts'
import type { View } from '../views/view.ts'

const singleTag = /^\s*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*$/
const tagList = /\s*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*(?:,|$)|\s*,/gy

/** The tags of `If-Match` or `If-None-Match`. */
function parseTags(text: string | undefined): EntityTags | null {
  if (text === undefined) return null
  if (text.trim() === '*') return '*'
  const single = singleTag.exec(text)
  if (single) return [{ tag: single[2] as string, weak: single[1] !== undefined }]
  const tags: { tag: string; weak: boolean }[] = []
  tagList.lastIndex = 0
  let end = 0
  for (let match = tagList.exec(text); match && match[0] !== ''; match = tagList.exec(text)) {
    end = tagList.lastIndex
    if (match[2] !== undefined) tags.push({ tag: match[2], weak: match[1] !== undefined })
  }
  return end === text.length && tags.length > 0 ? tags : 'malformed'
}

/** The parts of the world that preconditions depend on. */
export type ConditionsWorld = Pick<ServiceWorld, 'now' | 'secrets' | 'restoredAt'>

/** The preconditions of a call; null if it has none. */
export function preconditionsOf({ headers }: Call, world: ConditionsWorld): Preconditions | null {
  const match = headers['if-match']
  const noneMatch = headers['if-none-match']
  const unmodified = headers['if-unmodified-since']
  const modified = headers['if-modified-since']
  if (match === undefined && noneMatch === undefined && unmodified === undefined && modified === undefined) return null
  return {
    match: parseTags(match),
    noneMatch: parseTags(noneMatch),
    unmodifiedSince: parseHttpDate(unmodified),
    modifiedSince: parseHttpDate(modified),
    now: world.now(),
    ...tagKeyOf(world),
  }
}

const matchesTag = (tags: Exclude<EntityTags, 'malformed'>, current: string | null, weakly: boolean): boolean =>
  tags === '*' ? true : current !== null && tags.some(({ tag, weak }) => (weakly || !weak) && isSameState(tag, current))

/** Refuses a write if the current row does not meet its preconditions, or has none although the method needs one. R124 to R129. */
export function admitConditionalWrite(
  preconditions: Preconditions | null,
  current: FoundRow | null,
  view: View,
  isNeeded: boolean,
): void {
  if (
    current &&
    isNeeded &&
    view.required &&
    !preconditions?.match &&
    preconditions?.unmodifiedSince == null &&
    !preconditions?.noneMatch
  )
    throw preconditionRequired()
  if (!preconditions) return
  for (const [name, one] of [
    ['If-Match', preconditions.match],
    ['If-None-Match', preconditions.noneMatch],
  ] as const)
    if (one === 'malformed') throw malformedPrecondition(name)
  const { match, noneMatch } = preconditions as {
    match: Exclude<EntityTags, 'malformed'> | null
    noneMatch: Exclude<EntityTags, 'malformed'> | null
  }
  const tag = current && tagOf(view, current, preconditions)
  const strong = view.mode === 'strong' ? tag : null
  if (match && (!current || !matchesTag(match, strong, false)))
    throw preconditionFailed('If-Match', current, view, preconditions)
  if (
    !match &&
    current &&
    isChangedSince(preconditions.unmodifiedSince, lastChange(current.doc, current.joined), preconditions)
  )
    throw preconditionFailed('If-Unmodified-Since', current, view, preconditions)
  if (noneMatch && current && matchesTag(noneMatch, view.mode === 'off' ? null : tag, true))
    throw preconditionFailed('If-None-Match', current, view, preconditions)
}

/** When a row, or a joined row of its answer, was last changed, as a timestamp of documents. */
export function lastChange(doc: string, joined: FoundRow['joined'] = []): string {
  let last = updatedAtIn(doc)
  for (const one of joined) if (one !== null && updatedAtIn(one.doc) > last) last = updatedAtIn(one.doc)
  return last
}

const oneSecond = 1000
/** How far the clock of another node may be behind: it may still write in a second that has ended on this node. */
const skew = 2 * oneSecond

/** Whether the second of the last change has ended on every node, so that no other change can get the same date. */
export const isSettled = (changed: string, now: number): boolean =>
  Date.parse(`${changed.slice(0, 19)}Z`) + oneSecond + skew <= now

/**
 * Whether something may have changed since a date. Dates count whole seconds, so that of two changes in one second they
 * show only the first: a date in the current second proves nothing, nor does a change that is not settled. R130.
 * A date before a restore proves nothing either: what changed until then may have been lost.
 */
export function isChangedSince(
  date: number | null,
  changed: string,
  { now, restoredAt }: Pick<Preconditions, 'now' | 'restoredAt'>,
): boolean {
  if (date === null) return false
  if (date * oneSecond <= restoredAt / 1000 + skew) return true
  return date * oneSecond > now - oneSecond || Date.parse(changed) >= (date + 1) * oneSecond || !isSettled(changed, now)
}

function malformedPrecondition(name: string): Problem {
  return new Problem('invalid-precondition', `${name} must be *, or entity tags in double quotes, as "1-1-k3f9".`, {
    extra: { in: 'header', name },
  })
}

function preconditionFailed(name: string, current: FoundRow | null, view: View, preconditions: Preconditions): Problem {
  const message = current
    ? `${name} does not hold: the resource has changed or is there already. Read it again and retry with its ETag.`
    : `${name} does not hold: there is no such resource.`
  return new Problem(
    'precondition-failed',
    message,
    current && view.mode !== 'off' ? { headers: { ETag: etag(view, current, preconditions) } } : {},
  )
}

function preconditionRequired(): Problem {
  return new Problem(
    'precondition-required',
    'Send If-Match with the ETag of the version that you read, so that nobody else’s change is lost.',
  )
}

/** The target of a creating POST is the collection: `If-None-Match: *` fails, `If-Match: *` holds. R128. */
export function admitConditionalCreate(preconditions: Preconditions | null): void {
  if (preconditions === null) return
  for (const [name, one] of [
    ['If-Match', preconditions.match],
    ['If-None-Match', preconditions.noneMatch],
  ] as const) {
    if (one === null || (name === 'If-Match' && one === '*')) continue
    if (one !== '*')
      throw new Problem('invalid-precondition', `${name} on a creating POST can only be *.`, {
        extra: { in: 'header', name },
      })
    throw new Problem('precondition-failed', `${name} does not hold: the collection exists.`)
  }
}
