/** Explanation: runs the checks of a request without carrying it out and reports the refusal. Part 5, authentication. */
import { allow, allowAccount } from '../auth/allow.ts'
import { refuseCredentialsInTarget } from '../auth/scheme.ts'
import { findEndpoint, findRoute } from '../corridor/handle.ts'
import { unversionedRule } from '../corridor/unversioned.ts'
import { versionedPathOf } from '../corridor/versioned-path.ts'
import { Problem, problemStatus } from '../errors/problem.ts'
import { type Call, expiryTime, type World } from '../flow/call.ts'
import { type Caller, nobody } from '../flow/caller.ts'
import type { RequestContext } from '../flow/intent.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { Read } from '../flow/plan.ts'
import type { Endpoint, Route } from '../flow/route.ts'
import type { Store } from '../flow/store.ts'
import { listInWords } from '../formats/naming.ts'
import type { Unique } from '../rows/collection.ts'
import type { Service } from '../service.ts'

interface ExplanationStep {
  readonly step: string
  /** Null if it is only information. */
  readonly passes: boolean | null
  readonly says: string
}

export interface Explanation {
  readonly steps: readonly ExplanationStep[]
  /** The refusal; null if nothing that is known without its content refuses it. */
  readonly refusal: { readonly status: number; readonly type: string; readonly message: string } | null
}

export interface ExplainedRequest {
  readonly method: string
  readonly target: string
  /** Null without credentials. */
  readonly caller: Caller | null
  /** Why the credential is invalid; null if it is valid or missing. */
  readonly invalid: string | null
}

export interface ExplainContext {
  readonly service: Service
  readonly store: Store
  readonly world: World
}

/** The request and its route, for the checks. */
interface CheckContext extends ExplainedRequest, ExplainContext {
  readonly place: Endpoint
  readonly route: Route
  readonly asked: RequestContext
}

/**
 * Returns what it found, or null if it does not concern the request; throws the Problem of a refusal. A noted text replaces
 * the message of the refusal.
 */
type RequestCheck = (way: CheckContext, note: (says: string) => void) => string | null | Promise<string | null>

/** In the order in which a request is handled. R1. */
const checks: Readonly<Record<string, { readonly check: RequestCheck; readonly tells?: true }>> = {
  version: { check: checkVersion, tells: true },
  credentials: { check: checkCredentials },
  quota: { check: checkQuota, tells: true },
  rule: { check: checkRule },
  account: { check: checkAccount },
  query: { check: checkQuery },
  item: { check: checkItem },
  fields: { check: checkFields, tells: true },
  limits: { check: checkLimits, tells: true },
}

/** Explains requests outside of the resources, which are public or for all authenticated callers. */
function explainApart({ caller, invalid }: ExplainedRequest, rule: 'public' | 'authenticated'): Explanation {
  const route = { step: 'route', passes: true, says: 'stands apart from the resources and their versions' }
  if (rule === 'public') return { steps: [route, { step: 'access', passes: true, says: 'public' }], refusal: null }
  const passes = caller !== null && invalid === null
  const says = invalid ?? (passes ? 'for all callers that are known' : 'None were given, and it is not public.')
  const type = invalid === null ? 'credentials-missing' : 'invalid-credentials'
  const refusal = passes ? null : { status: 401, type, message: says }
  return { steps: [route, { step: 'credentials', passes, says }], refusal }
}

/** Runs the checks up to the first that refuses. */
export async function explainRequest(question: ExplainedRequest, ground: ExplainContext): Promise<Explanation> {
  const apart = unversionedRule(question.target, ground.service)
  if (apart !== null) return explainApart(question, apart)
  const steps: ExplanationStep[] = []
  let step = 'route'
  let noted: string | null = null
  try {
    const way = checkContextOf(question, ground)
    const { operation, resource } = way.route
    steps.push({ step, passes: true, says: `${operation} of ${resource.name}, at ${way.place.template}` })
    for (const [name, { check, tells }] of Object.entries(checks)) {
      step = name
      const note = (says: string) => {
        noted = says
      }
      const says = await check(way, note)
      if (says !== null) steps.push({ step, passes: tells ? null : true, says })
    }
    return { steps, refusal: null }
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem
    const { type, message } = problem
    steps.push({ step, passes: false, says: noted ?? message })
    return { steps, refusal: { status: problemStatus(problem, ground.service.errors), type, message } }
  }
}

function checkContextOf(question: ExplainedRequest, { service, world, ...ground }: ExplainContext): CheckContext {
  const { method, target, caller } = question
  const headers = { host: 'localhost' }
  const call: Call = {
    ...{ method, target, headers },
    ...{ authority: null, http: '1.1', raw: [], id: 'explained', content: null, address: '' },
  }
  const who = caller ?? nobody
  const passage = versionedPathOf(call, who, service, expiryTime(world))
  const match = findEndpoint(call, passage, service)
  if ('status' in match)
    throw new Problem('route-not-found', `It is answered with the way to ${match.headers.Location}.`)
  const route = findRoute(call, match.endpoint, passage.version, service.settings)
  const asked: RequestContext = {
    ...{ call, caller: who, world, params: match.params },
    carried: passage.carried,
    query: null,
    body: null,
  }
  return { ...question, ...ground, service, world, place: match.endpoint, route, asked }
}

