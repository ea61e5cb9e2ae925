/** Service calls: requests of a reaction into its own service, with keys that make them repeatable. Part 6. R231. */
import type { ServerContext } from '../corridor/server-context.ts'
import type { Caller } from '../flow/caller.ts'
import { fetchDoor } from '../http/fetch.ts'

/** The answer to a call. */
export interface CallAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  // biome-ignore lint/suspicious/noExplicitAny: the body of any answer
  readonly body: any
}

/** The options of a call. */
export interface CallOptions {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** The last part of its idempotency key; by default the number of the call. */
  readonly key?: string
}

interface CallingReaction {
  readonly reaction: string
  readonly event: string
  readonly account: string | null
  readonly signal: AbortSignal
}

/** Makes the function `call` for one event. The calls have the account of the event and every scope, and count against no quota. */
export function serviceCalls(context: ServerContext, { reaction, event, account, signal }: CallingReaction) {
  const { service, log } = context
  const caller: Caller = {
    ...{ id: `reaction:${reaction}`, account, tier: null, features: new Set() },
    scopes: new Set(Object.keys(service.declaration.scopes ?? {})),
    unrestricted: true,
  }
  const door = fetchDoor({ ...context, service: { ...service, quotas: null }, authenticate: () => caller })
  let count = 0
  const send = async (method: string, path: string, options: CallOptions = {}): Promise<CallAnswer> => {
    count++
    const init: RequestInit = {
      method,
      headers: headersOf(context, method, `${event}/${reaction}/${options.key ?? count}`, options),
      signal,
    }
    if (options.body !== undefined) init.body = JSON.stringify(options.body)
    const answer = await answerOf(await door(new Request(`http://localhost${path}`, init)))
    log.info({ reaction, eventId: event, method, path, status: answer.status }, 'A reaction has called the service.')
    const location = method === 'POST' && answer.status === 409 ? createdBefore(answer) : undefined
    return location === undefined ? answer : { ...(await send('GET', location)), status: 201 }
  }
  return send
}

/** The path of the item that an earlier try has created, if its answer was not kept. */
const createdBefore = ({ headers, body }: CallAnswer): string | undefined =>
  typeof body?.old_id === 'string' ? /^<([^>]+)>; rel="related"/.exec(headers.link ?? '')?.[1] : undefined

function headersOf(
  { service }: ServerContext,
  method: string,
  key: string,
  { body, headers = {} }: CallOptions,
): Record<string, string> {
  const { carriers } = service.settings.versions
  const newest = [...service.editions.keys()].at(-1)
  const version =
    carriers.includes('header') && newest !== undefined && service.declaration.versions ? { version: newest } : {}
  return {
    ...version,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(method === 'POST' && { 'idempotency-key': key }),
    ...headers,
  }
}

async function answerOf(response: Response): Promise<CallAnswer> {
  const text = await response.text()
  const headers = Object.fromEntries(response.headers)
  return { status: response.status, headers, body: text === '' ? null : JSON.parse(text) }
}
