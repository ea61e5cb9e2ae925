/** Operation contract: the promises to consumers about declared operations. Part 9, versioning. */
import type { FieldTerms } from '../fields/kind.ts'
import { promisedTerms, sortMembers, termsOf } from '../fields/value-terms.ts'
import type { InputField } from '../resources/machine.ts'
import type { Resource } from '../resources/resource.ts'

type Terms = { readonly [name: string]: FieldTerms }

/** The declared operations of a resource; missing if there are none. Their places and rules are among its paths. */
export interface OperationsOfContract {
  readonly calls?: {
    readonly [name: string]: { readonly input: Terms; readonly output: Terms; readonly asynchronous?: true }
  }
}

export function operationContract({ operations, rules }: Resource): OperationsOfContract {
  const terms = (all: readonly InputField[]): Terms =>
    sortMembers(all.map((one) => [one.name, promisedTerms(termsOf(one.field, rules, undefined, one.name))]))
  const calls = operations.map(
    ({ name, input, output, asynchronous }) =>
      [name, { input: terms(input), output: terms(output), ...(asynchronous && { asynchronous }) }] as const,
  )
  return calls.length === 0 ? {} : { calls: sortMembers([...calls]) }
}
