/** Prepared operations: the operations that a resource declares, prepared for requests. Part 4, methods. R88. */
import type { ValueRules } from '../fields/kind.ts'
import { type AccessRule, type DeclarationContext, type ResourceDeclaration, ruleFor } from './declaration.ts'
import { type InputField, inputFields } from './machine.ts'
import { ruleSource } from './own-operations.ts'

export interface OwnOperation {
  readonly name: string
  readonly at: 'collection' | 'item'
  readonly rule: AccessRule
  readonly input: readonly InputField[]
  readonly output: readonly InputField[]
}

export const ownOperationsOf = (
  { operations = {}, access }: ResourceDeclaration,
  { concepts }: Pick<DeclarationContext, 'concepts'>,
  rules: ValueRules,
): readonly OwnOperation[] =>
  Object.entries(operations).map(([name, { at, input = {}, output = {}, access: own }]) => ({
    ...{ name, at, rule: own ?? (ruleFor(access, ruleSource(at)) as AccessRule) },
    input: inputFields(input, concepts, rules),
    output: inputFields(output, concepts, rules),
  }))
