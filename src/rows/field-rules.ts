/** Field rules: which stored values fit the declaration, as an earlier one may have allowed others. Part 2, fields. */
import { addViolation } from '../errors/pointer.ts'
import { type Bounds, boundsOf } from '../fields/bounds.ts'
import type { ValueCheck } from '../fields/check-members.ts'
import type { Field } from '../fields/field.ts'
import type { ValueRules } from '../fields/kind.ts'
import type { IdCheck } from '../formats/id.ts'

/** The rule for stored values of a field. */
interface FieldRule {
  readonly bounds: Bounds
  readonly check: ValueCheck
  /** Whether it is the id or the key: then an item whose value does not fit could not be addressed. */
  readonly addresses: boolean
  /** The states, if it holds the state of an item: then every item has one of them. R220. */
  readonly states: readonly string[] | null
}

export type FieldRules = ReadonlyMap<string, FieldRule>

interface RuledMember {
  readonly name: string
  readonly field: Field
  readonly check: ValueCheck
  readonly from: 'caller' | 'address' | 'service'
}

/** The rules of declared fields, and of the id if there is no key. */
export function fieldRulesOf(
  members: readonly RuledMember[],
  key: string | null,
  isId: IdCheck,
  values: ValueRules,
  state?: string,
): FieldRules {
  const rules = new Map<string, FieldRule>()
  const { id } = values.settings.resource
  const check: ValueCheck = (value, at, faults) =>
    isId(value as string) ? value : addViolation(faults, at, 'invalid-format', 'must be an id as the service makes it.')
  const kind = `id ${typeof id === 'function' ? 'made' : id}`
  if (key === null) rules.set('id', { bounds: { kind }, check, addresses: true, states: null })
  for (const { name, field, check, from } of members)
    if (field.options.derived === undefined && (from === 'caller' || name === key || field.options.readOnly))
      rules.set(name, {
        bounds: boundsOf(field, values),
        check,
        addresses: name === key,
        states: name === state ? (field.values ?? []) : null,
      })
  return rules
}
