/** Store phases: carry out a request on the store, and render the outcome. Part 4, methods. */
// long because: what `bylaw explain` says of these phases stands beside them
import { conversionErrorIn } from '../changes/conversion-error.ts'
import type { DescribedOperation } from '../describe/refusals.ts'
import { absenceTypes, handledTypes, isBelowOwner } from '../endpoints/described.ts'
import type { RefusalType } from '../errors/catalogue.ts'
import { Problem } from '../errors/problem.ts'
import { Undecided } from '../flow/decision.ts'
import type { ReadResult } from '../flow/found-row.ts'
import type { Intent } from '../flow/intent.ts'
import { isCommitted, type Outcome } from '../flow/outcome.ts'
import { type EffectReadResult, type Plan, type Read, withCaller, withRights } from '../flow/plan.ts'
import type { Route, ServedVersion } from '../flow/route.ts'
import { listInWords } from '../formats/naming.ts'
import { executeDecided } from '../handlers/execute-decided.ts'
import { HandledRun } from '../handlers/handled-run.ts'
import type { HandlerSources } from '../handlers/handler-sources.ts'
import { executeInTurn } from '../idempotency/execute-in-turn.ts'
import { importRows } from '../imports/import-rows.ts'
import type { ImportTools } from '../imports/import-tools.ts'
import { rowReader } from '../imports/row-reader.ts'
import { type AnswerMemory, smallAnswer } from '../limits/answer-memory.ts'
import { admitQuota, spendQuota } from '../limits/quota.ts'
import { isDryRun } from '../lists/query-string.ts'
import type { Resource } from '../resources/resource.ts'
import { isWebhookResource } from '../resources/service-fields.ts'
import { personalNames, type Unique } from '../rows/collection.ts'
import { rowRightsOf } from '../rules/row-rights.ts'
import { hasRowRules } from '../rules/row-rules.ts'
import type { Service } from '../service.ts'
import { waitForMemory } from './admission.ts'
import type { ExplanationInput } from './corridor-phase.ts'
import { executeBatch, groupsOfBatch } from './execute-batch.ts'
import { parseObject } from './json.ts'
import { flowingContent } from './payload.ts'
import { check, phase, type RequestParts, type RequestState } from './phase.ts'
import { lineError } from './refuse.ts'
import { completeHeaders } from './reply-headers.ts'
import type { ServerContext } from './server-context.ts'
import { pointedNamesOf } from './versioned-path.ts'

/** Waits for memory for the answer; its size is estimated from earlier answers of the route. */
export const memoryPhase = check({
  name: 'memory',
  needs: ['route', 'intent'],
  answers: true,
  pass: ({ call, admission, route, intent }) => {
    const rows = mostRows(intent)
    const size = () => admission.memory.expected(sizedBy(route, intent), rows || 1)
    return rows > 0 || admission.memory.isFull() || size() > smallAnswer
      ? waitForMemory({ call, admission }, size)
      : null
  },
})

export const storePhase = phase({
  name: 'store',
  needs: ['versioned', 'route', 'intent', 'identified'],
  gives: 'outcome',
  answers: true,
  pass: (state) => {
    const { context, route, intent } = state
    if (route.most !== undefined) return executeBatch(state, route.most, isDryRun(intent.call, route.resource.settings))
    if (route.importing) return executeImport(state, { ...route, importing: route.importing })
    return context.handlers && mayRunHandlers(context.handlers, context.service, route)
      ? executeHandled(state, context.handlers, context.wakeWorker)
      : executeInTurn(
          planOf(context, state.versioned.version, route, intent),
          context,
          route.resource.settings.idempotency,
        )
  },
  refuses: (operation) => (operation.route ? routeRefusals(operation, operation.route) : []),
  explains: [
    { step: 'item', check: explainItem },
    { step: 'removal', check: explainRemoval },
    { step: 'waits', informs: true, check: explainWaiting },
    { step: 'fields', informs: true, check: explainFields },
    { step: 'personal', informs: true, check: explainPersonal },
    { step: 'limits', informs: true, check: explainLimits },
  ],
})

