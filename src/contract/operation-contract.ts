/** Operation contract: the promises to consumers about declared operations and summaries. Part 9, versioning. */
import type { FieldTerms, ValueRules } from '../fields/kind.ts'
import type { Summary } from '../fields/summary.ts'
import { promisedTerms, sortMembers, termsOf } from '../fields/value-terms.ts'
import type { InputField } from '../resources/machine.ts'
import type { Resource } from '../resources/resource.ts'
import { compareMembers, type Difference, makeDifference } from './difference.ts'

type Terms = { readonly [name: string]: FieldTerms }

/** The declared operations of a resource; missing if there are none. Their places and rules are among its paths. */
export interface OperationsOfContract {
  readonly calls?: {
    readonly [name: string]: { readonly input: Terms; readonly output: Terms; readonly asynchronous?: true }
  }
}

/** The promises of fields that belong to no item. */
export const fieldContract = (fields: readonly InputField[], rules: ValueRules): Terms =>
  sortMembers(fields.map((one) => [one.name, promisedTerms(termsOf(one.field, rules, undefined, one.name))]))

export function operationContract({ operations, rules }: Resource): OperationsOfContract {
  const terms = (all: readonly InputField[]) => fieldContract(all, rules)
  const calls = operations.map(
    ({ name, input, output, asynchronous }) =>
      [name, { input: terms(input), output: terms(output), ...(asynchronous && { asynchronous }) }] as const,
  )
  return calls.length === 0 ? {} : { calls: sortMembers([...calls]) }
}

/** Whether lists of a resource are exported; missing if not. */
interface ExportsOfContract {
  readonly exports?: true
}

const exportDifferences = (place: string, had: ExportsOfContract, has: ExportsOfContract): Difference[] => {
  if (had.exports === has.exports) return []
  const at = `${place}.exports`
  return has.exports
    ? [makeDifference(at, 'additive', 'Its list can be exported.')]
    : [makeDifference(at, 'breaking', 'Its list cannot be exported any more.', 'Leave `exports: true`.', 'fixed')]
}

/** What lists offer besides their pages: the declared summaries by the last part of their URLs; missing if there are none. */
export interface ListsOfContract extends ExportsOfContract {
  readonly summaries?: { readonly [segment: string]: SummaryContract }
}

/** The meanings of the members of a summary's groups: those that make the groups, and those of their values. */
interface SummaryContract {
  readonly groups: { readonly [member: string]: string }
  readonly values: { readonly [member: string]: string }
}

export const listContract = ({ summaries, exports }: Resource): ListsOfContract => ({
  ...(exports && { exports }),
  ...(summaries.length > 0 && { summaries: sortMembers(summaries.map((one) => [one.segment, meaningsIn(one)])) }),
})

const meaningsIn = ({ groups, values }: Summary): SummaryContract => ({
  groups: sortMembers(
    groups.map(({ member, path, part }) => [member, part === null ? path : `the ${part} of ${path}`]),
  ),
  values: sortMembers(values.map(({ member, of, path }) => [member, `the ${of} of ${path}`])),
})

/** How exports and the groups of summaries differ. */
export const listDifferences = (place: string, before: ListsOfContract, after: ListsOfContract): Difference[] => [
  ...exportDifferences(place, before, after),
  ...summaryDifferences(place, before, after),
]

/** Added and removed summaries differ in their paths. */
const summaryDifferences = (
  place: string,
  { summaries: before = {} }: ListsOfContract,
  { summaries: after = {} }: ListsOfContract,
): Difference[] =>
  compareMembers(before, after, (name, had, has) => {
    if (!had || !has) return []
    const at = `${place}.summaries.${name}`
    const broken = (says: string) =>
      makeDifference(at, 'breaking', says, 'Leave it as it was, and declare the new one under another name.', 'fixed')
    const grouped = compareMembers(had.groups, has.groups, (member, was, is) => {
      if (was === is) return []
      if (is === undefined) return [broken(`The items are not grouped by \`${member}\` any more.`)]
      return [broken(`The items are grouped by \`${member}\`, ${is}${was === undefined ? '' : ` instead of ${was}`}.`)]
    })
    const valued = compareMembers(had.values, has.values, (member, was, is) => {
      if (was === is) return []
      if (is === undefined) return [broken(`Its groups have no \`${member}\` any more.`)]
      if (was !== undefined) return [broken(`\`${member}\` is ${is} instead of ${was}.`)]
      return [makeDifference(at, 'additive', `Its groups also have \`${member}\`, ${is}.`)]
    })
    return [...grouped, ...valued]
  })
