/** Requests with one mistake each, made from a request that its OpenAPI document allows. Part 13. */
import { breaks, withBreak } from './arbitrary.ts'
import type { Document } from './described.ts'
import type { Operation } from './operations.ts'
import type { Schema } from './schemas.ts'

export interface Asked {
  readonly method: string
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly json?: unknown
}

/** A condition that every stored item meets, if the operation has conditions. */
export const whatever = ({ parameters }: Operation): Record<string, string> =>
  parameters.some(({ name }) => name === 'If-Match') ? { 'If-Match': '*' } : {}

/** The same request with one mistake in its body each. */
export function* wrongBodies(operation: Operation, asked: Asked, document: Document): Generator<[Asked, string]> {
  const { content, bodyRequired } = operation
  for (const [kind, { schema }] of Object.entries(content)) {
    const own = { ...asked, headers: { ...asked.headers, 'content-type': kind, ...whatever(operation) } }
    for (const broken of breaks(schema, asked.json, document.schemas)) {
      const json = withBreak(asked.json, broken)
      if (document.schemas.check(schema, json).length === 0) continue
      yield [{ ...own, json }, `${broken.constraint} broken at /${broken.pointer.join('/')}`]
    }
    const { json, ...without } = own
    if (bodyRequired) yield [without, 'without content']
  }
}

/** The same request with one mistake in a parameter each. */
export function* wrongParameters(operation: Operation, asked: Asked, document: Document): Generator<[Asked, string]> {
  const { parameters, method } = operation
  const [path] = asked.target.split('?')
  for (const { name, schema } of parameters.filter((one) => one.in === 'query'))
    for (const { constraint, value } of breaks(schema, 'a text', document.schemas)) {
      const text = Array.isArray(value) || value === null ? '' : String(value)
      if (fitsAsText(schema, text, document)) continue
      yield [
        { ...asked, target: `${path}?${new URLSearchParams({ [name]: text })}` },
        `${constraint} broken of ${name}`,
      ]
    }
  if (method === 'get' || method === 'head') return // reads ignore an invalid condition, R128
  for (const { name, schema } of parameters.filter((one) => one.in === 'header' && one.name !== 'Request-Id'))
    for (const text of ['"', 'a b', '""x', '*, *', 'v0'].filter((one) => !fitsAsText(schema, one, document)))
      yield [{ ...asked, headers: { ...asked.headers, ...whatever(operation), [name]: text } }, `${name}: ${text} sent`]
}

function fitsAsText(schema: Schema, text: string, { schemas }: Document): boolean {
  const number = text.trim() === '' ? Number.NaN : Number(text)
  return [text, number, text === 'true'].some((value) => schemas.check(schema, value).length === 0)
}
