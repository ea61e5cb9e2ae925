/** Answers what the HTTP engine refuses by itself, in the shape of all errors, and closes. Part 7, error body. */
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { Problem } from '../errors/problem.ts'
import type { Call, World } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'
import { answer, type House } from './handle.ts'
import { refuse } from './refuse.ts'

interface EngineError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer
}

/** R13, R151. */
export async function refuseEarly(error: EngineError, socket: Socket, house: House): Promise<void> {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const call = callFrom(error.rawPacket, house.world)
  const unknown = error.code === 'HPE_INVALID_METHOD' && call.target !== ''
  const reply = unknown ? await answer(call, house) : refuse(call, house.service, problemOf(error), house.log)
  socket.end(textOf(call, reply))
}

function problemOf({ code }: EngineError): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Problem('header-fields-too-large', 'The header fields of the request are too large.')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem('request-timeout', 'The request did not come in completely in time. Send it again.')
    default:
      return new Problem('malformed-request', 'The message is not valid HTTP/1.1.')
  }
}

const requestLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\/[\x21-\x7e]*) HTTP\/1\.[01]$/

/** As much of a call as can be read from the bytes. */
function callFrom(packet: Buffer | undefined, world: World): Call {
  const [first = '', ...lines] = (packet?.toString('latin1') ?? '').split('\r\n\r\n', 1)[0]?.split('\r\n') ?? []
  const [, method = 'GET', target = ''] = requestLine.exec(first) ?? []
  const pairs = lines.map(
    (line) => [line.split(':', 1)[0]?.toLowerCase() ?? '', line.slice(line.indexOf(':') + 1).trim()] as const,
  )
  const headers = Object.fromEntries(pairs.filter(([name]) => name === 'accept' || name === 'host'))
  return {
    method,
    target,
    headers,
    lines: (name) => pairs.filter(([one]) => one === name).map(([, value]) => value),
    id: world.newRequestId(),
    content: null,
    address: '',
  }
}

function textOf({ id }: Call, { status, headers, body }: Reply): string {
  const all = {
    ...headers,
    'Request-Id': id,
    Connection: 'close',
    Date: new Date().toUTCString(),
    'Content-Length': String(Buffer.byteLength(body ?? '')),
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('\r\n')}\r\n\r\n${body ?? ''}`
}
