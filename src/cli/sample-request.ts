/** Sample request: a curl line for newcomers, made from the declaration. Part 4, endpoints. */
import type { Field } from '../fields/field.ts'
import { type FieldKinds, fieldKind } from '../fields/kind.ts'
import { firstFault } from '../fields/value-check.ts'
import type { Route } from '../flow/route.ts'
import { sentenceCase, toKebab } from '../formats/naming.ts'
import type { Member, Resource } from '../resources/resource.ts'
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
  const pairs = some.map((member) => [
    member.name,
    exampleValue(member, isRepeatable(resource) ? '' : ` ${mark}`, resource.rules.kinds),
  ])
  return pairs.some(([, value]) => value === undefined) ? null : Object.fromEntries(pairs)
}

/** The first candidate that the field accepts. */
const exampleValue = ({ name, field, check }: Member, mark: string, kinds: FieldKinds): unknown =>
  [...declaredExample(field), ...candidateValues(name, field, mark, kinds)].find(
    (value) => firstFault(check, value) === undefined,
  )

/** A unique value is made anew for each request. */
const declaredExample = ({ options: { example, unique } }: Field): readonly unknown[] =>
  example === undefined || unique ? [] : [example]

/** Texts are made from the name of the field. */
function candidateValues(name: string, field: Field, mark: string, kinds: FieldKinds): readonly unknown[] {
  const { kind, item, fields, values, options } = field
  const { min, max, pattern } = options
  const first = (of: Field, own = name): unknown => candidateValues(own, of, mark, kinds)[0]
  if (fields) return [nestedExample(fields, first)]
  if (item) return [[first(item)], Array.from({ length: Number(min ?? 0) }, () => first(item))]
  if (kind === 'text' && pattern !== undefined) return ['1', '42', '0042', 'a', 'A1', 'abc', 'ABC-1']
  if (kind === 'text') return exampleTexts(name, mark, Number(min ?? 0), Number(max ?? 200))
  const { examples, plain } = fieldKind(kind, kinds)
  const all = examples?.(options, mark.trim()) ?? values ?? [plain({ kind }, () => undefined)]
  return all.filter((one) => one !== undefined)
}

function nestedExample(
  fields: NonNullable<Field['fields']>,
  first: (of: Field, name: string) => unknown,
): Record<string, unknown> {
  const required = Object.entries(fields).filter(
    ([, { options }]) => !options.optional && options.default === undefined,
  )
  return Object.fromEntries(required.map(([name, one]) => [name, first(one, name)]))
}

function exampleTexts(name: string, mark: string, min: number, max: number): string[] {
  const words = sentenceCase(toKebab(name).replaceAll('-', ' '))
  const whole = `${words}${mark || ' one'}`
  return [whole.slice(0, max).padEnd(min, '.'), mark.trim().slice(0, max).padStart(min, 'a')]
}
