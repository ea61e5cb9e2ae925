/** Refused request: the error with which a route of the host refuses a caller of the service. Part 7, error body. */
import type { Reply } from '../flow/reply.ts'

/**
 * The refusal of a request, with the answer that the service would give. Fastify and Express send its status and headers,
 * Hono the whole answer.
 * @example if (error instanceof RefusedRequest) return error.getResponse()
 */
export class RefusedRequest extends Error {
  readonly status: number
  readonly statusCode: number
  /** The headers of the answer, as `WWW-Authenticate`. */
  readonly headers: Readonly<Record<string, string>>
  /** The body of the answer. */
  readonly body: string

  constructor({ status, headers, body }: Reply) {
    const text = String(body ?? '')
    const { message, detail = message } = JSON.parse(text) as { readonly message: string; readonly detail?: string }
    super(detail)
    this.status = status
    this.statusCode = status
    this.headers = headers
    this.body = text
  }

  /** The answer to send: `return error.getResponse()`. */
  getResponse(): Response {
    return new Response(this.body, { status: this.status, headers: this.headers })
  }
}
