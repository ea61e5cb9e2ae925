/** Choice kinds: booleans, enums, codes and references. Part 2, fields. */
import { addViolation } from '../errors/pointer.ts'
import { countryCodes, currencyCodes } from '../formats/codes.ts'
import { listInWords } from '../formats/naming.ts'
import type { Field } from './field.ts'
import { type FieldKind, generalOptions } from './kind.ts'
import { pickSample, sampleLetters } from './sample.ts'
import { stringCheck, type ValueCheck, valueInWords } from './value-check.ts'

const choice = { options: generalOptions, order: 'sort' } as const

export const boolean: FieldKind = {
  ...choice,
  longest: 5,
  check: () => (value, at, faults) =>
    typeof value === 'boolean' ? value : addViolation(faults, at, 'invalid-type', 'must be true or false.'),
  parse: [(text) => (/^(true|false)$/.test(text) ? text === 'true' : undefined), 'true or false'],
  cell: () => ({ type: 'integer', cell: (value) => (value ? 1 : 0), value: (text) => text === '1' }),
  schema: () => ({ type: 'boolean' }),
  plain: () => false,
  other: () => true,
  examples: () => [true],
  sample: (_, { below }) => below(2) === 1,
}

const enumKind: FieldKind = {
  ...choice,
  faults: enumFaults,
  check: ({ values = [] }) => memberCheck(new Set(values), `one of ${listInWords(values)}`),
  // The list is empty if not all stored values are known.
  schema: ({ values = [] }) => ({ type: 'string', ...(values.length > 0 && { enum: values }) }),
  plain: ({ values = [] }) => values[0],
  other: ({ values = [] }, plain) => values[1] ?? plain,
  sample: ({ values = [] }, source) => pickSample(values, source),
}

export { enumKind as enum }

function* enumFaults({ values }: Field) {
  const listed: readonly unknown[] = Array.isArray(values) ? values : []
  if (listed.length === 0) yield ['The enum has no values.', "List them, as f.enum(['open', 'closed'])."] as const
  const odd = listed.find((one) => typeof one !== 'string' || one === '')
  const mend = 'Write each value as a text that is not empty.'
  if (odd !== undefined) yield [`The value ${valueInWords(odd)} of the enum is not a name.`, mend] as const
  const twice = listed.find((one, i) => listed.indexOf(one) < i)
  if (twice !== undefined) yield [`The enum has ${valueInWords(twice)} twice.`, 'Write each value once.'] as const
}

interface CodeTable {
  readonly codes: ReadonlySet<string>
  /** The words for a value in messages. */
  readonly what: string
  /** The name and the description of the schema that all fields of the kind share. */
  readonly name: string
  readonly about: string
  readonly samples: readonly string[]
}

const codeKind = ({ codes, what, name, about, samples: [first = '', ...others] }: CodeTable): FieldKind => ({
  ...choice,
  longest: first.length,
  check: () => memberCheck(codes, what),
  schema: (_, __, { shared }) =>
    shared(name, { type: 'string', enum: [...codes], description: about, examples: [first] }),
  bare: `[A-Z]{${first.length}}`,
  plain: () => first,
  other: () => others[0],
  sample: (_, source) => pickSample(source.sent ? [...codes] : [first, ...others], source),
})

export const country: FieldKind = codeKind({
  codes: countryCodes,
  what: 'a country code of ISO 3166, as "IT"',
  name: 'CountryCode',
  about: 'A country code of ISO 3166-1 alpha-2.',
  samples: ['IT', 'FR', 'DE', 'US', 'GB', 'JP', 'BR'],
})

export const currency: FieldKind = codeKind({
  codes: currencyCodes,
  what: 'a currency code of ISO 4217, as "EUR"',
  name: 'CurrencyCode',
  about: 'A currency code of ISO 4217.',
  samples: ['EUR', 'USD', 'JPY', 'GBP'],
})

export const ref: FieldKind = {
  ...choice,
  options: [...generalOptions, 'onDelete'],
  longest: 200,
  check: ({ target = '' }, { isId }) =>
    stringCheck((value, at, faults) => {
      if (isId(target, value)) return value
      return addViolation(faults, at, 'invalid-format', `must be the id of one of ${target}.`)
    }, `the id of one of ${target}`),
  terms: ({ target = '', options: { onDelete = 'restrict' } }) => ({ to: target, onDelete }),
  schema: ({ to = '' }, _, { idSchema }) => idSchema(to),
  bare: true,
  plain: () => '',
  other: () => 'another',
  examples: () => [],
  sample: ({ target = '' }, source) =>
    source.sent
      ? source.sent.idOf(target)
      : `${sampleLetters(3, source).toLowerCase()}_${sampleLetters(6, source).toLowerCase()}`,
}

function memberCheck(values: ReadonlySet<string>, what: string): ValueCheck {
  return stringCheck(
    (value, at, faults) => (values.has(value) ? value : addViolation(faults, at, 'invalid-value', `must be ${what}.`)),
    what,
  )
}
