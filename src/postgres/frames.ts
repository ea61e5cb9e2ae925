/** Frames: checks that the server sends well-formed protocol messages, as the driver does not check. The store. */
import type { Socket } from 'node:net'

/** The messages that a server sends, by their first byte. */
const serverMessages = new Set([...'123ACDEGHIKNRSTWZcdnst'].map((code) => code.charCodeAt(0)))
/** Errors and notices: the driver would search for their end forever if it is missing. */
const [error, notice] = ['E', 'N'].map((code) => code.charCodeAt(0))
/** Column descriptions: the driver would read missing parts from the next message. */
const description = 'T'.charCodeAt(0)

/** Bytes of a message's head (type and length), and of the length, which counts itself. */
const [head, itself] = [5, 4]
/** The longest messages that are accepted, and the longest errors and descriptions, in bytes. */
const [longest, longestOfNames] = [2 ** 30, 2 ** 20]
/** Bytes of a column's description after its name. */
const columnSize = 18

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
  let rest = 0
  return (chunk) => {
    const bytes = kept === null ? chunk : Buffer.concat([kept, chunk])
    let at = rest
    while (at + head <= bytes.length) {
      const [code, length] = [bytes[at] as number, bytes.readUInt32BE(at + 1)]
      const end = at + 1 + length
      const isWhole = checkedMessages.get(code)
      if (!serverMessages.has(code) || length < itself || length > (isWhole ? longestOfNames : longest))
        throw protocolError()
      if (isWhole && end > bytes.length) break
      if (isWhole && !isWhole(bytes.subarray(at + head, end))) throw protocolError()
      at = end
    }
    kept = at < bytes.length ? bytes.subarray(at) : null
    rest = Math.max(0, at - bytes.length)
  }
}

/** Whether a list of fields, each a letter and a zero-terminated text, ends in a zero itself. */
function isEnded(fields: Buffer): boolean {
  let at = 0
  while (at < fields.length && fields[at] !== 0) {
    const end = fields.indexOf(0, at + 1)
    if (end < 0) return false
    at = end + 1
  }
  return at === fields.length - 1
}

/** Whether it describes as many columns as its first two bytes say, each by a zero-terminated name and numbers. */
function isDescribed(columns: Buffer): boolean {
  if (columns.length < 2) return false
  let at = 2
  for (let left = columns.readUInt16BE(0); left > 0; left--) {
    const end = columns.indexOf(0, at)
    if (end < 0) return false
    at = end + 1 + columnSize
  }
  return at === columns.length
}

/** Messages that are checked as a whole before the driver gets them. */
const checkedMessages = new Map([
  [error, isEnded],
  [notice, isEnded],
  [description, isDescribed],
])
