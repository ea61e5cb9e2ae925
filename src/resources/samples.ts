/** Samples: fixed documents with all kinds of values, to tell change functions apart by results. Part 9, versions. */

import type { ValueCheck } from '../fields/check-members.ts'
import type { Field } from '../fields/field.ts'
import type { FieldKinds, SampleSource } from '../fields/kind.ts'
import { sampleOf } from '../fields/sample.ts'
import { firstFault } from '../fields/value-check.ts'
import { digestOf } from '../formats/digest.ts'

const sampleCount = 96
/** Attempts at a value that fits its field. */
const mostTries = 6

/** Returns the next pseudo-random number below a limit. */
type NextNumber = SampleSource['below']

/** Seeded by the name alone, so that the samples of a field do not depend on the other declarations. */
function numbersFor(name: string): NextNumber {
  let state = digestOf(name)
  return (below) => {
    state = (state + 0x9e3779b9) | 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
    return ((mixed ^ (mixed >>> 16)) >>> 0) % below
  }
}

/** A field of a resource. */
interface SampledMember {
  readonly name: string
  readonly field: Field
  readonly check: ValueCheck
  readonly writeOnly: boolean
}

interface SampledResource {
  readonly members: readonly SampledMember[]
  readonly rules: { readonly kinds: FieldKinds }
}

export const samples = ({ members, rules: { kinds } }: SampledResource): readonly Readonly<Record<string, unknown>>[] =>
  Array.from({ length: sampleCount }, (_, i) =>
    Object.fromEntries(members.map((member) => [member.name, sampleMember(member, i, kinds)])),
  )

function sampleMember({ name, field, check, writeOnly }: SampledMember, nth: number, kinds: FieldKinds): unknown {
  if (writeOnly) return null
  const source = { kinds, below: numbersFor(`${name} ${nth}`) }
  let value: unknown = null
  for (let i = 0; i < mostTries; i++) {
    value = sampleOf(field, source)
    if (firstFault(check, value) === undefined) break
  }
  return value
}
