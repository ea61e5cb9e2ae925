/** Intent phases: check the representation and the content of a request, and parse its parameters and body. R1, R19. */
import { refuseCredentialsInBody } from '../auth/credentials.ts'
import { admitContent, negotiate } from '../endpoints/content-negotiation.ts'
import { repeatProblem } from '../endpoints/item.ts'
import type { RefusalType } from '../errors/catalogue.ts'
import type { ReadResult } from '../flow/found-row.ts'
import type { EmbedTree, Intent, RequestContext } from '../flow/intent.ts'
import { columnsOfCondition } from '../flow/plan.ts'
import type { Route, ServedVersion } from '../flow/route.ts'
import type { Store } from '../flow/store.ts'
import { executeInTurn } from '../idempotency/execute-in-turn.ts'
import { isDryRun } from '../lists/query-string.ts'
import type { ExplainedWay } from './corridor-phase.ts'
import { readPayload } from './payload.ts'
import { check, phase } from './phase.ts'

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

function contentRefusals({ content, about, resource }: Route): readonly RefusalType[] {
  if (content.length === 0)
    return [resource.settings.body.onBodyless === 'reject' ? 'unexpected-body' : 'content-too-large']
  const taken = ['unsupported-media-type', 'unsupported-charset', 'unsupported-content-coding', 'content-too-large']
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

function explainQuery({ route, asked, target, world }: ExplainedWay): string | null {
  const read = route.query(asked.call, world, asked.carried)
  const isRead = route.safe && route.at === 'collection' // parameters of events are parsed with the caller
  if (read || isRead) route.parse({ ...asked, query: read })
  const own = new Set(
    (read && 'where' in read
      ? [...read.where.flatMap(columnsOfCondition), ...read.order.map(({ column }) => column)]
      : []
    )
      .map((column) => route.resource.collection.columns.find(({ name }) => name === column))
      .flatMap((column) => (column?.of ? column.field : [])),
  )
  const by = own.size === 0 ? '' : `; fields of older versions use columns of their own: ${[...own].join(', ')}`
  const dry = isDryRun(asked.call, route.resource.settings) ? '; the request is checked, and changes nothing' : ''
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
    const { world, store } = context
    const { carried } = versioned
    const asked = { call, caller: identified.caller, carried, params: match.params, query, body: null, world }
    return parseIntent(asked, route, store, versioned.version)
  },
})

/** The target is checked first only if parsing fails or the client waits for 100 Continue. R1, R19. */
function parseIntent(
  asked: RequestContext,
  route: Route,
  store: Store,
  version: ServedVersion,
): Intent | Promise<Intent> {
  const { content, headers } = asked.call
  if (content !== null || headers.expect !== undefined || route.content.length > 0)
    return parseWithContent(asked, route, store, version)
  try {
    return route.parse(asked) //                                           400
  } catch (problem) {
    return admitTargetFirst(asked, route, store, version).then(() => Promise.reject(problem))
  }
}

/** Parses a call that has content, or should have. */
async function parseWithContent(
  asked: RequestContext,
  route: Route,
  store: Store,
  version: ServedVersion,
): Promise<Intent> {
  const { upload } = route
  if (upload || asked.call.headers.expect !== undefined) await admitTargetFirst(asked, route, store, version)
  if (upload) return route.parse({ ...asked, body: {}, uploaded: await upload.receive(asked, store) })
  let given = asked
  try {
    const payload = await readPayload(asked.call, route) //                    400, 413
    if (payload !== null) given = { ...asked, ...payload }
    refuseCredentialsInBody(given, route) //                                             400
    return route.parse(given) //                                           400, every mistake at once
  } catch (problem) {
    await admitTargetFirst(given, route, store, version)
    throw problem
  }
}

async function admitTargetFirst(
  asked: RequestContext,
  route: Route,
  store: Store,
  { resources }: ServedVersion,
): Promise<void> {
  const { read, admit } = route.target(asked) //                           404
  admit(read && ((await store.execute(read)) as ReadResult)) //            404, 410, 412, 428
  const claim = asked.body && route.claim?.(asked) //                      400
  if (!claim) return
  const recall = { do: 'recall', claim } as const
  const known = await executeInTurn(recall, { store, world: asked.world }, route.resource.settings.idempotency) // 409
  if (known.is === 'claimed') throw repeatProblem({ resources, resource: route.resource }, claim, known, asked.carried)
}
