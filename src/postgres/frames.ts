/** Frames: checks that what the server sends are messages of its protocol, as the driver trusts whatever comes. The cellar. */
import type { Socket } from 'node:net'
import { forgetColumns } from './wire-query.ts'

/** The messages that a server sends, by their first byte. */
const serverMessages = new Set([...'123ACDEGHIKNRSTWZcdnst'].map((code) => code.charCodeAt(0)))
/** Errors and notices; the driver looks for their end and would never stop where there is none. */
const [error, notice] = ['E', 'N'].map((code) => code.charCodeAt(0))
/** Descriptions of columns; the driver would take what is missing from the message behind it. */
const description = 'T'.charCodeAt(0)

/** The first byte and the length of what follows, which counts itself. */
const [head, itself] = [5, 4]
/** A server sends no longer messages, and no longer errors or descriptions, in bytes. */
const [longest, longestOfNames] = [2 ** 30, 2 ** 20]
/** What a column is, behind its name, in bytes. */
const columnSize = 18

/** Anything of a driver's connection that sets out to listen to its server. */
interface DriverConnection {
  attachListeners: (stream: Socket) => void
}

/** Ends a connection whose server sends what is no protocol; the driver would throw where nobody can catch it. */
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
        forgetColumns()
        stream.destroy(Object.assign(protocolError(cause), { code: 'EPROTO' }))
      }
    })
  }
}

const protocolError = (cause?: unknown): Error =>
  new Error('The server sent bytes that are not the protocol of PostgreSQL.', { cause })

/** Throws where pieces of a stream are no messages. */
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

/** Whether the fields of an error, each a letter and a text that ends in a zero, end in a zero themselves. */
function isEnded(fields: Buffer): boolean {
  let at = 0
  while (at < fields.length && fields[at] !== 0) {
    const end = fields.indexOf(0, at + 1)
    if (end < 0) return false
    at = end + 1
  }
  return at === fields.length - 1
}

/** Whether as many columns are described as the first two bytes say, each by a name that ends in a zero and by numbers. */
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

/** The messages that are looked at as a whole before the driver has them. */
const checkedMessages = new Map([
  [error, isEnded],
  [notice, isEnded],
  [description, isDescribed],
])
