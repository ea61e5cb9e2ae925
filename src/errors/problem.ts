/** Problem: the error of every refusal, and its two body formats. Part 7, error body. */
import { type Catalogue, catalogue, typeChain, typeStatus, typeTitle } from './catalogue.ts'

/** One mistake in a request: its place is a part of the request, with a JSON Pointer or a name. R155. */
export interface Violation {
  readonly message: string
  readonly type: string
  readonly in: 'body' | 'query' | 'path' | 'header'
  readonly pointer?: string
  readonly name?: string
}

interface ProblemDetails {
  /** All mistakes of the request, sent as `errors`; the first one is also sent as `cause`. */
  readonly violations?: readonly Violation[]
  /** Headers of the answer: `headers: { 'Retry-After': '5' }`. */
  readonly headers?: Readonly<Record<string, string>>
  /** Further members of the body: `extra: { old_id: 'ord_1' }`. */
  readonly extra?: Readonly<Record<string, unknown>>
  /** Whether the body has only the message and the members of `extra`. R97. */
  readonly bare?: boolean
  /** Another parent of the type than the declared one; the status follows from it: `under: 'invalid-version'`. */
  readonly under?: string
  /** The error behind this one. A Problem below 500 is sent as `cause`; any other error is only logged. */
  readonly cause?: unknown
}

/**
 * A refusal: the answer has its type, its message and the status of the type. A function that generates ids (the setting
 * `resource.id`) may throw one of a declared type. Whatever `request` or `response` of a change throws is a 500.
 * @example throw new Problem('credit-exceeded', 'The credit of the account is used up.')
 */
export class Problem extends Error {
  readonly type: string
  readonly violations: readonly Violation[]
  readonly headers: Readonly<Record<string, string>>
  readonly extra: Readonly<Record<string, unknown>>
  readonly under: string | undefined
  readonly bare: boolean

  constructor(type: string, message: string, details: ProblemDetails = {}) {
    super(message, { cause: details.cause })
    this.type = type
    this.violations = details.violations ?? []
    this.headers = details.headers ?? {}
    this.extra = details.extra ?? {}
    this.under = details.under
    this.bare = details.bare ?? false
  }
}

/** Whether the store refused, for example because of a conflict with another write: the same may succeed soon. */
export const isStoreFailure = (error: unknown): boolean =>
  error instanceof Problem && ['overloaded', 'timeout', 'dependency-unavailable'].includes(error.type)

const mostViolations = 50 // R154
const mostCauses = 5 // R149

/** The refusal of a body, with all its mistakes. R154. */
export function invalidBody(violations: readonly Violation[]): Problem {
  return invalidRequest('validation-failed', 'field', violations)
}

/** The refusal of query parameters, with all their mistakes. R154. */
export function invalidQuery(violations: readonly Violation[]): Problem {
  return invalidRequest('invalid-query', 'parameter', violations)
}

function invalidRequest(type: string, noun: string, violations: readonly Violation[]): Problem {
  const count = violations.length
  const message = `${count} ${count === 1 ? `${noun} is` : `${noun}s are`} invalid.`
  return new Problem(type, message, { violations: violations.slice(0, mostViolations) })
}

export function problemStatus(problem: Problem, types: Catalogue = catalogue): number {
  return typeStatus(types, problem.type, problem.under)
}

/** The body in the service's own format. R149. */
export function errorBody(problem: Problem, types: Catalogue = catalogue): Record<string, unknown> {
  const { message, type, under, extra, bare } = problem
  if (bare) return { message, ...extra }
  return joinMembers({ message }, extra, {
    type,
    types: typeChain(types, type, under),
    ...causeMembers(problem, types, mostCauses),
  })
}

/** Types of the IANA registry, and the registered names of their members. R182. */
const registeredTypes: ReadonlyMap<
  string,
  { readonly uri: string; readonly members: Readonly<Record<string, string>> }
> = new Map([
  [
    'quota-exceeded',
    {
      uri: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      members: { violatedPolicies: 'violated-policies', violated_policies: 'violated-policies' },
    },
  ],
])

/** The body of RFC 9457. R158. */
export function problemBody(
  problem: Problem,
  types: Catalogue,
  { base, instance }: { base: string; instance: string },
): Record<string, unknown> {
  const { message, type, under, extra } = problem
  const { uri = base + type, members = {} } = registeredTypes.get(type) ?? {}
  const first = {
    type: uri,
    title: typeTitle(types, type),
    status: problemStatus(problem, types),
    detail: message,
    instance,
  }
  const named = Object.fromEntries(Object.entries(extra).map(([name, value]) => [members[name] ?? name, value]))
  return joinMembers(first, named, {
    types: typeChain(types, type, under),
    ...causeMembers(problem, types, mostCauses),
  })
}

type BodyMembers = Readonly<Record<string, unknown>>

/** Joins members in this order; an extra member never replaces one of the others. */
const joinMembers = (first: BodyMembers, extra: BodyMembers, last: BodyMembers): Record<string, unknown> =>
  Object.assign({ ...first }, extra, first, last)

/** The violations, or else the Problem that caused this one; any other cause is not sent. R149, R154. */
function causeMembers({ violations, cause }: Problem, types: Catalogue, depth: number): BodyMembers {
  const errors = violations.map(({ message, type, ...place }) => ({
    message,
    type,
    types: typeChain(types, type),
    ...place,
  }))
  if (errors.length > 0) return { cause: errors[0], errors }
  if (depth === 0 || !(cause instanceof Problem) || problemStatus(cause, types) >= 500) return {}
  const { message, type, under, extra } = cause
  return {
    cause: joinMembers({ message }, extra, {
      type,
      types: typeChain(types, type, under),
      ...causeMembers(cause, types, depth - 1),
    }),
  }
}
