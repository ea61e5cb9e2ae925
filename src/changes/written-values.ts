/** Written values: values in bodies of an older version for fields that only the service sets now. Part 9, versions. */
import { Problem } from '../errors/problem.ts'
import type { Permissions } from '../resources/document.ts'
import type { Member, Resource } from '../resources/resource.ts'
import { isSameJson, withDerivedValues } from '../rows/collection.ts'
import type { VersionDocument } from './conversion.ts'

/** The parts of a conversion that written values depend on. */
interface Writer {
  readonly resource: Resource
  readonly today: Resource
  /** The names in this version of a current field. */
  readonly names: (field: string) => readonly string[]
}

/** The current fields of an item, before a write (`before`, null for a new item) and as its body sets them (`values`). */
interface WrittenValues {
  readonly before: VersionDocument | null
  readonly values: VersionDocument
  readonly body: VersionDocument
  readonly permissions: Permissions
}

/** The names under which callers of an older version write a field that the service sets now. */
const writtenNames = ({ resource, names }: Writer, field: string): readonly string[] =>
  names(field).filter((one) => resource.byName.get(one)?.from === 'caller')

/** The derived fields that callers of an older version write. */
export const writtenDerived = (own: Writer): readonly Member[] =>
  own.today.members.filter(
    ({ name, field }) => field.options.derived !== undefined && writtenNames(own, name).length > 0,
  )

/**
 * Puts the state of a body into the document, so that the endpoint carries out the transition to it, and refuses derived
 * values that differ from the computed ones. No sent value is ignored. R195, R220, R225.
 */
export function withWrittenValues(own: Writer, document: VersionDocument, written: WrittenValues): VersionDocument {
  refuseOtherValues(own, document, written)
  const { resource, today } = own
  const { before, values, body } = written
  if (today.machine === null || resource.machine !== null) return document
  const { field } = today.machine
  const [was, wanted] = [before?.[field], values[field]]
  const names = own.names(field).filter((one) => resource.byName.has(one))
  const isSent = names.length === 0 || names.some((one) => Object.hasOwn(body, one))
  const isWritten = before === null ? wanted != null : isSent && wanted !== undefined && !isSameJson(was, wanted)
  return isWritten ? { ...document, [field]: wanted } : document
}

/** Refuses values of derived fields that do not follow from the item; also any value of a field that the caller cannot read. */
function refuseOtherValues(
  own: Writer,
  document: VersionDocument,
  { before, values, body, permissions }: WrittenValues,
): void {
  const members = writtenDerived(own).filter(({ name }) => {
    const isSent = writtenNames(own, name).some((one) => Object.hasOwn(body, one))
    return isSent && values[name] !== undefined && !(before && isSameJson(before[name], values[name]))
  })
  if (members.length === 0) return
  const derived = withDerivedValues(own.today.collection.fields, { ...document })
  for (const { name, read } of members) {
    const isSeen = !permissions.blind && (read === null || permissions.scopes.has(read))
    if (isSeen && isSameJson(derived[name], values[name])) continue
    const [called = name] = writtenNames(own, name)
    const is = isSeen ? `it is ${JSON.stringify(derived[name])} and ` : ''
    throw new Problem(
      'conflict',
      `${called} follows from other values: ${is}cannot be set; leave it out or send it as it is.`,
    )
  }
}
