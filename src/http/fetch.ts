/** The door of fetch: a standard Request in, a standard Response out, no socket. Part 1. */
import type { Call } from '../flow/call.ts'
import { answer } from './handle.ts'
import { stamp } from './headers.ts'
import type { House } from './house.ts'
import { idOf } from './message.ts'
import { began } from './world.ts'

/** A function that runtimes and tests can call with a Request. */
export function fetchDoor(house: House): (request: Request) => Promise<Response> {
  return async (request) => {
    const call = callOf(request, house)
    const started = began()
    const reply = await answer(call, house)
    stamp(call, reply, house, started)
    const { status, headers, body } = reply
    return new Response(call.method === 'HEAD' || !body ? null : body, { status, headers })
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
