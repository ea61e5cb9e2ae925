/** Refusals: the errors that an operation can be refused with, in the order of the phases. Part 13; part 7, errors. */
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

/** An operation; OPTIONS has no route. */
export interface DescribedOperation {
  readonly service: Service
  readonly version: ServedVersion
  readonly place: Endpoint
  readonly route: Route | null
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
  const { service, version: edition, route } = operation
  const { errors: types } = service
  const end = route === null ? phases.findIndex(({ name }) => name === 'options') + 1 : phases.length
  const all = phases.slice(0, end).flatMap(({ refuses }) => refuses?.(operation) ?? [])
  const nameOf = (type: string) => edition.errorNames.get(type) ?? type
  const byStatus = Map.groupBy(all, (one) => statusOfType(types, one))
  return [...byStatus]
    .toSorted(([a], [b]) => a - b)
    .map(([status, named]) => {
      const found = [...new Set(named.map((one) => (typeof one === 'string' ? one : one[0])))]
      const members = route?.most === undefined ? [] : found // the refusal of a batch lists that of its member
      return {
        status,
        types: found.map(nameOf).toSorted(),
        violations: [...new Set([...members, ...found.flatMap((type) => violationTypes(type, types))])]
          .map(nameOf)
          .toSorted(),
        repeats: found.includes(keyReused),
      }
    })
}

const keyReused = 'idempotency-key-reused'
const statusOfType = (types: Catalogue, one: RefusalType): number =>
  typeof one === 'string' ? typeStatus(types, one) : typeStatus(types, one[0], one[1])

/** The types of the violations that an error of a type lists. R154. */
function violationTypes(type: string, types: Catalogue): string[] {
  if (type === 'already-exists' || !catalogue.has(type)) return [type] // handlers refuse fields with declared types
  if (type !== 'validation-failed' && type !== 'invalid-query') return []
  return [...types].filter(([, { parent }]) => parent === type).map(([name]) => name)
}
