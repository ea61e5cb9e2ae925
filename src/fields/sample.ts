/** Sample: makes values of fields from choices, random ones for requests and fixed ones to try functions. Part 9. */
import type { Field } from './field.ts'
import { fieldKind, type SampleSource } from './kind.ts'

/** A sample of a field; sometimes null if the field is optional. */
export const sampleOf = (field: Field, source: SampleSource): unknown =>
  field.options.optional && source.below(4) === 0 ? null : fieldKind(field.kind, source.kinds).sample(field, source)

export const pickSample = <T>(all: readonly T[], { below }: SampleSource): T => all[below(all.length)] as T

export const sampleSome = <T>(most: number, { below }: SampleSource, make: () => T): T[] =>
  Array.from({ length: below(most + 1) }, make)

/** Capital letters. */
export const sampleLetters = (length: number, { below }: SampleSource): string =>
  Array.from({ length }, () => String.fromCharCode(65 + below(26))).join('')

const words = [
  ...[
    'Ann',
    'lee',
    'VAN',
    'der',
    'Élodie',
    'O’Neil',
    'x',
    '7',
    '42',
    '2026',
    'a-b',
    'Straße',
    '漢字',
    '😀',
    '',
    'gold',
  ],
  ...['1.5', '-3', '+39', 'ann@example.com', 'a,b', 'IT', 'true', 'null', 'plain', 'Main', 'No.', "d'Arc", '%', '\t'],
]

export const sampleWord = (source: SampleSource): string => pickSample(words, source)
