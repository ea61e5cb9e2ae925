/** Meter: counts requests against quotas, locally up to a lease, beyond it for all nodes. Part 8, request counts. */
import type { Ledger } from './quota-table.ts'
import type { QuotaPolicy } from './tier.ts'

/** One request counted against one quota. */
interface QuotaCharge {
  readonly policy: QuotaPolicy
  /** The caller, address or tier that it is counted for. */
  readonly partition: string
}

/** How much of a quota is left, and when its window ends. */
export interface QuotaBalance {
  readonly policy: QuotaPolicy
  readonly left: number
  readonly until: number
}

export interface QuotaDecision {
  readonly granted: boolean
  readonly balances: readonly QuotaBalance[]
}

/** Counts a request against all its quotas, or against none of them if one is used up. */
export type Meter = (charges: readonly QuotaCharge[], now: number) => QuotaDecision | Promise<QuotaDecision>

interface QuotaWaiter {
  readonly done: (granted: boolean) => void
  readonly fail: (error: unknown) => void
}

/** The current window of one partition, as far as this process knows. */
interface QuotaWindow {
  readonly policy: QuotaPolicy
  readonly name: string
  /** How many requests all nodes have used, own ones included. */
  used: number
  /** Own requests not yet reported to the ledger; negative if requests that were reported did not run. */
  held: number
  /** When the window ends; 0 until the ledger has reported it. */
  until: number
  asking: boolean
  waiting: QuotaWaiter[]
}

const mostWindows = 100_000

// long because: its functions share the windows
export function makeMeter(ledger: Ledger, most = mostWindows): Meter {
  const all = new Map<QuotaPolicy, Map<string, QuotaWindow>>()

  return (charges, now) => {
    const windows: QuotaWindow[] = []
    let [full, room] = [false, true]
    for (const charge of charges) {
      const window = windowOf(charge, now)
      windows.push(window)
      full ||= isFull(window, now)
      room &&= hasRoom(window, now)
    }
    if (full) return decisionOf(false, windows)
    if (!room) return settled(windows, now)
    for (const window of windows) takeFrom(window)
    return decisionOf(true, windows)
  }

  function windowOf({ policy, partition }: QuotaCharge, now: number): QuotaWindow {
    let own = all.get(policy)
    if (!own) {
      own = new Map()
      all.set(policy, own)
    }
    const before = own.get(partition)
    if (before && (isRunning(before, now) || before.asking)) return before
    own.delete(partition) // all windows of a policy have the same length, so the map is ordered by their ends
    forget(own, now)
    const name = `${policy.tier}/${policy.name}/${partition}`
    const window = { policy, name, used: 0, held: 0, until: 0, asking: false, waiting: [] }
    own.set(partition, window)
    return window
  }

  /** Removes up to two windows for each new one, so that ended windows cannot accumulate. */
  function forget(own: Map<string, QuotaWindow>, now: number): void {
    let left = 2
    for (const [partition, window] of own) {
      if (left === 0 || (window.until > now && own.size < most)) return
      own.delete(partition)
      left--
      // If this report fails, at most a lease of requests is not counted.
      if (window.until > now && window.held > 0) tell(window, window.held, now).catch(() => {})
    }
  }

  function tell({ name, policy }: QuotaWindow, amount: number, now: number): ReturnType<Ledger> {
    return ledger({ name, amount, time: now, until: now + policy.window })
  }

  async function settled(windows: readonly QuotaWindow[], now: number): Promise<QuotaDecision> {
    const granted = await Promise.all(windows.map((window) => granting(window, now)))
    if (granted.every((one) => one)) return decisionOf(true, windows)
    for (const [i, window] of windows.entries()) if (granted[i]) giveBackTo(window)
    return decisionOf(false, windows)
  }

  function granting(window: QuotaWindow, now: number): boolean | Promise<boolean> {
    if (isFull(window, now)) return false
    if (hasRoom(window, now)) return takeFrom(window)
    return new Promise((done, fail) => {
      window.waiting.push({ done, fail })
      if (!window.asking) void ask(window, now)
    })
  }

  /** Reports held requests to the ledger and charges all waiting ones; one round trip at a time for each window. */
  async function ask(window: QuotaWindow, now: number): Promise<void> {
    window.asking = true
    while (window.waiting.length > 0) {
      const asking = window.waiting.splice(0)
      const held = window.until > now ? window.held : 0 // requests of an ended window no longer count
      try {
        const { used, until } = await tell(window, held + asking.length, now)
        const refused = Math.min(asking.length, Math.max(0, used - window.policy.quota))
        const since = window.held - held - refused // reported requests that did not run: given back meanwhile, or refused now
        Object.assign(window, { used: used + since, until, held: since })
        for (const [i, { done }] of asking.entries()) done(i < asking.length - refused)
      } catch (error) {
        for (const { fail } of asking) fail(error)
      }
      while (window.waiting.length > 0 && window.held < window.policy.lease && window.used < window.policy.quota)
        window.waiting.shift()?.done(takeFrom(window))
    }
    window.asking = false
  }
}

/** A window that ends too far in the future was started by a wrong clock, and is not used. */
const isRunning = ({ until, policy }: QuotaWindow, now: number): boolean =>
  until > now && until <= now + 2 * policy.window

const isFull = ({ used, until, policy }: QuotaWindow, now: number): boolean => until > now && used >= policy.quota

/** Whether a request can be counted locally: less than a lease is unreported, and the quota is not used up. */
const hasRoom = ({ used, held, until, asking, policy }: QuotaWindow, now: number): boolean =>
  until > now && held < policy.lease && used < policy.quota && !asking

function takeFrom(window: QuotaWindow): true {
  window.used++
  window.held++
  return true
}

/** Undoes a count, as a request that one quota refuses counts against none of the others. */
function giveBackTo(window: QuotaWindow): void {
  window.used--
  window.held--
}

const decisionOf = (granted: boolean, windows: readonly QuotaWindow[]): QuotaDecision => ({
  granted,
  balances: windows.map(({ policy, used, until }) => ({ policy, left: Math.max(0, policy.quota - used), until })),
})
