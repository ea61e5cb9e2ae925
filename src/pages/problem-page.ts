/** Problem page: what an error type means, for people who follow the `type` of an error. Part 7, error body. */
import type { DocumentPart } from '../bodies/components.ts'
import { statusTitle } from '../describe/errors.ts'
import { type Catalogue, newestType, typeChain, typeStatus, typeTitle } from '../errors/catalogue.ts'
import type { InputField } from '../resources/machine.ts'
import type { Service } from '../service.ts'
import { html, inline, type Markup } from './markup.ts'
import { documentOperations, refusalsOfOperation, typeLinks } from './operation-part.ts'
import { framedPage } from './page-frame.ts'
import { problemTexts } from './problem-texts.ts'
import { resolver, valueCodes } from './schema-text.ts'

/** The page of a type, or of all types if it is null. `document` describes the newest version. */
export function problemPage(
  { name, pages, declaration: { errors = {} }, errorFields, editions }: Service,
  types: Catalogue,
  document: DocumentPart,
  type: string | null,
): string {
  const names = [...editions.values()].flatMap(({ errorNames }) => [...errorNames])
  const newest = (one: string) => newestType(one, names)
  const textOf = (one: string): string | undefined => errors[newest(one)]?.description ?? problemTexts[one]
  const declared = type === null ? undefined : errors[newest(type)]
  return framedPage({
    title: `${type === null ? 'Error types' : typeTitle(types, type)}: ${name}`,
    header: html`<p class="name"><a href="${pages.docs}">${name}</a></p><p><a href="${pages.problems}">All error types</a></p>`,
    main:
      type === null
        ? allTypes(types, pages.problems, textOf)
        : oneType(type, {
            types,
            document,
            pages,
            textOf,
            example: declared?.example,
            fields: errorFields.get(newest(type)) ?? [],
          }),
    sends: false,
  })
}

type TextOf = (type: string) => string | undefined

const allTypes = (types: Catalogue, problems: string, textOf: TextOf): Markup =>
  html`<h1>Error types</h1><dl>${[...types.keys()].toSorted().map((type) => html`<div><dt><a href="${problems}/${type}">${type}</a> <span>${typeStatus(types, type)}</span></dt><dd>${inline(textOf(type) ?? '')}</dd></div>`)}</dl>`

interface TypeContext {
  readonly types: Catalogue
  readonly document: DocumentPart
  readonly pages: Service['pages']
  readonly textOf: TextOf
  /** A message of the type, if the service declares one. */
  readonly example: string | undefined
  /** The further members of the type. R160. */
  readonly fields: readonly InputField[]
}

function oneType(type: string, { types, document, pages, textOf, example, fields }: TypeContext): Markup {
  const { docs, problems } = pages
  const resolve = resolver(document)
  const status = typeStatus(types, type)
  const [, ...above] = typeChain(types, type)
  const below = [...types].flatMap(([name, { parent }]) => (parent === type ? [name] : []))
  const nearest = [type, ...above].find((one) => textOf(one) !== undefined) ?? 'error'
  const operations = documentOperations(document, resolve).filter((one) =>
    refusalsOfOperation(one, resolve).some(({ types: own }) => own.includes(type)),
  )
  return html`<h1>${typeTitle(types, type)}</h1>
<dl><div><dt>Type</dt><dd><code>${type}</code></dd></div><div><dt>Status</dt><dd><code>${status}</code> ${statusTitle(status)}</dd></div></dl>
<p>${inline(textOf(nearest) ?? '')}</p>
${example !== undefined && html`<p>For example: “${example}”</p>`}
${fields.length > 0 && html`<h2>Members</h2><dl>${fields.map(({ name, field: { kind, options, values } }) => html`<div><dt><code>${name}</code> <span>${kind}${options.optional && ' or null'}</span></dt><dd>${inline(options.description ?? '')}</dd>${values && html`<dd>One of ${valueCodes(values)}.</dd>`}</div>`)}</dl>`}
${above.length > 0 && html`<h2>More general</h2><p>A client that does not know this type acts on the first of these that it knows: ${typeLinks(above, problems)}.</p>`}
${below.length > 0 && html`<h2>More special</h2><p>${typeLinks(below, problems)}.</p>`}
${operations.length > 0 && html`<h2>Operations that answer it</h2><ul>${operations.map(({ operationId, method, path, summary }) => html`<li><a href="${docs}#${operationId}">${summary}</a> <code>${method} ${path}</code></li>`)}</ul>`}`
}
