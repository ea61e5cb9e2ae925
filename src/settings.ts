/** Settings: what the conventions leave open, each with its default and what else it may be. Part 8 and whatever is open elsewhere. */
// long because: one table of all settings, with the makers it is written in
import { actionVerbs } from './formats/naming.ts'
import { durationMilliseconds } from './formats/time.ts'

/** One setting: its default, how a declared value is read (undefined where it is refused), and what is allowed in words. */
interface Setting<out In, out Value> {
  readonly value: Value
  readonly read: (given: unknown) => Value | undefined
  readonly allowed: string
  /** Whether a resource may set it for itself. */
  readonly local: boolean
  readonly declared?: In
}

interface SettingsBranch {
  readonly [name: string]: Setting<unknown, unknown> | SettingsBranch
}

type Switch = boolean | 'on' | 'off'

function choice<const T extends string>(first: T, ...others: T[]): Setting<T, T> {
  const all = [first, ...others]
  const read = (given: unknown) => all.find((one) => one === given)
  return { value: first, read, allowed: all.map((one) => `'${one}'`).join(', '), local: false }
}

function toggle(value: boolean): Setting<Switch, boolean> {
  const read = (given: unknown) =>
    given === true || given === 'on' ? true : given === false || given === 'off' ? false : undefined
  return { value, read, allowed: "true or 'on', false or 'off'", local: false }
}

