/** Callers: stores the hashes of their API keys, their used quotas, and which versions they call. The cellar. */
import type { Credential, Holder } from '../flow/credential.ts'
import type { FindCredentials, IssueCredential, ListCredentials, RevokeCredentials } from '../flow/credential-plan.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { RecordUse, SpendQuota } from '../flow/plan.ts'
import { shardKeyOf } from '../flow/shard-key.ts'
import { credentialTable, quotaTable, useTable } from '../sql/compile.ts'
import { type Dialect, shardCondition } from '../sql/dialect.ts'
import type { StoreContext } from './context.ts'
import type { ResultRow, Steps } from './steps.ts'

const credentialColumns = ['hash', 'id', 'name', 'holder', 'created', 'expires', 'revoked']
const selectCredentials = `SELECT ${credentialColumns.join(', ')} FROM ${credentialTable}`
const placeholders = ({ mark }: Dialect, count: number, from = 1): string =>
  Array.from({ length: count }, (_, i) => mark(from + i)).join(', ')

/**
 * Pads the list to a power of two, so that lookups of any number of keys use few different statements, which stay prepared.
 */
export function* findCredentials({ dialect }: StoreContext, { hashes }: FindCredentials): Steps<Outcome> {
  const count = 2 ** Math.ceil(Math.log2(hashes.length))
  const values = Array.from({ length: count }, (_, i) => hashes[Math.min(i, hashes.length - 1)] as string)
  return credentialsOutcome(
    yield { text: `${selectCredentials} WHERE hash IN (${placeholders(dialect, count)})`, values, autocommit: 'read' },
  )
}

export function* listCredentials({ dialect }: StoreContext, { name }: ListCredentials): Steps<Outcome> {
  const where = name === null ? '' : ` WHERE name = ${dialect.mark(1)}`
  return credentialsOutcome(
    yield { text: `${selectCredentials}${where} ORDER BY name, created, id`, values: name === null ? [] : [name] },
  )
}

const credentialsOutcome = (rows: readonly ResultRow[]): Outcome => ({
  is: 'credentials',
  credentials: rows.map(credentialOf),
})

function credentialOf({ hash, id, name, holder, created, expires, revoked }: ResultRow): Credential {
  const time = (value: unknown): number | null => (value === null ? null : Number(value))
  return {
    id: id as string,
    name: name as string,
    hash: hash as string,
    ...(JSON.parse(holder as string) as Holder),
    created: Number(created),
    expires: time(expires),
    revoked: time(revoked),
  }
}

/**
 * Takes one of the slots of a name (`place`). They are unique, so that concurrent calls cannot issue more keys than allowed.
 */
export function* issueCredential({ dialect }: StoreContext, { credential, most }: IssueCredential): Steps<Outcome> {
  const { id, name, hash, account, scopes, tier, features, created, expires } = credential
  const { mark } = dialect
  yield {
    text: `UPDATE ${credentialTable} SET place = id WHERE name = ${mark(1)} AND expires <= ${mark(2)}`,
    values: [name, created],
  }
  const values = [hash, id, name, JSON.stringify({ account, scopes, tier, features }), created, expires, null]
  const text = `INSERT INTO ${credentialTable} (${credentialColumns.join(', ')}, place) VALUES (${placeholders(dialect, credentialColumns.length + 1)})
    ON CONFLICT (name, place) DO NOTHING RETURNING hash`
  for (let place = 1; place <= most; place++) {
    const [taken] = yield { text, values: [...values, String(place)] }
    if (taken) return { is: 'credentials', credentials: [credential] }
  }
  return { is: 'duplicate', fields: ['name'] }
}

export function* revokeCredentials({ dialect }: StoreContext, { ids, time }: RevokeCredentials): Steps<Outcome> {
  const text = `UPDATE ${credentialTable} SET revoked = ${dialect.mark(1)}, place = id
    WHERE revoked IS NULL AND id IN (${placeholders(dialect, ids.length, 2)}) RETURNING ${credentialColumns.join(', ')}`
  return credentialsOutcome(yield { text, values: [time, ...ids] })
}

/** Each statement commits by itself, so that the row is locked only briefly. R184. */
export function* addToQuota({ dialect }: StoreContext, { name, amount, time, until }: SpendQuota): Steps<Outcome> {
  const { mark, distribute } = dialect
  const home = shardKeyOf(name)
  // A stored window that ends more than one window after a new one was started by a clock that was wrong.
  const isOver = `(${quotaTable}.until <= ${mark(4)} OR ${quotaTable}.until > ${mark(5)})`
  const [also, its] = distribute ? [', home', `, ${mark(6)}`] : ['', '']
  const text = `INSERT INTO ${quotaTable} (name, used, until${also}) VALUES (${mark(1)}, ${mark(2)}, ${mark(3)}${its})
    ON CONFLICT (name${also}) DO UPDATE SET
      used = CASE WHEN ${isOver} THEN excluded.used ELSE ${quotaTable}.used + excluded.used END,
      until = CASE WHEN ${isOver} THEN excluded.until ELSE ${quotaTable}.until END
    RETURNING used, until`
  const values = [name, amount, until, time, until + (until - time), ...(distribute ? [home] : [])]
  const [row] = yield { text, values, autocommit: 'write' }
  if (!row) throw new Error('A quota cannot be counted.')
  const spent = { is: 'spent', used: Number(row.used), until: Number(row.until) } as const
  const at = shardCondition(home, 3, dialect)
  if (spent.until === until)
    yield {
      text: `DELETE FROM ${quotaTable} WHERE name IN (SELECT name FROM ${quotaTable} WHERE until <= ${mark(1)}${at.text} ORDER BY until LIMIT ${mark(2)})${at.text}`,
      values: [time, maxSwept, ...at.values],
      autocommit: 'write',
    }
  return spent
}

/** More than the one window that a call adds, so that old windows cannot pile up. */
const maxSwept = 4

/** Adds the requests that a process has counted to the totals. R202. */
export function* recordUse({ dialect: { mark } }: StoreContext, plan: RecordUse): Steps<Outcome> {
  const text = `INSERT INTO ${useTable} (version, caller, requests, last) VALUES (${mark(1)}, ${mark(2)}, ${mark(3)}, ${mark(4)})
    ON CONFLICT (version, caller) DO UPDATE SET
      requests = ${useTable}.requests + excluded.requests,
      last = CASE WHEN ${useTable}.last > excluded.last THEN ${useTable}.last ELSE excluded.last END`
  // In one order on every node, so that two nodes that lock the same rows cannot deadlock.
  const uses = plan.uses.toSorted((a, b) => (`${a.version} ${a.caller}` < `${b.version} ${b.caller}` ? -1 : 1))
  for (const { version, caller, requests, last } of uses) yield { text, values: [version, caller, requests, last] }
  return { is: 'tallied' }
}

export function* readUsage(): Steps<Outcome> {
  const text = `SELECT version, caller, requests, last FROM ${useTable} ORDER BY version, last DESC, caller`
  const rows = yield { text, values: [], autocommit: 'read' }
  const found = rows.map(({ version, caller, requests, last }) => ({
    version: version as string,
    caller: caller as string,
    requests: Number(requests),
    last: Number(last),
  }))
  return { is: 'usage', uses: found }
}

/** The time of the database that expiry is judged by. */
export function* readDatabaseTime({ due }: Dialect): Steps<number> {
  const [row] = yield { text: `SELECT ${due} AS time`, values: [] }
  return Number(row?.time)
}
