/** Intent phases: check the representation and the content of a request, and parse its parameters and body. R1, R19. */
import { refuseCredentialsInBody } from '../auth/credentials.ts'
import { admitContent, negotiate } from '../endpoints/content-negotiation.ts'
import { repeatProblem } from '../endpoints/item.ts'
import type { RefusalType } from '../errors/catalogue.ts'
import type { ReadResult } from '../flow/found-row.ts'
import type { EmbedTree, Intent, RequestContext } from '../flow/intent.ts'
import type { Outcome } from '../flow/outcome.ts'
import { columnsOfCondition, type Plan, withRights } from '../flow/plan.ts'
import type { Route, ServedVersion } from '../flow/route.ts'
import { executeInTurn } from '../idempotency/execute-in-turn.ts'
import { isDryRun } from '../lists/query-string.ts'
import { rowRightsOf } from '../rules/row-rights.ts'
import type { Service } from '../service.ts'
import type { ExplanationInput } from './corridor-phase.ts'
import { readPayload } from './payload.ts'
import { check, phase } from './phase.ts'
import type { ServerContext } from './server-context.ts'

export const acceptPhase = check({
  name: 'accept',
  needs: ['route'],
  pass: ({ call, route }) => negotiate(call, route),
  refuses: () => ['not-acceptable'],
})

export const contentPhase = check({
  name: 'content',
  needs: ['route'],
  answers: true,
  pass: ({ call, route }) => admitContent(call, route),
  refuses: ({ route }) => (route ? contentRefusals(route) : []),
})

const ofAnyType = ['unsupported-media-type', 'unsupported-charset', 'unsupported-content-coding']

function contentRefusals({ content, about, resource, importing }: Route): readonly RefusalType[] {
  if (importing) return [...ofAnyType, 'body-required', 'validation-failed']
  if (content.length === 0)
    return [resource.settings.body.onBodyless === 'reject' ? 'unexpected-body' : 'content-too-large']
  const taken = [...ofAnyType, 'content-too-large']
  const read = ['body-required', 'malformed-json', 'duplicate-json-key', 'invalid-encoding', 'validation-failed']
  return about.body === 'form' ? taken : [...taken, ...read]
}

export const queryPhase = phase({
  name: 'query',
  needs: ['route', 'versioned', 'lookup'],
  gives: 'query',
  answers: true,
  pass: ({ call, context, route, versioned, lookup }) =>
    lookup.query ?? route.query(call, context.world, versioned.carried),
  refuses: () => ['invalid-query'],
  completes: (reply, { call, context }) => {
    if (isDryRun(call, context.service.settings)) reply.headers['Dry-Run'] = 'true'
  },
  explains: [{ step: 'query', check: explainQuery }],
})

function explainQuery({ route, request, target, world }: ExplanationInput): string | null {
  const read = route.query(request.call, world, request.carried)
  const isRead = route.safe && route.at === 'collection' // parameters of events are parsed with the caller
  if (read || isRead) route.parse({ ...request, query: read })
  const own = new Set(
    (read && 'where' in read
      ? [...read.where.flatMap(columnsOfCondition), ...read.order.map(({ column }) => column)]
      : []
    )
      .map((column) => route.resource.collection.columns.find(({ name }) => name === column))
      .flatMap((column) => (column?.of ? column.field : [])),
  )
  const by = own.size === 0 ? '' : `; fields of older versions use columns of their own: ${[...own].join(', ')}`
  const dry = isDryRun(request.call, route.resource.settings) ? '; the request is checked, and changes nothing' : ''
  const embedded = read?.embed ? `; it embeds ${pathsIn(read.embed).join(', ')}` : ''
  return target.includes('?') ? `the parameters are in order${dry}${by}${embedded}` : null
}

const pathsIn = (tree: EmbedTree): string[] =>
  [...tree].flatMap(([name, below]) => [name, ...pathsIn(below).map((path) => `${name}.${path}`)])

/** Parses the request. If that fails, a missing target and failed preconditions are reported first. */
export const intentPhase = phase({
  name: 'intent',
  needs: ['match', 'route', 'versioned', 'identified'],
  gives: 'intent',
  answers: true,
  pass: ({ call, context, match, route, versioned, identified, query }) => {
    const { world } = context
    const { carried } = versioned
    const request = { call, caller: identified.caller, carried, params: match.params, query, body: null, world }
    if (route.importing) return route.parse(request) // its content is read while it is carried out
    return parseIntent(request, route, context, versioned.version)
  },
})

/** The target is checked first only if parsing fails or the client waits for 100 Continue. R1, R19. */
function parseIntent(
  request: RequestContext,
  route: Route,
  context: Pick<ServerContext, 'service' | 'store' | 'authenticate'>,
  version: ServedVersion,
): Intent | Promise<Intent> {
  const { content, headers } = request.call
  if (content !== null || headers.expect !== undefined || route.content.length > 0)
    return parseWithContent(request, route, context, version)
  try {
    return route.parse(request) //                                           400
  } catch (problem) {
    return admitTargetFirst(request, route, context, version).then(() => Promise.reject(problem))
  }
}

/** Parses a call that has content, or should have. */
async function parseWithContent(
  request: RequestContext,
  route: Route,
  context: Pick<ServerContext, 'service' | 'store' | 'authenticate'>,
  version: ServedVersion,
): Promise<Intent> {
  const { upload } = route
  if (upload || request.call.headers.expect !== undefined) await admitTargetFirst(request, route, context, version)
  if (upload) {
    const uploaded = await upload.receive(request, context.store)
    await context.authenticate(request.call, route.rule) // the credentials may have ended while it was received
    return route.parse({ ...request, body: {}, uploaded })
  }
  let withBody = request
  try {
    const payload = await readPayload(request.call, route) //                    400, 413
    if (payload !== null) withBody = { ...request, ...payload }
    refuseCredentialsInBody(withBody, route) //                                             400
    return route.parse(withBody) //                                           400, every mistake at once
  } catch (problem) {
    await admitTargetFirst(withBody, route, context, version)
    throw problem
  }
}

async function admitTargetFirst(
  request: RequestContext,
  route: Route,
  { store, service }: Pick<ServerContext, 'service' | 'store'>,
  version: ServedVersion,
): Promise<void> {
  const checks = targetChecks(request, route, service, version)
  const limits = route.resource.settings.idempotency
  for (let step = checks.next(null); !step.done; )
    step = checks.next(await executeInTurn(step.value, { store, world: request.world }, limits))
}

/** Reads the target and the key of a request, and throws if one of them refuses it. R1, R99. */
export function* targetChecks(
  request: RequestContext,
  route: Route,
  service: Service,
  version: ServedVersion,
): Generator<Plan, void, Outcome | null> {
  const { read, admit } = route.target(request) //                           404
  const rights = rowRightsOf(service.ruled, version, route, request.caller)
  const current = read && ((yield withRights(read, rights)) as ReadResult)
  if (current && read?.collection === route.resource.collection.name) rights?.admit(current) // 403
  admit(current) //                                                           404, 410, 412, 428
  const claim = request.body && route.claim?.(request) //                      400
  if (!claim) return
  const prior = yield { do: 'recall', claim } //                               409
  if (prior?.is === 'claimed')
    throw repeatProblem({ resources: version.resources, resource: route.resource }, claim, prior, request.carried)
}