function count(value: number, least = 1, most = Number.MAX_SAFE_INTEGER): Setting<number, number> {
  const read = (given: unknown) =>
    typeof given === 'number' && Number.isInteger(given) && given >= least && given <= most ? given : undefined
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least}` : `from ${least} to ${most}`
  return { value, read, allowed: `a whole number ${range}`, local: false }
}

/** A time as an ISO 8601 duration, kept in milliseconds. */
function durationSetting(value: number): Setting<string, number> {
  const read = (given: unknown) => (typeof given === 'string' ? durationMilliseconds(given) : undefined)
  return {
    value,
    read,
    allowed: "an ISO 8601 duration of weeks, days, hours, minutes and seconds, as 'PT10S' or 'P30D'",
    local: false,
  }
}

function word(value: string, pattern: RegExp, allowed: string): Setting<string, string> {
  const read = (given: unknown) => (typeof given === 'string' && pattern.test(given) ? given : undefined)
  return { value, read, allowed, local: false }
}

function words<const T extends string>(value: readonly T[], known?: readonly T[]): Setting<readonly T[], readonly T[]> {
  const read = (given: unknown) =>
    Array.isArray(given) && given.every((one) => typeof one === 'string' && (!known || known.includes(one as T)))
      ? (given as T[])
      : undefined
  return {
    value,
    read,
    allowed: known ? `a list of ${known.map((one) => `'${one}'`).join(', ')}` : 'a list of texts',
    local: false,
  }
}

/** A setting that one more word turns off. */
function orOff<In, T, const W extends string>(
  setting: Setting<In, T>,
  off: W,
  value?: null,
): Setting<In | W, T | null> {
  const read = (given: unknown) => (given === off ? null : setting.read(given))
  return {
    value: value === null ? null : setting.value,
    read,
    allowed: `${setting.allowed}, or '${off}'`,
    local: setting.local,
  }
}

/** Marks the settings of a branch as those that a resource may set for itself. */
function perResource<const B extends SettingsBranch>(branch: B): B {
  const marked = Object.entries(branch).map(([name, one]) => [
    name,
    isSetting(one) ? { ...one, local: true } : perResource(one),
  ])
  return Object.fromEntries(marked) as B
}

function isSetting(one: Setting<unknown, unknown> | SettingsBranch): one is Setting<unknown, unknown> {
  return typeof one.read === 'function'
}

type Styles = 'page' | 'offset' | 'cursor'
type IdMaker = () => string

const idSetting: Setting<'typeid' | 'client' | IdMaker, 'typeid' | 'client' | IdMaker> = {
  value: 'typeid',
  read: (given) =>
    given === 'typeid' || given === 'client' || typeof given === 'function' ? (given as IdMaker) : undefined,
  allowed: "'typeid', 'client' (clients choose it) or a function that makes what follows the prefix",
  local: true,
}

const memberNamePattern = /^[A-Za-z][A-Za-z0-9_]*$/

const pageNamesSetting: Setting<Readonly<Record<string, string>>, Readonly<Record<string, string>>> = {
  value: {},
  read: (given) => {
    const names = [
      'currentPage',
      'pageSize',
      'totalPages',
      'totalRecords',
      'limit',
      'offset',
      'nextCursor',
      'prevCursor',
      'hasMore',
    ]
    const pairs = typeof given === 'object' && given !== null ? Object.entries(given) : [['', '']]
    const fits = pairs.every(
      ([name, to]) => names.includes(name as string) && typeof to === 'string' && memberNamePattern.test(to),
    )
    return fits ? (given as Record<string, string>) : undefined
  },
  allowed:
    'an object from currentPage, pageSize, totalPages, totalRecords, limit, offset, nextCursor, prevCursor, hasMore to other names',
  local: false,
}

type FeatureChoice = (features: ReadonlySet<string>) => string | null | undefined

const fromFeaturesSetting: Setting<FeatureChoice | 'changes' | 'off', FeatureChoice | 'changes' | null> = {
  value: null,
  read: (given) => {
    if (given === 'off') return null
    return given === 'changes' || typeof given === 'function' ? (given as FeatureChoice) : undefined
  },
  allowed:
    "'changes' (the highest version whose changes are all among the client's features), a function from the features to a version, or 'off'",
  local: false,
}

/** Signatures by a private key of the issuer's: a shared secret could be taken for a public key by whoever knows that one. */
export const tokenAlgorithms: readonly string[] = ['RS256', 'ES256', 'PS256', 'EdDSA', 'Ed25519'].concat([
  'RS384',
  'ES384',
  'PS384',
  'RS512',
  'ES512',
  'PS512',
])

/** Which access tokens are taken, and what their claims mean. R163. */
export interface TokenSettings {
  readonly issuer: string
  readonly audience: string
  /** The URL of the issuer's public keys. */
  readonly jwks: string
  /** The URL of this service, where the audience is none. */
  readonly resource?: string
  readonly algorithms?: readonly string[]
  /** Claims by name, or nested ones by a JSON Pointer. */
  readonly claims?: {
    readonly scopes?: string
    readonly account?: string
    readonly tier?: string
    readonly features?: string
  }
}

const tokensSetting: Setting<TokenSettings, TokenSettings> = {
  value: { issuer: '', audience: '', jwks: '' },
  read: (given) => (typeof given === 'object' && given !== null ? (given as TokenSettings) : undefined), // judged in check
  allowed: 'an object of issuer, audience, jwks and, if need be, resource, algorithms and claims',
  local: false,
}

/** An origin as browsers write it: compared letter by letter. R175. */
function isOrigin(text: string): boolean {
  if (text === '*' || text === 'null') return true
  if (/^https?:[^*]*$/.test(text)) return URL.canParse(text) && new URL(text).origin === text
  return /^[a-z][a-z\d+.-]*:\/\/[a-z\d.-]+(:\d{1,5})?$/.test(text)
}

function textsThat(
  value: readonly string[],
  fits: (text: string) => boolean,
  allowed: string,
): ReturnType<typeof words<string>> {
  const any = words<string>(value)
  return { ...any, read: (given) => (any.read(given)?.every(fits) ? any.read(given) : undefined), allowed }
}

const anyKeyedMethods = words(['POST'], ['POST', 'PATCH'])

const keyedMethods: typeof anyKeyedMethods = {
  ...anyKeyedMethods,
  read: (given) => (Array.isArray(given) && given.includes('POST') ? anyKeyedMethods.read(given) : undefined),
  allowed: "['POST'] or ['POST', 'PATCH']",
}

const MiB = 1024 * 1024
const second = 1000

const settingsTable = {
  naming: choice('camel', 'snake'),
  path: { trailingSlash: choice('reject', 'redirect', 'ignore'), verbs: words(actionVerbs) },
  methods: { unknown: statusChoice(405, 501), query: toggle(false) },
  query: { unknown: choice('reject', 'ignore'), ignored: words<string>([]) },
  body: {
    unknownFields: choice('reject', 'ignore'),
    onBodyless: choice('reject', 'ignore'),
    maxDepth: count(32, 1, 500),
    maxKeys: count(1000),
  },
  request: { codings: words(['gzip', 'br'], ['gzip', 'br', 'zstd']) },
  resource: perResource({
    id: idSetting,
    putCreates: toggle(true),
    putRevives: toggle(false),
    compress: toggle(true),
  }),
  dates: { acceptOffsets: toggle(false) },
  metadata: { keys: count(50), keyLength: count(40), valueLength: count(500) },
  list: perResource({
    pagination: {
      styles: words<Styles>(['page', 'offset', 'cursor'], ['page', 'offset', 'cursor']),
      style: choice('page', 'offset', 'cursor'),
      field: word('pagination', memberNamePattern, 'a name of letters and digits'),
      names: pageNamesSetting,
      totals: choice('exact', 'off'),
      countLimit: orOff(count(100_000), 'none'),
    },
    maxPageSize: count(100),
    pageSize: count(20),
    overMax: choice('reject', 'clamp'),
    maxOffset: count(10_000, 0),
    maxFilters: count(20),
    maxSetSize: count(100),
    maxSortable: count(10),
    nullsDefault: choice('last', 'first', 'sql'),
    cursor: { ttl: orOff(durationSetting(0), 'none', null) },
    links: choice('header', 'body', 'both', 'none'),
  }),
  idempotency: perResource({
    mode: choice('conflict', 'replay'),
    conflictBody: choice('extended', 'minimal'),
    bodyField: orOff(word('', memberNamePattern, 'a name of letters and digits'), 'off'),
    required: toggle(false),
    scope: choice('collection', 'caller'),
    retention: orOff(durationSetting(0), 'forever', null),
    wait: durationSetting(10 * second),
    waiters: count(1000),
    methods: keyedMethods,
  }),
  prefer: perResource({ minimalOnCreate: toggle(false) }),
  etag: perResource({ mode: choice('strong', 'weak', 'off'), onPut: choice('with-content', 'verbatim') }),
  concurrency: perResource({ required: toggle(false) }),
  deleted: perResource({ status: statusChoice(410, 404), retention: orOff(durationSetting(0), 'forever', null) }),
  dropped: { retention: orOff(durationSetting(30 * 24 * 60 * 60 * second), 'forever') },
  delete: perResource({ repeat: choice('no-content', 'gone') }),
  missing: perResource({ status: statusChoice(404, 410) }),
  cache: perResource({
    scope: orOff(choice('public', 'private'), 'by-authentication', null),
    maxAge: orOff(durationSetting(0), 'none', null),
    groups: toggle(false),
  }),
  compression: perResource({ minBytes: orOff(count(1024, 0), 'off') }),
  errors: {
    problemBase: word(
      '/problems/',
      /^(https?:\/\/[^\s?#]+|\/[^\s?#]*)?\/$/,
      "an absolute URL or path that ends in '/'",
    ),
  },
  auth: {
    apiKeyHeader: orOff(word('', /^[A-Za-z][A-Za-z0-9-]*$/, 'a header name'), 'none', null),
    credentialNames: words<string>(['access_token', 'api_key']),
    tokens: orOff(tokensSetting, 'none', null),
  },
  cors: {
    origins: textsThat(
      [],
      isOrigin,
      "a list of origins as browsers send them, as ['https://app.example.com'], 'null' or '*'",
    ),
    headers: textsThat(
      [
        ...['authorization', 'content-type', 'idempotency-key', 'if-match', 'if-none-match', 'if-modified-since'],
        ...['if-unmodified-since', 'prefer', 'request-id', 'traceparent', 'version'],
      ],
      (text) => /^[\w-]+$/.test(text),
      'a list of header names',
    ),
  },
  limits: {
    body: { ...count(MiB), local: true },
    url: count(8192, 64, 65_536),
    headers: count(16_384, 1024, 65_536),
    headerFields: count(100, 10, 1000),
    headersTimeout: durationSetting(10 * second),
    requestTimeout: durationSetting(30 * second),
    handlerTimeout: durationSetting(10 * second),
    idleTimeout: durationSetting(75 * second),
    writeTimeout: durationSetting(60 * second),
    concurrency: orOff(count(256), 'none', null),
    callerConcurrency: orOff(count(20), 'none', null),
    loopDelay: orOff(durationSetting(200), 'none'),
  },
  rateLimit: { lease: count(1, 0, 100), headers: choice('draft-11', 'x-ratelimit', 'none') },
  versions: {
    carriers: words(['path', 'query', 'header'], ['path', 'query', 'header']),
    default: word('', /^(v[1-9][0-9]{0,3}|latest|required)$/, "a version as 'v1', 'latest' or 'required'"),
    fromFeatures: fromFeaturesSetting,
    enforceSunset: toggle(false),
    idle: durationSetting(30 * 24 * 60 * 60 * second),
  },
  deprecation: { format: choice('true', 'rfc9745') },
  openapi: { version: choice('3.1', '3.2'), public: toggle(true) },
  serverTiming: toggle(false),
}

function statusChoice<const T extends number>(first: T, second: T): Setting<T, T> {
  const read = (given: unknown) => [first, second].find((one) => one === given)
  return { value: first, read, allowed: `${first} or ${second}`, local: false }
}

type SettingValues<B> = { readonly [K in keyof B]: B[K] extends Setting<unknown, infer V> ? V : SettingValues<B[K]> }
type DeclaredValues<B> = {
  readonly [K in keyof B]?: B[K] extends Setting<infer In, unknown> ? In : DeclaredValues<B[K]>
}
type PerResourceSetting =
  | 'resource'
  | 'list'
  | 'idempotency'
  | 'prefer'
  | 'etag'
  | 'concurrency'
  | 'deleted'
  | 'delete'
  | 'missing'
  | 'cache'
  | 'compression'

/** All settings with their values in force. */
export type Settings = SettingValues<typeof settingsTable>
/** Settings as a service declares them. */
export type DeclaredSettings = DeclaredValues<typeof settingsTable>
/** Settings as a resource declares them for itself. */
export type ResourceSettings = DeclaredValues<Pick<typeof settingsTable, PerResourceSetting>> & {
  readonly limits?: { readonly body?: number }
}

/** What is wrong with a declared setting. */
export interface SettingFault {
  readonly path: string
  readonly reason: 'unknown' | 'value' | 'not-local'
  readonly allowed: readonly string[]
}

/** Reads declared settings over those that apply so far; what does not fit is reported and left as it was. */
export function readSettings(
  given: unknown,
  over: Settings | undefined,
  local: boolean,
  report: (fault: SettingFault) => void,
): Settings {
  return readBranch(settingsTable, given ?? {}, over, '', { local, report }) as Settings
}

interface SettingsReport {
  readonly local: boolean
  readonly report: (fault: SettingFault) => void
}

function readBranch(
  branch: SettingsBranch,
  given: unknown,
  over: unknown,
  at: string,
  reading: SettingsReport,
): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    reading.report({ path: at, reason: 'value', allowed: [`an object of ${Object.keys(branch).join(', ')}`] })
    return readBranch(branch, {}, over, at, reading)
  }
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(branch, name))
      reading.report({ path: join(at, name), reason: 'unknown', allowed: Object.keys(branch) })
  }
  const values: Record<string, unknown> = {}
  for (const [name, one] of Object.entries(branch)) {
    const declared = (given as Record<string, unknown>)[name]
    const before = (over as Record<string, unknown> | undefined)?.[name]
    values[name] = isSetting(one)
      ? readSetting(one, declared, before, join(at, name), reading)
      : readBranch(one, declared ?? {}, before, join(at, name), reading)
  }
  return Object.freeze(values)
}

function readSetting(
  one: Setting<unknown, unknown>,
  declared: unknown,
  before: unknown,
  path: string,
  reading: SettingsReport,
): unknown {
  const present = before === undefined ? one.value : before
  if (declared === undefined) return present
  if (reading.local && !one.local) {
    reading.report({ path, reason: 'not-local', allowed: [] })
    return present
  }
  const value = one.read(declared)
  if (value === undefined) reading.report({ path, reason: 'value', allowed: [one.allowed] })
  return value === undefined ? present : value
}

const join = (at: string, name: string): string => (at === '' ? name : `${at}.${name}`)
