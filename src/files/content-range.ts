/** Content range: the range of a content that a request asks for. RFC 9110, section 14. R51. */
import { Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'

/** A range of bytes; `end` is not included. */
export interface ByteRange {
  readonly from: number
  readonly end: number
}

/**
 * The range that a GET asks for; null for all of the content, also for several ranges, and if the content is no longer the one
 * of which the client has a part. Throws if no byte is in the range.
 */
export function rangeOf({ method, headers }: Call, length: number, tag: string | undefined): ByteRange | null {
  const { range, 'if-range': condition } = headers
  if (method !== 'GET' || range === undefined || (condition !== undefined && condition.trim() !== tag)) return null
  const match = /^\s*bytes\s*=\s*(\d{0,16})\s*-\s*(\d{0,16})\s*$/i.exec(range)
  if (!match || (match[1] === '' && match[2] === '')) return null
  const [first, last] = [match[1] as string, match[2] as string]
  if (first === '') return within(Math.max(0, length - Number(last)), length, length)
  if (last !== '' && Number(last) < Number(first)) return null
  return within(Number(first), last === '' ? length : Math.min(length, Number(last) + 1), length)
}

function within(from: number, end: number, length: number): ByteRange {
  if (from < end) return { from, end }
  throw new Problem('range-not-satisfiable', `The content has ${length} bytes; none of them is in the range.`, {
    headers: { 'Content-Range': `bytes */${length}` },
  })
}
