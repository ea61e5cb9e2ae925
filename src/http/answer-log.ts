/** Answer log: one line for each answer, with its caller and the reason of a refusal, but no value of the request. R164. */
import { createHmac } from 'node:crypto'
import { redact } from '../auth/credentials.ts'
import { traceOf } from '../corridor/message.ts'
import type { ServerContext } from '../corridor/server-context.ts'
import { Problem, type Violation } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import type { Caller } from '../flow/caller.ts'
import type { Reply } from '../flow/reply.ts'
import { elapsedSince } from '../flow/world.ts'

/** The query may be secret and is left out; credentials in the path are redacted. */
export function logAnswer(call: Call, reply: Reply, context: ServerContext, started: number): void {
  const { id, method, target } = call
  const { status, caller, refused } = reply
  const end = target.indexOf('?')
  const line = {
    requestId: id,
    method: /^[A-Z-]{1,20}$/i.test(method) || method === '' ? method : '***', // a malformed message can have any text here
    path: redact(end < 0 ? target : target.slice(0, end)),
    status,
    ms: elapsedSince(context.world, started),
  }
  const parts = [caller && loggedCaller(caller, context), refused && refusalParts(refused), traceOf(call)]
  context.log.info(parts.some(Boolean) ? Object.assign({}, line, ...parts) : line, 'answered')
}

interface LoggedCaller {
  /** The name of the API key, never the key. */
  readonly key?: string
  readonly account?: string
}

/** The caller as the setting `log.account` allows. */
function loggedCaller(caller: Caller, { service, store, world }: ServerContext): LoggedCaller | null {
  const how = service.settings.log.account
  if (how === 'off' || (caller.account === null && caller.key === undefined)) return null
  const loggedCallers = world.state.of(makeLoggedCallers, null)
  const seen = loggedCallers.get(caller)
  if (seen) return seen
  const loggedText = (text: string): string =>
    how === 'plain' ? text : createHmac('sha256', store.secret).update(`log\n${text}`).digest('base64url').slice(0, 16)
  const identity = {
    ...(caller.key !== undefined && { key: loggedText(caller.key) }),
    ...(caller.account !== null && { account: loggedText(caller.account) }),
  }
  loggedCallers.set(caller, identity)
  return identity
}
const makeLoggedCallers = () => new WeakMap<Caller, LoggedCaller>()

const mostErrors = 10

/** The type of a refusal, the access rule or scope that refused, and the place and type of each mistake. */
function refusalParts({ problem, rule }: NonNullable<Reply['refused']>): object {
  const errors = violationsOf(problem).slice(0, mostErrors).map(placeAndType)
  const { scope = rule } = problem.extra
  return { type: problem.type, ...(scope !== undefined && { rule: scope }), ...(errors.length > 0 && { errors }) }
}

/** The mistakes of a refusal, or else those of the refusal behind it. */
function violationsOf({ violations, cause }: Problem): readonly Violation[] {
  return violations.length === 0 && cause instanceof Problem ? violationsOf(cause) : violations
}

const placeAndType = ({ type, in: part, pointer, name }: Violation): object => ({
  ...(part !== 'body' && { in: part }),
  ...(pointer !== undefined && { pointer: pointer.split('/').map(safeName).join('/') }),
  ...(name !== undefined && { name: safeName(name) }),
  type,
})

/** A name that clients have sent, if it is an ordinary name: any other text may be a value, as in the keys of a map. */
const safeName = (name: string): string => (/^[A-Za-z0-9_$[\].-]{0,64}$/.test(name) ? redact(name) : '***')
