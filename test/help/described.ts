/** Checks an answer against an OpenAPI document and returns every difference as a text. Part 13. */
import { type Doc, type Schema, type Schemas, schemasOf } from './schemas.ts'

/** A request and its answer; the names of headers are in lower case. */
export interface Exchange {
  readonly method: string
  readonly target: string
  /** The content of the request with its media type, if it is JSON. */
  readonly sent?: { readonly kind: string; readonly value: unknown }
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The decoded content of the answer. */
  readonly text: string
}

export type Judge = (exchange: Exchange) => string[]

/** Headers that documents describe in words, as every answer has them or may have them: those of HTTP, of CORS and of dry runs. */
const everywhere =
  /^(?:date|connection|request-id|version|keep-alive|content-(?:length|type|encoding|language)|transfer-encoding|vary|cache-control|x-content-type-options|dry-run|access-control-.*)$/

interface Template {
  readonly path: string
  readonly fits: RegExp
  readonly item: Schema
}

export interface Document {
  readonly schemas: Schemas
  /** The path item of a target with its template; null if the document has none. */
  readonly find: (target: string) => Template | null
}

/** Prepares a document to find the path items of targets. */
export function documentOf(document: Doc): Document {
  const schemas = schemasOf(document)
  const paths = Object.entries((document.paths ?? {}) as Record<string, unknown>)
  const templates = paths.map(([path, item]) => ({ path, fits: fitting(path), item: schemas.at(item) }))
  const literal = ({ path }: Template): number => path.split('/').filter((segment) => !segment.startsWith('{')).length
  templates.sort((a, b) => literal(b) - literal(a))
  const servers = ((document.servers ?? []) as { url: string }[]).map(({ url }) => url.replace(/\/$/, ''))
  const prefixes = [...new Set([...servers, ''])].sort((a, b) => b.length - a.length)
  const find = (target: string): Template | null => {
    const path = plain(target.split('?', 1)[0] as string)
    for (const prefix of prefixes.filter((one) => path.startsWith(one))) {
      const found = templates.find(({ fits }) => fits.test(path.slice(prefix.length)))
      if (found) return found
    }
    return null
  }
  return { schemas, find }
}

/** Decodes escapes of unreserved characters, which mean the same as the characters, R8. */
const plain = (path: string): string =>
  path.replace(/%[0-7][0-9a-f]/gi, (coded) => {
    const letter = decodeURIComponent(coded)
    return /[\w.~-]/.test(letter) ? letter : coded
  })

const fitting = (path: string): RegExp =>
  new RegExp(`^${path.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]*\}/g, '[^/]+')}$`)

/** A function that checks exchanges with the service that the document describes. */
export function judgeOf(described: Doc): Judge {
  const document = documentOf(described)
  return (exchange) => {
    const template = document.find(exchange.target)
    if (!template) return beyond(exchange, 404, 'route-not-found', 'the path is not described')
    const method = exchange.method.toLowerCase()
    if (method === 'options') return [] // described in words
    const operation = operationOf(template.item, method)
    if (!operation) return beyond(exchange, 405, 'method-not-allowed', `${exchange.method} is not described`)
    return [...answered(operation, exchange, document.schemas), ...taken(template.item, operation, exchange, document)]
  }
}

/** The operation of a method; a HEAD is described by its GET. */
export function operationOf(item: Schema, method: string): Schema | null {
  const more = item.additionalOperations as Record<string, Schema> | undefined
  const own = item[method] ?? more?.[method.toUpperCase()] ?? (method === 'head' ? item.get : undefined)
  return (own as Schema | undefined) ?? null
}

/** A request to a path or method that is not described must fail, with 404 or 405 as appropriate. */
function beyond({ status, text }: Exchange, expected: number, type: string, complaint: string): string[] {
  if (status === expected && (text === '' || text.includes(type))) return []
  return status >= 400 && status !== 404 && status !== 405 ? [] : [`${complaint}, and the answer was ${status}`]
}

function answered(operation: Schema, exchange: Exchange, schemas: Schemas): string[] {
  const { status } = exchange
  const responses = (operation.responses ?? {}) as Record<string, unknown>
  const found = responses[status] ?? responses[`${String(status)[0]}XX`]
  const known = Object.keys(responses).join(', ')
  if (found === undefined) return [`status ${status} is not described; described are ${known}`]
  const response = schemas.at(found)
  return [...headersOf(response, exchange, schemas), ...contentOf(response, exchange, schemas)]
}

/**
 * Parameters and content that were accepted although the document does not describe them. OPTIONS ignores them, and
 * a QUERY can have the parameters of its content in its URL as well.
 */
