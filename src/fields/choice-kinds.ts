/** Choice kinds: booleans, enums, codes and references. Part 2, fields. */
import { addViolation } from '../errors/pointer.ts'
import { countryCodes, currencyCodes } from '../formats/codes.ts'
import { listInWords } from '../formats/naming.ts'
import { type FieldKind, generalOptions } from './kind.ts'
import { stringCheck, type ValueCheck } from './value-check.ts'

export const boolean: FieldKind = {
  options: generalOptions,
  order: 'sort',
  longest: 5,
  check: () => (value, at, faults) =>
    typeof value === 'boolean' ? value : addViolation(faults, at, 'invalid-type', 'must be true or false.'),
  plain: () => false,
  other: () => true,
}

const choice = { options: generalOptions, order: 'sort' } as const

const enumKind: FieldKind = {
  ...choice,
  check: ({ values = [] }) => memberCheck(new Set(values), `one of ${listInWords(values)}`),
  plain: ({ values = [] }) => values[0],
  other: ({ values = [] }, plain) => values[1] ?? plain,
}

export { enumKind as enum }

export const country: FieldKind = {
  ...choice,
  longest: 2,
  check: () => memberCheck(countryCodes, 'a country code of ISO 3166, as "IT"'),
  plain: () => 'IT',
  other: () => 'FR',
}

export const currency: FieldKind = {
  ...choice,
  longest: 3,
  check: () => memberCheck(currencyCodes, 'a currency code of ISO 4217, as "EUR"'),
  plain: () => 'EUR',
  other: () => 'USD',
}

export const ref: FieldKind = {
  ...choice,
  options: [...generalOptions, 'onDelete'],
  longest: 200,
  check: ({ target = '' }, { isId }) =>
    stringCheck((value, at, faults) => {
      if (isId(target, value)) return value
      return addViolation(faults, at, 'invalid-format', `must be the id of one of ${target}.`)
    }, `the id of one of ${target}`),
  plain: () => '',
  other: () => 'another',
}

function memberCheck(values: ReadonlySet<string>, what: string): ValueCheck {
  return stringCheck(
    (value, at, faults) => (values.has(value) ? value : addViolation(faults, at, 'invalid-value', `must be ${what}.`)),
    what,
  )
}
