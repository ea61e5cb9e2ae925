/** API error: what a call is rejected with, discriminated by `type`. Part 7, errors. */
import type { ErrorStatuses } from '../errors/catalogue.ts'
import type { DeclarationOf, Get } from '../resources/infer.ts'
import type { AnsweredErrorFields } from '../resources/infer-actions.ts'

/** One of several mistakes in a request. */
export interface ApiErrorPart {
  readonly message: string
  readonly type: string
  readonly types: readonly string[]
  /** The place in the body, as a JSON Pointer: `/email`. */
  readonly pointer?: string
  /** The name of the parameter or header. */
  readonly name?: string
}

interface ErrorTerms {
  readonly status?: number
  readonly headers?: Headers
  readonly body?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

/** A refusal of the service, or a call without a usable answer (`no-answer`, `unexpected-answer`, …). */
export class ApiError extends Error {
  readonly type: string
  /** The types from special to general, so that `types.includes('not-found')` covers types to come. */
  readonly types: readonly string[]
  /** The status of the answer; 0 without one. */
  readonly status: number
  /** All mistakes of the request. */
  readonly errors: readonly ApiErrorPart[]
  /** The id of the item that was created with the same idempotency key; null in other cases. */
  readonly oldId: string | null
  /** The headers of the answer; by `Request-Id` the operator finds the request in the log. */
  readonly headers: Headers
  /** How long to wait, in milliseconds, as the service says; null if it says nothing. */
  readonly retryAfter: number | null
  /** Whether the write may have been carried out, as the answer to a try of this call was lost. */
  readonly uncertain: boolean = false
  /** The body of the answer. */
  readonly body: Readonly<Record<string, unknown>>

  constructor(
    type: string,
    message: string,
    { status = 0, headers = new Headers(), body = {}, cause }: ErrorTerms = {},
  ) {
    super(message, cause === undefined ? {} : { cause })
    this.name = 'ApiError'
    this.type = type
    this.status = status
    this.body = body
    this.types = Array.isArray(body.types) ? body.types : [type]
    this.errors = Array.isArray(body.errors) ? body.errors : []
    this.oldId = typeof body.old_id === 'string' ? body.old_id : null
    this.headers = headers
    this.retryAfter = retryAfterOf(headers.get('retry-after') ?? '')
  }
}

/** Seconds, or a date. */
function retryAfterOf(text: string): number | null {
  const time = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Number.isNaN(time) ? null : Math.max(0, time)
}

/** The error of an answer. */
export function apiErrorOf(status: number, headers: Headers, body: unknown): ApiError {
  const { type, message, old_id } = (body ?? {}) as Readonly<Record<string, unknown>>
  const errorType =
    typeof message === 'string' ? (type ?? (old_id === undefined ? undefined : 'idempotency-key-reused')) : undefined
  if (typeof errorType === 'string')
    return new ApiError(errorType, message as string, { status, headers, body: body as Record<string, unknown> })
  const said = status === 0 || (status >= 300 && status < 400) ? 'a redirect' : `${status} and no error of the service`
  return new ApiError(
    'unexpected-answer',
    `The answer is ${said}. Something else than the service may have sent it: check the \`url\` of the client.`,
    { status, headers },
  )
}

/** The errors of the client itself. */
interface OwnStatuses {
  /** No answer came within the deadline; `cause` says why. */
  readonly 'no-answer': 0
  /** Events after the given one are no longer kept. */
  readonly 'events-missed': 200
  /** The answer is not one of the service. */
  readonly 'unexpected-answer': number
  /** The answer is of another version than `version` names. */
  readonly 'version-mismatch': number
}
type DeclaredStatuses<D> = { readonly [T in keyof Get<D, 'errors'> & string]: Get<Get<D, 'errors'>[T], 'status'> }
type Statuses<D> = ErrorStatuses & OwnStatuses & DeclaredStatuses<D>

/** The body of an error; where its type is declared with fields, with these. */
type ErrorBody<D, T> = Readonly<Record<string, unknown>> &
  (T extends keyof Get<D, 'errors'> ? AnsweredErrorFields<D, T> : unknown)

/** The errors of a service: those of the catalogue, those that it declares, and those of the client. */
export type ErrorOf<S> = {
  [T in keyof Statuses<DeclarationOf<S>>]: ApiError & {
    readonly type: T
    readonly status: Statuses<DeclarationOf<S>>[T]
    readonly body: ErrorBody<DeclarationOf<S>, T>
  }
}[keyof Statuses<DeclarationOf<S>>]

/**
 * Whether a call was rejected with an error of the service, so that `type` tells which.
 * @example if (isApiError<typeof api>(error) && error.type === 'credit-exceeded') askForPayment()
 */
export const isApiError = <S>(error: unknown): error is ErrorOf<S> => error instanceof ApiError
