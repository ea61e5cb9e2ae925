/** The public face of bylaw: what a declaration is written with, and nothing else. */
export { Problem } from './errors/problem.ts'
export type { Change, Comparison, ResourceChange, VersionDeclaration } from './resources/change.ts'
export type { Access, Mistake, ResourceDeclaration } from './resources/declaration.ts'
export { type Concept, type Enum, type Field, f, type List, type Nested, type Ref } from './resources/field.ts'
export type {
  CreateInput,
  FilterName,
  Patch,
  ReplaceInput,
  ResourceName,
  Row,
  SortName,
} from './resources/infer.ts'
export type { DeclaredSettings, ResourceSettings } from './resources/settings.ts'
export { type Declaration, type Service, service } from './service.ts'
