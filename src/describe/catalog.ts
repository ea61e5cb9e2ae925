/** Catalog: the URLs of the descriptions of a service, at its root and in the catalog of RFC 9727. Part 13. */
import type { Service } from '../service.ts'

const newestPath = '/openapi.json'
const catalogPath = '/.well-known/api-catalog'

/** The body of the root path. R214. */
export const rootText = ({ name, settings: { server } }: Service): string =>
  JSON.stringify({
    name,
    _links: {
      self: server.basePath || '/',
      'service-desc': server.basePath + newestPath,
      'api-catalog': server.basePath + catalogPath,
    },
  })

export const rootLinks = ({ settings: { server } }: Service): string =>
  `<${server.basePath}${newestPath}>; rel="service-desc"; type="application/json", <${server.basePath}${catalogPath}>; rel="api-catalog"`

/** One entry for the root and, if paths can name a version, one for each version. RFC 9264. */
export function catalogText({ choice, notices, settings: { server } }: Service, served: readonly string[]): string {
  const { carriers } = choice
  const json = (path: string) => ({ href: server.basePath + path, type: 'application/json' })
  const described = (label: string) => json(`/openapi/${label}.json`)
  const usual = {
    anchor: server.basePath || '/',
    'service-desc': [json(newestPath), ...served.map(described)],
  }
  const versions = served.map((label, i) => {
    const next = notices.get(label)?.successor == null ? undefined : served[i + 1]
    const successor = next === undefined ? {} : { 'successor-version': [{ href: `${server.basePath}/${next}` }] }
    return { anchor: `${server.basePath}/${label}`, 'service-desc': [described(label)], ...successor }
  })
  return JSON.stringify({ linkset: [usual, ...(carriers.includes('path') ? versions : [])] })
}
