/** Catalog: the URLs of the descriptions of a service, at its root and in the catalog of RFC 9727. Part 13. */
import type { Service } from '../service.ts'

const newestPath = '/openapi.json'
const catalogPath = '/.well-known/api-catalog'
const documentPath = (label: string): string => `/openapi/${label}.json`

/** The body of the root path. R214. */
export const rootText = ({ name }: Service): string =>
  JSON.stringify({ name, _links: { self: '/', 'service-desc': newestPath, 'api-catalog': catalogPath } })

export const rootLinks = `<${newestPath}>; rel="service-desc"; type="application/json", <${catalogPath}>; rel="api-catalog"`

/** One entry for the root and, if paths can name a version, one for each version. RFC 9264. */
export function catalogText({ choice, notices }: Service, served: readonly string[]): string {
  const { carriers } = choice
  const described = (label: string) => ({ href: documentPath(label), type: 'application/json' })
  const usual = {
    anchor: '/',
    'service-desc': [{ href: newestPath, type: 'application/json' }, ...served.map(described)],
  }
  const versions = served.map((label, i) => {
    const next = notices.get(label)?.successor == null ? undefined : served[i + 1]
    const successor = next === undefined ? {} : { 'successor-version': [{ href: `/${next}` }] }
    return { anchor: `/${label}`, 'service-desc': [described(label)], ...successor }
  })
  return JSON.stringify({ linkset: [usual, ...(carriers.includes('path') ? versions : [])] })
}
