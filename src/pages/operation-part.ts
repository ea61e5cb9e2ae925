/** Operation part: one operation of the reference page, with its parameters, answers, errors and code. Part 13. */
import type { DocumentPart } from '../bodies/components.ts'
import { samplesOf } from './code-samples.ts'
import { html, inline, type Markup, markdown } from './markup.ts'
import {
  answerExampleOf,
  exampleOf,
  fieldsOf,
  type NamedSchema,
  type ResolvePart,
  type Schema,
  schemaNotes,
  typeText,
} from './schema-text.ts'

/** A parameter of the document. */
interface Parameter {
  readonly $ref?: string
  /** The name of the component that a reference led to. */
  readonly component?: string
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}

type Content = Readonly<Record<string, { readonly schema?: Schema; readonly example?: unknown }>>

interface DocumentResponse {
  readonly $ref?: string
  /** The name of the component that a reference led to. */
  readonly component?: string
  readonly description: string
  readonly headers?: DocumentPart
  readonly content?: Content
}

/** An operation with its place. */
export interface PageOperation {
  readonly method: string
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly deprecated?: boolean
  /** Missing if it is public. */
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly required: boolean; readonly description?: string; readonly content: Content }
  readonly responses: Readonly<Record<string, DocumentResponse>>
}

/** The parts of a page's context that all of its sections need. */
export interface PageContext {
  readonly resolve: ResolvePart
  readonly document: DocumentPart
  /** The path of the problem pages. */
  readonly problems: string
  readonly operations: readonly PageOperation[]
  /** The read of an item by the name of its resource. */
  readonly itemReads: ReadonlyMap<string, PageOperation>
}

const methods = ['get', 'query', 'post', 'put', 'patch', 'delete']

/** All operations of a document. */
export function documentOperations({ paths }: DocumentPart, resolve: ResolvePart): PageOperation[] {
  const items = Object.entries(paths as Readonly<Record<string, DocumentPart>>)
  return items.flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const own = item[method] as PageOperation | undefined
      if (!own) return []
      const parameters = (own.parameters ?? []).map((one) => resolve(one))
      return [{ ...own, method: method.toUpperCase(), path, parameters }]
    }),
  )
}

/** The error types that an answer can have. */
function errorTypesOf(schema: Schema | undefined): string[] {
  if (!schema) return []
  const { anyOf = [], allOf = [], properties: { type, errors } = {} } = schema
  const own = type?.enum ?? (type?.const === undefined ? [] : [type.const])
  const inside = [...anyOf, ...allOf, ...(errors?.items ? [errors.items] : [])].flatMap(errorTypesOf)
  return [...new Set([...(own as string[]), ...inside])]
}

interface PageRefusal {
  readonly status: string
  readonly types: readonly string[]
  /** The name of the response that operations share. */
  readonly component: string | undefined
}

/** The refusals of an operation. */
export const refusalsOfOperation = ({ responses }: PageOperation, resolve: ResolvePart): PageRefusal[] =>
  Object.entries(responses)
    .filter(([status]) => /^[45]/.test(status))
    .map(([status, one]) => {
      const { content, component } = resolve(one)
      return { status, component, types: errorTypesOf(content?.['application/json']?.schema) }
    })

/** Whether the page lists the types of a refusal once, among all errors, as many operations have the same. */
export const isListedOnce = ({ types, component }: PageRefusal): boolean => component !== undefined && types.length > 6

function schemeNames(operation: PageOperation): string[] {
  return (operation.security ?? []).flatMap((one) => Object.keys(one))
}

/** The header that a key is sent in; null if the operation is public. */
function keyHeaderOf(operation: PageOperation, { document }: PageContext): string | null {
  const [first] = schemeNames(operation)
  const { securitySchemes = {} } = (document.components ?? {}) as {
    securitySchemes?: Readonly<Record<string, DocumentPart>>
  }
  if (first === undefined) return null
  return securitySchemes[first]?.type === 'apiKey' ? String(securitySchemes[first].name) : 'Authorization'
}

const accessText = ({ security = [] }: PageOperation): Markup => {
  if (security.length === 0) return html`Public: no key is needed.`
  const scopes = [...new Set(security.flatMap((one) => Object.values(one).flat()))]
  return scopes.length === 0
    ? html`Needs a key.`
    : html`Needs a key with the scope ${scopes.map((one) => html`<code>${one}</code>`)}.`
}

