/** Refuse: turns anything thrown into an answer: a Problem as it is, anything else as an error without details. Part 7. */

import { ConversionError, conversionErrorIn } from '../changes/conversion-error.ts'
import { wantsProblem } from '../endpoints/content-negotiation.ts'
import { DerivedMisfit } from '../errors/derived-misfit.ts'
import { errorBody, Problem, problemBody, problemStatus } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'
import type { ServedVersion } from '../flow/route.ts'
import { toCase } from '../formats/naming.ts'
import { HandlerFailure } from '../handlers/handler-fault.ts'
import { isRowLogDue, logThrottled } from '../limits/log-throttle.ts'
import type { Service } from '../service.ts'
import { problemPrefix } from '../settings.ts'
import { traceOf } from './message.ts'
import type { ServerContext } from './server-context.ts'

/** The parts of the server context that a refusal uses. */
type RefusalContext = Pick<ServerContext, 'service' | 'log' | 'exposed' | 'world'>

export function refuse(
  call: Call,
  context: RefusalContext,
  thrown: unknown,
  version: ServedVersion | null = null,
): Reply {
  try {
    return renderRefusal(call, context, thrown, version)
  } catch (cause) {
    return renderRefusal(call, context, cause, version) // a Problem that cannot be rendered is a failure itself
  }
}

function renderRefusal(call: Call, context: RefusalContext, thrown: unknown, version: ServedVersion | null): Reply {
  const { service, exposed = false } = context
  const { errors, settings } = service
  const problem = declaredProblem(thrown, service)
  const status = problemStatus(problem, service.errors)
  const cause = causeOf(problem, thrown)
  const clientProblem =
    status < 500
      ? problem
      : failureProblem(problem, status, {
          [toCase('requestId', settings.naming)]: call.id,
          ...(exposed ? causeDetails(cause) : {}),
        })
  const named = inNamesOfVersion(clientProblem, version)
  const reply = errorReply(call, { settings, errors: version?.errors ?? errors }, named, status)
  if (status >= 500) report(call, context, problem, { err: cause, ...failedRow(problem, version) })
  return reply
}

/**
 * The error of a line of a request, as one of the `errors` of an answer. A failure of a handler is logged, and its line has
 * an error without details: it wrote nothing, and other lines may succeed. Throws other failures of the service.
 */
export function lineError(
  { call, context }: { readonly call: Call; readonly context: RefusalContext },
  version: ServedVersion,
  thrown: unknown,
  line: number,
): Readonly<Record<string, unknown>> {
  const { errors } = context.service
  const isOfHandler = thrown instanceof HandlerFailure
  const problem = isOfHandler ? failedLine(thrown) : declaredProblem(thrown, { errors })
  if (isOfHandler) logThrottled(context, problem.type, { requestId: call.id, line, err: thrown }, problem.message)
  else if (problemStatus(problem, errors) >= 500) throw thrown
  const { cause, errors: all, ...body } = errorBody(inNamesOfVersion(problem, version), version.errors)
  return Array.isArray(all) ? { ...body, errors: all.slice(0, mostOfLine) } : body
}
const failedLine = (cause: Error) =>
  new Problem('internal-error', 'The service failed to handle this line; nothing was created.', { cause })
/** How many mistakes of one line are answered. */
const mostOfLine = 10

/** The original error; for a failed conversion, the error that the change threw. */
function causeOf({ cause }: Problem, thrown: unknown): unknown {
  const error = cause ?? thrown
  return error instanceof ConversionError ? error.cause : error
}

/** The row that could not be converted. */
function failedRow({ cause }: Problem, version: ServedVersion | null): Record<string, unknown> {
  if (!(cause instanceof ConversionError)) return {}
  return { version: version?.label, resource: cause.resource, id: cause.id }
}

/** Logs a failure; that of one row in one version once a minute, as every list that holds the row fails. */
function report(call: Call, context: RefusalContext, { type, message }: Problem, about: Record<string, unknown>): void {
  const { log, world } = context
  if (about.resource !== undefined && !isRowLogDue(world, about)) return
  const line = { requestId: call.id, ...traceOf(call), type }
  if (type === 'overloaded') logThrottled(context, type, line, message)
  else if (type === 'dependency-unavailable') logThrottled(context, type, { ...line, ...about }, message)
  else log.error({ ...line, ...about }, message)
}

