/** Frames: checks that the server sends well-formed protocol messages, as the driver does not check. The store. */
import type { Socket } from 'node:net'

/** Bytes of a message's head (type and length), and of the length, which counts itself. */
const [head, itself] = [5, 4]
/** The longest messages that are accepted, and the longest ones that are checked as a whole, in bytes. */
const [longest, longestWhole] = [2 ** 30, 2 ** 20]
/** Bytes of a column's description after its name, and of the number of columns in a row. */
const [columnSize, countSize] = [18, 2]

const byteOf = (code: string): number => code.charCodeAt(0)
/** Rows are checked while they arrive, as they may be long. */
const row = byteOf('D')

/** The method of the driver's connection that attaches its listeners to the socket. */
interface DriverConnection {
  attachListeners: (stream: Socket) => void
}

/** Closes a connection that sends malformed messages; the driver would throw where no caller can catch it. */
export function checkFrames(connection: DriverConnection): void {
  const attach = connection.attachListeners.bind(connection)
  connection.attachListeners = (stream) => {
    attach(stream)
    const [listener] = stream.listeners('data').slice(-1) as [(chunk: Buffer) => void]
    const check = frameChecker()
    stream.off('data', listener).on('data', (chunk: Buffer) => {
      try {
        check(chunk)
        listener(chunk)
      } catch (cause) {
        stream.off('data', listener)
        stream.destroy(Object.assign(protocolError(cause), { code: 'EPROTO' }))
      }
    })
  }
}

const protocolError = (cause?: unknown): Error =>
  new Error('The server sent bytes that are not the protocol of PostgreSQL.', { cause })

/** Throws if the chunks of a stream are not protocol messages. */
function frameChecker(): (chunk: Buffer) => void {
  let kept: Buffer | null = null
  /** Where the next message or value begins in the next chunk. */
  let rest = 0
  const values = rowChecker()
  return (chunk) => {
    const bytes = kept === null ? chunk : Buffer.concat([kept, chunk])
    let at = rest
    while (at + (values.isInside() ? itself : head) <= bytes.length) {
      const end = values.isInside() ? values.skip(bytes, at) : endOfFrame(bytes, at, values)
      if (end === null) break
      at = end
    }
    kept = at < bytes.length ? bytes.subarray(at) : null
    rest = Math.max(0, at - bytes.length)
  }
}

/** The end of a message, or of the head of a row; null if more of it has to arrive. */
function endOfFrame(bytes: Buffer, at: number, values: ReturnType<typeof rowChecker>): number | null {
  const [code, length] = [bytes[at] as number, bytes.readUInt32BE(at + 1)]
  const isWhole = wholeMessages.get(code)
  if ((!isWhole && code !== row) || length < itself || length > (isWhole ? longestWhole : longest))
    throw protocolError()
  if (isWhole) {
    const end = at + 1 + length
    if (end > bytes.length) return null
    if (!isWhole(bytes, at + head, end)) throw protocolError()
    return end
  }
  if (length < itself + countSize) throw protocolError()
  if (at + head + countSize > bytes.length) return null
  values.begin(bytes.readUInt16BE(at + head), length - itself - countSize)
  return at + head + countSize
}

/** Checks that the values of a row fill its message: the driver would read a longer one from the next message. */
function rowChecker() {
  let [left, size] = [0, 0]
  const begin = (count: number, bytes: number): void => {
    left = count
    size = bytes
    if (size < itself * left || (left === 0 && size > 0)) throw protocolError()
  }
  /** The end of a value. */
  const skip = (bytes: Buffer, at: number): number => {
    const length = bytes.readInt32BE(at)
    const taken = itself + Math.max(0, length) // -1 is NULL
    left--
    size -= taken
    if (length < -1 || size < itself * left || (left === 0 && size > 0)) throw protocolError()
    return at + taken
  }
  return { begin, skip, isInside: () => left > 0 }
}

/** Whether the bytes of a message from its content to its end are well-formed. */
type FrameCheck = (bytes: Buffer, from: number, end: number) => boolean

/** Errors and notices, whose fields are a letter and a text each: the driver would search forever for a missing end. */
const isEnded: FrameCheck = (bytes, from, end) => {
  let at = from
  while (at < end && bytes[at] !== 0) at = endOfText(bytes, at + 1, end)
  return at === end - 1
}

/** Columns, as many as the first two bytes say: the driver would read missing parts from the next message. */
const isDescribed: FrameCheck = (bytes, from, end) => {
  if (end - from < countSize) return false
  let at = from + countSize
  for (let left = bytes.readUInt16BE(from); left > 0 && at <= end; left--) at = endOfText(bytes, at, end) + columnSize
  return at === end
}

/** The end of a text and its zero; beyond `end` if the zero is missing. */
function endOfText(bytes: Buffer, at: number, end: number): number {
  const zero = bytes.indexOf(0, at)
  return zero < 0 || zero >= end ? end + 1 : zero + 1
}

const ofTexts =
  (count: number, before = 0): FrameCheck =>
  (bytes, from, end) => {
    let at = from + before
    for (let i = 0; i < count && at <= end; i++) at = endOfText(bytes, at, end)
    return at === end
  }
const ofLength =
  (length: number): FrameCheck =>
  (_, from, end) =>
    end - from === length
const ofAtLeast =
  (length: number): FrameCheck =>
  (_, from, end) =>
    end - from >= length
const transactionStates = new Set([...'ITE'].map(byteOf))
const isReadiness: FrameCheck = (bytes, from, end) => end - from === 1 && transactionStates.has(bytes[from] as number)
const isParameters: FrameCheck = (bytes, from, end) =>
  end - from >= countSize && end - from === countSize + 4 * bytes.readUInt16BE(from)

/** The messages that a server sends besides rows, by their first byte, each with its form. */
const wholeMessages: ReadonlyMap<number, FrameCheck> = new Map(
  Object.entries<FrameCheck>({
    1: ofLength(0),
    2: ofLength(0),
    3: ofLength(0),
    A: ofTexts(2, 4),
    C: ofTexts(1),
    E: isEnded,
    G: ofAtLeast(3),
    H: ofAtLeast(3),
    I: ofLength(0),
    K: ofAtLeast(8),
    N: isEnded,
    R: ofAtLeast(4),
    S: ofTexts(2),
    T: isDescribed,
    W: ofAtLeast(3),
    Z: isReadiness,
    c: ofLength(0),
    d: ofAtLeast(0),
    n: ofLength(0),
    s: ofLength(0),
    t: isParameters,
  }).map(([code, check]) => [byteOf(code), check]),
)