/** Fields or parameters, each with its type, marks and notes. */
export const definitions = (
  list: readonly (Omit<NamedSchema, 'nullable'> & {
    readonly marks?: readonly (string | false | undefined)[]
    readonly says?: string | undefined
  })[],
  resolve: ResolvePart,
): Markup =>
  html`<dl>${list.map(
    ({ name, schema, marks = [], says }) =>
      html`<div><dt><code>${name}</code> <span>${typeText(schema, resolve)}</span>${marks.filter(Boolean).map((mark) => html` <em${mark === 'required' && html` class="required"`}>${mark}</em>`)}</dt>${[...(says === undefined ? [] : [inline(says)]), ...schemaNotes(schema, resolve)].map((note) => html`<dd>${note}</dd>`)}</div>`,
  )}</dl>`

const baseOf = (name: string): string => name.replace(/\[\w+\]$/, '')

/** The filters of a list: each field with the forms of its parameter. */
function filtersPart(filters: readonly Parameter[], resolve: ResolvePart): Markup {
  const groups = [...Map.groupBy(filters, ({ name }) => baseOf(name))]
  return html`<h4>Filters</h4><dl>${groups.map(([name, forms]) => {
    const { schema } = forms.find((one) => !one.name.endsWith('[null]')) as Parameter
    const value = (resolve(schema).anyOf?.[0] ?? schema) as Schema
    const notes = value.enum || resolve(value).enum ? schemaNotes(value, resolve) : []
    return html`<div><dt><code>${name}</code> <span>${typeText(value, resolve)}</span></dt><dd>${forms.map((one, i) => html`${i > 0 && ' '}<code>?${one.name}=</code>`)}</dd>${notes.map((note) => html`<dd>${note}</dd>`)}</div>`
  })}</dl>`
}

/** Whether parameters of one name have forms for operators: `total`, `total[gte]`. */
const isFilter = ({ name, in: place }: Parameter, all: readonly Parameter[]): boolean =>
  place === 'query' && all.some((one) => one.name.startsWith(`${baseOf(name)}[`))

const pageParameters = ['order', 'nulls', 'page', 'page_size', 'limit', 'offset', 'cursor']

/** Whether all lists have this parameter, so that the page describes it once. */
export const isOfAllLists = ({ name, component }: Parameter): boolean =>
  pageParameters.includes(name) && component?.toLowerCase() === name.replace('_', '')

function parametersPart({ parameters }: PageOperation, { resolve }: PageContext): Markup {
  const filters = parameters.filter((one) => isFilter(one, parameters))
  const ofPages = parameters.filter(isOfAllLists)
  const of = (place: string) =>
    parameters
      .filter((one) => one.in === place && !filters.includes(one) && !ofPages.includes(one))
      .map(({ name, schema, required, description }) => ({
        name,
        schema,
        says: description,
        marks: [required && 'required'],
      }))
  const [inPath, inQuery, headers] = [of('path'), of('query'), of('header')]
  return html`${inPath.length > 0 && html`<h4>Path</h4>${definitions(inPath, resolve)}`}${filters.length > 0 && filtersPart(filters, resolve)}${inQuery.length > 0 && html`<h4>Query</h4>${definitions(inQuery, resolve)}`}${ofPages.length > 0 && html`<h4><a href="#lists">Pages</a></h4><p>${ofPages.map(({ name }, i) => html`${i > 0 && ' '}<code>${name}</code>`)}</p>`}${headers.length > 0 && html`<details><summary>Headers</summary>${definitions(headers, resolve)}</details>`}`
}

/** The content that is sent. Fields of a resource have their own list, so bodies name them only. */
function bodyPart({ requestBody: body }: PageOperation, { resolve }: PageContext): Markup | null {
  if (!body) return null
  const [[, first]] = Object.entries(body.content) as [[string, Content[string]]]
  const schema = resolve(first.schema ?? {})
  const fields = fieldsOf(schema, resolve).filter(({ schema: one }) => !one.readOnly)
  const required = (name: string) => schema.required?.includes(name) && 'required'
  return html`<h4>Content</h4><p>${Object.keys(body.content).map((type, i) => html`${i > 0 && ', '}<code>${type}</code>`)}${!body.required && ', optional'}. ${body.description}</p>${
    fields.length > 0 &&
    html`<details><summary>${fields.length} ${fields.length === 1 ? 'field' : 'fields'}</summary>${definitions(
      fields.map((one) => ({ ...one, marks: [required(one.name)] })),
      resolve,
    )}</details>`
  }`
}

