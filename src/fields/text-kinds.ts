/** Text kinds: texts, e-mail addresses and URLs. Part 2, fields. */
import { addViolation } from '../errors/pointer.ts'
import { emailPattern, urlPattern } from '../formats/address-patterns.ts'
import { lengthsOf, lengthTerms } from './bounds.ts'
import type { Field } from './field.ts'
import {
  type BoundReader,
  boundedOptions,
  countBound,
  defined,
  type FieldKind,
  type FieldTerms,
  type JsonSchema,
  type SampleSource,
} from './kind.ts'
import { pickSample, sampleLetters, sampleSome, sampleWord } from './sample.ts'
import { codePoints, stringCheck, type ValueCheck } from './value-check.ts'

const textual = (length: number) => ({
  options: [...boundedOptions, 'pattern', 'fold', 'search'],
  order: 'range' as const,
  length,
  bound: (): BoundReader => [countBound(0), 'a whole number from 0, as 1'],
  terms: (field: Field) => lengthTerms(field, length),
})

const lengthSchema = ({ min, max, pattern }: FieldTerms): JsonSchema =>
  defined({ minLength: min, maxLength: max, pattern })

export const text: FieldKind = {
  ...textual(10_000),
  check: (field) => textCheck(field, 10_000),
  schema: (terms) => ({ type: 'string', ...lengthSchema(terms) }),
  plain: ({ min, max }) => 'unknown'.slice(0, Number(max ?? 7)).padEnd(Number(min ?? 0), '.'),
  other: (_, plain) => `v${String(plain).slice(1)}`,
  sample: sampleText,
}

export const email: FieldKind = {
  ...textual(254),
  check: (field) =>
    checkBoth(textCheck(field, 254), matchCheck(isEmail, 'must be an e-mail address, as ann@example.com.')),
  schema: (terms, use, { shared }) => {
    const schema = { type: 'string', format: 'email', pattern: emailPattern.source, ...lengthSchema(terms) }
    if (use === 'asked') return shared('EmailAddressInput', schema)
    const isUsual = terms.pattern === undefined && terms.min === undefined && terms.max === 254
    return isUsual ? shared('EmailAddress', { ...schema, examples: ['ann@example.com'] }) : schema
  },
  plain: () => 'nobody@example.com',
  other: () => 'somebody@example.com',
  examples: (_, mark) => [`ann${mark}@example.com`],
  sample: (_, source) => {
    const word = (most: number) => sampleLetters(1 + source.below(most), source).toLowerCase()
    return `${word(12)}@${word(8)}.example`
  },
}

export const url: FieldKind = {
  ...textual(2048),
  check: (field) => checkBoth(textCheck(field, 2048), matchCheck(isUrl, 'must be an absolute http or https URL.')),
  schema: (terms, use) => ({
    type: 'string',
    ...(use === 'answered' ? {} : { format: 'uri' }), // stored URLs need not be valid URIs
    pattern: urlPattern.source,
    ...lengthSchema(terms),
  }),
  plain: () => 'https://example.com/',
  other: () => 'https://example.com/other',
  examples: (_, mark) => [`https://example.com/${mark}`],
  sample: (_, source) =>
    `https://${sampleLetters(3, source).toLowerCase()}.example/${sampleSome(3, source, () => sampleLetters(2, source)).join('/')}`,
}

function checkBoth(first: ValueCheck, second: ValueCheck): ValueCheck {
  return (value, at, faults) => {
    const before = faults.length
    const read = first(value, at, faults)
    return faults.length > before ? undefined : second(read, at, faults)
  }
}

function matchCheck(test: (text: string) => boolean, says: string): ValueCheck {
  return (value, at, faults) => (test(value as string) ? value : addViolation(faults, at, 'invalid-format', says))
}

function textCheck(field: Field, length: number): ValueCheck {
  const [{ min, max }, { pattern }] = [lengthsOf(field, length), field.options]
  const expression = pattern === undefined ? undefined : new RegExp(pattern, 'u')
  return stringCheck((value, at, faults) => {
    const length = value.length <= max && value.length >= min * 2 ? value.length : codePoints(value)
    if (length > max) return addViolation(faults, at, 'too-long', `must be at most ${max} characters long.`)
    if (length < min) return addViolation(faults, at, 'too-short', `must be at least ${min} characters long.`)
    if (expression && !expression.test(value))
      return addViolation(faults, at, 'invalid-format', `must match ${pattern}.`)
    return value
  })
}

const isEmail = (value: string): boolean => emailPattern.test(value)

const isUrl = (value: string): boolean => urlPattern.test(value) && URL.canParse(value)

const separators = [' ', ' ', ' ', ', ', '-', '/', ':', '.', '|', '_', '  ', '\n']
const characters = [...'abcdefghijklmnopqrstuvwxyzAZ09 -_%\'"\\/.,<&', 'é', 'ß', 'Ω', '漢', 'א', '😀', 'e\u0301']
const [mostSampled, mostSent] = [400, 300]

/** Few or many words, at most as long as the field allows. */
function sampleText(field: Field, source: SampleSource): string {
  const { min, max, pattern } = field.options
  if (source.sent)
    return pattern === undefined ? sentText(field, source, source.sent.length) : source.sent.matching(pattern)
  const [least, most] = [Number(min ?? 0), Math.min(Number(max ?? mostSampled), mostSampled)]
  const joint = pickSample(separators, source)
  const some = sampleSome(4, source, () => sampleWord(source)).join(joint)
  const whole = source.below(6) === 0 ? `${some} ${sampleWord(source)}`.repeat(40) : some
  return [...whole.padEnd(least, 'a')].slice(0, Math.max(least, most)).join('')
}

function sentText(field: Field, source: SampleSource, chosen: (count: number) => number): string {
  const { min, max } = lengthsOf(field, 10_000)
  const length = min + chosen(Math.min(max, Math.max(min, mostSent)) - min + 1)
  return [...Array.from({ length }, () => pickSample(characters, source)).join('')].slice(0, max).join('')
}
