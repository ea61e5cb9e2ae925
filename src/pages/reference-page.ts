/** Reference page: the OpenAPI document of a version as one page for people, with nothing from another host. Part 13. */
import type { DocumentPart } from '../bodies/components.ts'
import { operatorTexts } from '../describe/filters.ts'
import { introductionParts } from '../describe/introduction.ts'
import { stateArrows, stateDiagram } from '../describe/state-diagram.ts'
import { typeStatus } from '../errors/catalogue.ts'
import type { ServedVersion } from '../flow/route.ts'
import { sentenceCase } from '../formats/naming.ts'
import type { Service } from '../service.ts'
import { sampleLanguages } from './code-samples.ts'
import { html, inline, type Markup, markdown } from './markup.ts'
import {
  definitions,
  documentOperations,
  isListedOnce,
  isOfAllLists,
  operationPart,
  type PageContext,
  type PageOperation,
  refusalsOfOperation,
  typeLinks,
} from './operation-part.ts'
import { framedPage } from './page-frame.ts'
import { fieldsOf, type NamedSchema, resolver, type Schema, sharedValues, valueCodes } from './schema-text.ts'
import { stateDrawing } from './state-drawing.ts'

interface ReferenceOptions {
  readonly label: string
  /** The versions that are described, the oldest first. */
  readonly open: readonly string[]
}

/** A part of the page with its heading, and the operations that the contents list below it. */
interface PageSection {
  readonly id: string
  readonly title: string
  readonly content: Markup
  readonly operations?: readonly PageOperation[]
}

/** The page of a version. */
export function referencePage(service: Service, document: DocumentPart, { label, open }: ReferenceOptions): string {
  const resolve = resolver(document)
  const operations = documentOperations(document, resolve)
  const context = { resolve, document, problems: service.pages.problems, operations, itemReads: itemReads(operations) }
  const { own, general, version, limits, quotas } = introductionParts(service, label)
  const section = (id: string, title: string, content: Markup | null): PageSection[] =>
    content === null ? [] : [{ id, title, content }]
  const sections = [
    ...section(
      'introduction',
      'Introduction',
      html`${markdown([own, general].filter(Boolean).join('\n\n'))}<p>The same as <a href="${service.settings.server.basePath}/openapi/${label}.json">an OpenAPI document</a>.</p>`,
    ),
    ...section('authentication', 'Authentication', authenticationPart(service, document)),
    ...section('versions', 'Versions', versionsPart(service, { label, open }, version)),
    ...section('limits', 'Limits and quotas', markdown([limits, quotas].filter(Boolean).join('\n\n'))),
    ...section('lists', 'Lists: filters, sorts and pages', listsPart(context)),
    ...section('errors', 'Errors', errorsPart(service.editions.get(label) as ServedVersion, context)),
    ...section('events', 'Events and webhooks', eventsPart(context)),
    ...resourceSections(service.editions.get(label) as ServedVersion, context),
    ...section('values', 'Lists of values', valuesPart(document)),
  ]
  const { info } = document as { readonly info: { readonly title: string; readonly version: string } }
  return framedPage({
    title: `${info.title} ${label}: API reference`,
    header: html`<p class="name"><a href="${service.pages.docs}">${info.title}</a> <span>${info.version}</span></p>${versionSwitch(service, label, open)}
<fieldset class="languages"><legend>Code in</legend>${sampleLanguages.map((one, i) => html`<label><input type="radio" name="language" id="in-${one}"${i === 0 && html` checked`}> ${one}</label>`)}</fieldset><div id="key-place"></div>`,
    contents: html`<ul>${sections.map(({ id, title, operations: own = [] }) => html`<li><a href="#${id}">${title}</a>${own.length > 0 && html`<ul>${own.map((one) => html`<li><a href="#${one.operationId}"><b class="${one.method}">${one.method}</b> ${one.summary}</a></li>`)}</ul>`}</li>`)}</ul>`,
    main: html`<h1>${info.title}: API reference</h1>${sections.map(
      ({
        id,
        title,
        content,
      }) => html`<section id="${id}" aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2>
${content}</section>
`,
    )}`,
    sends: true,
  })
}

/** The read of an item by the name of its resource; of several reads the first one. */
function itemReads(operations: readonly PageOperation[]): PageContext['itemReads'] {
  const reads = operations.filter(({ method, path }) => method === 'GET' && path.endsWith('}'))
  return new Map(reads.toReversed().flatMap((one) => one.tags.map((tag) => [tag, one] as const)))
}

function versionSwitch({ pages }: Service, label: string, open: readonly string[]): Markup | null {
  if (open.length < 2) return null
  const links = open.map(
    (one) => html`<li><a href="${pages.docs}/${one}"${one === label && html` aria-current="page"`}>${one}</a></li>`,
  )
  return html`<nav aria-label="Versions"><ul class="versions">${links}</ul></nav>`
}