/** Creates the items of an import, each as a single creation does. R238. */
function executeImport(
  state: RequestState & Pick<RequestParts, 'versioned' | 'intent' | 'identified'>,
  route: Route & { readonly importing: Route },
): Promise<Outcome> {
  const { context, versioned, intent } = state
  const { service, store, handlers } = context
  const { resource, importing } = route
  const { caller, call } = intent
  const handled = handlers && mayRunHandlers(handlers, service, importing) ? handlers : null
  const request = {
    ...{ caller, account: caller.account, requestId: call.id, stateProblem: versioned.version.stateProblem },
    namesOf: pointedNamesOf(versioned.version, importing),
  }
  const execute: ImportTools['execute'] = (make) => {
    if (!handled) return store.execute(make())
    const decisions = new HandledRun(handled, request)
    return executeDecided([decisions], handled, make(decisions), () => make(decisions))
  }
  return importRows(route, intent, {
    ...{ store, execute, isHandled: handled !== null, keepsHistory: service.keepsHistory },
    rights: rowRightsOf(service.ruled, versioned.version, importing, caller),
    content: flowingContent(call, resource.settings),
    reader: rowReader(call, resource, intent.params[0], (bytes) => parseObject(bytes, resource.settings.body)),
    admitTransaction: async (isFurther) => {
      await context.authenticate(call, route.rule)
      if (!isFurther) return
      state.rate = await spendQuota(context, call, state.identified.caller)
      admitQuota(state.rate)
    },
    lineError: (error, line) => lineError({ call, context }, versioned.version, error, line),
  })
}

/** The plan of a request with its caller, which is rolled back if it is a dry run. R237, R239. */
function planOf(
  { service, handlers }: Pick<ServerContext, 'service' | 'handlers'>,
  version: ServedVersion,
  route: Route,
  intent: Intent,
): Plan {
  const own = withRights(route.plan(intent), rowRightsOf(service.ruled, version, route, intent.caller))
  const called = service.keepsHistory ? withCaller(own, intent.caller) : own
  const isOlder = service.resources.get(route.resource.name) !== route.resource
  const isHandled =
    handlers !== undefined && Object.hasOwn(handlers.ownHandlers.handlers, route.resource.collection.name)
  const plan = route.showsOthers || (isOlder && isHandled) ? withAnswerChecked(called, route, intent) : called
  if (!isDryRun(intent.call, route.resource.settings)) return plan
  if (plan.do !== 'create' && plan.do !== 'decide' && plan.do !== 'sequence')
    throw new Error(`There is no dry run of ${plan.do}.`)
  return { ...plan, dry: true }
}

/**
 * Renders the answer before the commit: it has values that only the store or a handler knows, and the version may be unable
 * to show them.
 */
function withAnswerChecked(plan: Plan, route: Route, intent: Intent): Plan {
  if (plan.do !== 'create' && plan.do !== 'decide') return plan
  const admitOutcome = (made: { readonly is: string }) => {
    const outcome = made as Outcome
    if (!isCommitted(outcome)) return
    try {
      route.render(intent, outcome)
    } catch (error) {
      if (conversionErrorIn(error)) throw error
    }
  }
  return { ...plan, admitOutcome }
}

/**
 * Whether a handler may have to run: one of the resource, or of other rows that the request writes, by a cascade or by
 * fields that have moved to other resources.
 */
const mayRunHandlers = ({ ownHandlers }: HandlerSources, { resources }: Service, route: Route): boolean =>
  !route.safe &&
  (Object.hasOwn(ownHandlers.handlers, route.resource.name) ||
    route.settle !== undefined ||
    route.method === 'DELETE' ||
    resources.get(route.resource.name) !== route.resource)

/** Carries out a write of a service with handlers. */
function executeHandled(
  { context, versioned, route, intent }: RequestState & Pick<RequestParts, 'versioned' | 'route' | 'intent'>,
  handlers: HandlerSources,
  wakeWorker: (() => void) | undefined,
): Outcome | Promise<Outcome> {
  const { caller, call, world } = intent
  const { settings } = route.resource
  const { stateProblem } = versioned.version
  const namesOf = pointedNamesOf(versioned.version, route)
  const dryRun = isDryRun(call, settings)
  const request = { caller, account: caller.account, requestId: call.id, namesOf, stateProblem, dryRun }
  const decisions = new HandledRun(handlers, request)
  const makePlan = () => planOf(context, versioned.version, route, { ...intent, decisions })
  const decide = (plan: Plan) => executeDecided([decisions], handlers, plan, makePlan)
  // If the resource has no handlers, only handlers of rows that a cascade removes can decide.
  const execute = (plan: Plan) =>
    decisions.mayDecide(route.resource.name) || route.method === 'DELETE'
      ? decide(plan)
      : orIfUndecided(handlers.store.execute(plan), () => decide(makePlan()))
  const store = { execute }
  const outcome = executeInTurn(makePlan(), { store, world }, settings.idempotency)
  const { settle } = route
  if (!settle) return outcome
  return Promise.resolve(outcome).then((own) => {
    wakeWorker?.()
    return settle(intent, own, handlers.store)
  })
}

