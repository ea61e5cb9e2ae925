/** Own operations: what a resource offers besides its methods and transitions, as it is declared. Part 4, methods. R88. */
import type { Fields } from '../fields/field.ts'

/**
 * An operation: a POST whose handler reads, writes and returns an output. Its name is a plural noun, the last part of its URL.
 * @example quotes: { at: 'collection', input: { quantity: f.integer() }, output: { total: f.decimal({ scale: 2 }) } }
 */
export interface OperationDeclaration {
  /** Its URL: below the collection, `POST /orders/quotes`, or below an item, `POST /orders/{id}/reminders`: `at: 'item'`. */
  readonly at: 'collection' | 'item'
  /** The fields of the request body; by default it has none: `input: { quantity: f.integer({ min: 1 }) }`. */
  readonly input?: Fields
  /** The fields of the answer; by default it has none: `output: { total: f.decimal({ scale: 2 }) }`. */
  readonly output?: Fields
  /** Who may use it; by default the rule of `change` for an item, of `create` for a collection: `access: 'orders:read'`. */
  readonly access?: string
}

export const operationKeys = [
  'at',
  'input',
  'output',
  'access',
] as const satisfies readonly (keyof OperationDeclaration)[]

/** The operations of a resource by name. */
export type DeclaredOperations = { readonly [name: string]: OperationDeclaration }

/** The standard operation whose access rule an operation has by default. */
export const ruleSource = (at: unknown): 'create' | 'change' => (at === 'collection' ? 'create' : 'change')

/** The names of operations below a collection. An item cannot have such a key, as its URL is that of the operation. */
export const collectionOperations = (operations: DeclaredOperations = {}): readonly string[] =>
  Object.keys(operations).filter((name) => operations[name]?.at === 'collection')
