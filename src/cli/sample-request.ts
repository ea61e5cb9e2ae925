/** Sample request: a curl line for newcomers, made from the declaration. Part 4, endpoints. */
import { exampleBody, isRepeatable } from '../bodies/example-body.ts'
import type { Route } from '../flow/route.ts'
import type { Service } from '../service.ts'
import { newestVersionUrl } from '../versions/version-choice.ts'

/** A curl line that creates an item, or lists items if that is not possible; `mark` makes unique values new. */
export function sampleRequest(service: Service, url: string, mark: string, key: string | null = null): string | null {
  const [{ places }, at] = [service, newestVersionUrl(service.choice, url)]
  const may = ({ rule }: Route) => rule === 'public' || key !== null
  const open = places.filter(({ template }) => !template.includes('{'))
  const births = open.flatMap(({ template, methods }) => {
    const route = methods.get('POST')
    if (route?.operation !== 'create' || !may(route)) return []
    const body = route.resource.settings.resource.id === 'client' ? null : exampleBody(route.resource, { mark })
    return body ? [{ template, body, repeatable: isRepeatable(route.resource), rule: route.rule }] : []
  })
  const birth = births.find(({ repeatable }) => repeatable) ?? births[0]
  if (birth) return curlCreate(`${at}${birth.template}`, birth.body, birth.rule === 'public' ? null : key)
  const listed = open.flatMap(({ template, methods }) => {
    const route = methods.get('GET')
    return route && may(route) ? [`curl ${at}${template}${route.rule === 'public' ? '' : bearerOption(key)}`] : []
  })
  return listed[0] ?? null
}

const bearerOption = (key: string | null): string => (key === null ? '' : ` -H 'Authorization: Bearer ${key}'`)

export function curlCreate(url: string, body: object, key: string | null = null): string {
  const text = JSON.stringify(body).replaceAll("'", "'\\''")
  return `curl ${url}${bearerOption(key)} -H 'Content-Type: application/json' -d '${text}'`
}
