/** Route: one operation on one kind of URL, prepared at start. Part 4. */
import type { Catalogue, RefusalType } from '../errors/catalogue.ts'
import type { Problem } from '../errors/problem.ts'
import type { Field, FileMember } from '../fields/field.ts'
import type { AccessRule, RowAlternatives } from '../resources/declaration.ts'
import type { InputField } from '../resources/machine.ts'
import type { Resource } from '../resources/resource.ts'
import type { Call, CarriedVersion } from './call.ts'
import type { RefusedState } from './decision.ts'
import type { ReadResult } from './found-row.ts'
import type { Intent, ItemQuery, ListQuery, RequestContext } from './intent.ts'
import type { Outcome } from './outcome.ts'
import type { Claim, Plan, Read, RowGuard } from './plan.ts'
import type { Reply } from './reply.ts'
import type { Store } from './store.ts'
import type { ServiceWorld } from './world.ts'

/** The row that must exist for a request: the item, or the owner in the path. */
interface Target {
  readonly read: Read | null
  /** Throws if the row is missing or a precondition fails. */
  readonly admit: (current: ReadResult | null) => void
}

/** An access rule that depends on the item, with the stored form of the resource that declares it. */
export interface RowRule {
  readonly resource: Resource
  readonly alternatives: RowAlternatives
}

export interface Route {
  /** The name of the operation, as in `methods` and `deprecations` of a declaration. */
  readonly operation: string
  readonly method: string
  /** Where its URL ends: at the collection, at an item, or below one of them at a path of its own. */
  readonly at: 'collection' | 'item' | `${'collection' | 'item'}/${string}`
  /** Whether it only reads, so that it may still be refused after it was carried out. */
  readonly safe: boolean
  readonly resource: Resource
  readonly rule: AccessRule
  /** Which items it may be used on, if its rule depends on them. */
  readonly rowRule?: RowRule | undefined
  /** Whether its answers depend on the caller, even if its rule permits everyone. R143. */
  readonly isPersonal?: boolean
  /** The accepted media types; empty if it takes no content. */
  readonly content: readonly string[]
  /** Whether the content may be left out; it is then an empty object. */
  readonly contentOptional?: boolean
  /**
   * Of uploads: the greatest number of bytes, the check of the headers, and the function that receives the content; missing
   * for other routes.
   */
  readonly upload?: {
    readonly most: number
    readonly admit: (call: Call) => void
    readonly receive: (request: RequestContext, store: Store) => Promise<FileMember>
  }
  /** Whether it answers the content of a file, of any type, so that `Accept` chooses nothing. R30. */
  readonly answersContent?: true
  /** Reads the parameters of the query string. */
  readonly query: (call: Call, world: ServiceWorld, carried: CarriedVersion) => ListQuery | ItemQuery | null
  readonly target: (request: RequestContext) => Target
  /** The version's names of an input that a handler points to; undefined if there is no such input. */
  readonly inputNames?: (name: string) => readonly string[] | undefined
  /**
   * Throws if the state of the item that the target reads does not allow the operation, or returns a guard with further
   * checks; for explanations.
   */
  readonly judgeState?: (stored: Readonly<Record<string, unknown>>, request: RequestContext) => RowGuard | undefined
  readonly parse: (request: RequestContext) => Intent
  readonly plan: (intent: Intent) => Plan
  readonly render: (intent: Intent, outcome: Outcome) => Reply
  /** Whether the answer of a write shows values of other rows, which its version may be unable to show. */
  readonly showsOthers?: boolean
  /** Waits for the end of an asynchronous operation, as long as the caller prefers; missing for other routes. R28 */
  readonly settle?: (intent: Intent, outcome: Outcome, store: Store) => Promise<Outcome>
  /** The claim of a request that cannot be parsed; missing if such keys are not looked up. R99. */
  readonly claim?: (request: RequestContext) => Claim | null
  /** Further collections that are read or written, besides its own and that of the owner. */
  readonly otherCollections?: readonly string[]
  /** Further access rules and scopes that a request can require, for fields, other rows or events; undefined refuses everyone. */
  readonly furtherRules?: readonly (AccessRule | undefined)[]
  readonly offer?: () => ListOffer
  /** The names that the parameter `fields` can have; missing if it is not taken. R233. */
  readonly fields?: readonly string[]
  /** The names that the parameter `embed` can have, and the collections that are read for them; missing if it is not taken. R232. */
  readonly embeds?: { readonly names: readonly string[]; readonly collections: () => readonly string[] }
  /** The resources of the ids in its path, if they are those of pairs. */
  readonly pathItems?: Readonly<Record<string, Resource>>
  /** The patterns of path parameters that are not ids of its resource. */
  readonly pathPatterns?: Readonly<Record<string, string>>
  /** The media types of the streams that it also answers with: of events, or of all items of a list. R213, R238. */
  readonly streams?: readonly string[]
  /** Whether a call is answered with a merge patch (`application/merge-patch+json`); missing if none is. R237. */
  readonly answersPatch?: (call: Call) => boolean
  /** Whether it takes idempotency keys; `replayed` if a repeat gets the first answer in every mode. R108. */
  readonly claims: 'required' | 'optional' | 'replayed' | null
  /** Of batches: how many operations one may have; missing for other routes. R229. */
  readonly most?: number
  /** Of imports: the operation that creates the item of a line; missing for other routes. Their content is not read as a whole. R238. */
  readonly importing?: Route
  /** Its description. */
  readonly about: OperationDescription
}

