/** Running requests: limits how many requests run at a time, in the service and for each caller. Part 8, concurrency. */
import { Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import { type Caller, consumerOf } from '../flow/caller.ts'
import { clientBlock } from '../flow/network.ts'

/** How many requests run, in all and of each caller. */
interface RunningRequests {
  all: number
  readonly byCaller: Map<string, number>
}

export const makeRunningRequests = (): RunningRequests => ({ all: 0, byCaller: new Map() })
/** The release of a slot where no limit is set. */
export const releaseNothing = (): void => {}

/** Takes a slot or throws; call the returned function when the request is done. R185. */
export function acquireSlot(running: RunningRequests, most: number | null): () => void {
  if (most === null) return releaseNothing
  if (running.all >= most)
    throw new Problem('overloaded', `The service handles ${most} requests at a time. Try again later.`)
  running.all++
  return () => void running.all--
}

/** Takes a slot of one caller or throws; anonymous callers are distinguished by their address. R185. */
export function acquireCallerSlot(
  { byCaller: all }: RunningRequests,
  caller: Caller,
  { address }: Call,
  most: number | null,
): () => void {
  if (most === null) return releaseNothing
  const who = caller.id === '' ? `at ${clientBlock(address)}` : `is ${consumerOf(caller)}`
  const before = all.get(who) ?? 0
  if (before >= most) {
    const message = `${most} ${most === 1 ? 'request' : 'requests'} of one caller ${most === 1 ? 'is' : 'are'} handled at a time. Send the next one when one of them is answered.`
    throw new Problem('too-many-concurrent-requests', message, { headers: { 'Retry-After': '1' } })
  }
  all.set(who, before + 1)
  return () => {
    const left = (all.get(who) as number) - 1
    if (left > 0) all.set(who, left)
    else all.delete(who)
  }
}