function orIfUndecided(
  outcome: Outcome | Promise<Outcome>,
  decide: () => Promise<Outcome>,
): Outcome | Promise<Outcome> {
  if (!(outcome instanceof Promise)) return outcome
  return outcome.catch((error: unknown) => {
    if (error instanceof Undecided) return decide()
    throw error
  })
}

export const renderPhase = phase({
  name: 'render',
  needs: ['versioned', 'route', 'intent', 'outcome'],
  gives: 'answer',
  answers: true,
  pass: ({ call, admission, versioned, route, intent, outcome }) => {
    const dryRun = isDryRun(call, route.resource.settings)
    const most = route.resource.settings.cache.groups && !dryRun ? route.most : undefined
    const groups = most === undefined ? undefined : groupsOfBatch(versioned.version, intent.body, most)
    const reply = completeHeaders(call.method, route, route.render(intent, outcome), { dryRun, groups })
    const bytes = reply.body?.length ?? 0
    if (!reply.stream) learnSize(admission.memory, route, intent, bytes)
    // Only a read may still wait for memory and be refused: a write is committed already.
    if (bytes <= smallAnswer || admission.space || (call.method !== 'GET' && call.method !== 'HEAD')) return reply
    const room = waitForMemory({ call, admission }, () => bytes)
    return room ? room.then(() => reply) : reply
  },
})

/** How many rows the answer can have at most, if it is a list. */
const mostRows = ({ query }: Intent): number => (query && 'window' in query ? query.window.limit : 0)

/** The key of the estimated size of an answer: answers that embed others are much larger. */
const sizedBy = (route: Route, { query }: Intent): object => (query?.embed && route.embeds) || route

function learnSize({ expected, learn }: AnswerMemory, route: Route, intent: Intent, bytes: number): void {
  const rows = mostRows(intent)
  const key = sizedBy(route, intent)
  if (rows > 0 || bytes > smallAnswer || expected(key, rows || 1) > smallAnswer) learn(key, rows || 1, bytes)
}

const reused = ['idempotency-key-reused', 'idempotency-key-payload-mismatch']

const mismatch = ['idempotency-key-payload-mismatch', 'unprocessable'] as const

function routeRefusals(
  { service, version, endpoint }: DescribedOperation,
  { claims, resource, about, safe }: Route,
): readonly RefusalType[] {
  const { mode, bodyField } = resource.settings.idempotency
  const owner = resource.parent && version.resources.get(resource.parent.resource)
  return [
    ...(owner && isBelowOwner(endpoint, resource) ? absenceTypes(owner) : []),
    ...(safe || !isRuled(service, resource) ? [] : (['access-denied'] as const)),
    ...(claims === null ? [] : ['idempotency-key-invalid', 'idempotency-in-progress']),
    ...(claims === null || claims === 'replayed' ? [] : reused),
    ...(claims !== null && bodyField !== null ? ['idempotency-key-mismatch'] : []),
    ...(claims === 'required' ? ['idempotency-key-missing'] : []),
    ...(claims === 'replayed' || (claims !== null && mode === 'replay') ? [mismatch] : []),
    ...about.refusals,
    ...(service.ownHandlers && !safe ? handledTypes : []),
    ...(safe ? [] : Object.keys(service.declaration.errors ?? {})), // handlers, which no read runs, refuse with these
  ]
}

const versionOf = ({ service, request }: ExplanationInput): ServedVersion =>
  service.editions.get(request.carried.label) as ServedVersion

/** Whether writes of a resource can be refused because of the item. */
const isRuled = ({ ruled }: Service, { collection: { name } }: Resource): boolean => {
  const own = ruled?.resources.get(name)
  return own !== undefined && (hasRowRules(own) || isWebhookResource(own.declaration))
}

async function explainItem(explained: ExplanationInput, note: (says: string) => void): Promise<string | null> {
  const { route, request, store } = explained
  const { read, admit } = route.target(request)
  const there = read && ((await store.execute(read)) as ReadResult)
  const others = read && there?.is === 'missing' ? await otherAccounts(explained, read) : []
  if (read && there && there.is !== 'found') note(absenceText(read, there, others))
  const rights = rowRightsOf(explained.service.ruled, versionOf(explained), route, request.caller)
  const visible = read && there && rights ? ((await store.execute(withRights(read, rights))) as ReadResult) : there
  if (there?.is === 'found' && visible?.is !== 'found')
    note(`${read?.key.id} exists, but not for this caller: no rule of ${read?.collection} allows it to read it`)
  if (visible && read?.collection === route.resource.collection.name) rights?.admit(visible)
  admit(visible)
  if (!read) return explainUnkeyedRead(explained)
  if (visible?.is === 'found') {
    const guard = route.judgeState?.(JSON.parse(visible.doc), request)
    if (guard) guard.admit(await Promise.all(guard.reads.map((one) => store.execute(one) as Promise<EffectReadResult>)))
    return `${read.key.id} exists`
  }
  // R170: an id that the service made exists in one account only
  if (others.length > 0 && route.resource.collection.uniques.some(isUniqueId))
    throw new Problem('resource-not-found', `${read.key.id} was not found.`)
  return `${read.key.id} does not exist and may be created`
}

