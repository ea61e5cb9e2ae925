/** Keeps API keys, sealed: finds, lists, issues and revokes them. The cellar. */
import type { Credential, Holder } from '../flow/credential.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { Identify, Issue, Keys, Revoke } from '../flow/plan.ts'
import type { Answer, Cellar, Steps } from './cellar.ts'
import { credentials } from './compile.ts'
import type { Dialect } from './dialect.ts'

const names = ['hash', 'id', 'name', 'holder', 'created', 'expires', 'revoked']
const select = `SELECT ${names.join(', ')} FROM ${credentials}`
const marks = ({ mark }: Dialect, count: number, from = 1): string =>
  Array.from({ length: count }, (_, i) => mark(from + i)).join(', ')

export function* identify({ dialect }: Cellar, { hashes }: Identify): Steps<Outcome> {
  return listed(
    yield { text: `${select} WHERE hash IN (${marks(dialect, hashes.length)})`, values: hashes, lone: 'read' },
  )
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