function checkVersion({ service, asked: { carried } }: CheckContext): string | null {
  return service.declaration.versions ? `served by ${carried.label}` : null
}

function checkCredentials({ caller, invalid, route, service, target }: CheckContext): string {
  refuseCredentialsInTarget(target, service.settings.auth)
  if (invalid !== null) throw new Problem('invalid-credentials', invalid)
  if (caller) return `known: ${callerText(caller)}`
  if (route.rule === 'public') return 'none, and none are needed: it is public'
  throw new Problem('credentials-missing', 'None were given, and it is not public.')
}

function callerText({ account, scopes, tier }: Caller): string {
  const whose = account === null ? 'no account' : `account ${account}`
  return `${whose}, ${scopes.size === 0 ? 'no scopes' : [...scopes].join(' ')}${tier === null ? '' : `, tier ${tier}`}`
}

/** The quotas that apply, not what is left of them: only the serving nodes know that. R181. */
function checkQuota({ service: { quotas }, caller }: CheckContext): string | null {
  if (!quotas) return null
  const tier = caller ? (caller.tier !== null && quotas.tiers.get(caller.tier)) || quotas.first : quotas.anonymous
  if (!tier) return 'no quota counts it'
  const all = tier.policies.map(
    (one) => `${one.quota} in ${one.window / 1000} s for each ${one.partition} (${one.name})`,
  )
  return `tier ${tier.policies[0]?.tier}: ${listInWords(all, 'and')}; used up, it is 429`
}

function checkRule({ route, asked, service }: CheckContext): string {
  allow(asked.caller, route.rule, service.challenge)
  if (route.rule === 'public') return 'public: everybody may'
  return route.rule === 'authenticated' ? 'whoever is known may' : `the scope ${route.rule} is needed, and held`
}

function checkAccount({ route: { resource }, asked: { caller } }: CheckContext): string | null {
  const { account } = resource.collection
  if (account === null) return null
  allowAccount(caller, resource)
  return `the items belong to accounts (${account}); only those of ${caller.account} are there`
}

function checkQuery({ route, asked, target, world }: CheckContext): string | null {
  const read = route.query(asked.call, world, asked.carried)
  if (read) route.parse({ ...asked, query: read })
  const own = new Set(
    [...(read?.where ?? []), ...(read?.order ?? [])]
      .map(({ column }) => route.resource?.collection.columns.find(({ name }) => name === column))
      .flatMap((column) => (column?.of ? column.field : [])),
  )
  const by =
    own.size === 0 ? '' : `; what only older versions have is asked by columns of its own: ${[...own].join(', ')}`
  return target.includes('?') ? `the parameters are in order${by}` : null
}

async function checkItem(way: CheckContext, note: (says: string) => void): Promise<string | null> {
  const { route, asked, store } = way
  const read = route.target(asked)
  const found = read && (await store.execute(read))
  const others = read && found?.is === 'missing' ? await otherAccounts(way, read) : []
  if (read && found && found.is !== 'found') note(absenceText(read, found, others))
  route.admit(asked, found)
  if (!read) return null
  if (found?.is === 'found') return `${read.key.id} is there`
  // R170: an id that the service made exists in one account only
  if (others.length > 0 && route.resource.collection.uniques.some(isUniqueId))
    throw new Problem('resource-not-found', `${read.key.id} was not found.`)
  return `${read.key.id} is not there and may be made`
}

const isUniqueId = ({ fields, columns }: Unique): boolean => fields.length === 0 && columns.join() === 'id'

async function otherAccounts({ store }: CheckContext, { collection, key }: Read): Promise<readonly string[]> {
  const whose = await store.execute({ do: 'whose', collection, key })
  return whose.is === 'whose' ? whose.accounts.filter((one) => one !== key.account) : []
}

/** Why an item is missing, including that it belongs to another account, which clients are not told. */
function absenceText({ collection, key }: Read, found: Outcome, accounts: readonly string[]): string {
  if (found.is === 'gone') return `${key.id} was deleted`
  if (accounts.length === 0) return `there is no ${key.id} in ${collection}`
  return `${key.id} belongs to ${accounts.length === 1 ? 'another account' : 'other accounts'} (${accounts.join(', ')}), so that it does not exist for this caller`
}

function checkFields({ route: { resource, safe }, asked: { caller } }: CheckContext): string | null {
  const lacking = (scopes: readonly string[]) => scopes.filter((one) => !caller.scopes.has(one))
  const told = resource.members.flatMap(({ name, read, write }) => {
    if (lacking(read === null ? [] : [read]).length > 0) return [`${name} is not shown: it takes ${read}`]
    const lacks = safe ? [] : lacking(write)
    return lacks.length > 0 ? [`${name} cannot be written: it takes ${lacks.join(' and ')}`] : []
  })
  return told.length === 0 ? null : told.join('; ')
}

function checkLimits({ route: { content, resource } }: CheckContext): string | null {
  if (content.length === 0) return null
  return `content of up to ${resource.settings.limits.body} bytes as ${listInWords(content)}; its fields are judged when they come`
}
