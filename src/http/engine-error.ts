/** Engine error: answers messages that the parser of node:http refuses, with the usual error body. Part 7, error body. */

import { handle } from '../corridor/handle.ts'
import { parseTarget, requestIdOf } from '../corridor/message.ts'
import { refuse } from '../corridor/refuse.ts'
import type { ServerContext } from '../corridor/server-context.ts'
import { Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'
import type { ServiceWorld } from '../flow/world.ts'
import { type Fault, malformed } from '../wire/header-lines.ts'
import { refuseFault } from './fault-answer.ts'

export interface EngineError extends NodeJS.ErrnoException {
  /** The rule of HTTP that was broken. */
  readonly reason?: string
  /** The chunk in which it occurred, and the position in it. */
  readonly rawPacket?: Buffer
  readonly bytesParsed?: number
}

/** What was wrong; null if the connection itself failed, so that no answer can be sent. R151. */
export function faultOf({ code = '', reason = '' }: EngineError): Fault | null {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return { kind: 'late', reason }
  if (code === 'HPE_HEADER_OVERFLOW') return { kind: 'overflow', reason }
  if (code === 'HPE_INVALID_EOF_STATE') return { kind: 'ended', reason }
  return code.startsWith('HPE_') ? malformed(reason) : null
}

/** The answer to a message that the parser refused. A method that it does not know is refused like any other. R13. */
export function answerEarly(
  call: Call,
  error: EngineError,
  fault: Fault,
  context: ServerContext,
): Promise<Reply> | Reply {
  const { service } = context
  const aboutMethod = error.code === 'HPE_INVALID_METHOD' || error.code === 'HPE_INVALID_CONSTANT'
  if (aboutMethod && isUnfinished(error)) return refuse(call, context, unknownMethodProblem(service))
  if (aboutMethod && call.http !== '' && !service.methods.split(', ').includes(call.method))
    return handle(call, context)
  return refuseFault(call, fault, context)
}

/** Whether the head has not arrived completely, so that its path and host are unknown. */
function isUnfinished({ rawPacket, bytesParsed = 0 }: EngineError): boolean {
  const text = rawPacket?.toString('latin1') ?? ''
  const head = text.slice(text.lastIndexOf('\r\n\r\n', bytesParsed) + 1).trimStart()
  return !head.includes('\r\n\r\n') && /^[!#$%&'*+.^_`|~\w-]{1,40}( |$)/.test(head)
}

const unknownMethodProblem = ({ methods }: ServerContext['service']): Problem =>
  new Problem('method-not-allowed', `This service has no such method. It has ${methods}.`, {
    headers: { Allow: methods },
  })

/** The parts of a call that can be read from the bytes. */
export function callFrom(error: EngineError, address: string, world: ServiceWorld): Call {
  const { method, sent, http, fields } = headOf(error)
  const pairs = fields.map((line) => {
    const cut = line.indexOf(':')
    return [line.slice(0, cut), line.slice(cut + 1).trim()] as const
  })
  const headers: Record<string, string> = Object.fromEntries(pairs.map(([name, value]) => [name.toLowerCase(), value]))
  const id = requestIdOf(headers['request-id'], world)
  return { method, ...parseTarget(sent), http, headers, raw: pairs.flat(), id, content: null, address }
}

interface MessageHead {
  readonly method: string
  readonly sent: string
  readonly http: string
  readonly fields: readonly string[]
}

/** The head with the error: it begins at the last request line before the position. */
function headOf({ rawPacket, bytesParsed = 0 }: EngineError): MessageHead {
  const lines = (rawPacket?.toString('latin1') ?? '').split('\r\n')
  let head: MessageHead = { method: '', sent: '', http: '', fields: [] }
  let at = 0
  for (const [i, line] of lines.entries()) {
    if (at > bytesParsed) break
    at += line.length + 2
    const first = requestLine(line, i === lines.length - 1)
    const end = lines.indexOf('', i + 1)
    if (first) head = { ...first, fields: lines.slice(i + 1, end < 0 ? undefined : end) }
  }
  return head
}

/** Parses a request line, or one still without its version. Text before the method is content of another request. */
function requestLine(line: string, open: boolean): Omit<MessageHead, 'fields'> | null {
  const [before = '', sent = '', version = '', ...more] = line.split(' ')
  const method = /[!#$%&'*+.^_`|~\w-]+$/.exec(before.slice(-40))?.[0]
  const http = /^HTTP\/(\d\.\d)$/.exec(version)?.[1] ?? ''
  const isComplete = http !== '' || (open && version === '' && sent.startsWith('/'))
  return method !== undefined && isComplete && more.length === 0 ? { method, sent, http } : null
}
