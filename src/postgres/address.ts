/** Reads where a database is and how it is reached from its URL. The cellar. */
import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'

export interface Host {
  /** A name, an address, or the folder of a Unix socket. */
  readonly host: string
  readonly port: number
}

export interface Address {
  /** Several where the primary can move; they are tried in this order. */
  readonly hosts: readonly Host[]
  readonly user: string
  readonly database: string
  /** Asked at every connection, as it may be changed while the service runs. */
  readonly password: () => string
  readonly tls: false | Tls
  /** Whether connections are shared with others between transactions, so that nothing may be kept in them. */
  readonly pooled: boolean
  readonly name: string
  /** What the server is told at the start of a connection, as `-c search_path=orders`. */
  readonly options: string | null
  /** How many connections are kept at most. */
  readonly connections: number
  /** The URL without its password. */
  readonly shown: string
}

interface Tls {
  readonly rejectUnauthorized: boolean
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  /** What stands in the place of comparing the name in the certificate with that of the host. */
  readonly checkServerIdentity?: () => undefined
}

type Environment = Readonly<Record<string, string | undefined>>
type Parameters = ReadonlyMap<string, string>

const form = /^postgres(?:ql)?:\/\/(?:([^:@/?]*)(?::([^@/?]*))?@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/s
const known = [
  'application_name',
  'connections',
  'host',
  'options',
  'password',
  'pooler',
  'port',
  'sslcert',
  'sslkey',
  'sslmode',
  'sslrootcert',
  'target_session_attrs',
  'user',
]

/** Whether a URL names a PostgreSQL database. */
export const isPostgres = (url: string): boolean => /^postgres(?:ql)?:/.test(url)

/** The URL as it may be shown and logged; one that is written wrong, too. */
export const withoutPassword = (url: string): string =>
  url.replace(/^(\w+:\/\/[^:@/?]*):.*@/s, '$1:***@').replace(/([?&]password=)[^&]*/g, '$1***')

export function addressOf(url: string, environment: Environment): Address {
  const [, user, password, authority = '', path, query] =
    form.exec(url) ?? refuse('It has to be postgres://user@host:port/database.')
  const given = parametersOf(query)
  const name = text(user) || given.get('user') || environment.PGUSER || userInfo().username
  const secret = text(password) || given.get('password')
  return {
    hosts: hostsOf(
      given.get('host') ?? (authority || environment.PGHOST || 'localhost'),
      given.get('port') ?? environment.PGPORT,
    ),
    user: name,
    database: text(path) || environment.PGDATABASE || name,
    password: () => secret ?? passwordOf(environment),
    tls: tlsOf(given, environment),
    pooled: poolerOf(given.get('pooler')),
    name: given.get('application_name') ?? environment.PGAPPNAME ?? 'bylaw',
    options: given.get('options') ?? environment.PGOPTIONS ?? null,
    connections: connectionsOf(given.get('connections')),
    shown: withoutPassword(url),
  }
}

function refuse(reason: string): never {
  throw new Error(reason)
}

function text(part: string | undefined): string {
  try {
    return decodeURIComponent(part ?? '')
  } catch {
    return refuse('A percent sign in it stands for nothing; write %25.')
  }
}

function parametersOf(query: string | undefined): Parameters {
  const given = new Map(new URLSearchParams(query ?? ''))
  for (const name of given.keys())
    if (!known.includes(name)) refuse(`Its parameter ${name} is not known; allowed are ${known.join(', ')}.`)
  const session = given.get('target_session_attrs')
  if (session !== undefined && session !== 'read-write') refuse('Its target_session_attrs can only be read-write.')
  return given
}

function hostsOf(authority: string, ports: string | undefined): Host[] {
  const each = ports?.split(',')
  return authority.split(',').map((one, i) => {
    const [, bracketed, plain = '', own] =
      /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(one) ?? refuse(`${one} is not a host.`)
    const port = Number(own ?? each?.[i] ?? each?.[0] ?? 5432)
    if (!(port > 0 && port < 65_536)) refuse(`${port} is not a port.`)
    return { host: text(bracketed ?? plain) || 'localhost', port }
  })
}

function passwordOf({ PGPASSWORD, PGPASSWORD_FILE }: Environment): string {
  if (PGPASSWORD !== undefined) return PGPASSWORD
  return PGPASSWORD_FILE === undefined ? '' : readFileSync(PGPASSWORD_FILE, 'utf8').replace(/\r?\n$/, '')
}

const modes = ['disable', 'require', 'verify-ca', 'verify-full']

function tlsOf(given: Parameters, environment: Environment): Address['tls'] {
  const read = (name: string): string | undefined => {
    const file = given.get(name) ?? environment[`PG${name.toUpperCase()}`]
    return file === undefined ? undefined : readFileSync(file, 'utf8')
  }
  const [ca, cert, key] = [read('sslrootcert'), read('sslcert'), read('sslkey')]
  const files = {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  }
  const usual = Object.keys(files).length === 0 ? 'disable' : 'verify-full'
  const mode = given.get('sslmode') ?? environment.PGSSLMODE ?? usual
  switch (mode) {
    case 'disable':
      return false
    case 'require':
      return { ...files, rejectUnauthorized: ca !== undefined, checkServerIdentity: anyName }
    case 'verify-ca':
      return { ...files, rejectUnauthorized: true, checkServerIdentity: anyName }
    case 'verify-full':
      return { ...files, rejectUnauthorized: true }
    default:
      return refuse(`Its sslmode ${mode} is not known; allowed are ${modes.join(', ')}.`)
  }
}

const anyName = (): undefined => undefined

function poolerOf(word: string | undefined): boolean {
  if (word === undefined || word === 'session') return false
  return word === 'transaction' || refuse(`Its pooler ${word} is not known; allowed are session and transaction.`)
}

const usualConnections = 10

function connectionsOf(word: string | undefined): number {
  const count = Number(word ?? usualConnections)
  return Number.isInteger(count) && count >= 2 && count <= 1000
    ? count
    : refuse('Its connections have to be 2 to 1000.')
}
