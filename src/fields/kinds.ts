/** Kinds: the list of all kinds of fields. Part 2, fields. */
import * as choices from './choice-kinds.ts'
import type { Kind } from './field.ts'
import { file } from './file-kind.ts'
import { boundedOptions, type FieldKind } from './kind.ts'
import * as numbers from './number-kinds.ts'
import * as structures from './structure-kinds.ts'
import * as texts from './text-kinds.ts'
import * as times from './time-kinds.ts'

/** Stands for the field of a concept until it is resolved. */
const concept: FieldKind = {
  options: [...boundedOptions, 'pattern', 'fold', 'search'],
  order: 'none',
  check: ({ target }) => {
    throw new Error(`Concept ${target} was not resolved.`)
  },
  schema: () => ({}),
  plain: () => '',
  sample: () => undefined,
}

export const standardKinds: Readonly<Record<Kind, FieldKind>> = {
  ...texts,
  ...numbers,
  ...times,
  ...choices,
  ...structures,
  file,
  concept,
}
