/** Settings: all settings, each with its default and its other values. Part 8, and the settings of all other parts. */
// long because: one table of all settings with their doc comments, and the makers of its entries
import { actionVerbs } from './formats/naming.ts'
import { durationMilliseconds } from './formats/time-texts.ts'

/** One setting. `read` returns the value, or undefined to refuse the declared one; `allowed` describes valid values. */
interface Setting<out In, out Value> {
  readonly value: Value
  readonly read: (given: unknown) => Value | undefined
  readonly allowed: string
  /** Whether resources may set it too. */
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

/** A duration, declared in ISO 8601 and stored in milliseconds. */
function durationSetting(value: number, least = 0): Setting<string, number> {
  const text = "an ISO 8601 duration of weeks, days, hours, minutes and seconds, as 'PT10S' or 'P30D'"
  const read = (given: unknown) => {
    const duration = typeof given === 'string' ? durationMilliseconds(given) : undefined
    return duration !== undefined && duration >= least ? duration : undefined
  }
  return { value, read, allowed: least === 0 ? text : `${text}, of at least ${least / second} s`, local: false }
}

function word(value: string, pattern: RegExp, allowed: string): Setting<string, string> {
  const read = (given: unknown) => (typeof given === 'string' && pattern.test(given) ? given : undefined)
  return { value, read, allowed, local: false }
}

function words<const T extends string>(
  value: readonly T[],
  allowed?: readonly T[],
): Setting<readonly T[], readonly T[]> {
  const read = (given: unknown) =>
    Array.isArray(given) && given.every((one) => typeof one === 'string' && (!allowed || allowed.includes(one as T)))
      ? (given as T[])
      : undefined
  return {
    value,
    read,
    allowed: allowed ? `a list of ${allowed.map((one) => `'${one}'`).join(', ')}` : 'a list of texts',
    local: false,
  }
}

/** A setting that also allows the word `off`, which is read as null. */
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

/** Marks all settings of a branch as settings that resources may set too. */
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
  allowed: "'typeid', 'client' (clients choose it) or a function that makes the part after the prefix",
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

/** URLs resolve dot segments, so no request could have a path with one. */
const basePath = /^(?:\/[a-z0-9][\w.~-]*)*$/i

const pagePath = /^(?!\/(?:healthz|readyz|openapi|v\d+)(?:\/|$))(?:\/[a-z0-9-]+)+$/
const pagePathText = "a path of lowercase letters, digits and dashes, as '/reference', and none of the service's own"

/** Only asymmetric algorithms: with a shared secret, an attacker could sign with the public key as if it were the secret. */
export const tokenAlgorithms: readonly string[] = ['RS256', 'ES256', 'PS256', 'EdDSA', 'Ed25519'].concat([
  'RS384',
  'ES384',
  'PS384',
  'RS512',
  'ES512',
  'PS512',
])

/** The access tokens that the service accepts, and the meaning of their claims. R163. */
export interface TokenSettings {
  /** The claim `iss` of the tokens: `issuer: 'https://login.example.com/'`. */
  readonly issuer: string
  /** The claim `aud` of the tokens: `audience: 'https://api.example.com'`. */
  readonly audience: string
  /** The URL of the public keys of the issuer: `jwks: 'https://login.example.com/.well-known/jwks.json'`. */
  readonly jwks: string
  /** The URL of this service, if the audience is not a URL: `resource: 'https://api.example.com'`. */
  readonly resource?: string
  /** The accepted signatures; all asymmetric ones by default: `algorithms: ['ES256']`. */
  readonly algorithms?: readonly string[]
  /** The names of claims, or JSON Pointers to nested ones: `claims: { account: 'org_id', tier: '/plan/name' }`. */
  readonly claims?: {
    /** The claim with the id of the caller, in place of `token:`, the issuer and the subject: `id: 'sub'`. */
    readonly id?: string
    /** The claim with the scopes, a text of words or a list; `scope` by default: `scopes: 'permissions'`. */
    readonly scopes?: string
    /** The claim with the account; not read by default: `account: 'org_id'`. */
    readonly account?: string
    /** The claim with the tier; not read by default: `tier: '/plan/name'`. */
    readonly tier?: string
    /** The claim with the features; not read by default: `features: 'features'`. */
    readonly features?: string
  }
}

const tokensSetting: Setting<TokenSettings, TokenSettings> = {
  value: { issuer: '', audience: '', jwks: '' },
  read: (given) => (typeof given === 'object' && given !== null ? (given as TokenSettings) : undefined), // see checkTokens
  allowed: 'an object of issuer, audience, jwks and, optionally, resource, algorithms and claims',
  local: false,
}

/** An event as a publisher sends it. */
export interface PublishedEvent {
  /** The id of the event, which is the same when it is published again: `'evt_01m89…'`. */
  readonly id: string
  /** Its type in the newest version: `'order.placed'`. */
  readonly type: string
  /** The id of the item. */
  readonly item: string
  /** The account that owns the item; null if its items have no owner. */
  readonly account: string | null
  /** The event as JSON, in the form of `events.format` and `events.payload`, in the newest version. */
  readonly body: string
  /** The media type of the body: `'application/json'`. */
  readonly contentType: string
}

/** An event that a broker refuses because of the event itself, for example its size, while it accepts others. */
export interface RefusedEvent {
  /** The id of the event: `'evt_01m89…'`. */
  readonly id: string
  /** Why, for operators: `'The event has 2000000 bytes, and the server takes up to 1048576.'`. */
  readonly reason: string
}

/**
 * Sends all events of a service to a broker.
 * @example
 * const publisher: EventPublisher = {
 *   publish: async (events) => {
 *     const messages = events.map(({ item, body }) => ({ key: item, value: body }))
 *     await producer.send({ topic: 'shop', acks: -1, messages })
 *   },
 *   close: () => producer.disconnect(),
 * }
 */
export interface EventPublisher {
  /**
   * Resolves when the broker has stored the events, which are of different items. If it rejects, all of them are given again,
   * and later ones wait. It may return the events that the broker refuses for what they are: they are tried again later,
   * then parked, and only later events of their items wait.
   */
  readonly publish: (events: readonly PublishedEvent[]) => Promise<void> | Promise<readonly RefusedEvent[]>
  /** Called when the process stops. */
  readonly close: () => Promise<void>
}

const publisherSetting: Setting<EventPublisher, EventPublisher> = {
  value: { publish: async () => {}, close: async () => {} },
  read: (given) => {
    const { publish, close } = (given ?? {}) as Partial<EventPublisher>
    return typeof publish === 'function' && typeof close === 'function' ? (given as EventPublisher) : undefined
  },
  allowed: 'an object of two functions, publish and close, as natsPublisher of bylaw/nats makes it',
  local: false,
}

/** Whether a text is an origin exactly as browsers send it, as origins are compared as texts. R175. */
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
  /** The case of field names, those that the service adds and those you declare: `naming: 'snake'` has `created_at`. */
  naming: choice('camel', 'snake'),
  /** Paths: `path: { trailingSlash: 'redirect' }`. */
  path: {
    /** A path with a slash at its end: `'reject'` (404), `'redirect'` (308) or `'ignore'`: `trailingSlash: 'redirect'`. */
    trailingSlash: choice('reject', 'redirect', 'ignore'),
    /** Replaces the list of verbs that names of resources may not begin with: `verbs: ['cancel', 'send']`. */
    verbs: words(actionVerbs),
  },
  /** Methods: `methods: { query: true }`. */
  methods: {
    /** The status of a method that the service does not have, 405 or 501: `unknown: 501`. */
    unknown: statusChoice(405, 501),
    /** Whether lists accept the method QUERY, with the parameters in the body; off by default: `query: true`. */
    query: toggle(false),
  },
  /** Query parameters: `query: { ignored: ['utm_source'] }`. */
  query: {
    /** Whether unknown parameters are refused or ignored: `unknown: 'ignore'`. */
    unknown: choice('reject', 'ignore'),
    /** Parameters that are always ignored: `ignored: ['utm_source']`. */
    ignored: words<string>([]),
  },
  /** Bodies of requests: `body: { unknownFields: 'ignore' }`. */
  body: {
    /** Whether unknown fields are refused or ignored: `unknownFields: 'ignore'`. */
    unknownFields: choice('reject', 'ignore'),
    /** Whether content is refused or ignored if the method has no body: `onBodyless: 'ignore'`. */
    onBodyless: choice('reject', 'ignore'),
    /** How deep objects and lists may be nested; 32 by default: `maxDepth: 10`. */
    maxDepth: count(32, 1, 500),
    /** How many keys each object of a body may have; 1,000 by default: `maxKeys: 200`. */
    maxKeys: count(1000),
  },
  /** Requests: `request: { codings: ['gzip'] }`. */
  request: {
    /** The codings that a body may be compressed with; gzip and br by default: `codings: ['gzip', 'br', 'zstd']`. */
    codings: words(['gzip', 'br'], ['gzip', 'br', 'zstd']),
  },
  /** Items: `resource: { id: 'client' }`. */
  resource: perResource({
    /** Ids: `'typeid'` are generated, `'client'` ids are chosen by clients; a function makes the part after the prefix. */
    id: idSetting,
    /** Whether a PUT on an unused id creates the item; on by default: `putCreates: false` answers 404. */
    putCreates: toggle(true),
    /** The links of items: to the actions that are possible now, to related items too, or none: `links: 'all'`. */
    links: choice('actions', 'all', 'none'),
    /** Whether a PUT creates a deleted item again; off by default: `putRevives: true`. */
    putRevives: toggle(false),
    /** Whether answers may be compressed; off for content that mixes secrets with text of callers: `compress: false`. */
    compress: toggle(true),
  }),
  /** Times: `dates: { acceptOffsets: true }`. */
  dates: {
    /** Whether times with an offset are accepted and converted to UTC; off by default: `acceptOffsets: true`. */
    acceptOffsets: toggle(false),
  },
  /** Fields of `f.metadata()`: `metadata: { keys: 20 }`. */
  metadata: {
    /** How many keys there may be; 50 by default: `keys: 20`. */
    keys: count(50),
    /** How many characters a key may have; 40 by default: `keyLength: 20`. */
    keyLength: count(40),
    /** How many characters a value may have; 500 by default: `valueLength: 100`. */
    valueLength: count(500),
  },
  /** Lists: `list: { pageSize: 50 }`. */
  list: perResource({
    /** Styles and page information: `pagination: { styles: ['cursor'], style: 'cursor' }`. */
    pagination: {
      /** The offered styles; all by default: `styles: ['cursor']`. */
      styles: words<Styles>(['page', 'offset', 'cursor'], ['page', 'offset', 'cursor']),
      /** The style of a request that names none: `style: 'cursor'`. */
      style: choice('page', 'offset', 'cursor'),
      /** The name of the page information, next to `data`: `field: 'page'`. */
      field: word('pagination', memberNamePattern, 'a name of letters and digits'),
      /** Other names of its members: `names: { totalRecords: 'total' }`. */
      names: pageNamesSetting,
      /** Whether the total is counted: `totals: 'off'`. */
      totals: choice('exact', 'off'),
      /** The total is left out if more rows match; 100,000 by default: `countLimit: 10_000`, or `'none'`. */
      countLimit: orOff(count(100_000), 'none'),
    },
    /** The greatest page that a client may ask for; 100 by default: `maxPageSize: 500`. */
    maxPageSize: count(100),
    /** The size of a page if the client names none; 20 by default: `pageSize: 50`. */
    pageSize: count(20),
    /** Whether a size over the maximum is refused, or reduced to it: `overMax: 'clamp'`. */
    overMax: choice('reject', 'clamp'),
    /** How many rows can be skipped by page or offset; 10,000 by default: `maxOffset: 1000`. */
    maxOffset: count(10_000, 0),
    /** How many filters a request may have; 20 by default: `maxFilters: 5`. */
    maxFilters: count(20),
    /** How many members a set `in:(…)` may have; 100 by default: `maxSetSize: 20`. */
    maxSetSize: count(100),
    /** How many sortable fields a resource may declare; 10 by default: `maxSortable: 20`. */
    maxSortable: count(10),
    /** Where nulls are sorted by default; with `'sql'` they are the greatest values: `nullsDefault: 'first'`. */
    nullsDefault: choice('last', 'first', 'sql'),
    /** Cursors: `cursor: { ttl: 'P1D' }`. */
    cursor: {
      /** When a cursor expires; never by default: `ttl: 'P1D'`. */
      ttl: orOff(durationSetting(0), 'none', null),
    },
    /** Whether lists take `or`, filters of which one has to match; off by default: `or: true`. R234. */
    or: toggle(false),
    /** Whether GET of items and lists takes `fields`, the fields that it answers; on by default: `fields: false`. R233. */
    fields: toggle(true),
    /** Where links to other pages are: in the header `Link`, in the body, in both or nowhere: `links: 'both'`. */
    links: choice('header', 'body', 'both', 'none'),
  }),
  /** Idempotency keys: `idempotency: { mode: 'replay', required: true }`. */
  idempotency: perResource({
    /** A retry gets a 409 that names the created item (`'conflict'`), or the first answer again: `mode: 'replay'`. */
    mode: choice('conflict', 'replay'),
    /** The body of that 409: the whole error, or only the message and the id: `conflictBody: 'minimal'`. */
    conflictBody: choice('extended', 'minimal'),
    /** The field of a body that may have the key; by default `idempotencyKey`: `bodyField: 'requestKey'`, or `'off'`. */
    bodyField: orOff(word('', memberNamePattern, 'a name of letters and digits'), 'off'),
    /** Whether a POST without a key is refused; off by default: `required: true`. */
    required: toggle(false),
    /** Whether a caller can use a key once for each collection, or once for all: `scope: 'caller'`. */
    scope: choice('collection', 'caller'),
    /** How long keys are kept; for ever by default: `retention: 'P30D'`. */
    retention: orOff(durationSetting(0), 'forever', null),
    /** How long a request waits for the first one with its key; 10 seconds by default: `wait: 'PT5S'`. */
    wait: durationSetting(10 * second),
    /** How many requests may wait for one key; 1,000 by default: `waiters: 100`. */
    waiters: count(1000),
    /** The methods that accept keys; PATCH only with `mode: 'replay'`: `methods: ['POST', 'PATCH']`. */
    methods: keyedMethods,
  }),
  /** PATCH: `patch: { jsonPatch: true }`. */
  patch: perResource({
    /** Whether PATCH also takes JSON Patch (`application/json-patch+json`); off by default: `jsonPatch: true`. */
    jsonPatch: toggle(false),
  }),
  /** The header `Prefer`: `prefer: { minimalOnCreate: true }`. */
  prefer: perResource({
    /** Whether `Prefer: return=minimal` also applies to POST; off by default: `minimalOnCreate: true`. */
    minimalOnCreate: toggle(false),
  }),
  /** ETags: `etag: { mode: 'weak' }`. */
  etag: perResource({
    /** Whether tags are strong, weak or left out: `mode: 'weak'`. */
    mode: choice('strong', 'weak', 'off'),
    /** Whether a PUT that answers the item always has a tag, or only if it was stored as sent: `onPut: 'verbatim'`. */
    onPut: choice('with-content', 'verbatim'),
  }),
  /** Concurrent writes: `concurrency: { required: true }`. */
  concurrency: perResource({
    /** Whether PUT, PATCH and DELETE of items need a condition such as `If-Match` (428 without one); off by default: `required: true`. */
    required: toggle(false),
  }),
  /** Deleted items: `deleted: { status: 404 }`. */
  deleted: perResource({
    /** The status of a deleted item, 410 or 404: `status: 404`. */
    status: statusChoice(410, 404),
    /** How long the service remembers that an item was deleted; for ever by default: `retention: 'P90D'`. */
    retention: orOff(durationSetting(0), 'forever', null),
  }),
  /** Values of fields that a changed declaration dropped: `dropped: { retention: 'P90D' }`. */
  dropped: {
    /** How long copies of dropped values are kept; 30 days by default: `retention: 'P90D'`, or `'forever'`. */
    retention: orOff(durationSetting(30 * 24 * 60 * 60 * second), 'forever'),
  },
  /** Asynchronous operations: `operations: { workers: 8, timeout: 'PT2H' }`. */
  operations: {
    /** How many run at once in a process; 4 by default: `workers: 8`. */
    workers: count(4),
    /** How often one is tried before it has failed; 5 by default: `attempts: 3`. */
    attempts: count(5),
    /** How long one may run; 1 hour by default: `timeout: 'PT2H'`. */
    timeout: durationSetting(3600 * second),
    /** How long its status is kept after it has ended; 7 days by default: `retention: 'P1D'`. */
    retention: durationSetting(7 * 24 * 3600 * second),
  },
  /** Revisions of resources with `history`: `history: { retention: 'P730D' }`. */
  history: {
    /** How long revisions are kept where a resource does not say so; for ever by default: `retention: 'P730D'`. */
    retention: orOff(durationSetting(0, second), 'forever', null),
  },
  /** Events of services with `events: true`: `events: { retention: 'P7D' }`. */
  events: {
    /** How long events are kept; 30 days by default: `retention: 'P7D'`, or `'forever'`. */
    retention: orOff(durationSetting(30 * 24 * 3600 * second, second), 'forever'),
    /** Whether events carry the whole item or only its id: `payload: 'thin'`. R207. */
    payload: { ...choice('full', 'thin'), local: true },
    /** The form of events: that of Standard Webhooks, or CloudEvents: `format: 'cloudevents'`. R208. */
    format: choice('standard', 'cloudevents'),
    /** Whether `GET /events` also streams (`text/event-stream`); off by default: `stream: true`. R213. */
    stream: toggle(false),
    /** Whether events are delivered to endpoints (`/webhook-endpoints`) that callers register; off by default: `webhooks: true`. R209. */
    webhooks: toggle(false),
    /** Whether reactions are listed, retried and skipped over HTTP (`/reactions`), with scopes of their own; off by default: `reactions: true`. R231. */
    reactions: toggle(false),
    /** Sends all events to a broker; off by default: `publish: natsPublisher({ servers, stream: 'SHOP' })`. */
    publish: orOff(publisherSetting, 'off', null),
  },
  /** DELETE: `delete: { repeat: 'gone' }`. */
  delete: perResource({
    /** The answer to another DELETE of a deleted item: 204 again, or 410: `repeat: 'gone'`. */
    repeat: choice('no-content', 'gone'),
  }),
  /** Items that never existed: `missing: { status: 410 }`. */
  missing: perResource({
    /** The status of an unknown id, 404 or 410: `status: 410`. */
    status: statusChoice(404, 410),
  }),
  /** The header `Cache-Control` of answers to GET: `cache: { maxAge: 'PT5M' }`. */
  cache: perResource({
    /** Whether shared caches may store answers; by default if they do not depend on the caller: `scope: 'private'`. */
    scope: orOff(choice('public', 'private'), 'by-authentication', null),
    /** How long an answer may be used without asking again; not at all by default: `maxAge: 'PT5M'`. */
    maxAge: orOff(durationSetting(0), 'none', null),
    /** Whether answers name their collection as a cache group, which writes invalidate; off by default: `groups: true`. */
    groups: toggle(false),
  }),
  /** Compression of answers: `compression: { minBytes: 4096 }`. */
  compression: perResource({
    /** The smallest answer that is compressed; 1,024 bytes by default: `minBytes: 4096`, or `'off'`. */
    minBytes: orOff(count(1024, 0), 'off'),
  }),
  /** Errors: `errors: { problemBase: 'https://api.example.com/problems/' }`. */
  errors: {
    /** The URL that types of problem documents begin with; a path is below `server.basePath`: `problemBase: 'https://api.example.com/problems/'`. */
    problemBase: word(
      '/problems/',
      /^(https?:\/\/[^\s?#]+|\/[^\s?#]*)?\/$/,
      "an absolute URL or path that ends in '/'",
    ),
  },
  /** Authentication: `auth: { apiKeyHeader: 'X-API-Key' }`. */
  auth: {
    /** A header that accepts API keys in addition to `Authorization`: `apiKeyHeader: 'X-API-Key'`. */
    apiKeyHeader: orOff(word('', /^[A-Za-z][A-Za-z0-9-]*$/, 'a header name'), 'none', null),
    /** Names of credentials, which are refused in URLs and bodies: `credentialNames: ['access_token', 'secret']`. */
    credentialNames: words<string>(['access_token', 'api_key']),
    /**
     * The access tokens that are accepted; off by default.
     * @example
     * tokens: {
     *   issuer: 'https://login.example.com/',
     *   audience: 'https://api.example.com',
     *   jwks: 'https://login.example.com/.well-known/jwks.json',
     * }
     */
    tokens: orOff(tokensSetting, 'none', null),
  },
  /** Requests of web pages of other origins: `cors: { origins: ['https://app.example.com'] }`. */
  cors: {
    /** The origins whose pages may read answers; empty by default: `origins: ['https://app.example.com']`. */
    origins: textsThat(
      [],
      isOrigin,
      "a list of origins as browsers send them, as ['https://app.example.com'], 'null' or '*'",
    ),
    /** The headers that such pages may send; by default those that the service reads: `headers: ['authorization']`. */
    headers: textsThat(
      [
        ...['authorization', 'content-disposition', 'content-encoding', 'content-type', 'idempotency-key', 'if-match'],
        ...[
          'if-modified-since',
          'if-none-match',
          'if-range',
          'if-unmodified-since',
          'last-event-id',
          'prefer',
          'range',
        ],
        ...['request-id', 'traceparent', 'tracestate', 'version'],
      ],
      (text) => /^[\w-]+$/.test(text),
      'a list of header names',
    ),
  },
  /** Limits of sizes, times and load: `limits: { body: 65_536 }`. */
  limits: {
    /** Bytes of a body, as sent and as decoded; 1 MiB by default: `body: 65_536`. */
    body: { ...count(MiB), local: true },
    /** Bytes of a URL; 8,192 by default: `url: 4096`. */
    url: count(8192, 64, 65_536),
    /** Bytes of all headers; 16,384 by default: `headers: 8192`. */
    headers: count(16_384, 1024, 65_536),
    /** Number of header fields; 100 by default: `headerFields: 50`. */
    headerFields: count(100, 10, 1000),
    /** Time for the headers of a request; 10 seconds by default: `headersTimeout: 'PT5S'`. */
    headersTimeout: durationSetting(10 * second),
    /** Time for a whole request; 30 seconds by default: `requestTimeout: 'PT60S'`. */
    requestTimeout: durationSetting(30 * second),
    /** Time for the work of a request in the database, its handlers included; 10 seconds by default: `handlerTimeout: 'PT5S'`. */
    handlerTimeout: durationSetting(10 * second),
    /** Time between two requests of a connection; 75 seconds by default: `idleTimeout: 'PT30S'`. */
    idleTimeout: durationSetting(75 * second),
    /** Time in which a client must read some of an answer; 60 seconds by default: `writeTimeout: 'PT30S'`. */
    writeTimeout: durationSetting(60 * second),
    /** Requests at a time in a process (503 beyond it); no limit by default: `concurrency: 200`. */
    concurrency: orOff(count(256), 'none', null),
    /** Requests at a time of one caller (429 beyond it); no limit by default: `callerConcurrency: 20`. */
    callerConcurrency: orOff(count(20), 'none', null),
    /** The delay of the event loop from which on requests are refused; 0.2 seconds by default: `loopDelay: 'PT0.5S'`. */
    loopDelay: orOff(durationSetting(200), 'none'),
  },
  /** How the quotas of `tiers` are counted and shown: `rateLimit: { lease: 0 }`. */
  rateLimit: {
    /** The percentage of a quota that a process may count before it reports to the others; 1 by default: `lease: 0`. */
    lease: count(1, 0, 100),
    /** The headers that show quotas: `headers: 'x-ratelimit'`. */
    headers: choice('draft-11', 'x-ratelimit', 'none'),
  },
  /** Versions: `versions: { default: 'latest' }`. */
  versions: {
    /** Where a request may name its version; everywhere by default: `carriers: ['path']`. */
    carriers: words(['path', 'query', 'header'], ['path', 'query', 'header']),
    /** The version of requests that name none; by default the first: `default: 'latest'`, `'required'` or `'v2'`. */
    default: word('', /^(v[1-9][0-9]{0,3}|latest|required)$/, "a version as 'v1', 'latest' or 'required'"),
    /** Chooses the version by the features of the caller; off by default: `fromFeatures: 'changes'`, or a function. */
    fromFeatures: fromFeaturesSetting,
    /** Whether a version ends by itself at its `sunset`; off by default: `enforceSunset: true`. */
    enforceSunset: toggle(false),
    /** How long a version must be unused before it may be removed without a reason; 30 days by default: `idle: 'P90D'`. */
    idle: durationSetting(30 * 24 * 60 * 60 * second),
  },
  /** Deprecations: `deprecation: { format: 'rfc9745' }`. */
  deprecation: {
    /** The header `Deprecation`: `true`, or the date of RFC 9745: `format: 'rfc9745'`. */
    format: choice('true', 'rfc9745'),
  },
  /** The OpenAPI document: `openapi: { version: '3.2' }`. */
  openapi: {
    /** Its version: `version: '3.2'`. */
    version: choice('3.1', '3.2'),
    /** Whether callers without credentials may read it; on by default: `public: false`. */
    public: toggle(true),
  },
  /** Where the service is, and what serves it: `server: { basePath: '/api' }`. */
  server: {
    /** What reads HTTP/1.1 from sockets: `node:http` of Node, or `engine: 'own'`, the faster and newer engine of Bylaw. */
    engine: choice('node', 'own'),
    /** The path that all its URLs are below; none by default: `basePath: '/api'`. */
    basePath: word('', basePath, "a path without a slash at its end, as '/api', or '' for none"),
    /** The paths of pages for people: `paths: { docs: '/reference' }`. */
    paths: {
      /** The path of the reference page: `docs: '/reference'`. */
      docs: word('/docs', pagePath, pagePathText),
      /** The path of the pages about error types: `problems: '/reference/errors'`. */
      problems: word('/problems', pagePath, pagePathText),
    },
  },
  /** The log: `log: { account: 'hashed' }`. */
  log: {
    /** How lines name the account and the API key of a request: as they are, `account: 'hashed'`, or `'off'`. */
    account: choice('plain', 'hashed', 'off'),
  },
  /** How many operations a batch may have (`POST /batches`); off by default: `batches: 50`. */
  batches: orOff(count(50, 1, 1000), 'off', null),
  /** Whether answers have the header `Server-Timing`; off by default: `serverTiming: true`. */
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
  | 'patch'
  | 'prefer'
  | 'etag'
  | 'concurrency'
  | 'deleted'
  | 'delete'
  | 'missing'
  | 'cache'
  | 'compression'

/** All settings with their effective values. */
export type Settings = SettingValues<typeof settingsTable>
/**
 * The settings of a service; each has a default.
 * @example const settings: DeclaredSettings = { naming: 'snake', list: { maxPageSize: 50 } }
 */
export type DeclaredSettings = DeclaredValues<typeof settingsTable>
/**
 * The settings of a resource, which replace those of the service.
 * @example const settings: ResourceSettings = { list: { pageSize: 10 }, concurrency: { required: true } }
 */
export type ResourceSettings = DeclaredValues<Pick<typeof settingsTable, PerResourceSetting>> & {
  /** Bytes of a body, as sent and as decoded: `limits: { body: 65_536 }`. */
  readonly limits?: { readonly body?: number }
  /** Whether events carry the whole item or only its id: `events: { payload: 'thin' }`. */
  readonly events?: { readonly payload?: 'full' | 'thin' }
}

/** The URL that types of problem documents begin with. */
export const problemPrefix = ({ errors: { problemBase }, server }: Pick<Settings, 'errors' | 'server'>): string =>
  problemBase.startsWith('/') ? server.basePath + problemBase : problemBase

/** A mistake in declared settings. `allowed` are the allowed names, or a text with the allowed values. */
export interface SettingFault {
  readonly path: string
  readonly reason: 'unknown' | 'value' | 'not-local'
  readonly allowed: readonly string[]
}

/** Applies declared settings over the effective ones (or the defaults). A wrong one is reported and has no effect. */
export function readSettings(
  settings: unknown,
  over: Settings | undefined,
  local: boolean,
  report: (fault: SettingFault) => void,
): Settings {
  if (settings === undefined && over !== undefined) return over
  return readBranch(settingsTable, settings ?? {}, over, '', { local, report }) as Settings
}

interface SettingsReport {
  readonly local: boolean
  readonly report: (fault: SettingFault) => void
}

function readBranch(
  branch: SettingsBranch,
  branchInput: unknown,
  over: unknown,
  at: string,
  reading: SettingsReport,
): unknown {
  if (typeof branchInput !== 'object' || branchInput === null || Array.isArray(branchInput)) {
    reading.report({ path: at, reason: 'value', allowed: [`an object of ${Object.keys(branch).join(', ')}`] })
    return readBranch(branch, {}, over, at, reading)
  }
  for (const name of Object.keys(branchInput)) {
    if (!Object.hasOwn(branch, name))
      reading.report({ path: join(at, name), reason: 'unknown', allowed: Object.keys(branch) })
  }
  const values: Record<string, unknown> = {}
  for (const [name, one] of Object.entries(branch)) {
    const declared = (branchInput as Record<string, unknown>)[name]
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
