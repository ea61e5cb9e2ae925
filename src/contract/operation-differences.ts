/** Operation differences: how the inputs and outputs of operations differ between two contracts. Part 9, versioning. */
import { compareMembers, type Difference } from './difference.ts'
import { fieldDifferences } from './field-differences.ts'
import type { OperationsOfContract } from './operation-contract.ts'

const sent = { whole: true, changes: true, sends: true, answers: false, lists: false } as const
const answered = { whole: false, changes: false, sends: false, answers: true, lists: false } as const

/** Added and removed operations differ in their paths. */
export const operationDifferences = (
  place: string,
  { calls: before = {} }: OperationsOfContract,
  { calls: after = {} }: OperationsOfContract,
): Difference[] =>
  compareMembers(before, after, (name, had, has) => {
    if (!had || !has) return []
    const at = `${place}.operations.${name}`
    const found = [
      ...fieldDifferences(`${at}.input`, had.input, has.input, sent),
      ...fieldDifferences(`${at}.output`, had.output, has.output, answered),
    ]
    return found.map((one) => ({ ...one, what: 'fixed' }))
  })