function authenticationPart({ declaration }: Service, { components }: DocumentPart): Markup {
  const { securitySchemes: schemes } = components as {
    readonly securitySchemes?: Readonly<Record<string, DocumentPart>>
  }
  const scopes = Object.entries(declaration.scopes ?? {})
  if (!schemes) return html`<p>Every operation is public: no key is needed.</p>`
  const ways = Object.values(schemes).map(({ type, name, bearerFormat, description }) => {
    const header = type === 'apiKey' ? `${name}: …` : 'Authorization: Bearer …'
    const [first = ''] = String(description).split(' Scopes: ')
    return html`<li><code>${header}</code> ${bearerFormat !== undefined && html`(${String(bearerFormat)})`}: ${inline(first)}</li>`
  })
  const meanings = scopes.map(
    ([scope, meaning]) => html`<div><dt><code>${scope}</code></dt><dd>${inline(meaning)}</dd></div>`,
  )
  return html`<p>Operations that are not public take a credential in a header; one in a URL is refused.</p><ul>${ways}</ul>${meanings.length > 0 && html`<h3>Scopes</h3><dl>${meanings}</dl>`}`
}

/** How the version is named, its deprecation, and the changes of the versions that are described. */
function versionsPart({ changes }: Service, { open }: ReferenceOptions, text: string): Markup {
  const versions = open
    .toReversed()
    .map((label) => ({ label, own: changes.filter(({ version }) => version === label) }))
  return html`${markdown(text)}${versions.map(({ label, own }) => own.length > 0 && html`<h3>Changed in ${label}</h3><ul>${own.map(({ resource, about }) => html`<li><code>${resource}</code>: ${inline(about)}</li>`)}</ul>`)}`
}

function listsPart({ operations, resolve }: PageContext): Markup | null {
  const all = operations.flatMap(({ parameters }) => parameters)
  const named = new Map(all.map((one) => [one.name, one]))
  const sorts = ['sort', 'custom_sort'].flatMap((name) => named.get(name) ?? [])
  const pages = [...named.values()].filter(isOfAllLists)
  if (sorts.length + pages.length === 0) return null
  const operators = Object.entries(operatorTexts)
  return html`<p>Filters are parameters with the name of a field; with an operator in brackets they compare: <code>?total[gte]=10</code>. All filters of a request have to hold. A set is written <code>in:(a,"b, c")</code>.</p>
<dl>${operators.map(([name, text]) => html`<div><dt><code>[${name}]</code></dt><dd>The value ${text}.</dd></div>`)}</dl>
<h3>Sorts and pages</h3><dl>${sorts.map(({ name, description = '' }) => html`<div><dt><code>${name}</code></dt><dd>${inline(description.replace(/\. .*:.*$/, '.'))}</dd></div>`)}</dl>${definitions(
    pages.map(({ name, schema, description }) => ({ name, schema, says: description })),
    resolve,
  )}`
}

/** Every error type that operations answer, by status. */
function errorsPart({ errors }: ServedVersion, { operations, resolve, problems }: PageContext): Markup {
  const refusals = operations.flatMap((one) => refusalsOfOperation(one, resolve))
  const types = refusals.flatMap((one) => one.types)
  const shared = new Map(refusals.filter(isListedOnce).map((one) => [one.component, one]))
  const byStatus = Map.groupBy([...new Set(types)].toSorted(), (type) => typeStatus(errors, type))
  const rows = [...byStatus].toSorted(([a], [b]) => a - b)
  return html`<p>Every error has a <code>message</code> for people, a <code>type</code> for programs and its more general <code>types</code>; a client that does not know a type acts on a more general one. <a href="${problems}">All error types</a></p>
<dl>${rows.map(([status, own]) => html`<div><dt><code>${status}</code></dt><dd>${typeLinks(own, problems)}</dd></div>`)}</dl>${[...shared.values()].map(({ component, status, types: own }) => html`<h3 id="refused-${component}">${inWords(component)} <code>${status}</code></h3><p>${typeLinks(own, problems)}</p>`)}`
}

/** The name of a response without its status: `CustomerCreate409` is `Customer create`. */
const inWords = (name = ''): string =>
  sentenceCase(
    name
      .replace(/\d..$/, '')
      .replace(/([a-z])([A-Z])/g, '$1 $2')
      .toLowerCase(),
  )

function valuesPart(document: DocumentPart): Markup | null {
  const shared = sharedValues(document)
  if (shared.length === 0) return null
  const lists = shared.map(([name, values]) => html`<h3 id="values-${name}">${name}</h3><p>${valueCodes(values)}</p>`)
  return html`${lists}`
}

interface Webhook {
  readonly post: PageOperation
}

