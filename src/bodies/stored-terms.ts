/** Stored terms: terms of fields that also allow stored values which do not fit the declaration. Part 13. */

import type { Bounds, Misfits } from '../fields/bounds.ts'
import type { FieldTerms } from '../fields/kind.ts'
import type { ServedVersion } from '../flow/route.ts'
import { decimalPattern } from '../formats/number-texts.ts'

export type TermsOf = (resource: string) => Readonly<Record<string, FieldTerms>>

/** Fields by collection. */
export type UnfilledFields = readonly (readonly [collection: string, fields: readonly string[]])[]

/** The terms for answers, and for values that are sent back: wider than declared if rows do not fit. */
export function storedTerms(
  { resources, namesOf, unlinked }: ServedVersion,
  termsOf: TermsOf,
  misfits: Misfits,
  unfilled: UnfilledFields,
): TermsOf {
  const wider = Object.entries(misfits).flatMap(([collection, fields]) =>
    Object.entries(fields).map(([field, { wide }]) => {
      return { collection, field, widen: (terms: FieldTerms) => widenTerms(terms, wide) }
    }),
  )
  const nullable = unfilled.flatMap(([collection, fields]) =>
    fields.map((field) => ({ collection, field, widen: withNull })),
  )
  const termsByName = new Map(
    [...resources.keys()].map((name) => {
      const terms = { ...termsOf(name) }
      for (const field of unlinked(name)) terms[field] = withNull(terms[field] as FieldTerms)
      return [name, terms]
    }),
  )
  const all = [...wider, ...nullable]
  for (const { collection, field, widen } of all)
    for (const [resource, terms] of termsByName)
      for (const name of namesOf(resource, collection, field)) {
        const own = terms[name]
        if (own) terms[name] = widen(own)
      }
  return (resource) => termsByName.get(resource) ?? termsOf(resource)
}

const withNull = (terms: FieldTerms): FieldTerms => ({ ...terms, nullable: true })

/** Widens terms to stored values. If a version converts the field to another kind, its bounds are unknown. */
function widenTerms(terms: FieldTerms, wide: Bounds): FieldTerms {
  const { min: _, max: __, pattern: ___, keys, keyLength, valueLength, ...rest } = terms
  if (terms.kind !== wide.kind) return { ...rest, nullable: true }
  const { item, fields = {} } = terms
  const inner = Object.entries(fields).map(([name, one]) => {
    const bounds = wide.fields?.[name]
    return [name, bounds ? widenTerms(one, bounds) : one]
  })
  const { min, max, precision = 0, scale = 0 } = wide
  const digits = terms.kind === 'decimal' ? { precision, scale, pattern: decimalPattern(precision, scale, false) } : {}
  const isBare = wide.kind === 'list' || terms.kind === 'text' || terms.kind === 'email' || terms.kind === 'url'
  const bounds = {
    pattern: wide.pattern,
    min: isBare && min === 0 ? undefined : min,
    max,
    ...digits,
    ...metadataSizes(wide),
  }
  return {
    ...rest,
    ...(Object.fromEntries(Object.entries(bounds).filter(([, one]) => one !== undefined)) as Partial<FieldTerms>),
    ...(wide.nullable && { nullable: true as const }),
    ...(terms.values && { values: allValues(terms.values, wide.values) }),
    ...(item && { item: wide.item ? widenTerms(item, wide.item) : item }),
    ...(terms.fields && { fields: Object.fromEntries(inner) }),
  }
}

const metadataSizes = ({ keys, keyLength, valueLength }: Bounds) => ({ keys, keyLength, valueLength })

/** The values of an enum; empty if some stored values are unknown. */
const allValues = (own: readonly string[], stored: readonly string[] | undefined): readonly string[] =>
  stored === undefined ? [] : [...new Set([...own, ...stored])]
