/** OpenAPI: the document of a version, made from the routes that serve its requests. Part 13. */

import { type Components, type DocumentPart, openComponents, withoutUndefined } from '../bodies/components.ts'
import type { SchemaContext } from '../bodies/schemas.ts'
import { storedTerms, type TermsOf, type UnfilledFields } from '../bodies/stored-terms.ts'
import { fieldTermsOf } from '../contract/terms.ts'
import type { Misfits } from '../fields/bounds.ts'
import type { ServedVersion } from '../flow/route.ts'
import { nameInSentence } from '../formats/naming.ts'
import { pairSides } from '../resources/references.ts'
import type { Resource } from '../resources/resource.ts'
import type { Service } from '../service.ts'
import { putErrorSchemas } from './errors.ts'
import { webhookItems } from './event-bodies.ts'
import { introductionText } from './introduction.ts'
import { pathItems } from './path-items.ts'
import type { DescribedCorridor } from './refusals.ts'
import { headerRefs } from './response-headers.ts'
import { sharedHeaders } from './responses.ts'
import { operationSecurity } from './security.ts'
import { stateDiagram } from './state-diagram.ts'

export interface OpenapiOptions {
  /** The version of OpenAPI; by default that of the settings. */
  readonly openapi?: '3.1' | '3.2'
  /** The full number of the contract; by default `<major>.0.0`. R187. */
  readonly version?: string
  /** Stored values that do not fit the declaration: schemas allow them too, as they are answered. */
  readonly misfits?: Misfits
  /** Fields that are null until a change of the database is finished. */
  readonly unfilled?: UnfilledFields
}

const fullVersions = { '3.1': '3.1.1', '3.2': '3.2.0' } as const

/** The document of a version. The same declaration always gives the same document. R214, R218. */
export function openapiDocument(
  service: Service,
  label: string,
  corridor: DescribedCorridor,
  { openapi, version, misfits = {}, unfilled = [] }: OpenapiOptions = {},
): DocumentPart {
  const served = service.editions.get(label) as ServedVersion
  const { settings, declaration } = service
  const openapiVersion = openapi ?? settings.openapi.version
  const parts = openComponents()
  putErrorSchemas(parts, settings)
  const context = schemaContextOf(service, served, parts, (terms) => storedTerms(served, terms, misfits, unfilled))
  const paths = pathItems({
    service,
    version: served,
    corridor,
    schemas: context,
    headers: headerRefs(service, served, parts),
    shared: sharedHeaders(served),
    security: operationSecurity(service, parts),
    refusals: new Map(),
    queries: openapiVersion === '3.2',
  })
  return withoutUndefined({
    openapi: fullVersions[openapiVersion],
    info: infoPart(service, label, version),
    externalDocs: declaration.externalDocs,
    servers: serverParts(service, label),
    tags: taggedResources(served).map((one) => tagPart(one, service.settings.openapi.version)),
    security: [], // operations that are not public name their own
    paths,
    webhooks: webhookItems(served, context),
    components: parts.all(),
  })
}

function infoPart(service: Service, label: string, version: string | undefined): DocumentPart {
  const { title = service.name, contact, license, versions } = service.declaration
  const { deprecated, sunset, guide, policy } = versions?.[label] ?? {}
  const leaving = deprecated !== undefined || sunset !== undefined
  return withoutUndefined({
    title,
    version: version ?? `${label.slice(1)}.0.0`,
    description: introductionText(service, label),
    contact,
    license,
    'x-deprecation': leaving ? withoutUndefined({ deprecated, sunset, guide, policy }) : undefined,
  })
}

/** The declared resources, then those that the service adds, as events. */
function taggedResources({ resources, endpoints }: ServedVersion): readonly Resource[] {
  const served = endpoints.flatMap(({ methods }) => [...methods.values()].map(({ resource }) => resource))
  return [...new Map([...resources.values(), ...served].map((one) => [one.name, one])).values()]
}

/** A tag with the title of the resource, for which OpenAPI has a member since 3.2, and `x-displayName` is common before. */
function tagPart(resource: Resource, version: string): DocumentPart {
  const { name, declaration } = resource
  const title = declaration.title && { [version === '3.2' ? 'summary' : 'x-displayName']: declaration.title }
  return { name, ...(title || {}), description: tagText(resource) }
}

function tagText(resource: Resource): string {
  const diagram = stateDiagram(resource)
  const sides = pairSides(resource)?.join(' and ')
  const what = sides ? `Which ${sides} are linked.` : `The resource ${nameInSentence(resource.name)}.`
  const text = resource.declaration.description ?? what
  return diagram === null ? text : `${text}\n\n\`\`\`mermaid\n${diagram}\n\`\`\``
}

function schemaContextOf(
  service: Service,
  version: ServedVersion,
  components: Components,
  widened: (terms: TermsOf) => TermsOf,
): SchemaContext {
  const [{ rules }] = [...service.resources.values()] as [Resource, ...Resource[]]
  const termsOf = termsByResource(version)
  const storedTermsOf = widened(termsOf)
  return {
    kinds: rules.kinds,
    settings: service.settings,
    components,
    resources: version.resources,
    termsOf,
    storedTermsOf,
  }
}

/** The terms of each resource, cached. */
function termsByResource({ resources }: ServedVersion): (name: string) => ReturnType<typeof fieldTermsOf> {
  const termsByName = new Map<string, ReturnType<typeof fieldTermsOf>>()
  return (name) => {
    const own = termsByName.get(name) ?? fieldTermsOf(resources.get(name) as Resource, resources)
    termsByName.set(name, own)
    return own
  }
}

/** The base URLs of the version. R188. */
function serverParts({ choice, declaration, settings: { server } }: Service, label: string): DocumentPart[] {
  const { carriers, usual, fromFeatures } = choice
  const root = {
    url: server.basePath || '/',
    description: carriers.includes('path') ? 'Where no version is named.' : 'The service.',
  }
  const own = { url: `${server.basePath}/${label}`, description: `The path names ${label}.` }
  if (!carriers.includes('path')) return [root]
  if (usual !== label || fromFeatures !== null) return [own]
  return declaration.versions ? [own, root] : [root, own]
}

/** The document as JSON. */
export const openapiText = (
  service: Service,
  label: string,
  corridor: DescribedCorridor,
  options: OpenapiOptions = {},
): string => JSON.stringify(openapiDocument(service, label, corridor, options))
