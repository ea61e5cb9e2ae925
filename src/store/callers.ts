/** Callers: keeps their API keys, sealed, what they have spent of quotas, and which versions they use. The cellar. */
import type { Credential, Holder } from '../flow/credential.ts'
import { homeOf } from '../flow/home.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { Identify, Issue, Keys, Revoke, Spend, Tally } from '../flow/plan.ts'
import type { Answer, Cellar, Steps } from './cellar.ts'
import { credentials, quotas, uses } from './compile.ts'
import { atHome, type Dialect } from './dialect.ts'

const names = ['hash', 'id', 'name', 'holder', 'created', 'expires', 'revoked']
const select = `SELECT ${names.join(', ')} FROM ${credentials}`
const marks = ({ mark }: Dialect, count: number, from = 1): string =>
  Array.from({ length: count }, (_, i) => mark(from + i)).join(', ')

/** The number of values is a power of two, so that a look-up of many keys is one of a few statements, which stay prepared. */
export function* identify({ dialect }: Cellar, { hashes }: Identify): Steps<Outcome> {
  const count = 2 ** Math.ceil(Math.log2(hashes.length))
  const values = Array.from({ length: count }, (_, i) => hashes[Math.min(i, hashes.length - 1)] as string)
  return listed(yield { text: `${select} WHERE hash IN (${marks(dialect, count)})`, values, lone: 'read' })
}

export function* stored({ dialect }: Cellar, { name }: Keys): Steps<Outcome> {
  const where = name === null ? '' : ` WHERE name = ${dialect.mark(1)}`
  return listed(yield { text: `${select}${where} ORDER BY name, created, id`, values: name === null ? [] : [name] })
}

const listed = (rows: readonly Answer[]): Outcome => ({ is: 'credentials', credentials: rows.map(credentialOf) })

function credentialOf({ hash, id, name, holder, created, expires, revoked }: Answer): Credential {
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

/** Takes one of the places that a name has. They are unique, so that two who issue at once cannot take more than there are. */
export function* issue({ dialect }: Cellar, { credential, most }: Issue): Steps<Outcome> {
  const { id, name, hash, account, scopes, tier, features, created, expires } = credential
  const { mark } = dialect
  yield {
    text: `UPDATE ${credentials} SET place = id WHERE name = ${mark(1)} AND expires <= ${mark(2)}`,
    values: [name, created],
  }
  const values = [hash, id, name, JSON.stringify({ account, scopes, tier, features }), created, expires, null]
  const text = `INSERT INTO ${credentials} (${names.join(', ')}, place) VALUES (${marks(dialect, names.length + 1)})
    ON CONFLICT (name, place) DO NOTHING RETURNING hash`
  for (let place = 1; place <= most; place++) {
    const [taken] = yield { text, values: [...values, String(place)] }
    if (taken) return { is: 'credentials', credentials: [credential] }
  }
  return { is: 'duplicate', fields: ['name'] }
}

export function* revoke({ dialect }: Cellar, { ids, time }: Revoke): Steps<Outcome> {
  const text = `UPDATE ${credentials} SET revoked = ${dialect.mark(1)}, place = id
    WHERE revoked IS NULL AND id IN (${marks(dialect, ids.length, 2)}) RETURNING ${names.join(', ')}`
  return listed(yield { text, values: [time, ...ids] })
}

/** Each statement stands for itself, so that a row is held no longer than its own one takes. R184. */
export function* spend({ dialect }: Cellar, { name, amount, time, until }: Spend): Steps<Outcome> {
  const { mark, spread } = dialect
  const home = homeOf(name)
  // A window that ends later than one that begins now could was begun by a clock that went wrong.
  const isOver = `(${quotas}.until <= ${mark(4)} OR ${quotas}.until > ${mark(5)})`
  const [also, its] = spread ? [', home', `, ${mark(6)}`] : ['', '']
  const text = `INSERT INTO ${quotas} (name, used, until${also}) VALUES (${mark(1)}, ${mark(2)}, ${mark(3)}${its})
    ON CONFLICT (name${also}) DO UPDATE SET
      used = CASE WHEN ${isOver} THEN excluded.used ELSE ${quotas}.used + excluded.used END,
      until = CASE WHEN ${isOver} THEN excluded.until ELSE ${quotas}.until END
    RETURNING used, until`
  const values = [name, amount, until, time, until + (until - time), ...(spread ? [home] : [])]
  const [row] = yield { text, values, lone: 'write' }
  if (!row) throw new Error('A quota cannot be counted.')
  const spent = { is: 'spent', used: Number(row.used), until: Number(row.until) } as const
  const at = atHome(home, 3, dialect)
  if (spent.until === until)
    yield {
      text: `DELETE FROM ${quotas} WHERE name IN (SELECT name FROM ${quotas} WHERE until <= ${mark(1)}${at.text} ORDER BY until LIMIT ${mark(2)})${at.text}`,
      values: [time, mostSwept, ...at.values],
      lone: 'write',
    }
  return spent
}

/** More than one window adds, so that those that are over cannot pile up. */
const mostSwept = 4

/** Adds what a process has counted; each statement stands for itself, so that no row is held for long. R202. */
export function* tally({ dialect: { mark } }: Cellar, plan: Tally): Steps<Outcome> {
  const text = `INSERT INTO ${uses} (version, caller, requests, last) VALUES (${mark(1)}, ${mark(2)}, ${mark(3)}, ${mark(4)})
    ON CONFLICT (version, caller) DO UPDATE SET
      requests = ${uses}.requests + excluded.requests,
      last = CASE WHEN ${uses}.last > excluded.last THEN ${uses}.last ELSE excluded.last END`
  for (const { version, caller, requests, last } of plan.uses) yield { text, values: [version, caller, requests, last] }
  return { is: 'tallied' }
}

export function* usage(): Steps<Outcome> {
  const text = `SELECT version, caller, requests, last FROM ${uses} ORDER BY version, last DESC, caller`
  const rows = yield { text, values: [], lone: 'read' }
  const found = rows.map(({ version, caller, requests, last }) => ({
    version: version as string,
    caller: caller as string,
    requests: Number(requests),
    last: Number(last),
  }))
  return { is: 'usage', uses: found }
}

/** The time of the database that something may be judged by. */
export function* timeOf({ due }: Dialect): Steps<number> {
  const [row] = yield { text: `SELECT ${due} AS time`, values: [] }
  return Number(row?.time)
}
