/** Described members: the fields that describe the members of the groups of a summary. Part 13. R236. */
import type { Field } from '../fields/field.ts'
import type { Summary, TimePart, ValueMember } from '../fields/summary.ts'
import type { DescribedMember } from '../flow/route.ts'
import { averageDigits } from './shown-groups.ts'

const partPatterns: Readonly<Record<TimePart, string>> = {
  day: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$',
  month: '^[0-9]{4}-[0-9]{2}$',
  year: '^[0-9]{4}$',
}

/** The members of each group. Values of a field are described like the field. */
export const describedMembers = ({ groups, values }: Summary): DescribedMember[] => [
  { name: 'id', field: { kind: 'text', options: {} } },
  ...groups.map(({ member, path, part }) =>
    part === null ? { name: member, as: path } : { name: member, field: text(partPatterns[part], true) },
  ),
  { name: 'count', field: { kind: 'integer', options: { min: 0 } } },
  ...values.map(describedValue),
]

function describedValue({ member, of, path, field }: ValueMember): DescribedMember {
  if (of === 'min' || of === 'max') return { name: member, as: path }
  const scale = (field.options.scale ?? 0) + (of === 'average' ? averageDigits : 0)
  const fraction = scale === 0 ? '' : `\\.[0-9]{${scale}}`
  return { name: member, field: text(`^-?(0|[1-9][0-9]*)${fraction}$`, of === 'average') }
}

const text = (pattern: string, optional: boolean): Field => ({ kind: 'text', options: { pattern, optional } })