/** The events of changes, and the deliveries of webhooks. */
function eventsPart({ document, resolve }: PageContext): Markup | null {
  const { schemas = {} } = document.components as { readonly schemas?: Readonly<Record<string, Schema>> }
  const events = Object.entries(schemas).filter(([name, one]) => /.Event$/.test(name) && one.properties?.type?.enum)
  if (events.length === 0) return null
  const hooks = Object.values((document.webhooks ?? {}) as Readonly<Record<string, Webhook>>)
  const [hook] = hooks
  const headers = hook?.post.parameters
    .map((one) => resolve(one))
    .map(({ description, ...one }) => ({ ...one, says: description }))
  const types = events.map(
    ([, one]) =>
      html`<li>${(one.properties?.type?.enum ?? []).map((type, i) => html`${i > 0 && ', '}<code>${String(type)}</code>`)}</li>`,
  )
  const [[, first]] = events as [[string, Schema]]
  return html`<p>Every change of an item is recorded as an event of one of these types:</p><ul>${types}</ul><h3>The content of an event</h3>${definitions(
    fieldsOf(first, resolve).filter(({ name }) => !/[.[]/.test(name)),
    resolve,
  )}${headers && html`<h3>Webhooks</h3><p>Each event is sent to the registered endpoints as <code>POST</code>, with these headers; ${hooks.length} types of events are delivered. A status of 2xx says that it was received, 410 that nothing more is to be sent; otherwise it is sent again later.</p>${definitions(headers, resolve)}`}`
}

/** The resources in their declared order, then the operations without a resource: events, batches. */
function resourceSections(version: ServedVersion, context: PageContext): PageSection[] {
  const { operations } = context
  const names = new Set([...version.resources.keys(), ...operations.flatMap(({ tags }) => tags)])
  return [...names].map((name) => {
    const isBelow = ({ path }: PageOperation) => Number(path.split('/')[1] !== name)
    const own = operations.filter(({ tags }) => tags.includes(name)).toSorted((a, b) => isBelow(a) - isBelow(b))
    return {
      id: `resource-${name}`,
      title: version.resources.get(name)?.declaration.title ?? sentenceCase(name),
      content: html`${resourcePart(version, name, own, context)}${own.map((one) => operationPart(one, context))}`,
      operations: own,
    }
  })
}

function resourcePart(
  version: ServedVersion,
  name: string,
  own: readonly PageOperation[],
  { document, resolve }: PageContext,
): Markup {
  const resource = version.resources.get(name)
  const tag = (document.tags as readonly { readonly name: string; readonly description?: string }[]).find(
    (one) => one.name === name,
  )
  const fields = resource ? resourceFields(own, resolve) : []
  const states = resource && stateArrows(resource)
  const [text = ''] = (tag?.description ?? '').split('\n\n```mermaid')
  return html`${markdown(text)}${fields.length > 0 && html`<h3>Fields</h3>${definitions(fields, resolve)}`}${resource && states && html`<h3>States</h3>${stateDrawing(`States of ${name}`, states)}<details><summary>As Mermaid</summary><pre>${stateDiagram(resource)}</pre></details>`}`
}

/** The fields of a resource from the schemas of its operations: as it is answered, created and changed. */
function resourceFields(
  own: readonly PageOperation[],
  resolve: PageContext['resolve'],
): (NamedSchema & { readonly marks: readonly (string | false)[] })[] {
  const find = (verb: string) => own.find(({ operationId }) => operationId.endsWith(`.${verb}`))
  const sent = (verb: string, type = 'application/json') =>
    resolve(find(verb)?.requestBody?.content[type]?.schema ?? {})
  const answer = resolve(find('get')?.responses[200] ?? find('create')?.responses[201] ?? { description: '' })
  const read = fieldsOf(answer.content?.['application/json']?.schema ?? {}, resolve)
  const created = fieldsOf(sent('create'), resolve)
  const changed = [
    ...fieldsOf(sent('update', 'application/merge-patch+json'), resolve),
    ...fieldsOf(sent('replace'), resolve),
  ]
  const { required = [] } = sent('create')
  return [...Map.groupBy([...read, ...created, ...changed], ({ name }) => name)]
    .filter(([name]) => !name.startsWith('_links'))
    .map(([name, [one]]) => {
      const { schema, nullable } = one as NamedSchema
      const atCreation = created.find((field) => field.name === name)
      const { default: usual } = atCreation?.schema ?? {}
      const marks = [
        schema.readOnly ? (atCreation ? 'set when it is created' : 'read-only') : required.includes(name) && 'required',
        !read.some((field) => field.name === name) && 'write-only',
        nullable && 'can be null',
        schema.deprecated === true && 'deprecated',
      ]
      return { name, nullable, schema: usual === undefined ? schema : { ...schema, default: usual }, marks }
    })
}
