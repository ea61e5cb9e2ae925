/** Ids: a type prefix and a time-ordered UUIDv7 in 26 base32 characters (TypeID 0.3). Part 2, identifier prefix. */

/** The characters of base32, each for five bits. */
export const base32 = '0123456789abcdefghjkmnpqrstvwxyz'

export const prefixPattern = /^[a-z]([a-z_]{0,61}[a-z])?$/

/** Makes ids with a prefix; each is greater than the one before. */
export type IdSource = (prefix: string) => string

/** Whether a text has the form of an id, so that other texts need no query. R9. */
export type IdCheck = (text: string) => boolean

export const typeIdPattern = (prefix: string): RegExp => new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`)
export const chosenIdPattern = (prefix: string): RegExp => new RegExp(`^${prefix}_[A-Za-z0-9_-]{1,100}$`)

/** The check of generated ids: 128 bits, so the first character is at most 7. */
export function typeIdCheck(prefix: string): IdCheck {
  const length = prefix.length + 27
  const pattern = typeIdPattern(prefix)
  return (text) => text.length === length && pattern.test(text)
}

/** The check of ids that clients or a declared function choose: the prefix and a short text that is safe in URLs. R91. */
export function chosenIdCheck(prefix: string): IdCheck {
  const pattern = chosenIdPattern(prefix)
  return (text) => text.length <= prefix.length + 101 && pattern.test(text)
}

/** Makes ids from a clock and random bytes, in increasing order even within a millisecond. RFC 9562, method 1. */
export function idSource(now: () => number, random: FillRandom): IdSource {
  const draw = byteSource(random)
  let last = 0
  let counter = 0
  return (prefix) => {
    const [bytes, time] = [draw(), now()]
    // The counter of a new millisecond starts at a random number in the lower half, so that at least 2,048 more ids fit.
    if (time > last) [last, counter] = [time, (((bytes[6] as number) << 8) | (bytes[7] as number)) & 0x7ff]
    else if (++counter > 0xfff) [last, counter] = [last + 1, 0]
    return `${prefix}_${encodeBase32(stampUuid(bytes, last, counter))}`
  }
}

type FillRandom = (bytes: Uint8Array) => void

/** Gives sixteen random bytes at a time, of many that are drawn at once. */
function byteSource(random: FillRandom): () => Uint8Array {
  const pool = new Uint8Array(16 * 256)
  let used = pool.length
  return () => {
    if (used === pool.length) {
      random(pool)
      used = 0
    }
    used += 16
    return pool.subarray(used - 16, used)
  }
}

function stampUuid(bytes: Uint8Array, time: number, counter: number): Uint8Array {
  const high = Math.floor(time / 0x1_0000_0000)
  const low = time >>> 0
  bytes[0] = high >>> 8
  bytes[1] = high
  bytes[2] = low >>> 24
  bytes[3] = low >>> 16
  bytes[4] = low >>> 8
  bytes[5] = low
  bytes[6] = 0x70 | (counter >>> 8)
  bytes[7] = counter
  bytes[8] = 0x80 | ((bytes[8] as number) & 0x3f)
  return bytes
}

/** All pairs of characters, each for ten bits. */
const base32Pairs = Array.from({ length: 1024 }, (_, n) => (base32[n >>> 5] as string) + (base32[n & 31] as string))

/** 128 bits as 26 characters: two leading zero bits and the first byte are one pair, each five bytes that follow are four. */
function encodeBase32(bytes: Uint8Array): string {
  const byte = (i: number) => bytes[i] as number
  const pair = (bits: number) => base32Pairs[bits & 1023] as string
  let text = pair(byte(0))
  for (let i = 1; i < 16; i += 5) {
    text += pair((byte(i) << 2) | (byte(i + 1) >>> 6)) + pair((byte(i + 1) << 4) | (byte(i + 2) >>> 4))
    text += pair((byte(i + 2) << 6) | (byte(i + 3) >>> 2)) + pair((byte(i + 3) << 8) | byte(i + 4))
  }
  return text
}

/** An id that begins with a time, made of the first sixteen bytes of a text of single bytes instead of random ones. */
export function idAt(prefix: string, time: number, text: string): string {
  const bytes = new Uint8Array(16)
  for (let i = 0; i < 16; i++) bytes[i] = text.charCodeAt(i)
  return `${prefix}_${encodeBase32(stampUuid(bytes, time, (((bytes[6] as number) << 8) | (bytes[7] as number)) & 0xfff))}`
}

const hexPairs = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** Makes UUIDv7s in their standard form, for request ids. */
export function requestIdSource(now: () => number, random: FillRandom): () => string {
  const draw = byteSource(random)
  return () => uuid(draw(), now())
}

function uuid(bytes: Uint8Array, time: number): string {
  const counter = ((bytes[6] as number) << 8) | (bytes[7] as number)
  stampUuid(bytes, time, counter & 0xfff)
  const two = (i: number) => (hexPairs[bytes[i] as number] as string) + hexPairs[bytes[i + 1] as number]
  return `${two(0) + two(2)}-${two(4)}-${two(6)}-${two(8)}-${two(10) + two(12) + two(14)}`
}