function answersPart({ responses }: PageOperation, { resolve }: PageContext): Markup {
  const answers = Object.entries(responses).filter(([status]) => /^[23]/.test(status))
  return html`<h4>Answers</h4><dl>${answers.map(([status, one]) => {
    const { description, headers = {}, content = {} } = resolve(one)
    const [schema, names] = [content['application/json']?.schema, Object.keys(headers)]
    return html`<div><dt><code>${status}</code> <span>${schema && resolve(schema).title}</span></dt><dd>${inline(description)}</dd>${names.length > 0 && html`<dd>Headers: ${names.join(', ')}</dd>`}</div>`
  })}</dl>`
}

export const typeLinks = (types: readonly string[], problems: string): Markup =>
  html`${types.map((type, i) => html`${i > 0 && ', '}<a href="${problems}/${type}">${type}</a>`)}`

const errorsPart = (operation: PageOperation, { resolve, problems }: PageContext): Markup =>
  html`<details><summary>Errors</summary><dl>${refusalsOfOperation(operation, resolve).map(
    (one) =>
      html`<div><dt><code>${one.status}</code></dt><dd>${isListedOnce(one) ? html`<a href="#refused-${one.component}">${one.types.length} types</a>` : typeLinks(one.types, problems)}</dd></div>`,
  )}</dl></details>`

/** An example of the content of the first answer that has content of JSON. */
function answerExample({ responses, tags: [resource] }: PageOperation, context: PageContext): Markup | null {
  const { resolve, itemReads } = context
  const answers = Object.entries(responses).flatMap(([status, one]) => {
    const schema = /^2/.test(status) && resolve(one).content?.['application/json']?.schema
    return schema ? [{ status, schema }] : []
  })
  const [first] = answers
  if (first === undefined) return null
  const read = itemReads.get(resource ?? '')
  const self = read && requestOf(read, context).path
  const example = JSON.stringify(answerExampleOf(first.schema, resolve, self), null, 2)
  return html`<div><h4>Answer ${first.status}</h4><pre>${example}</pre></div>`
}

/** The request that samples send, and that the form of the page sends. */
function requestOf(operation: PageOperation, context: PageContext) {
  const { method, path, parameters, requestBody } = operation
  const { resolve, document } = context
  const [{ url }] = document.servers as readonly [{ readonly url: string }]
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? []
  const value = (name: string) =>
    String(exampleOf(parameters.find((one) => one.name === name)?.schema ?? {}, resolve, name))
  const needed = parameters.filter(({ required, in: place }) => required && place === 'header')
  const query = parameters
    .filter(({ required, in: place }) => required && place === 'query')
    .map(({ name }) => `${name}=${encodeURIComponent(value(name))}`)
  return {
    method,
    template: url.replace(/\/$/, '') + path,
    path:
      url.replace(/\/$/, '') +
      path.replace(/\{([^}]+)\}/g, (_, name) => encodeURIComponent(value(name))) +
      (query.length > 0 ? `?${query.join('&')}` : ''),
    headers: [
      ...needed.map(({ name }) => [name, value(name)] as const),
      ...(type === undefined ? [] : [['Content-Type', type] as const]),
    ],
    keyHeader: keyHeaderOf(operation, context),
    ...(requestBody?.required && { body: media?.example ?? exampleOf(media?.schema ?? {}, resolve) }),
  }
}

/** The section of an operation. Its data attributes are for the script, which sends requests. */
export function operationPart(operation: PageOperation, context: PageContext): Markup {
  const { operationId: id, method, path, summary, description, deprecated } = operation
  const { template, ...request } = requestOf(operation, context)
  const sent = JSON.stringify({
    method,
    template,
    headers: request.headers,
    keyHeader: request.keyHeader,
    body: request.body,
  })
  return html`<article class="op" id="${id}" aria-labelledby="${id}-title" data-request="${sent}">
<div><h3 id="${id}-title"><a href="#${id}">${summary}</a>${deprecated && html` <em>deprecated</em>`}</h3>
<p class="route"><b class="${method}">${method}</b> <code>${path}</code></p>
${description !== undefined && description !== `${summary}.` && markdown(description)}<p>${accessText(operation)}</p>
${parametersPart(operation, context)}${bodyPart(operation, context)}${answersPart(operation, context)}${errorsPart(operation, context)}</div>
<div class="code"><div><h4>Request</h4>${samplesOf(request)}</div>${answerExample(operation, context)}</div>
</article>
`
}
