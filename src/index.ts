/** The public API of bylaw: makers and types for declarations, and nothing else. */
export { Problem } from './errors/problem.ts'
export { type Aggregate, count, max, min, sum } from './fields/aggregate.ts'
export {
  type Concept,
  type Enum,
  type Field,
  type FileMember,
  f,
  type List,
  type Nested,
  type Ref,
} from './fields/field.ts'
export type { SummaryDeclaration } from './fields/summary.ts'
export { compare, divide, minus, plus, round, times } from './formats/decimal.ts'
export type { Change, Comparison, ResourceChange } from './resources/change.ts'
export type { Access, Deprecation, Mistake, ResourceDeclaration, VersionDeclaration } from './resources/declaration.ts'
export type {
  CreateInput,
  DeclarationBefore,
  FilterName,
  Patch,
  ReplaceInput,
  ResourceName,
  Row,
  SortName,
} from './resources/infer.ts'
export type {
  OperationInput,
  OperationName,
  OperationOutput,
  StateName,
  TransitionInput,
  TransitionName,
} from './resources/infer-actions.ts'
export type { EventOf, EventType } from './resources/infer-events.ts'
export type { OperationDeclaration } from './resources/own-operations.ts'
export { resource } from './resources/resource-maker.ts'
export {
  caller,
  input,
  type Marker,
  now,
  type StatesDeclaration,
  type TransitionDeclaration,
} from './resources/states.ts'
export { type ChangeTypesOf, type Declaration, type Service, type ServiceWithChanges, service } from './service.ts'
export type { DeclaredSettings, EventPublisher, PublishedEvent, RefusedEvent, ResourceSettings } from './settings.ts'
