/** Key: reads the idempotency key of a request from its header or its body. Part 4, idempotency of POST. */
import { Problem } from '../errors/problem.ts'
import { type Call, headerLines } from '../flow/call.ts'
import type { Document } from '../flow/intent.ts'
import { toCase } from '../formats/naming.ts'
import { problemPrefix, type Settings } from '../settings.ts'

/** A key, and the body without it. */
export interface BodyAndKey {
  readonly key: string | null
  readonly body: Document
}

/** A key without quotes, as in a body; allowed in a header too. R95. */
export const idempotencyKeyPattern = /^[\x21\x23-\x5b\x5d-\x7e]{1,255}$/
const quotedKeyPattern = /^"([\x21\x23-\x5b\x5d-\x7e]{1,255})"$/

/** Reads the key of a request from its header or its body; refuses invalid keys and two that differ. R93 to R95. */
export function readIdempotencyKey(call: Call, body: Document, settings: Settings): BodyAndKey {
  const header = keyFromHeader(call)
  const field = idempotencyKeyField(settings)
  const carried = field !== null && Object.hasOwn(body, field) ? keyFromBody(field, body[field]) : null
  if (header !== null && carried !== null && header !== carried) {
    throw new Problem(
      'idempotency-key-mismatch',
      `Idempotency-Key and the field ${field} differ. Send the key once, or the same key in both places.`,
    )
  }
  return { key: header ?? carried, body: carried === null ? body : omitKeyField(body, field as string) }
}

const defaultKeyField = {
  camel: toCase('idempotency-key', 'camel'),
  snake: toCase('idempotency-key', 'snake'),
} as const

/** The name of the field that may carry the key; null if keys in bodies are turned off. R93. */
export function idempotencyKeyField({ naming, idempotency }: Settings): string | null {
  return idempotency.bodyField === '' ? defaultKeyField[naming] : idempotency.bodyField
}

function keyFromHeader(call: Call): string | null {
  if (call.headers['idempotency-key'] === undefined) return null
  const [line = '', ...more] = headerLines(call, 'idempotency-key')
  const key = quotedKeyPattern.exec(line)?.[1] ?? idempotencyKeyPattern.exec(line)?.[0]
  if (key !== undefined && more.length === 0) return key
  throw invalidIdempotencyKey('Idempotency-Key', { in: 'header', name: 'Idempotency-Key' })
}

function keyFromBody(field: string, value: unknown): string {
  if (typeof value === 'string' && idempotencyKeyPattern.test(value)) return value
  throw invalidIdempotencyKey(field, { in: 'body', pointer: `/${field}` })
}

function invalidIdempotencyKey(name: string, place: Record<string, string>): Problem {
  const message = `${name} must be one key of 1 to 255 visible ASCII characters without quotes and backslashes, as 8e03978e-40d5-43dd-bc93-6894a57f9324.`
  return new Problem('idempotency-key-invalid', message, { extra: place })
}

/** R107. */
export function missingIdempotencyKey(settings: Settings): Problem {
  const field = idempotencyKeyField(settings)
  const places = field === null ? 'the header Idempotency-Key' : `the header Idempotency-Key or the field ${field}`
  const headers = { Link: `<${problemPrefix(settings)}idempotency-key-missing>; rel="describedby"` }
  return new Problem(
    'idempotency-key-missing',
    `This request needs an idempotency key in ${places}, so that it can be repeated safely.`,
    { headers },
  )
}

function omitKeyField(body: Document, field: string): Document {
  return Object.fromEntries(Object.entries(body).filter(([name]) => name !== field))
}
