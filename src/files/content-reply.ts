/** Content reply: the content of a file as an answer: its headers, a range of it, and its bytes as fast as they are read. Part 7. */
import { Problem } from '../errors/problem.ts'
import type { FileMember } from '../fields/field.ts'
import type { Intent } from '../flow/intent.ts'
import type { AnswerStream, Reply, StreamTarget } from '../flow/reply.ts'
import type { ContentStore, World } from '../flow/world.ts'
import { makeReaderTime } from '../limits/reader-time.ts'
import { type ByteRange, rangeOf } from './content-range.ts'
import { dispositionOf } from './file-name.ts'
import { fileTag } from './file-tag.ts'
import { extensionOf, mayShowInline } from './file-types.ts'

interface ContentTerms {
  readonly name: string
  readonly tagged: boolean
  readonly timeout: number
  /** The refusal if the content was removed; without it, a missing content is a failure. */
  readonly removed?: () => Problem
}

/** The answer with a content. `name` is the file name if the file was uploaded without one. */
export function contentReply(
  member: FileMember,
  { call, world }: Pick<Intent, 'call' | 'world'>,
  { name, tagged, timeout, removed }: ContentTerms,
): Reply {
  const { length, type } = member
  const kind = mayShowInline(type) ? 'inline' : 'attachment'
  const headers = {
    ...(tagged && { ETag: fileTag(member) }),
    'Content-Type': type,
    'Content-Disposition': dispositionOf(kind, member.name ?? name + extensionOf(type)),
    // A browser that shows the content must not run or load anything.
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'Accept-Ranges': 'bytes',
    'Content-Length': String(length),
  }
  const streamOf = ({ from, end }: ByteRange): AnswerStream => {
    const read = () => (world.contents as ContentStore).read(member.href, from, end)
    return { open: (target) => sendContent(read, target, world, timeout) }
  }
  const fullReply: Reply = { status: 200, headers, body: null, stream: streamOf({ from: 0, end: length }) }
  const part = async (): Promise<Reply> => {
    const range = rangeOf(call, length, headers.ETag)
    const stored = await lengthIn(world.contents as ContentStore, member.href)
    if (stored === null && removed) throw removed()
    if (stored !== length)
      throw new Error(`The content ${member.href} is missing or incomplete. \`bylaw doctor\` lists all such files.`)
    if (range === null) return fullReply
    const { from, end } = range
    Object.assign(headers, {
      'Content-Range': `bytes ${from}-${end - 1}/${length}`,
      'Content-Length': String(end - from),
    })
    return { ...fullReply, status: 206, stream: streamOf(range) }
  }
  return { ...fullReply, part }
}

/** The length of a content; null if there is none. An unreachable store of contents is answered as an unavailable dependency. R161. */
export async function lengthIn(contents: ContentStore, name: string): Promise<number | null> {
  try {
    return await contents.length(name)
  } catch (cause) {
    throw new Problem('dependency-unavailable', 'The content cannot be read now. Try again later.', { cause })
  }
}

const MiB = 1024 * 1024

/** Sends a content; the returned function ends it. */
function sendContent(
  read: () => AsyncIterable<Uint8Array>,
  target: StreamTarget,
  world: World,
  timeout: number,
): () => void {
  let hasLeft = false
  void sendPieces(read, target, world, { timeout, hasLeft: () => hasLeft }).catch((failure: unknown) => {
    if (!hasLeft) target.cut(failure)
  })
  return () => {
    hasLeft = true
  }
}

/** The answer is cut if the client takes longer than the timeout for each MiB. */
async function sendPieces(
  read: () => AsyncIterable<Uint8Array>,
  target: StreamTarget,
  world: World,
  { timeout, hasLeft }: { readonly timeout: number; readonly hasLeft: () => boolean },
): Promise<void> {
  const isTaken = makeReaderTime(target, world, { grace: timeout, pace: MiB / timeout })
  for await (const piece of read()) {
    if (hasLeft()) return
    if (!(await isTaken(piece))) return target.cut()
  }
  if (!hasLeft()) target.end()
}
