/** Plain value: simple values that fit a field, used as samples. Part 2, fields. */
import type { Field } from '../fields/field.ts'
import type { ValueTerms } from '../fields/kind.ts'
import { standardKinds } from '../fields/kinds.ts'

export function valueTerms({ kind, options, values, item, fields }: Field): ValueTerms {
  const { min, max, scale, optional, default: usual } = options
  return {
    kind,
    ...(min === undefined ? {} : { min: min as number | string }),
    ...(max === undefined ? {} : { max: max as number | string }),
    ...(scale === undefined ? {} : { scale }),
    ...(values === undefined ? {} : { values }),
    ...(item === undefined ? {} : { item: valueTerms(item) }),
    ...(fields === undefined
      ? {}
      : { fields: Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, valueTerms(one)])) }),
    ...(optional ? { nullable: true as const } : {}),
    ...(usual === undefined ? {} : { default: usual }),
  }
}

/** A simple value that fits a field, never null. */
export const plainValue = (terms: ValueTerms): unknown => standardKinds[terms.kind].plain(terms, standardKinds)

/** A value other than the plain one, for kinds that have more than one; it may violate bounds. */
export function otherPlainValue(terms: ValueTerms): unknown {
  const value = plainValue(terms)
  return standardKinds[terms.kind].other?.(terms, value) ?? value
}
