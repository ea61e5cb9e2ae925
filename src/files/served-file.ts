/** Served file: a file field as a version names it, with its URL and what callers may do with it. Part 2, fields. */
import { restrictedFieldRefusal } from '../auth/allow.ts'
import type { EndpointContext } from '../endpoints/item.ts'
import { preconditionsOf } from '../endpoints/preconditions.ts'
import { Problem } from '../errors/problem.ts'
import type { FileMember } from '../fields/field.ts'
import { isFileMember, usualFileSize } from '../fields/file-kind.ts'
import type { FoundRow } from '../flow/found-row.ts'
import type { EntityTags, RequestContext } from '../flow/intent.ts'
import { nameInSentence, toKebab, withArticle } from '../formats/naming.ts'
import type { Member } from '../resources/resource.ts'
import { fileTag } from './file-tag.ts'

export interface ServedFile {
  /** Its name in the version, and the last part of its URL. */
  readonly name: string
  readonly segment: string
  /** The field in the version, and as it is stored. */
  readonly own: Member
  readonly stored: Member
  /** The greatest number of bytes, and the media types; all if they are undefined. */
  readonly most: number
  readonly types: readonly string[] | undefined
}

/** The file fields of a resource in a version; those that are not stored any more have no URL. */
export function servedFiles({ resource, representation }: EndpointContext): readonly ServedFile[] {
  const { today } = representation
  const files = today.members.filter(({ field }) => field.kind === 'file')
  return resource.members.flatMap((own) => {
    const stored = files.find(({ name }) => representation.names(name, today.name).includes(own.name))
    if (own.field.kind !== 'file' || !stored) return []
    const { options, values } = stored.field
    const most = Number(options.max ?? usualFileSize)
    return [{ name: own.name, segment: toKebab(own.name), own, stored, most, types: values }]
  })
}

/** The file of a stored row; null if none was uploaded. */
export function fileIn({ stored }: ServedFile, { doc }: Pick<FoundRow, 'doc'>): FileMember | null {
  const member = (JSON.parse(doc) as Record<string, unknown>)[stored.name]
  return isFileMember(member) ? member : null
}

export const missingFile = ({ title }: EndpointContext['resource'], { name }: ServedFile, id: string): Problem =>
  new Problem('resource-not-found', `${title} ${id} has no ${name}; it can be uploaded by PUT.`)

/** Refuses a caller that may not read or write the field. R169. */
export function admitFileCaller(
  { resource, challenge }: EndpointContext,
  { name, own, stored }: ServedFile,
  doing: 'read' | 'write',
  { caller }: Pick<RequestContext, 'caller'>,
): void {
  const needs = [own, stored].flatMap(({ read, write }) => (doing === 'write' ? write : (read ?? [])))
  const lacks = needs.filter((one) => !caller.scopes.has(one))
  const refusal = { caller, challenge, auth: resource.settings.auth }
  if (lacks.length > 0) throw restrictedFieldRefusal(name, doing, [...new Set(lacks)], refusal)
}

/** Checks the preconditions of a write against the tag of the content. R124 to R129. */
export function admitFileConditions(
  context: EndpointContext,
  { call, world }: Pick<RequestContext, 'call' | 'world'>,
  member: FileMember | null,
): void {
  const { match = null, noneMatch = null } = preconditionsOf(call, world) ?? {}
  const { concurrency } = context.resource.settings
  if (member && concurrency.required && match === null && noneMatch === null)
    throw new Problem(
      'precondition-required',
      'Send If-Match with the ETag of the content that you read, so that nobody else’s change is lost.',
    )
  const tag = member && fileTag(member)
  admitTags('If-Match', match, tag, (holds) => holds)
  admitTags('If-None-Match', noneMatch, tag, (holds) => !holds)
}

function admitTags(
  name: string,
  tags: EntityTags | null,
  tag: string | null,
  isMet: (isListed: boolean) => boolean,
): void {
  if (tags === null) return
  if (tags === 'malformed')
    throw new Problem('invalid-precondition', `${name} must be *, or entity tags in double quotes.`, {
      extra: { in: 'header', name },
    })
  const isListed = tag !== null && (tags === '*' || tags.some((one) => `"${one.tag}"` === tag && !one.weak))
  if (isMet(isListed)) return
  const is = tag === null ? 'there is no such file' : 'the file has changed or is there already'
  throw new Problem(
    'precondition-failed',
    `${name} does not hold: ${is}.`,
    tag === null ? {} : { headers: { ETag: tag } },
  )
}

/** A title in a sentence, as `the invoice of an order`. */
export const fileInWords = ({ resource }: EndpointContext, { segment }: ServedFile): string =>
  `${nameInSentence(segment)} of ${withArticle(resource.title)}`
