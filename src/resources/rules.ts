/** Rules: what the stored values of a resource have to be, to judge rows that an earlier declaration allowed. Part 2, fields. */
import { fault } from '../errors/place.ts'
import { type Bounds, boundsOf } from './bounds.ts'
import type { Field } from './field.ts'
import type { IdCheck } from './id.ts'
import type { Check } from './members.ts'
import type { Settings } from './settings.ts'

/** What a value of a field has to be. */
interface FieldRule {
  readonly bounds: Bounds
  readonly check: Check
  /** Whether items are addressed by it, so that no item could be reached whose value does not fit. */
  readonly addresses: boolean
}

export type FieldRules = ReadonlyMap<string, FieldRule>

interface Judged {
  readonly name: string
  readonly field: Field
  readonly check: Check
  readonly from: 'caller' | 'address' | 'service'
}

/** The rules of declared fields, and of ids where there is no key. */
export function rulesOf(members: readonly Judged[], key: string | null, isId: IdCheck, settings: Settings): FieldRules {
  const rules = new Map<string, FieldRule>()
  const { id } = settings.resource
  const check: Check = (value, at, faults) =>
    isId(value as string) ? value : fault(faults, at, 'invalid-format', 'must be an id as the service makes it.')
  const kind = `id ${typeof id === 'function' ? 'made' : id}`
  if (key === null) rules.set('id', { bounds: { kind }, check, addresses: true })
  for (const { name, field, check, from } of members)
    if (from === 'caller' || name === key || field.options.readOnly)
      rules.set(name, { bounds: boundsOf(field, settings), check, addresses: name === key })
  return rules
}
