/** Failures: limits how many invalid credentials an address may try. Part 5; part 8, request counts. */
import { Problem } from '../errors/problem.ts'
import { clientBlock } from '../flow/network.ts'

const mostFailures = 30
const failureWindow = 60_000
const mostAddresses = 10_000

interface FailureCount {
  /** How often each credential failed, by its digest. */
  readonly failed: Map<string, number>
  readonly until: number
}

export interface FailureCounter {
  /**
   * Counts an invalid credential; throws 429 if the address has sent too many invalid credentials, or this one too often.
   * Valid credentials are never counted here, so no caller is locked out by a neighbour. R184.
   */
  readonly add: (address: string, digest: string, now: number) => void
}

export function makeFailureCounter(): FailureCounter {
  const counts = new Map<string, FailureCount>()
  return {
    add: (address, digest, now) => {
      const block = clientBlock(address)
      if (block === '') return
      let count = counts.get(block)
      if (!count || count.until <= now) {
        counts.delete(block) // the oldest counts come first in the map
        if (counts.size >= mostAddresses) counts.delete(counts.keys().next().value as string)
        count = { failed: new Map(), until: now + failureWindow }
        counts.set(block, count)
      }
      const same = count.failed.get(digest) ?? 0
      if (same >= mostFailures || count.failed.size >= mostFailures)
        throw tooManyFailures(same >= mostFailures, count.until - now)
      count.failed.set(digest, same + 1)
    },
  }
}

function tooManyFailures(isSame: boolean, wait: number): Problem {
  const message = isSame
    ? `This credential was sent ${mostFailures} times and is not valid. Get another one.`
    : `This credential is not valid, like ${mostFailures} others from this address. Try again later; valid credentials are accepted at any time.`
  return new Problem('too-many-requests', message, { headers: { 'Retry-After': String(Math.ceil(wait / 1000)) } })
}
