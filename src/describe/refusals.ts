/** Refusals: the errors that an operation can be refused with, in the order of the phases. Part 13; part 7, errors. */
import { batchMethods } from '../endpoints/batch-body.ts'
import { type Catalogue, catalogue, type RefusalType, typeStatus } from '../errors/catalogue.ts'
import type { Endpoint, Route, ServedVersion } from '../flow/route.ts'
import type { Service } from '../service.ts'

/** The refusals with one status: the types of the errors, and of the violations in them. */
export interface StatusRefusal {
  readonly status: number
  readonly types: readonly string[]
  readonly violations: readonly string[]
  /** Whether it may name the item that was created with an idempotency key. R96. */
  readonly repeats: boolean
}

export interface DescribedOperation {
  readonly service: Service
  readonly version: ServedVersion
  readonly endpoint: Endpoint
  readonly route: Route
}

/** The parts of the request phases that descriptions read. */
export interface DescribedCorridor {
  readonly phases: readonly {
    readonly name: string
    /** The types of errors with which the phase can refuse an operation. */
    readonly refuses?: (operation: DescribedOperation) => readonly RefusalType[]
  }[]
}

/** The refusals of an operation by all phases, by status. */
export function refusalsOf(operation: DescribedOperation, { phases }: DescribedCorridor): StatusRefusal[] {
  const { service, version } = operation
  const { errors: types } = service
  const isBatch = operation.route.most !== undefined
  const operations = isBatch ? [operation, ...memberOperations(operation)] : [operation]
  const all = phases.flatMap(({ refuses }) => operations.flatMap((one) => refuses?.(one) ?? []))
  const nameOf = (type: string) => version.errorNames.get(type) ?? type
  const byStatus = Map.groupBy(all, (one) => statusOfType(types, one))
  return [...byStatus]
    .toSorted(([a], [b]) => a - b)
    .map(([status, named]) => {
      const names = [...new Set(named.map((one) => (typeof one === 'string' ? one : one[0])))]
      const listed = names.flatMap((type) => violationTypes(type, types)).filter((one) => isPossible(one, operation))
      // The errors of an import are those of its lines, of any type.
      // A violation of a batch names the refused operation; it has the type of the refusal if that is the only one.
      const ofMembers = isBatch && names.length > 1 ? names : []
      const violations = operation.route.importing ? [] : [...ofMembers, ...listed]
      return {
        status,
        types: names.map(nameOf).toSorted(),
        violations: [...new Set(violations)].map(nameOf).toSorted(),
        repeats: names.includes(keyReused),
      }
    })
}

/** Whether the query of an operation can have this violation: only lists have filters, sorts and pages, only reads name fields. */
function isPossible(violation: string, { route: { offer, about, safe, embeds } }: DescribedOperation): boolean {
  if (violation === 'unsupported-embed') return safe && Boolean(embeds)
  if (!safe) return !ofReads.includes(violation)
  return (
    offer !== undefined || about.answers.some(({ body }) => listBodies.includes(body)) || !ofLists.includes(violation)
  )
}

const listBodies: readonly (string | null)[] = ['page', 'outputs', 'events', 'revisions']

const ofLists = [
  ...['cursor-expired', 'cursor-mismatch', 'invalid-cursor', 'pagination-conflict', 'unsupported-pagination'],
  ...['unsupported-filter', 'unsupported-operator', 'unsupported-sort'],
]
const ofReads = [...ofLists, 'unsupported-field']

/** The operations that a batch can have as members: a batch is refused with the error of its first refused member. R229. */
const memberOperations = (batch: DescribedOperation): readonly DescribedOperation[] =>
  batch.version.endpoints.flatMap((endpoint) =>
    [...endpoint.methods]
      .filter(
        ([method, { most, settle, importing }]) =>
          batchMethods.includes(method) && most === undefined && !settle && !importing,
      )
      .map(([, route]) => ({ ...batch, endpoint, route })),
  )

const keyReused = 'idempotency-key-reused'
const statusOfType = (types: Catalogue, one: RefusalType): number =>
  typeof one === 'string' ? typeStatus(types, one) : typeStatus(types, one[0], one[1])

/** Types of conflicts that are also the types of their violations: a field, or an operation of a patch. */
const ofPlaces = ['already-exists', 'patch-conflict']

/** The types of the violations that an error of a type lists. R154. */
function violationTypes(type: string, types: Catalogue): string[] {
  if (ofPlaces.includes(type) || !catalogue.has(type)) return [type] // handlers refuse fields with declared types
  if (type !== 'validation-failed' && type !== 'invalid-query') return []
  return [...types].filter(([, { parent }]) => parent === type).map(([name]) => name)
}
