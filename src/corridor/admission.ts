/** Admission: the slots and the memory that a request holds until its answer has been sent. Part 8, overload. */
import type { Call } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'
import { type AnswerSpace, smallAnswer } from '../limits/answer-memory.ts'
import { admitUnlessOverloaded, makeLoopState } from '../limits/overload.ts'
import { acquireCallerSlot, acquireSlot, makeRunningRequests, releaseNothing } from '../limits/running-requests.ts'
import { type Admission, check } from './phase.ts'

/** Refuses requests while the service is overloaded. R161, R185. */
export const overloadPhase = check({
  name: 'overload',
  pass: ({ call, context: { service, world }, admission }) => {
    admitUnlessOverloaded(world.state.of(makeLoopState, null), call.id)
    admission.leave = acquireSlot(world.state.of(makeRunningRequests, null), service.settings.limits.concurrency)
  },
  refuses: () => ['internal-error', 'overloaded', 'timeout', 'dependency-unavailable'],
})

export const concurrencyPhase = check({
  name: 'concurrency',
  needs: ['identified'],
  pass: ({ call, context: { service, world }, admission, identified }) => {
    const running = world.state.of(makeRunningRequests, null)
    admission.finish = acquireCallerSlot(running, identified.caller, call, service.settings.limits.callerConcurrency)
  },
  refuses: ({ service: { settings } }) =>
    settings.limits.callerConcurrency === null ? [] : ['too-many-concurrent-requests'],
})

export function releaseAdmission({ space, finish, leave }: Admission): void {
  space?.leave()
  finish()
  leave()
}

/** Waits until there is memory for an answer of about this size; returns null, without waiting, if there is enough now. */
export function waitForMemory({ call, admission }: AdmittedCall, bytes: () => number): Promise<void> | null {
  const space = admission.memory.enter(bytes, call.gone)
  const take = (own: AnswerSpace): void => {
    admission.space = own
  }
  if (space instanceof Promise) return space.then(take)
  take(space)
  return null
}

interface AdmittedCall {
  readonly call: Call
  readonly admission: Admission
}

/** Waits for memory before sending an answer that exists already. */
export async function onceSendable(call: Call, reply: Reply, pass: Admission): Promise<Reply> {
  const bytes = reply.body?.length ?? 0
  if (bytes > smallAnswer && call.method !== 'HEAD') await waitForMemory({ call, admission: pass }, () => bytes)
  return reply
}

/** Passes the slots and the memory of the request to its answer: the HTTP layer releases them after sending. */
export function holdUntilSent({ method }: Call, reply: Reply, pass: Admission): Reply {
  const { leave, finish, space } = pass
  const bytes = method === 'HEAD' ? 0 : (reply.body?.length ?? 0)
  if (bytes <= smallAnswer) space?.leave()
  if (bytes <= smallAnswer && leave === releaseNothing && finish === releaseNothing) return reply
  if (bytes > smallAnswer) pass.space ??= pass.memory.hold(bytes)
  const own = pass.space
  own?.set(bytes > smallAnswer ? bytes : 0)
  let left = false
  reply.held = {
    set: (rest) => own?.set(rest),
    leave: () => {
      if (left) return
      left = true
      releaseAdmission(pass)
    },
  }
  return reply
}
