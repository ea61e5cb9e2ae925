/** Connection URL: parses where a database is and how to connect to it. The store. */
import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'

export interface DatabaseHost {
  /** A name, an address, or the folder of a Unix socket. */
  readonly host: string
  readonly port: number
}

export interface ConnectionParams {
  /** Several if the primary can move; they are tried in this order. */
  readonly hosts: readonly DatabaseHost[]
  readonly user: string
  readonly database: string
  /** Read for every connection, as it may change while the service runs. */
  readonly password: () => string
  readonly tls: false | Tls
  /** Whether a pooler lends connections per transaction, so that no state may be kept in them. */
  readonly pooled: boolean
  readonly name: string
  /** Startup options for the server, such as `-c search_path=orders`. */
  readonly options: string | null
  /** The maximum number of connections. */
  readonly connections: number
  /** How many statements each connection keeps prepared; by default 500. */
  readonly prepared?: number
  /** The URL without its password. */
  readonly shown: string
}

interface Tls {
  readonly rejectUnauthorized: boolean
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  /** Replaces the check that the certificate names the host. */
  readonly checkServerIdentity?: () => undefined
}

type Environment = Readonly<Record<string, string | undefined>>
type UrlParameters = ReadonlyMap<string, string>

const urlPattern = /^postgres(?:ql)?:\/\/(?:([^:@/?]*)(?::([^@/?]*))?@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/s
const knownParameters = [
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
export const isPostgresUrl = (url: string): boolean => /^postgres(?:ql)?:/.test(url)

/** Removes the password for messages and logs, from malformed URLs too. */
export const withoutPassword = (url: string): string =>
  url.replace(/^(\w+:\/\/[^:@/?]*):.*@/s, '$1:***@').replace(/([?&]password=)[^&]*/g, '$1***')

export function parseConnectionUrl(url: string, environment: Environment): ConnectionParams {
  const [, user, password, authority = '', path, query] =
    urlPattern.exec(url) ?? refuse('It has to be postgres://user@host:port/database.')
  const parameters = parametersOf(query)
  const name = decodePart(user) || parameters.get('user') || environment.PGUSER || userInfo().username
  const secret = decodePart(password) || parameters.get('password')
  return {
    hosts: hostsOf(
      parameters.get('host') ?? (authority || environment.PGHOST || 'localhost'),
      parameters.get('port') ?? environment.PGPORT,
    ),
    user: name,
    database: decodePart(path) || environment.PGDATABASE || name,
    password: () => secret ?? passwordOf(environment),
    tls: tlsOf(parameters, environment),
    pooled: poolerOf(parameters.get('pooler')),
    name: parameters.get('application_name') ?? environment.PGAPPNAME ?? 'bylaw',
    options: parameters.get('options') ?? environment.PGOPTIONS ?? null,
    connections: connectionsOf(parameters.get('connections')),
    shown: withoutPassword(url),
  }
}

function refuse(reason: string): never {
  throw new Error(reason)
}

function decodePart(part: string | undefined): string {
  try {
    return decodeURIComponent(part ?? '')
  } catch {
    return refuse('A percent sign in it begins no escape; write %25.')
  }
}

function parametersOf(query: string | undefined): UrlParameters {
  const parameters = new Map(new URLSearchParams(query ?? ''))
  for (const name of parameters.keys())
    if (!knownParameters.includes(name))
      refuse(`Its parameter ${name} is not known; allowed are ${knownParameters.join(', ')}.`)
  const session = parameters.get('target_session_attrs')
  if (session !== undefined && session !== 'read-write') refuse('Its target_session_attrs can only be read-write.')
  return parameters
}

function hostsOf(authority: string, ports: string | undefined): DatabaseHost[] {
  const each = ports?.split(',')
  return authority.split(',').map((one, i) => {
    const [, bracketed, plain = '', own] =
      /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(one) ?? refuse(`${one} is not a host.`)
    const port = Number(own ?? each?.[i] ?? each?.[0] ?? 5432)
    if (!(port > 0 && port < 65_536)) refuse(`${port} is not a port.`)
    return { host: decodePart(bracketed ?? plain) || 'localhost', port }
  })
}

function passwordOf({ PGPASSWORD, PGPASSWORD_FILE }: Environment): string {
  if (PGPASSWORD !== undefined) return PGPASSWORD
  return PGPASSWORD_FILE === undefined ? '' : readFileSync(PGPASSWORD_FILE, 'utf8').replace(/\r?\n$/, '')
}

const sslModes = ['disable', 'require', 'verify-ca', 'verify-full']

function tlsOf(parameters: UrlParameters, environment: Environment): ConnectionParams['tls'] {
  const read = (name: string): string | undefined => {
    const file = parameters.get(name) ?? environment[`PG${name.toUpperCase()}`]
    return file === undefined ? undefined : readFileSync(file, 'utf8')
  }
  const named = { ca: read('sslrootcert'), cert: read('sslcert'), key: read('sslkey') }
  const files = Object.fromEntries(Object.entries(named).filter(([, file]) => file !== undefined))
  const usual = Object.keys(files).length === 0 ? 'disable' : 'verify-full'
  const mode = parameters.get('sslmode') ?? environment.PGSSLMODE ?? usual
  switch (mode) {
    case 'disable':
      return false
    case 'require':
      return { ...files, rejectUnauthorized: named.ca !== undefined, checkServerIdentity: anyName }
    case 'verify-ca':
      return { ...files, rejectUnauthorized: true, checkServerIdentity: anyName }
    case 'verify-full':
      return { ...files, rejectUnauthorized: true }
    default:
      return refuse(`Its sslmode ${mode} is not known; allowed are ${sslModes.join(', ')}.`)
  }
}

const anyName = (): undefined => undefined

function poolerOf(word: string | undefined): boolean {
  if (word === undefined || word === 'session') return false
  return word === 'transaction' || refuse(`Its pooler ${word} is not known; allowed are session and transaction.`)
}

const defaultConnections = 10

function connectionsOf(word: string | undefined): number {
  const count = Number(word ?? defaultConnections)
  return Number.isInteger(count) && count >= 2 && count <= 1000
    ? count
    : refuse('Its connections have to be 2 to 1000.')
}
