/** Home: which of 1,024 parts a text belongs to, where rows are spread over machines. Pure. Part 2, identifiers. */
import { digestOf } from '../formats/digest.ts'
import { base32 } from '../formats/id.ts'

/** An id that was made here: it ends in random bits. */
const generatedId = /_[0-7][0-9a-hjkmnp-tv-z]{25}$/
const largestShardKey = 1023

/** The last ten bits of an id that was made here, and ten bits of a digest of any other text: nothing else has to be known. */
export function shardKeyOf(text: string): number {
  if (generatedId.test(text)) return base32.indexOf(text.at(-2) as string) * 32 + base32.indexOf(text.at(-1) as string)
  const digest = digestOf(text)
  return (digest ^ (digest >>> 10) ^ (digest >>> 20)) & largestShardKey
}

/** An id that was made here, brought to the home of a text, so that both lie on one machine. */
export function colocateId(id: string, text: string): string {
  const home = shardKeyOf(text)
  return id.slice(0, -2) + base32.charAt(home >> 5) + base32.charAt(home & 31)
}