/** The events of a resource in a version. */
export interface DescribedEvents {
  readonly resource: Resource
  readonly types: readonly string[]
  /** Whether the version may be unable to show an item: then an event only tells which one it is. */
  readonly mayHideItem: boolean
}

/** The description of an operation, without the parts that all operations share. Part 13. */
export interface OperationDescription {
  /** The last part of its `operationId`. */
  readonly id: string
  /** The first part of it, if it does not follow from the resource. */
  readonly scope?: string
  /** One line; `below` is the text to add for a collection below its owner. */
  readonly summary: (below: string) => string
  readonly notes: readonly string[]
  /** The schema of its content; null if it takes none. */
  readonly body: 'create' | 'replace' | 'change' | 'input' | 'form' | 'batch' | 'lines' | 'file' | null
  /** The fields of a body that is the input of a transition or an operation. */
  readonly input?: readonly InputField[]
  /** The field of an upload or of an answered file. */
  readonly file?: Field
  /** The fields of an answer that is the output of an operation, or of each member of a list of `outputs`. */
  readonly output?: readonly InputField[]
  /** The members of each group of a summary. */
  readonly summarized?: readonly DescribedMember[]
  /** The events that are answered: those of a resource, with their types. */
  readonly events?: readonly DescribedEvents[]
  /** The resource whose item is answered; its own unless given. */
  readonly answered?: Resource
  /** The resource of pairs whose fields the answered items have in `_pair`. */
  readonly paired?: Resource
  /** The headers it reads, besides those that every operation reads. */
  readonly headers: readonly RequestHeader[]
  readonly answers: readonly DescribedAnswer[]
  /** The types of errors it can be refused with, besides those of the corridor. */
  readonly refusals: readonly RefusalType[]
}

export type RequestHeader =
  | 'match'
  | 'noneMatch'
  | 'unmodifiedSince'
  | 'modifiedSince'
  | 'prefer'
  | 'wait'
  | 'lastEvent'
  | 'range'
  | 'disposition'

/** The answer of a successful operation. */
export interface DescribedAnswer {
  readonly status: number
  readonly says: string
  readonly body:
    | 'item'
    | 'page'
    | 'output'
    | 'outputs'
    | 'batch'
    | 'event'
    | 'events'
    | 'summary'
    | 'revision'
    | 'revisions'
    | 'import'
    | 'file'
    | 'content'
    | null
  /** Its headers, besides those of every answer. */
  readonly headers: readonly string[]
  /** The name it is described under, if several operations answer the same. */
  readonly name?: string
}

/** A member of an answer: a field, or the values of a field of the resource, by its dotted name; these may be null. */
export type DescribedMember = { readonly name: string } & ({ readonly field: Field } | { readonly as: string })

/** The filters, sorts and parameters of a list, by the names of its version, for descriptions. R216. */
export interface ListOffer {
  readonly filters: readonly { readonly field: string; readonly operators: readonly string[] }[]
  readonly sorts: readonly string[]
  /** The criteria of `custom_sort`. */
  readonly customs: readonly string[]
  /** The parameters that are not filters. */
  readonly parameters: readonly string[]
}

/** A kind of URL with its routes. */
export interface Endpoint {
  readonly methods: ReadonlyMap<string, Route>
  /** All its methods, as the header `Allow` lists them. R12. */
  readonly allow: string
  /** Further headers of the answer to OPTIONS. R11. */
  readonly options: Readonly<Record<string, string>>
  /** The path with names in braces, for logs and listings. */
  readonly template: string
}

/** A version as it is served: its endpoints, and its names of errors. */
export interface ServedVersion {
  readonly label: string
  readonly resources: ReadonlyMap<string, Resource>
  /** The fields of one of its resources that show a stored field. */
  readonly namesOf: (resource: string, collection: string, field: string) => readonly string[]
  /** The refusal of a write of a handler, in the words of the version. */
  readonly stateProblem: (refused: RefusedState) => Problem
  /** The fields of a resource that are null while an item has no link to the row that has them now. */
  readonly unlinked: (resource: string) => readonly string[]
  readonly endpoints: readonly Endpoint[]
  readonly tree: RouteTree
  /** The methods of all its endpoints. */
  readonly methods: string
  readonly errors: Catalogue
  /** The further members of declared types of errors, by the names of the version. R160. */
  readonly errorFields: ReadonlyMap<string, readonly InputField[]>
  /** The version's names of current error types. */
  readonly errorNames: ReadonlyMap<string, string>
}

/** Endpoints by the segments of their paths. */
export interface RouteTree {
  readonly literal: ReadonlyMap<string, RouteTree>
  readonly param: RouteTree | null
  readonly endpoint: Endpoint | null
}
