/** Sample request: a curl line for newcomers, made from the declaration. Part 4, endpoints. */
import type { Violation } from '../errors/problem.ts'
import type { Field } from '../fields/field.ts'
import type { Route } from '../flow/route.ts'
import { sentenceCase, toKebab } from '../formats/naming.ts'
import type { Member, Resource } from '../resources/resource.ts'
import type { Service } from '../service.ts'

/** A curl line that creates an item, or lists items if that is not possible; `mark` makes unique values new. */
export function sampleRequest(service: Service, url: string, mark: string, key: string | null = null): string | null {
  const [{ places }, at] = [service, newestVersionUrl(service, url)]
  const may = ({ rule }: Route) => rule === 'public' || key !== null
  const open = places.filter(({ template }) => !template.includes('{'))
  const births = open.flatMap(({ template, methods }) => {
    const route = methods.get('POST')
    if (route?.operation !== 'create' || !may(route)) return []
    const body = exampleBody(route.resource, mark)
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

/** The base URL of the newest version, whose field names are used. */
function newestVersionUrl({ choice: { served, usual, carriers } }: Service, url: string): string {
  const label = served.at(-1)
  return label === usual || !carriers.includes('path') ? url : `${url}/${label}`
}

const bearerOption = (key: string | null): string => (key === null ? '' : ` -H 'Authorization: Bearer ${key}'`)

export function curlCreate(url: string, body: object, key: string | null = null): string {
  const text = JSON.stringify(body).replaceAll("'", "'\\''")
  return `curl ${url}${bearerOption(key)} -H 'Content-Type: application/json' -d '${text}'`
}

/** Whether the same body can be sent twice. */
const isRepeatable = ({ key, collection }: Resource): boolean => key === null && collection.uniques.length === 0

/** A body that creates an item; null if no valid value can be guessed, as for references. */
function exampleBody(resource: Resource, mark: string): Record<string, unknown> | null {
  if (resource.settings.resource.id === 'client') return null
  const given = resource.members.filter(({ name, from }) => from === 'caller' || name === resource.key)
  const required = given.filter((member) => member.absent === undefined)
  const some = required.length > 0 ? required : given.slice(0, 1)
  const pairs = some.map((member) => [member.name, exampleValue(member, isRepeatable(resource) ? '' : ` ${mark}`)])
  return pairs.some(([, value]) => value === undefined) ? null : Object.fromEntries(pairs)
}

/** The first candidate that the field accepts. */
function exampleValue({ name, field, check }: Member, mark: string): unknown {
  return candidateValues(name, field, mark).find((value) => {
    const faults: Violation[] = []
    check(value, '', faults)
    return faults.length === 0
  })
}

// long because: one line per field kind
function candidateValues(name: string, field: Field, mark: string): readonly unknown[] {
  const { min, max, pattern, scale = 0 } = field.options
  const bounds = [min, max].filter((bound) => bound !== undefined)
  const first = (of: Field): unknown => candidateValues(name, of, mark)[0]
  switch (field.kind) {
    case 'text':
      return pattern === undefined
        ? exampleTexts(name, mark, Number(min ?? 0), Number(max ?? 200))
        : ['1', '42', '0042', 'a', 'A1', 'abc', 'ABC-1']
    case 'email':
      return [`ann${mark.trim()}@example.com`]
    case 'url':
      return [`https://example.com/${mark.trim()}`]
    case 'integer':
      return [1, ...bounds, 0]
    case 'bigint':
      return ['1', ...bounds, '0']
    case 'decimal':
      return [(10).toFixed(scale), ...bounds, (1).toFixed(scale), (0).toFixed(scale)]
    case 'boolean':
      return [true]
    case 'timestamp':
      return ['2026-01-31T09:30:00Z', ...bounds]
    case 'date':
      return ['2026-01-31', ...bounds]
    case 'duration':
      return ['P3D']
    case 'interval':
      return ['2026-01-01T00:00:00Z/P1M']
    case 'enum':
      return field.values ?? []
    case 'country':
      return ['IT']
    case 'currency':
      return ['EUR']
    case 'metadata':
      return [{ note: 'first' }]
    case 'list':
      return [[first(field.item as Field)], Array.from({ length: Number(min ?? 0) }, () => first(field.item as Field))]
    case 'object':
      return [nestedExample(field, mark)]
    case 'ref':
    case 'concept':
      return []
    default:
      return field.kind satisfies never
  }
}

function nestedExample({ fields = {} }: Field, mark: string): Record<string, unknown> {
  const required = Object.entries(fields).filter(
    ([, { options }]) => !options.optional && options.default === undefined,
  )
  return Object.fromEntries(required.map(([name, one]) => [name, candidateValues(name, one, mark)[0]]))
}

function exampleTexts(name: string, mark: string, min: number, max: number): string[] {
  const words = sentenceCase(toKebab(name).replaceAll('-', ' '))
  const whole = `${words}${mark || ' one'}`
  return [whole.slice(0, max).padEnd(min, '.'), mark.trim().slice(0, max).padStart(min, 'a')]
}