function taken(
  item: Schema,
  operation: Schema,
  { method, target, status, sent }: Exchange,
  { schemas }: Document,
): string[] {
  if (status >= 300 || method === 'OPTIONS' || method === 'QUERY') return []
  const listed = [item.parameters, operation.parameters].flatMap((all) => (all ?? []) as unknown[])
  const known = listed.map((one) => schemas.at(one)).filter((one) => one.in === 'query')
  const names = new Set(known.map(({ name }) => name))
  const given = [...new URLSearchParams(target.split('?')[1] ?? '')]
  const { content = {} } = operation.requestBody ? schemas.at(operation.requestBody) : {}
  const { schema } = (content as Record<string, { schema?: Schema }>)[sent?.kind ?? ''] ?? {}
  return [
    ...given.filter(([name]) => !names.has(name)).map(([name]) => `the parameter ${name} is taken, but not described`),
    ...(sent === undefined || schema !== undefined
      ? []
      : [`content of the type ${sent.kind} is taken, but not described`]),
    ...(sent && schema ? schemas.check(schema, sent.value).map((one) => `the content that was taken: ${one}`) : []),
  ]
}

function headersOf(response: Schema, { headers }: Exchange, schemas: Schemas): string[] {
  const described = Object.entries((response.headers ?? {}) as Record<string, unknown>)
  const byName = new Map(described.map(([name, header]) => [name.toLowerCase(), schemas.at(header)]))
  const unknown = Object.keys(headers).filter((name) => !everywhere.test(name) && !byName.has(name))
  const wrong = [...byName].flatMap(([name, header]) => {
    const value = headers[name]
    if (value === undefined) return header.required ? [`the header ${name} is missing`] : []
    const complaints = header.schema ? schemas.check(header.schema as Schema, read(value, header.schema, schemas)) : []
    return complaints.map((one) => `the header ${name} is "${value}": ${one}`)
  })
  return [...unknown.map((name) => `the header ${name} is not described`), ...wrong]
}

/** Parses the text of a header, a path or a query parameter by the type of its schema. */
export function read(text: string, schema: unknown, schemas: Schemas): unknown {
  const { type } = schemas.at(schema)
  if (type === 'integer' || type === 'number') return /^-?[0-9.]+$/.test(text) ? Number(text) : text
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  return text
}

/** Whether a media type is within a range, as files have it: `image/*`. */
const isWithin = (kind: string, range: string): boolean =>
  range === '*/*' || (range.endsWith('/*') && kind.startsWith(range.slice(0, -1)))

function contentOf(response: Schema, exchange: Exchange, schemas: Schemas): string[] {
  const { method, status, headers, text } = exchange
  const content = (response.content ?? {}) as Record<string, { schema?: Schema }>
  const kinds = Object.keys(content).join(', ') || 'none'
  // An export without items is empty.
  const isLines = headers['content-type'] === 'application/x-ndjson' && 'application/x-ndjson' in content
  const kind = (headers['content-type'] ?? 'none').split(';', 1)[0] as string
  const described = content[kind] ?? Object.entries(content).find(([range]) => isWithin(kind, range))?.[1]
  const isFile =
    headers['content-disposition'] !== undefined && described !== undefined && described.schema === undefined
  if (isFile) return []
  const spared = isLines || method === 'HEAD' || headers['preference-applied'] === 'return=minimal'
  if (text === '') return spared || kinds === 'none' ? [] : [`content is missing; described is ${kinds}`]
  const schema = described?.schema
  if (!schema) return [`content of the type ${kind} is not described; described is ${kinds}`]
  const value: unknown = /[/+]json$/.test(kind) ? JSON.parse(text) : text
  // Only the fields that a request selects are answered, so the others are not missing.
  const isCut = status < 300 && new URLSearchParams(exchange.target.split('?')[1] ?? '').has('fields')
  const complaints = schemas
    .check(schema, value)
    .filter((one) => !isCut || !/must have required property/.test(one))
    .map((one) => `the content: ${one}`)
  const open = schemas.unnamed(schema, value).map((place) => `no schema names the member ${place}`)
  const listing = content['application/json']?.schema ?? schema // problems list no types of their own
  return [...complaints, ...open, ...(status < 400 ? [] : typed(listing, value, schemas))]
}

/** The type of an error, or the first of its types, must be listed; content without a `type` is checked by its schema alone. */
function typed(schema: Schema, value: unknown, schemas: Schemas): string[] {
  const { type, types } = value as { type?: string; types?: readonly string[] }
  if (type === undefined) return []
  const described = schemas.texts(schema, 'type')
  const own = /^[a-z0-9-]+$/.test(type) ? type : String(types?.[0]) // the type of a problem is a URL
  if (described === null) return ['the types of the error are not listed']
  return described.has(own) ? [] : [`the type ${own} is not described; described are ${[...described].join(', ')}`]
}
