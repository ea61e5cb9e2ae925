/** Counts the attempts of an address that failed, so that keys cannot be tried without end. Part 5; part 8, request counts. */
import { Problem } from '../errors/problem.ts'
import { blockOf } from '../flow/address.ts'

const most = 30
const window = 60_000
const mostAddresses = 10_000

interface Count {
  failed: number
  readonly until: number
}

export interface Failures {
  /** Refuses where the address has failed too often. R184. */
  readonly admit: (address: string, now: number) => void
  readonly add: (address: string, now: number) => void
}

export function failures(): Failures {
  const counts = new Map<string, Count>()
  return {
    admit: (address, now) => {
      const count = counts.get(blockOf(address))
      if (!count || count.failed < most || count.until <= now) return
      throw new Problem(
        'too-many-requests',
        `This address has sent ${most} credentials that are not valid. Those that were valid before are still taken; try others later.`,
        { headers: { 'Retry-After': String(Math.ceil((count.until - now) / 1000)) } },
      )
    },
    add: (address, now) => {
      const block = blockOf(address)
      if (block === '') return
      const count = counts.get(block)
      if (count && count.until > now) count.failed++
      else {
        counts.delete(block) // the oldest ones stand first
        if (counts.size >= mostAddresses) counts.delete(counts.keys().next().value as string)
        counts.set(block, { failed: 1, until: now + window })
      }
    },
  }
}
