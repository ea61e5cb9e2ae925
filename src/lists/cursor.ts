/** Cursors: opaque texts that are signed and bound to their list. Part 4, pagination. */
import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { Memo } from '../flow/memo.ts'
import type { Position } from '../flow/outcome.ts'
import type { ServiceWorld } from '../flow/world.ts'

/** A position in an order, and the direction from it. */
export interface CursorContent {
  readonly position: Position
  readonly back: boolean
  /** Whether the page includes the row at the position itself: only in a cursor of an empty page. */
  readonly including: boolean
}

export type CursorFault = 'invalid-cursor' | 'cursor-mismatch' | 'cursor-expired'

/** The list of a cursor, and its filters and sort: the cursor is refused for any other. */
export interface CursorBinding {
  readonly list: string
  readonly bound: string
  readonly ttl: number | null
}

type CursorPayload = [own: string, way: number, made: number, ...place: (string | null)[]]

const plainFormat = 1
const packedFormat = 2
const macLength = 12
const digestLength = 8
const mostPlain = 501 // longer ones are compressed, so that a cursor with a long text still fits a URL

/** The end of the digest of a cursor: cursors from before a restore may point at rows that were lost. */
const restoreMark = (restoredAt: number): string => (restoredAt === 0 ? '' : restoredAt.toString(36))

/** The same position has the same text for a quarter of the time to live. R81. */
export function writeCursor(
  { position, back, including }: CursorContent,
  { list, bound, ttl }: CursorBinding,
  { secrets, due, restoredAt }: ServiceWorld,
): string {
  const madeAt = ttl === null ? 0 : Math.floor(due() / (ttl / 4)) * (ttl / 4)
  const way = (back ? 1 : 0) + (including ? 2 : 0)
  const payload: CursorPayload = [boundDigest(bound) + restoreMark(restoredAt), way, madeAt, ...position]
  const plain = Buffer.from(String.fromCharCode(plainFormat) + JSON.stringify(payload))
  const body =
    plain.length > mostPlain ? Buffer.concat([Buffer.of(packedFormat), deflateRawSync(plain.subarray(1))]) : plain
  // The digest is a multiple of three bytes, so that its text and that of the body can be joined.
  return cursorMac(secrets[0] as string, list, body).toString('base64url') + body.toString('base64url')
}

/** The content of a cursor, or why it is refused. R82, R83. */
export function readCursor(
  text: string,
  { list, bound, ttl }: CursorBinding,
  { secrets, due, restoredAt }: ServiceWorld,
): CursorContent | CursorFault {
  const bytes = Buffer.from(text, 'base64url')
  const mac = bytes.subarray(0, macLength)
  const body = bytes.subarray(macLength)
  const genuine =
    mac.length === macLength && secrets.some((secret) => timingSafeEqual(mac, cursorMac(secret, list, body)))
  if (!genuine || bytes.toString('base64url') !== text) return 'invalid-cursor'
  if (body[0] !== plainFormat && body[0] !== packedFormat) return 'invalid-cursor' // of another release
  const payload = body[0] === packedFormat ? inflateRawSync(body.subarray(1)) : body.subarray(1)
  const [own, way, madeAt, ...place] = JSON.parse(payload.toString()) as CursorPayload
  if (ttl !== null && madeAt + ttl <= due()) return 'cursor-expired'
  if (own.slice(digestLength) !== restoreMark(restoredAt)) return 'cursor-expired'
  return own.slice(0, digestLength) === boundDigest(bound)
    ? { position: place, back: way % 2 === 1, including: way >= 2 }
    : 'cursor-mismatch'
}

/** Pure: digests by their text, as one request needs the same one several times. */
const digests = new Memo<string, string>(100)

const boundDigest = (bound: string): string =>
  digests.get(bound) ?? digests.set(bound, hash('sha256', bound, 'base64url').slice(0, digestLength))

function cursorMac(secret: string, list: string, body: Buffer): Buffer {
  return createHmac('sha256', secret)
    .update(`cursor ${JSON.stringify(list)}\n`)
    .update(body)
    .digest()
    .subarray(0, macLength)
}
