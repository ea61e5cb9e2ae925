/** Make: values and bodies made from a resource's fields, for tests generated from a declaration. Part 9, versioning. */
import { matchingText } from '../check/matching-text.ts'
import type { SampleSource } from '../fields/kind.ts'
import { sampleOf } from '../fields/sample.ts'
import { firstFault } from '../fields/value-check.ts'
import type { Member, Resource } from '../resources/resource.ts'
import type { Chance } from './chance.ts'

/** The choices, and the ids for references, that values of a field are made from. */
export interface ValueMaking {
  readonly chance: Chance
  /** The id of an item of a resource; undefined if there is no item. */
  readonly idOf: (resource: string) => string | undefined
}

type MadeBody = Record<string, unknown>

/** A body that a caller could send for a new item; undefined if a required field cannot be filled. */
export function makeBody(resource: Resource, making: ValueMaking): MadeBody | undefined {
  const body: MadeBody = {}
  for (const member of resource.members) {
    const sent = member.from === 'caller' || member.name === resource.key
    if (!sent || (member.absent !== undefined && making.chance.below(4) === 0)) continue
    const value = makeValue(member, resource.rules, making)
    if (value === undefined && member.absent === undefined) return undefined
    if (value !== undefined) body[member.name] = value
  }
  return body
}

const mostTries = 20

/** A value that the field's own check accepts. */
export function makeValue(
  { field, check }: Pick<Member, 'field' | 'check'>,
  { kinds }: Resource['rules'],
  { chance, idOf }: ValueMaking,
): unknown {
  const { below, mostlySmall, length } = chance
  const matching = (pattern: string) => matchingText(pattern, chance)
  const source: SampleSource = { kinds, below, sent: { idOf, matching, mostlySmall, length } }
  for (let i = 0; i < mostTries; i++) {
    const value = sampleOf(field, source)
    if (value !== undefined && firstFault(check, value) === undefined) return value
  }
  return undefined
}
