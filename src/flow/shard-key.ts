/** Shard key: which of 1,024 shards a text belongs to, if rows are distributed over machines. Pure. Part 2, identifiers. */
import { digestOf } from '../formats/digest.ts'
import { base32 } from '../formats/id.ts'

/** An id that a service generated: it ends in random bits. */
const generatedId = /_[0-7][0-9a-hjkmnp-tv-z]{25}$/
const largestShardKey = 1023

/** The last ten bits of a generated id, or ten bits of a digest of any other text. */
export function shardKeyOf(text: string): number {
  if (generatedId.test(text)) return base32.indexOf(text.at(-2) as string) * 32 + base32.indexOf(text.at(-1) as string)
  const digest = digestOf(text)
  return (digest ^ (digest >>> 10) ^ (digest >>> 20)) & largestShardKey
}

/** Changes the end of a generated id, so that it is on the same shard as a text. */
export function colocateId(id: string, text: string): string {
  const home = shardKeyOf(text)
  return id.slice(0, -2) + base32.charAt(home >> 5) + base32.charAt(home & 31)
}
