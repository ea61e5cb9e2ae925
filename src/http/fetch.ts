/** The door of fetch: a standard Request in, a standard Response out, no socket. Part 1. */
import type { Call } from '../flow/call.ts'
import { answer, type House } from './handle.ts'

/** A function that runtimes and tests can call with a Request. */
export function fetchDoor(house: House): (request: Request) => Promise<Response> {
  return async (request) => {
    const call = callOf(request, house)
    const { status, headers, body } = await answer(call, house)
    headers['Request-Id'] = call.id
    headers.Date = new Date(house.world.now()).toUTCString()
    if (body !== null && (call.method !== 'HEAD' || headers['Content-Encoding'] === undefined))
      headers['Content-Length'] = String(Buffer.byteLength(body))
    return new Response(call.method === 'HEAD' || body === null ? null : body, { status, headers })
  }
}

const requestId = /^[A-Za-z0-9._-]{1,128}$/

function callOf(request: Request, { world }: House): Call {
  const headers = Object.fromEntries(request.headers)
  const { pathname, search } = new URL(request.url)
  const given = headers['request-id']
  return {
    method: request.method,
    target: pathname + search,
    headers: request.body === null ? headers : { 'transfer-encoding': 'chunked', ...headers },
    lines: (name) => (headers[name] === undefined ? [] : [headers[name]]),
    id: given !== undefined && requestId.test(given) ? given : world.newRequestId(),
    content: request.body,
    address: '',
  }
}
