/** Stored statuses: converts the asynchronous operations that former versions stored to the newest version. Part 9, versions. R228. */
import type { ResourceRules, VersionedDeclaration } from '../resources/declaration.ts'
import type { Resource } from '../resources/resource.ts'
import { endedStates, isStatusResource } from '../resources/service-fields.ts'
import type { VersionConversions } from '../rows/collection.ts'
import type { Members } from '../rows/shape.ts'
import { runConversion } from './conversion-error.ts'
import type { VersionAt } from './history.ts'
import { type StoredOperation, servedOperations } from './older-inputs.ts'
import { resourceAt } from './original-names.ts'

interface NamedOperation extends Pick<StoredOperation, 'older' | 'answer' | 'result'> {
  /** Its name in the version, and its newest name. */
  readonly was: string
  readonly is: string
}

/** The members that depend on the operation. */
const converted = ['operation', 'request', 'result']

/** Adds the conversion of statuses by the version that stored them, if it changes anything. */
export function withStoredStatuses(
  all: ReadonlyMap<string, Resource>,
  history: readonly VersionAt<VersionedDeclaration>[],
  rules: ResourceRules,
): ReadonlyMap<string, Resource> {
  const statuses = [...all.values()].find(({ declaration }) => isStatusResource(declaration))
  if (!statuses) return all
  const ways = history.map((past) => ({ label: past.label, operations: asynchronousIn(past, all, rules) }))
  const next = ways[ways.findLastIndex(({ operations }) => !operations.every(isSame)) + 1]
  if (!next || next === ways[0]) return all
  const first = ways.find(({ operations }) => operations.length > 0)
  const find = (version: string, called: unknown, by: 'was' | 'is') =>
    (ways.find(({ label }) => label === version) ?? first)?.operations.find((one) => one[by] === called)
  const conversions: VersionConversions = {
    toToday: (version, document) => {
      const operation = find(version, document.operation, 'was')
      return operation ? runConversion(statuses, document, 0, () => newerStatus(operation, document), true) : document
    },
    toOlder: (version, document) => {
      const operation = find(version, document.operation, 'is')
      return operation ? olderStatus(operation, document) : document
    },
    sourceField: (_, field) => (converted.includes(field) ? null : field),
    joined: () => [],
    movedValues: () => [],
    receivers: [],
    reshapes: false,
  }
  const { collection } = statuses
  const own = { ...statuses, collection: { ...collection, shape: `${next.label} ${collection.shape}`, conversions } }
  return new Map(all).set(statuses.name, own)
}

const isSame = ({ was, is, older, answer }: NamedOperation): boolean => was === is && older === null && answer === null

function asynchronousIn(
  past: VersionAt<VersionedDeclaration>,
  all: ReadonlyMap<string, Resource>,
  rules: ResourceRules,
): NamedOperation[] {
  return [...past.histories].flatMap(([name, { steps }]) => {
    const [own, today] = [resourceAt(past, name, rules), all.get(name)]
    if (!own || !today) return []
    return servedOperations(own, today, steps)
      .filter((one) => one.own.asynchronous && one.refused === null)
      .map((one) => ({ ...one, was: `${own.name}.${one.own.name}`, is: `${name}.${one.today.name}` }))
  })
}

function newerStatus({ is, older, result }: NamedOperation, document: Members): Members {
  const request = older && typeof document.request === 'string' ? JSON.parse(document.request) : null
  return {
    ...document,
    operation: is,
    ...(request && { request: JSON.stringify({ ...request, input: older?.convert(request.input) }) }),
    ...(result && document.result != null && { result: result(document.result as Record<string, unknown>) }),
  }
}

/** For nodes of the former declaration. They must not run an operation whose input they would misread, so they do not know it. */
function olderStatus({ was, older, answer }: NamedOperation, document: Members): Members {
  if (older && !endedStates.includes(document.status)) return document
  const result =
    answer && document.result != null ? JSON.parse(answer(JSON.stringify(document.result))) : document.result
  return { ...document, operation: was, result }
}
