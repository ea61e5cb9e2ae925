/** Fault answer: refuses bytes that are no message of HTTP/1.1, with the usual error body. Part 7, error body. */
import { urlTooLong } from '../corridor/message.ts'
import { refuse } from '../corridor/refuse.ts'
import type { ServerContext } from '../corridor/server-context.ts'
import { Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'
import { lateRequest } from '../limits/intake.ts'
import type { Fault } from '../wire/header-lines.ts'

const problems: Readonly<Record<Fault['kind'], (reason: string) => Problem>> = {
  late: lateRequest,
  overflow: () => new Problem('header-fields-too-large', 'The header of the request is too large. Send fewer fields.'),
  ended: () => new Problem('malformed-request', 'The message ended before it was complete.'),
  malformed: (reason) => new Problem('malformed-request', `The message is not valid HTTP/1.1: ${reason}.`),
}

/** R151. */
export const faultProblem = ({ kind, reason }: Fault): Problem => problems[kind](reason)

/** The answer to a message that an engine has refused. */
export function refuseFault(call: Call, fault: Fault, context: ServerContext): Reply {
  const { url } = context.service.settings.limits
  const problem = call.target.length > url ? urlTooLong(call.target, url) : faultProblem(fault)
  const reply = refuse(call, context, problem)
  context.telemetry?.answered(call, reply, context.world.monotonic(), 'other')
  return reply
}
