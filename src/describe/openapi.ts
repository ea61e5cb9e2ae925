/** Writes the OpenAPI document of a version of a service, from what serves its requests. Part 13. */
import { termsOf } from '../contract/terms.ts'
import type { Edition } from '../flow/route.ts'
import type { Misfits } from '../resources/bounds.ts'
import type { Resource } from '../resources/resource.ts'
import type { Service } from '../service.ts'
import { keepShapes } from './errors.ts'
import { headsOf } from './headers.ts'
import { pathsOf } from './operations.ts'
import { securingOf } from './security.ts'
import { type Part, present, shelf } from './shelf.ts'
import { storedTerms } from './stored.ts'
import { introductionOf } from './words.ts'

export interface Options {
  /** The version of OpenAPI; that of the settings unless given. */
  readonly openapi?: '3.1' | '3.2'
  /** The full number of the contract; `<major>.0.0` where it is not known. R187. */
  readonly version?: string
  /** Rows that do not fit what is declared: what is answered, and may be sent back, is described as it is. */
  readonly misfits?: Misfits
}

const full = { '3.1': '3.1.1', '3.2': '3.2.0' } as const

/** The document of a version; the same one for the same declaration, whenever it is made. R214, R218. */
export function openapi(service: Service, label: string, { openapi, version, misfits = {} }: Options = {}): Part {
  const edition = service.editions.get(label) as Edition
  const { settings, declaration } = service
  const told = openapi ?? settings.openapi.version
  const parts = shelf()
  keepShapes(parts)
  const termsOf = termsIn(edition)
  const storedOf = storedTerms(edition, termsOf, misfits)
  const around = { settings, shelf: parts, resources: edition.resources, termsOf, storedOf }
  const paths = pathsOf({
    service,
    edition,
    around,
    heads: headsOf(service, edition, parts),
    secured: securingOf(service, parts),
    refused: new Map(),
    queries: told === '3.2',
  })
  const { deprecated, sunset, guide, policy } = declaration.versions?.[label] ?? {}
  const leaving = deprecated !== undefined || sunset !== undefined
  return present({
    openapi: full[told],
    info: present({
      title: service.name,
      version: version ?? `${label.slice(1)}.0.0`,
      description: introductionOf(service, label),
      'x-deprecation': leaving ? present({ deprecated, sunset, guide, policy }) : undefined,
    }),
    servers: serversOf(service, label),
    tags: [...edition.resources.values()].map(({ name, title }) => ({ name, description: `${title}: a resource.` })),
    paths,
    components: parts.all(),
  })
}

/** The terms of each resource, made once. */
function termsIn({ resources }: Edition): (name: string) => ReturnType<typeof termsOf> {
  const known = new Map<string, ReturnType<typeof termsOf>>()
  return (name) => {
    const own = known.get(name) ?? termsOf(resources.get(name) as Resource, resources)
    known.set(name, own)
    return own
  }
}

/** Where the version is, relative to the service. R188. */
function serversOf({ choice, declaration }: Service, label: string): Part[] {
  const { carriers, usual, fromFeatures } = choice
  const root = { url: '/', description: carriers.includes('path') ? 'Where no version is named.' : 'The service.' }
  const own = { url: `/${label}`, description: `The path names ${label}.` }
  if (!carriers.includes('path')) return [root]
  if (usual !== label || fromFeatures !== null) return [own]
  return declaration.versions ? [own, root] : [root, own]
}

/** The text of a document. */
export const openapiText = (service: Service, label: string, options: Options = {}): string =>
  JSON.stringify(openapi(service, label, options))
