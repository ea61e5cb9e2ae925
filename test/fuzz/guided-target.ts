/**
 * The target of `npm run fuzz:guided`: the fuzzer changes bytes so that they reach code of our own engine that no earlier ones reached.
 * Both engines have to agree on them, as in `npm run fuzz:engines`.
 */
import { acceptedDifference, sameForAnyCuts } from './accepted.ts'
import { echoServers } from './echo.ts'

const servers = echoServers()

/** The first byte says how the others are cut: not at all, after each byte, or at one place. */
function pieces([how = 0]: Buffer, bytes: Buffer): Buffer[] {
  if (how < 64) return [bytes]
  if (how < 128) return Array.from(bytes, (byte) => Buffer.of(byte))
  const at = Math.floor((bytes.length * (how - 128)) / 128)
  return [bytes.subarray(0, at), bytes.subarray(at)].filter((piece) => piece.length > 0)
}

export async function fuzz(data: Buffer): Promise<void> {
  const bytes = Buffer.from(data.subarray(1))
  // With an upgrade node:http may read nothing more, and each of these takes seconds; `npm run fuzz:engines` tries them.
  if (bytes.length === 0 || /upgrade/i.test(bytes.toString('latin1'))) return
  const { node, own } = await servers
  const cut = pieces(data, bytes)
  const [theirs, ours, whole] = await Promise.all([node.converse(cut), own.converse(cut), own.converse([bytes])])
  const text = bytes.toString('latin1')
  const isSame = JSON.stringify(theirs) === JSON.stringify(ours)
  const about = JSON.stringify({ text, pieces: cut.length, theirs, ours, whole })
  if (!sameForAnyCuts(text, whole, ours)) throw new Error(`Our own engine depends on the cuts: ${about}`)
  if (!isSame && acceptedDifference(text, theirs, ours) === null) throw new Error(`No reason is known: ${about}`)
}
