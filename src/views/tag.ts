/** Tag: entity tags, equal only for answers that are equal byte for byte. Part 7, conditional read. */
import { createHmac } from 'node:crypto'
import type { JoinedRow } from '../flow/found-row.ts'
import type { TagKey } from '../flow/intent.ts'
import type { ServiceWorld } from '../flow/world.ts'
import type { View } from './view.ts'

/** A row, and the joined rows that its answer is made from. */
export interface TaggedRow {
  readonly revision: number
  readonly joined?: readonly (JoinedRow | null)[]
}

/** The key of tags. Its secret is the last one, which belongs to the store and is the same on all its nodes. */
export const tagKeyOf = ({ secrets, restoredAt }: Pick<ServiceWorld, 'secrets' | 'restoredAt'>): TagKey => ({
  secret: secrets.at(-1) ?? '',
  restoredAt,
})

/**
 * The plain tag of a row in a view: revision, the last restore, major version, a hash of the view, and a keyed digest of the account
 * and the joined rows. R121.
 */
export function tagOf(view: View, { revision, joined = [] }: TaggedRow, { secret, restoredAt }: TagKey): string {
  const number = revision.toString(36) + (restoredAt === 0 ? '' : `.${restoredAt.toString(36)}`)
  return `${number}-${view.major}-${view.hash}${rowsSeal(view, joined, secret)}`
}

export const etag = (view: View, row: TaggedRow, key: TagKey): string =>
  `${view.mode === 'weak' ? 'W/' : ''}"${tagOf(view, row, key)}"`

/** The tag of an answer with `_embedded`: that of the item and a digest of what is embedded, which writes ignore. R232. */
export const embeddedTag = (tag: string, embedded: string, { secret }: TagKey): string =>
  `${tag.slice(0, -1)}.${tagDigest([embedded], secret)}"`

/**
 * Whether two tags name the same state of an item: the hash of the view, the digest of what is embedded, and the coding do not
 * count. R121, R122.
 */
export function isSameState(tag: string, current: string): boolean {
  const at = current.lastIndexOf('-') + 1
  const [, seal] = /^[0-9a-f]{6}([0-9a-f]*)(?:\.[0-9a-f]{16})?(?:\+(?:br|gzip|zstd))?$/.exec(tag.slice(at)) ?? []
  return tag.startsWith(current.slice(0, at)) && seal === current.slice(at + 6)
}

/**
 * A keyed digest of the account and the joined rows. It covers ids and revisions but no content: hidden values could be
 * guessed by trying digests. The secret key protects the ids in the same way.
 */
function rowsSeal(view: View, rows: readonly (JoinedRow | null)[], secret: string): string {
  const { account, joined: resources } = view
  if (rows.length === 0) return account === null ? '' : accountSeal(view, secret)
  const named = rows.map((row, i) => {
    const { collection, created } = resources[i]?.resource ?? {}
    if (row === null || collection === undefined || created === undefined) return null
    const document = JSON.parse(row.doc) as Record<string, unknown>
    return [collection.name, document.id, row.revision, document[created]]
  })
  return tagDigest([account, named], secret)
}

function accountSeal({ account, seal }: View, secret: string): string {
  if (seal.secret !== secret || seal.account !== account)
    Object.assign(seal, { secret, account, text: tagDigest([account], secret) })
  return seal.text
}

const tagDigest = (what: readonly unknown[], secret: string): string =>
  createHmac('sha256', secret)
    .update(JSON.stringify(['tag', ...what]))
    .digest('hex')
    .slice(0, 16)
