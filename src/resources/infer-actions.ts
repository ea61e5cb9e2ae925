/** Infer actions: the types of states, transitions and operations, inferred from a declaration. Part 3, states. */
import type { Inputs, Value } from '../fields/field.ts'
import type { ConceptsOf, DeclarationOf, ExpandUnion, Get, ResourceName, ResourceOf, StatesIn } from './infer.ts'
import type { StatesDeclaration } from './states.ts'

type StatesOf<S, R> = Extract<Get<ResourceOf<DeclarationOf<S>, R>, 'states'>, StatesDeclaration>

/**
 * The states of a resource.
 * @example const open: StateName<typeof api, 'orders'>[] = ['draft', 'placed']
 */
export type StateName<S, R extends ResourceName<S>> = ExpandUnion<StatesIn<StatesOf<S, R>>>

/**
 * The transitions of a resource.
 * @example const name: TransitionName<typeof api, 'orders'> = 'shipments'
 */
export type TransitionName<S, R extends ResourceName<S>> = keyof TransitionsOf<S, R> & string
type TransitionsOf<S, R> = Get<Get<ResourceOf<DeclarationOf<S>, R>, 'states'>, 'transitions'>

/**
 * The body of a transition.
 * @example const input: TransitionInput<typeof api, 'orders', 'shipments'> = { carrier: 'DHL' }
 */
export type TransitionInput<S, R extends ResourceName<S>, T extends TransitionName<S, R>> = Inputs<
  Get<TransitionsOf<S, R>[T], 'input'>,
  ConceptsOf<DeclarationOf<S>>
>

type OperationsOf<S, R> = Get<ResourceOf<DeclarationOf<S>, R>, 'operations'>

/**
 * The operations that a resource declares.
 * @example const name: OperationName<typeof api, 'orders'> = 'quotes'
 */
export type OperationName<S, R extends ResourceName<S>> = keyof OperationsOf<S, R> & string

/** Whether an operation is asynchronous. */
export type IsAsynchronous<S, R extends ResourceName<S>, O extends OperationName<S, R>> =
  Get<OperationsOf<S, R>[O], 'asynchronous'> extends true ? true : false

/** Where an operation is. */
export type OperationPlace<S, R extends ResourceName<S>, O extends OperationName<S, R>> = Get<
  OperationsOf<S, R>[O],
  'at'
>

/**
 * The body of an operation.
 * @example const input: OperationInput<typeof api, 'orders', 'quotes'> = { quantity: 2 }
 */
export type OperationInput<S, R extends ResourceName<S>, O extends OperationName<S, R>> = Inputs<
  Get<OperationsOf<S, R>[O], 'input'>,
  ConceptsOf<DeclarationOf<S>>
>

/** The further members of a declared type of error, as they are answered. R160. */
export type AnsweredErrorFields<D, T> = {
  readonly [K in keyof DeclaredErrorFields<D, T>]: Value<DeclaredErrorFields<D, T>[K], ConceptsOf<D>>
}
type DeclaredErrorFields<D, T> = Get<Get<Get<D, 'errors'>, T>, 'fields', unknown>

/** The further members of a declared type of error, as a handler gives them. R160. */
export type ErrorFields<D, T> = Inputs<DeclaredErrorFields<D, T>, ConceptsOf<D>>

/**
 * The output of an operation, as its handler returns it.
 * @example const output: OperationOutput<typeof api, 'orders', 'quotes'> = { total: '5.00' }
 */
export type OperationOutput<S, R extends ResourceName<S>, O extends OperationName<S, R>> = Inputs<
  Get<OperationsOf<S, R>[O], 'output'>,
  ConceptsOf<DeclarationOf<S>>
>
