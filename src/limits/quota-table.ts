/** Quota table: counts what all nodes have spent of quotas. Part 8, request counts. */
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

/** A stored window that ends more than one window after a new one was started by a wrong clock. */
const spendQuota: TableOperation = {
  ...{ do: 'add', table: quotaTable, sums: ['used'] },
  while: { until: { above: 'time', upTo: 'latest' } },
}

/** Deletes more than the one window that a call adds, so that old windows cannot pile up. */
const sweepWindows: TableOperation = {
  ...{ do: 'sweep', table: quotaTable, where: { until: { upTo: 'time' } } },
  ...{ order: ['until'], limit: 4, near: 'name' },
}

/** What is counted in a window. A window begins with the first one that spends in it. */
interface QuotaSpend {
  /** Whose quota it is. */
  readonly name: string
  readonly amount: number
  readonly time: number
  /** When a window that begins now ends. */
  readonly until: number
}

/** What all nodes have spent in the current window, and when it ends. */
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
    // The spend is committed: if the sweep fails, the next window sweeps, and nothing is counted again.
    if (spent.until === until) await Promise.resolve(execute(tablePlan(sweepWindows, values))).catch(() => {})
    return { used: spent.used, until: spent.until }
  }
