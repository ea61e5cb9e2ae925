/** The door of fetch: a standard Request in, a standard Response out, no socket. Part 1. */
import type { Call } from '../flow/call.ts'
import { answer } from './handle.ts'
import type { House } from './house.ts'
import { idOf } from './message.ts'

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

function callOf(request: Request, { world }: House): Call {
  const { host, pathname, search } = new URL(request.url)
  const sent = Object.fromEntries(request.headers)
  const raw = Object.entries({ host, ...sent }).flat()
  const streamed = request.body !== null && sent['content-length'] === undefined
  return {
    method: request.method,
    target: pathname + search,
    authority: null,
    http: '1.1',
    headers: streamed ? { host, 'transfer-encoding': 'chunked', ...sent } : { host, ...sent },
    raw,
    id: idOf(sent['request-id'], world),
    content: request.body,
    address: '',
  }
}
