/** Reads the schemas of an OpenAPI document: resolves references, checks values, finds members that no schema names. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats, { type FormatsPlugin } from 'ajv-formats'

export type Schema = Readonly<Record<string, unknown>>
export type Doc = Readonly<Record<string, unknown>>

/** Returns the mistakes of a value as texts. */
export type Check = (value: unknown) => string[]

export interface Schemas {
  /** Resolves references. */
  readonly at: (part: unknown) => Schema
  readonly check: (schema: Schema, value: unknown) => string[]
  /** The places of members of a value that no schema names. */
  readonly unnamed: (schema: Schema, value: unknown) => string[]
  /** The allowed texts of a member, or of its first item, in all alternatives; null if none lists any. */
  readonly texts: (schema: Schema, member: string) => ReadonlySet<string> | null
}

const shared = '#/components/schemas/'
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const partsOf = (schema: Schema, words: readonly string[]): Schema[] =>
  words.flatMap((word) => {
    const part = schema[word]
    return Array.isArray(part) ? part : isObject(part) ? [part] : []
  })
const alternatives = ['anyOf', 'oneOf', 'then', 'else'] as const
const inPlace = ['allOf', ...alternatives] as const

/** The part of a document at a JSON Pointer. */
function pointed(document: Doc, pointer: string): unknown {
  const steps = pointer.slice(2).split('/')
  const named = steps.map((step) => decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'))
  return named.reduce<unknown>((part, step) => (isObject(part) ? part[step] : undefined), document)
}

/** A copy of a schema whose references lead to the schema `shared`, so that it can be compiled alone. */
function rooted(part: unknown, marks: Set<string>): unknown {
  if (Array.isArray(part)) return part.map((one) => rooted(one, marks))
  if (!isObject(part)) return part
  return Object.fromEntries(
    Object.entries(part).map(([name, value]) => {
      if (name.startsWith('x-')) marks.add(name)
      if (name === '$ref' && typeof value === 'string' && value.startsWith(shared))
        return [name, `shared#/$defs/${value.slice(shared.length)}`]
      return [name, name === 'enum' || name === 'const' || name === 'default' ? value : rooted(value, marks)]
    }),
  )
}

/** A validator that refuses keywords and formats that JSON Schema does not have. */
function strict(): Ajv2020 {
  const ajv = new Ajv2020({
    ...{ strict: true, strictTypes: false, strictTuples: false, strictRequired: false, allowUnionTypes: true },
    ...{ allErrors: true, validateSchema: false, meta: false },
  })
  ;(addFormats as unknown as FormatsPlugin)(ajv)
  for (const word of ['example', 'externalDocs', 'xml']) ajv.addKeyword(word)
  return ajv
}

/** Compiles each schema when it is first used. */
export function schemasOf(document: Doc): Schemas {
  const ajv = strict()
  const marks = new Set<string>()
  const known = new Set<string>()
  const { schemas = {} } = (document.components ?? {}) as { schemas?: object }
  const compiled = new WeakMap<Schema, ValidateFunction>()
  const ready = (schema: Schema): ValidateFunction => {
    const made = compiled.get(schema) ?? compile(schema)
    compiled.set(schema, made)
    return made
  }
  const compile = (schema: Schema): ValidateFunction => {
    const alone = rooted(schema, marks) as Schema
    if (!ajv.getSchema('shared')) ajv.addSchema({ $id: 'shared', $defs: rooted(schemas, marks) })
    for (const mark of marks) if (!known.has(mark)) ajv.addKeyword(mark)
    for (const mark of marks) known.add(mark)
    return ajv.compile(alone)
  }
  const at = (part: unknown): Schema => {
    const { $ref } = (part ?? {}) as { $ref?: string }
    if ($ref === undefined) return (part ?? {}) as Schema
    const found = pointed(document, $ref)
    if (found === undefined) throw new Error(`${$ref} leads nowhere.`)
    return at(found)
  }
  const check = (schema: Schema, value: unknown): string[] => {
    const validate = ready(schema)
    if (validate(value)) return []
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath || '/'} ${message} ${JSON.stringify(params)}`,
    )
  }
  return {
    at,
    check,
    unnamed: (schema, value) => unnamedIn([schema], value, '', at),
    texts: (schema, member) => textsOf(schema, member, at),
  }
}

/** All schemas of a value, including alternatives and combined schemas. */
function spread(schemas: readonly unknown[], at: Schemas['at']): Schema[] {
  return schemas.flatMap((part) => {
    if (!isObject(part)) return []
    const own = at(part)
    const beside = own === part ? [] : [{ ...part, $ref: undefined }]
    return [own, ...beside, ...spread(partsOf(own, inPlace), at)]
  })
}

function unnamedIn(schemas: readonly unknown[], value: unknown, place: string, at: Schemas['at']): string[] {
  const all = spread(schemas, at)
  if (Array.isArray(value))
    return value.flatMap((one, i) => {
      const items = all.flatMap(({ items, prefixItems }) => (prefixItems as unknown[])?.[i] ?? items ?? [])
      return unnamedIn(items, one, `${place}/${i}`, at)
    })
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, member]) => {
    const about = all.flatMap((schema) => membersOf(schema, name))
    return about.length === 0 ? [`${place}/${name}`] : unnamedIn(about, member, `${place}/${name}`, at)
  })
}

/** The schemas of a member. */
function membersOf({ properties = {}, patternProperties = {}, additionalProperties }: Schema, name: string): Schema[] {
  const own = (properties as Record<string, Schema>)[name]
  const byPattern = Object.entries(patternProperties as object).filter(([pattern]) =>
    new RegExp(pattern, 'u').test(name),
  )
  const named = [...(own === undefined ? [] : [own]), ...byPattern.map(([, schema]) => schema as Schema)]
  return named.length === 0 && isObject(additionalProperties) ? [additionalProperties] : named
}

/** All texts that the schemas of a value list as `const` or `enum`. */
const listed = (schemas: readonly unknown[], at: Schemas['at']): string[] =>
  spread(schemas, at)
    .flatMap(({ const: only, enum: some }) => [...(only === undefined ? [] : [only]), ...((some ?? []) as unknown[])])
    .map(String)

/** The allowed texts of a member, or of the first of its items. */
function textsOf(schema: Schema, member: string, at: Schemas['at']): ReadonlySet<string> | null {
  const said = spread([schema], at).flatMap(
    (part) => (part.properties as Record<string, Schema> | undefined)?.[member] ?? [],
  )
  const first = spread(said, at).flatMap(({ prefixItems }) => (prefixItems as unknown[] | undefined)?.[0] ?? [])
  const found = new Set(listed([...said, ...first], at))
  return found.size === 0 ? null : found
}
