/** Event cursor: a position in the list of events, encrypted, as it counts the events of all accounts. Part 6. R81, R170. */
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'
import type { Violation } from '../errors/problem.ts'
import type { ServiceWorld } from '../flow/world.ts'
import { readCursor, writeCursor } from '../lists/cursor.ts'
import { queryViolation } from '../lists/query-string.ts'
import { cursorFaultMessages } from '../lists/window.ts'
import type { Settings } from '../settings.ts'

/** What a cursor belongs to: the filters of the list, as one text. */
export interface EventCursorContext {
  readonly bound: string
  readonly settings: Settings
  readonly world: ServiceWorld
}

const bindingOf = ({ bound, settings: { list } }: EventCursorContext) => ({
  ...{ list: '/events', bound, ttl: list.cursor.ttl },
})

export function writeEventCursor(position: number, context: EventCursorContext): string {
  const { world } = context
  const at = { position: [sealed(position, world.secrets[0] as string)], back: false, including: false }
  return writeCursor(at, bindingOf(context), world)
}

/** The position of a cursor; 0 for an empty one, null without one. */
export function readEventCursor(
  text: string | undefined,
  context: EventCursorContext,
  faults: Violation[],
): number | null {
  if (text === undefined) return null
  if (text === '') return 0
  const { world } = context
  const read = readCursor(text, bindingOf(context), world)
  if (typeof read === 'string') faults.push(queryViolation(read, 'cursor', cursorFaultMessages[read]))
  else return opened(String(read.position[0]), world.secrets)
  return 0
}

/** One block: the cursor's signature already proves that nobody has changed it. */
const cipher = 'aes-128-ecb'
const keyOf = (secret: string): Buffer =>
  createHmac('sha256', secret).update('positions of events').digest().subarray(0, 16)

function sealed(position: number, secret: string): string {
  const block = Buffer.alloc(16)
  block.writeBigUInt64BE(BigInt(position), 8)
  const seal = createCipheriv(cipher, keyOf(secret), null).setAutoPadding(false)
  return Buffer.concat([seal.update(block), seal.final()]).toString('base64url')
}

/** The zeros before a position tell by which secret it was sealed. */
function opened(text: string, secrets: readonly string[]): number {
  const bytes = Buffer.from(text, 'base64url')
  for (const secret of secrets) {
    const open = createDecipheriv(cipher, keyOf(secret), null).setAutoPadding(false)
    const block = Buffer.concat([open.update(bytes), open.final()])
    if (block.readBigUInt64BE(0) === 0n) return Number(block.readBigUInt64BE(8))
  }
  throw new Error('A cursor of events was signed by a secret that did not seal it.')
}
