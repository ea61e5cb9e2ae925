/** The characters of random texts. */
import fc from 'fast-check'

const surrogates = { first: 0xd800, count: 0x800 }

/** Any code point. It is `unit: 'binary'` of fast-check without the table of all 1.1 million characters, which takes a second to fill. */
export const codePoint = fc
  .nat({ max: 0x10_ffff - surrogates.count })
  .map((n) => String.fromCodePoint(n < surrogates.first ? n : n + surrogates.count), codePointNumber)

/** The number that a character was made from, so that fast-check can shrink it; it throws for all that is not one character. */
function codePointNumber(text: unknown): number {
  const code = typeof text === 'string' ? text.codePointAt(0) : undefined
  if (code === undefined || text !== String.fromCodePoint(code)) throw new Error('This is not one character.')
  return code < surrogates.first ? code : code - surrogates.count
}
