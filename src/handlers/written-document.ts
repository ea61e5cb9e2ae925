/** Written document: checks the writes of a handler like the body of a caller, without the access rules. Part 3, handlers. */
import { addViolation } from '../errors/pointer.ts'
import type { Violation } from '../errors/problem.ts'
import { valueInWords } from '../fields/value-check.ts'
import type { Document } from '../flow/intent.ts'
import { completeDocumentBy, mergePatch } from '../resources/document.ts'
import type { Member, Resource } from '../resources/resource.ts'
import { withDerivedValues } from '../rows/collection.ts'
import { HandlerFault, violationFault, writesWrongly } from './handler-fault.ts'

/** A document with changed fields. Handlers may change read-only fields, but not derived ones. */
export function patchedDocument(resource: Resource, prior: Document, patch: unknown): Document {
  const values = checkedFields(
    resource,
    patch,
    prior,
    ({ from, name }) => from !== 'address' && !isManaged(resource, name),
  )
  const document = completeDocumentBy(resource, ({ name }) => (values.has(name) ? values.get(name) : prior[name]))
  return withDerivedValues(resource.collection.fields, document)
}

/** A new document without its id and its times. */
export function newDocument(resource: Resource, fields: unknown): Document {
  const chosen = resource.settings.resource.id === 'client'
  const values = checkedFields(
    resource,
    fields,
    null,
    ({ name }) => (name !== 'id' || chosen) && !isManaged(resource, name),
  )
  const isMissing = ({ name, absent, from }: Member) =>
    absent === undefined &&
    !values.has(name) &&
    name !== 'id' &&
    !isManaged(resource, name) &&
    isGiven(resource, name, from)
  const missing = resource.members.filter(isMissing)
  if (missing.length > 0)
    throw new HandlerFault(`It creates one of ${resource.name} without ${missing.map(({ name }) => name).join(', ')}.`)
  const document = completeDocumentBy(resource, ({ name }) => values.get(name))
  return withDerivedValues(resource.collection.fields, document)
}

/** Read-only fields without a default may stay null until something sets them. */
const isGiven = ({ parent, key }: Resource, name: string, from: Member['from']): boolean =>
  from === 'caller' || name === parent?.field || name === key

/** The fields that transitions, other rows or the engine write. */
const isManaged = ({ created, updated, machine, byName }: Resource, name: string): boolean =>
  name === created ||
  name === updated ||
  name === machine?.field ||
  byName.get(name)?.field.options.derived !== undefined

function checkedFields(
  resource: Resource,
  patch: unknown,
  prior: Document | null,
  isWritable: (member: Member) => boolean,
): ReadonlyMap<string, unknown> {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch) || patch instanceof Promise)
    throw new HandlerFault(`It writes ${valueInWords(patch)} to ${resource.name}; write an object of fields.`)
  const faults: Violation[] = []
  const values = new Map<string, unknown>()
  for (const [name, value] of Object.entries(patch)) {
    const member = resource.byName.get(name)
    if (value === undefined) continue
    if (!member) addViolation(faults, `/${name}`, 'unknown-field', 'is not a field.')
    else if (member.field.kind === 'file')
      addViolation(faults, `/${name}`, 'read-only-field', 'is a file, which PUT and DELETE of its URL write.')
    else if (!isWritable(member)) addViolation(faults, `/${name}`, 'read-only-field', 'is set by the service.')
    else
      values.set(name, member.check(mergePatch(member.field, prior?.[name], value), `/${name}`, faults, prior?.[name]))
  }
  if (faults.length > 0) throw violationFault(writesWrongly(resource.name), faults)
  return values
}