/** Explains reads that check no row first, as of revisions and of an event: only their answer shows whether the item exists. */
async function explainUnkeyedRead(explained: ExplanationInput): Promise<string | null> {
  const { route, request, store } = explained
  if (!route.safe || !route.at.startsWith('item')) return null
  const intent = route.parse(request)
  const plan = planOf(explained, versionOf(explained), route, intent)
  return `it is answered with ${route.render(intent, await store.execute(plan)).status}`
}

/** What a removal deletes, or the items that prevent it. Handlers do not run. */
async function explainRemoval({ route, request, store }: ExplanationInput): Promise<string | null> {
  if (route.operation !== 'remove') return null
  const intent = route.parse(request)
  const plan = route.plan(intent)
  if (plan.do !== 'decide') throw new Error(`The plan of a removal is ${plan.do}.`)
  const current = (await store.execute(plan.read as Read)) as ReadResult
  const remove = plan.decide(current)
  if (remove.do !== 'remove') return null
  const outcome = await store.execute({ do: 'removed', collection: remove.collection, key: remove.key, remove })
  if (outcome.is !== 'removable') route.render(intent, outcome) // throws the refusal
  const rows = outcome.is === 'removable' ? [...outcome.rows] : []
  return `deletes ${listInWords(
    rows.map(([name, count]) => `${count} of ${name}`),
    'and',
  )}`
}

const isUniqueId = ({ fields, columns }: Unique): boolean => fields.length === 0 && columns.join() === 'id'

async function otherAccounts({ store }: ExplanationInput, { collection, key }: Read): Promise<readonly string[]> {
  const whose = await store.execute({ do: 'whose', collection, key })
  return whose.is === 'whose' ? whose.accounts.filter((one) => one !== key.account) : []
}

/** Why an item is missing, even if it belongs to another account, which is secret to clients. */
function absenceText({ collection, key }: Read, current: ReadResult, accounts: readonly string[]): string {
  if (current.is === 'gone') return `${key.id} was deleted`
  if (accounts.length === 0) return `there is no ${key.id} in ${collection}`
  return `${key.id} belongs to ${accounts.length === 1 ? 'another account' : 'other accounts'} (${accounts.join(', ')}), so it does not exist for this caller`
}

/** The rules of the resource that begin with the second phase of a change of the database. */
function explainWaiting({ world, route: { resource } }: ExplanationInput): string | null {
  const parts = world.waiting(resource.collection.name)
  if (parts === null) return null
  const { states, timers, guards, totals } = parts
  const rules = [
    ...(states.size > 0 ? [`transitions to ${[...states].join(', ')} answer 503`] : []),
    ...(timers ? ['transitions by the clock do not take place'] : []),
    ...[...guards].map((one) => `\`${one === 'while' ? one : `writable.${one}`}\` refuses nothing`),
    ...(totals.size > 0 ? [`${[...totals].join(', ')} ${totals.size > 1 ? 'are' : 'is'} null`] : []),
  ]
  return `until \`bylaw migrate apply\` has finished the change of the database: ${rules.join('; ')}`
}

function explainFields({ route: { resource, safe }, request: { caller } }: ExplanationInput): string | null {
  const lacking = (scopes: readonly string[]) => scopes.filter((one) => !caller.scopes.has(one))
  const lines = resource.members.flatMap(({ name, read, write }) => {
    if (lacking(read === null ? [] : [read]).length > 0) return [`${name} is not shown: it needs ${read}`]
    const lacks = safe ? [] : lacking(write)
    return lacks.length > 0 ? [`${name} cannot be written: it needs ${lacks.join(' and ')}`] : []
  })
  return lines.length === 0 ? null : lines.join('; ')
}

function explainPersonal({ route: { resource } }: ExplanationInput): string | null {
  const names = personalNames(resource.collection.fields)
  return names.length === 0 ? null : `\`bylaw erase\` empties ${listInWords(names, 'and')}`
}

function explainLimits({ route: { content, resource, importing } }: ExplanationInput): string | null {
  if (content.length === 0) return null
  return `${importing ? 'any number of lines' : 'content'} of up to ${resource.settings.limits.body} bytes as ${listInWords(content)}; its fields are checked when it arrives`
}
