/** Counts what an address tried and failed with, so that keys cannot be tried without end. Part 5; part 8, request counts. */
import { Problem } from '../errors/problem.ts'
import { blockOf } from '../flow/address.ts'

const most = 30
const window = 60_000
const mostAddresses = 10_000

interface Count {
  /** How often each credential failed, by its digest. */
  readonly failed: Map<string, number>
  readonly until: number
}

export interface Failures {
  /**
   * Refuses where the address has failed with too many credentials, or with this one too often: a client that goes on with a key that
   * was revoked does not keep out its neighbours. R184.
   */
  readonly admit: (address: string, digest: string, now: number) => void
  readonly add: (address: string, digest: string, now: number) => void
}

export function failures(): Failures {
  const counts = new Map<string, Count>()
  return {
    admit: (address, digest, now) => {
      const count = counts.get(blockOf(address))
      if (!count || count.until <= now) return
      const same = count.failed.get(digest) ?? 0
      if (same < most && count.failed.size < most) return
      const message =
        same < most
          ? `This address has sent ${most} credentials that are not valid. Those that were valid before are still taken; try others later.`
          : `This credential was sent ${most} times and is not valid. Get another one.`
      throw new Problem('too-many-requests', message, {
        headers: { 'Retry-After': String(Math.ceil((count.until - now) / 1000)) },
      })
    },
    add: (address, digest, now) => {
      const block = blockOf(address)
      if (block === '') return
      let count = counts.get(block)
      if (!count || count.until <= now) {
        counts.delete(block) // the oldest ones stand first
        if (counts.size >= mostAddresses) counts.delete(counts.keys().next().value as string)
        count = { failed: new Map(), until: now + window }
        counts.set(block, count)
      }
      const same = count.failed.get(digest)
      if (same !== undefined || count.failed.size < most) count.failed.set(digest, (same ?? 0) + 1)
    },
  }
}
