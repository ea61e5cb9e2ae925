/** Example body: values that fit the fields of a resource, for descriptions and sample requests. Part 13; part 4, endpoints. */
import type { Field } from '../fields/field.ts'
import { type FieldKinds, fieldKind } from '../fields/kind.ts'
import { firstFault } from '../fields/value-check.ts'
import { sentenceCase, toKebab } from '../formats/naming.ts'
import type { InputField } from '../resources/machine.ts'
import type { Member, Resource } from '../resources/resource.ts'

interface ExampleSources {
  /** A text that is added to unique values, so that they differ from the values of other items. */
  readonly mark?: string
  /** The id of an item of another resource; undefined if none is known. */
  readonly idOf?: (resource: string) => string | undefined
}

/** Whether the same body can be sent twice. */
export const isRepeatable = ({ key, collection }: Resource): boolean => key === null && collection.uniques.length === 0

/** A body that creates an item, with its required fields, or else its first one; null if no valid value can be guessed. */
export function exampleBody(resource: Resource, sources: ExampleSources = {}): Record<string, unknown> | null {
  const members = resource.members.filter(({ name, from }) => from === 'caller' || name === resource.key)
  const required = members.filter((member) => member.absent === undefined)
  const { mark } = sources
  const own = { ...sources, mark: mark === undefined || isRepeatable(resource) ? '' : ` ${mark}` }
  return exampleOfFields(required.length > 0 ? required : members.slice(0, 1), resource.rules.kinds, own)
}

/** The example of a POST; the id is among its fields if the client chooses it. */
export function createExample(resource: Resource, sources: ExampleSources): Record<string, unknown> | null {
  const body = exampleBody(resource, sources)
  const isChosen = resource.settings.resource.id === 'client' && resource.key === null
  return body && (isChosen ? { id: sources.idOf?.(resource.name), ...body } : body)
}

/** The example of a PUT or PATCH: that of a POST, without the fields of the address and, in a PATCH, those that cannot change. */
export function changeExample(
  resource: Resource,
  sources: ExampleSources,
  isPatch: boolean,
): Record<string, unknown> | null {
  const body = exampleBody(resource, sources)
  const sent = resource.members.filter(({ from, immutable }) => from === 'caller' && !(isPatch && immutable))
  const names = new Set(sent.map(({ name }) => name))
  return body && Object.fromEntries(Object.entries(body).filter(([name]) => names.has(name)))
}

/** The required fields of an input. */
export const exampleInput = (input: readonly InputField[], { rules }: Resource, sources: ExampleSources = {}) =>
  exampleOfFields(
    input.filter(({ absent }) => absent === undefined),
    rules.kinds,
    sources,
  )

function exampleOfFields(
  fields: readonly ExampleField[],
  kinds: FieldKinds,
  sources: ExampleSources,
): Record<string, unknown> | null {
  const pairs = fields.map((one) => [one.name, exampleValue(one, kinds, sources)])
  return pairs.some(([, value]) => value === undefined) ? null : Object.fromEntries(pairs)
}

type ExampleField = Pick<Member, 'name' | 'field' | 'check'>

/** The first candidate that the field accepts. */
export const exampleValue = ({ name, field, check }: ExampleField, kinds: FieldKinds, sources: ExampleSources = {}) =>
  [...declaredExample(field, sources), ...candidateValues(name, field, kinds, sources)].find(
    (value) => firstFault(check, value) === undefined,
  )

/** A unique value is made anew for each request. */
const declaredExample = ({ options: { example, unique } }: Field, { mark = '' }: ExampleSources): readonly unknown[] =>
  example === undefined || (unique && mark !== '') ? [] : [example]

/** Texts are made from the name of the field. */
function candidateValues(name: string, field: Field, kinds: FieldKinds, sources: ExampleSources): readonly unknown[] {
  const { kind, item, fields, values, options, target } = field
  const { min, max, pattern } = options
  const { mark = '', idOf } = sources
  const first = (of: Field, own = name): unknown => candidateValues(own, of, kinds, sources)[0]
  if (fields) return [nestedExample(fields, first)]
  if (item) return [[first(item)], Array.from({ length: Number(min ?? 0) }, () => first(item))]
  if (target !== undefined) return [idOf?.(target)].filter((one) => one !== undefined)
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
  const words = sentenceCase(toKebab(name))
  const text = `${words}${mark || ' one'}`
  return [text.slice(0, max).padEnd(min, '.'), mark.trim().slice(0, max).padStart(min, 'a')]
}
