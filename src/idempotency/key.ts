/** Reads the idempotency key of a request from its header or its body. Part 4, idempotency of POST. */
import { Problem } from '../errors/problem.ts'
import { type Call, lines } from '../flow/call.ts'
import type { Document } from '../flow/intent.ts'
import { cased } from '../resources/naming.ts'
import type { Settings } from '../resources/settings.ts'

/** A key, and the body without it. */
export interface Keyed {
  readonly key: string | null
  readonly body: Document
}

/** A key as it is written in a body, and may be in a header. R95. */
export const keyForm = /^[\x21\x23-\x5b\x5d-\x7e]{1,255}$/
const quoted = /^"([\x21\x23-\x5b\x5d-\x7e]{1,255})"$/

/** R93 to R95, R107. */
export function keyed(call: Call, body: Document, settings: Settings): Keyed {
  const header = fromHeader(call)
  const field = bodyField(settings)
  const carried = field !== null && Object.hasOwn(body, field) ? fromBody(field, body[field]) : null
  if (header !== null && carried !== null && header !== carried) {
    throw new Problem(
      'idempotency-key-mismatch',
      `Idempotency-Key and the field ${field} differ. Send the key once, or the same key in both places.`,
    )
  }
  return { key: header ?? carried, body: carried === null ? body : without(body, field as string) }
}

const ownField = { camel: cased('idempotency-key', 'camel'), snake: cased('idempotency-key', 'snake') } as const

/** The name of the field that may carry the key; null where it is off. R93. */
export function bodyField({ naming, idempotency }: Settings): string | null {
  return idempotency.bodyField === '' ? ownField[naming] : idempotency.bodyField
}

function fromHeader(call: Call): string | null {
  if (call.headers['idempotency-key'] === undefined) return null
  const [line = '', ...more] = lines(call, 'idempotency-key')
  const found = quoted.exec(line)?.[1] ?? keyForm.exec(line)?.[0]
  if (found !== undefined && more.length === 0) return found
  throw invalid('Idempotency-Key', { in: 'header', name: 'Idempotency-Key' })
}

function fromBody(field: string, value: unknown): string {
  if (typeof value === 'string' && keyForm.test(value)) return value
  throw invalid(field, { in: 'body', pointer: `/${field}` })
}

function invalid(name: string, place: Record<string, string>): Problem {
  const message = `${name} must be one key of 1 to 255 visible ASCII characters without quotes and backslashes, as 8e03978e-40d5-43dd-bc93-6894a57f9324.`
  return new Problem('idempotency-key-invalid', message, { extra: place })
}

/** R107. */
export function missing(settings: Settings): Problem {
  const field = bodyField(settings)
  const places = field === null ? 'the header Idempotency-Key' : `the header Idempotency-Key or the field ${field}`
  const headers = { Link: `<${settings.errors.problemBase}idempotency-key-missing>; rel="describedby"` }
  return new Problem(
    'idempotency-key-missing',
    `This request needs an idempotency key in ${places}, so that it can be repeated safely.`,
    { headers },
  )
}

function without(body: Document, field: string): Document {
  return Object.fromEntries(Object.entries(body).filter(([name]) => name !== field))
}
