/** Quota table: counts the requests of all nodes against quotas. Part 8, request counts. */
import { rowsIn } from '../flow/outcome.ts'
import type { Store } from '../flow/store.ts'
import { type Table, type TableOperation, tablePlan } from '../flow/table.ts'

export const quotaTable: Table = {
  name: 'bylaw_quotas',
  columns: { name: 'text', used: 'integer', until: 'integer' },
  key: ['name'],
  shardKey: 'name',
  indexes: [{ name: 'until', columns: ['until'] }],
}

/** Adds to a running window. A window whose end is too far in the future was started by a wrong clock, and is replaced. */
const spendQuota: TableOperation = {
  ...{ do: 'add', table: quotaTable, sums: ['used'] },
  while: { until: { above: 'time', upTo: 'latest' } },
}

/** Deletes more than the one window that a call adds, so that old windows cannot pile up. */
const sweepWindows: TableOperation = {
  ...{ do: 'sweep', table: quotaTable, where: { until: { upTo: 'time' } } },
  ...{ order: ['until'], limit: 4, near: 'name' },
}

/** A number of requests to count in a window. A window begins with the first request that is counted in it. */
interface QuotaSpend {
  /** Identifies the quota, and the caller, address or tier that it is counted for. */
  readonly name: string
  readonly amount: number
  readonly time: number
  /** When a window that begins now ends. */
  readonly until: number
}

/** How many requests of all nodes were counted in the current window, and when it ends. */
interface QuotaUsage {
  readonly used: number
  readonly until: number
}

/** Counts the use of quotas, for all nodes together. R184. */
export type Ledger = (spend: QuotaSpend) => Promise<QuotaUsage>

/** Counts in the store, by statements that commit by themselves, so that a row is locked only briefly. */
export const storeLedger =
  ({ execute }: Pick<Store, 'execute'>): Ledger =>
  async ({ name, amount, time, until }) => {
    const values = { name, used: amount, until, time, latest: until + (until - time) }
    const added = await execute(tablePlan(spendQuota, values))
    const [spent] = rowsIn(added) as unknown as readonly QuotaUsage[]
    if (!spent) throw new Error('A quota cannot be counted.')
    // The count is committed already: a failed sweep must not fail the request, and the next window sweeps again.
    if (spent.until === until) await Promise.resolve(execute(tablePlan(sweepWindows, values))).catch(() => {})
    return { used: spent.used, until: spent.until }
  }
