/** Cursors: opaque, authenticated, bound to the list they belong to. Part 4, pagination. */
import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { World } from '../flow/call.ts'
import type { Place } from '../flow/outcome.ts'

/** A place in an order, and which way to go from there. */
export interface Position {
  readonly place: Place
  readonly back: boolean
}

export type CursorFault = 'invalid-cursor' | 'cursor-mismatch' | 'cursor-expired'

/** What a cursor belongs to: the list itself, and the filters and sort in force. */
export interface Binding {
  readonly list: string
  readonly bound: string
  readonly ttl: number | null
}

const version = 1
const macLength = 12

/** The same position always has the same text, within a quarter of the time to live. R81. */
export function cursorOf({ place, back }: Position, { list, bound, ttl }: Binding, { secrets, now }: World): string {
  const quarter = ttl === null ? 0 : Math.floor(now() / (ttl / 4))
  const payload = Buffer.from(JSON.stringify([digest(bound), back ? 1 : 0, quarter, ...place]))
  return Buffer.concat([Buffer.of(version), mac(secrets[0] as string, list, payload), payload]).toString('base64url')
}

/** The position of a cursor, or why it is none. R82, R83. */
export function positionOf(
  text: string,
  { list, bound, ttl }: Binding,
  { secrets, now }: World,
): Position | CursorFault {
  const bytes = Buffer.from(text, 'base64url')
  const payload = bytes.subarray(1 + macLength)
  const given = bytes.subarray(1, 1 + macLength)
  const genuine =
    bytes[0] === version &&
    given.length === macLength &&
    secrets.some((secret) => timingSafeEqual(given, mac(secret, list, payload)))
  if (!genuine || bytes.toString('base64url') !== text) return 'invalid-cursor'
  const [own, back, quarter, ...place] = JSON.parse(payload.toString()) as [
    string,
    number,
    number,
    ...(string | null)[],
  ]
  if (ttl !== null && (quarter + 1) * (ttl / 4) + ttl < now()) return 'cursor-expired'
  return own === digest(bound) ? { place, back: back === 1 } : 'cursor-mismatch'
}

const digest = (bound: string): string => hash('sha256', bound, 'base64url').slice(0, 8)

function mac(secret: string, list: string, payload: Buffer): Buffer {
  return createHmac('sha256', secret).update(`cursor\n${list}\n`).update(payload).digest().subarray(0, macLength)
}