/** The refusal of a derived value with the names of a version. */
export function misfitInVersion<T>(error: T, { resources, namesOf }: ServedVersion): T | DerivedMisfit {
  if (!(error instanceof DerivedMisfit)) return error
  const { collection, field, row } = error.place
  const own = [...resources.values()].find((one) => one.collection.name === collection)
  const [name = field] = own ? namesOf(own.name, collection, field) : []
  return error.with({ field: name, row: row && { ...row, title: own?.title ?? row.title } })
}

/** The Problem with the names that its type and those of its violations have in the version. */
function inNamesOfVersion(original: Problem, version: ServedVersion | null): Problem {
  const problem = version ? misfitInVersion(original, version) : original
  const nameOf = (type: string) => version?.errorNames.get(type) ?? type
  const type = nameOf(problem.type)
  const violations = problem.violations.map((one) => ({ ...one, type: nameOf(one.type) }))
  if (type === problem.type && violations.every((one, i) => one.type === problem.violations[i]?.type)) return problem
  const { message, headers, extra, bare, cause, under } = problem
  return new Problem(type, message, {
    violations,
    headers,
    extra,
    bare,
    cause,
    ...(under === undefined ? {} : { under }),
  })
}

/** The cause of a failure as a nested error, for development. R157. */
function causeDetails(cause: unknown): Record<string, unknown> {
  const message = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
  return { cause: { message, type: 'internal-error', types: ['internal-error', 'server-error', 'error'] } }
}

const notShowable = 'The item cannot be shown in this version.'
const notConvertible = 'An item that was stored by an older version cannot be converted to the newest one.'

/** Replaces a Problem of an undeclared type, or of the root type, by an internal error without details. R150, R160. */
function declaredProblem(thrown: unknown, { errors }: Pick<Service, 'errors'>): Problem {
  const failed = thrown instanceof Problem ? null : conversionErrorIn(thrown)
  if (failed)
    return new Problem('version-conversion-failed', failed.stored ? notConvertible : notShowable, { cause: failed })
  const declared = thrown instanceof Problem && errors.get(thrown.type)
  if (declared && declared.parent !== null && thrown.type !== 'internal-error') return thrown
  return new Problem('internal-error', 'The service failed to handle the request.', { cause: thrown })
}

/** R157, R161. */
function failureProblem(problem: Problem, status: number, more: Record<string, unknown>): Problem {
  const retry: Record<string, string> = status === 503 ? { 'Retry-After': '5' } : {}
  return new Problem(problem.type, problem.message, {
    headers: { ...retry, ...problem.headers },
    extra: { ...problem.extra, ...more },
    ...(problem.under === undefined ? {} : { under: problem.under }),
  })
}

function errorReply(
  call: Call,
  { errors, settings }: Pick<Service, 'errors' | 'settings'>,
  problem: Problem,
  status: number,
): Reply {
  for (const [name, value] of Object.entries(problem.headers))
    if (!sendablePattern.test(value)) throw new Error(`The header ${name} of a Problem cannot be sent.`)
  const rich = wantsProblem(call)
  const body = rich
    ? problemBody(problem, errors, { base: problemPrefix(settings), instance: requestUri(call.id) })
    : errorBody(problem, errors)
  return {
    status,
    headers: {
      ...problem.headers,
      'Content-Type': rich ? 'application/problem+json' : 'application/json',
      'X-Content-Type-Options': 'nosniff',
      'Content-Language': 'en',
      'Cache-Control': 'no-store',
      Vary: 'Accept-Encoding, Accept',
    },
    body: JSON.stringify(body),
    refused: { problem },
  }
}

const sendablePattern = /^[\t\x20-\x7e\x80-\xff]*$/
const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The Request-Id as a URI: a UUID, or the text that the client chose. R158. */
const requestUri = (id: string): string => (uuidPattern.test(id) ? `urn:uuid:${id}` : `urn:request:${id}`)
