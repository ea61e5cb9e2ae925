/** Value terms: the promises of a field to consumers, and simple values that keep them. Part 9, versioning. */
import type { Field } from './field.ts'
import { defined, type FieldKinds, type FieldTerms, fieldKind, type ValueRules } from './kind.ts'
import { absentValue, valueCheckOf } from './value-check.ts'

/** Returns the filter operators of a field by its dotted path; undefined if it has no filter. */
type OperatorsOf = (path: string) => readonly string[] | undefined

/** The terms of a valid field. */
export function termsOf(
  field: Field,
  rules: ValueRules,
  operators: OperatorsOf = () => undefined,
  path = '',
): FieldTerms {
  const { options } = field
  const usual = absentValue(field, rules, valueCheckOf(field, rules))
  const said = (option: unknown) => (option === true ? (true as const) : undefined)
  const {
    default: _,
    nullable,
    ...values
  } = valueTerms(field, rules, (one, name) =>
    name === '' ? termsOf(one, rules) : termsOf(one, rules, operators, `${path}.${name}`),
  )
  return defined<FieldTerms>({
    ...values,
    nullable,
    required: usual === undefined ? true : undefined,
    default: usual ?? undefined,
    readOnly: said(options.readOnly),
    writeOnly: said(options.writeOnly),
    read: options.read,
    write: options.write,
    immutable: said(options.immutable),
    unique: said(options.unique),
    fold: said(options.fold),
    search: said(options.search),
    sort: said(options.sort),
    filter: operators(path),
    title: options.title,
    description: options.description,
    example: options.example,
    personal: said(options.personal),
    deprecated: said(options.deprecated),
  })
}

/** The terms that limit the values; the field need not be valid. */
function valueTerms(
  field: Field,
  rules: ValueRules,
  inner: (field: Field, name: string) => FieldTerms = (one) => valueTerms(one, rules),
): FieldTerms {
  const { kind, options, values, item, fields } = field
  const members = Object.entries(fields ?? {}).map(([name, one]) => [name, inner(one, name)] as const)
  return defined<FieldTerms>({
    kind,
    ...fieldKind(kind, rules.kinds).terms?.(field, rules),
    values,
    item: item && inner(item, ''),
    fields: fields && Object.fromEntries(members),
    nullable: options.optional === true ? true : undefined,
    default: options.default,
  })
}

/** What a contract promises: terms without the parts that are for readers only, in an order that does not depend on the declaration. */
export const promisedTerms = ({
  title: _,
  description: __,
  example: ___,
  personal: ____,
  deprecated: _____,
  item,
  fields,
  ...terms
}: FieldTerms): FieldTerms =>
  defined<FieldTerms>({
    ...terms,
    values: terms.values?.toSorted(),
    filter: terms.filter?.toSorted(),
    item: item && promisedTerms(item),
    fields: fields && sortMembers(Object.entries(fields).map(([name, one]) => [name, promisedTerms(one)])),
  })

/** Sorts members by name, so that equal contracts have equal texts. */
export const sortMembers = <T>(entries: Iterable<readonly [string, T]>): Record<string, T> =>
  Object.fromEntries([...entries].toSorted(([a], [b]) => (a < b ? -1 : 1)))

/** A simple value that keeps the terms, never null. */
export const plainValue = (terms: FieldTerms, kinds: FieldKinds): unknown =>
  fieldKind(terms.kind, kinds).plain(terms, (one) => one.default ?? (one.nullable ? null : plainValue(one, kinds)))

/** A simple value of a field, and another one if the kind has more than one; the other one may break bounds. */
export function plainValues(field: Field, rules: ValueRules): readonly [plain: unknown, other: unknown] {
  const terms = valueTerms(field, rules)
  const plain = plainValue(terms, rules.kinds)
  return [plain, fieldKind(field.kind, rules.kinds).other?.(terms, plain) ?? plain]
}
