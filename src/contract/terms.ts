/** Terms: the promises of all fields of a resource to consumers. Part 9, versioning. */
import type { FieldTerms } from '../fields/kind.ts'
import { termsOf } from '../fields/value-terms.ts'
import { listRules } from '../lists/list-rules.ts'
import type { Member, Resource } from '../resources/resource.ts'

/** The terms of all fields of a resource, including those that the service sets. */
export function fieldTermsOf(resource: Resource, resources: ReadonlyMap<string, Resource>): Record<string, FieldTerms> {
  const { filters } = listRules(resource, resources)
  const terms = ({ name, field }: Member) =>
    termsOf(field, resource.rules, (path) => filters.get(path)?.operators, name)
  return Object.fromEntries(
    resource.members.map((member) => [
      member.name,
      { ...memberTerms(member, resource, terms(member)), ...derivation(member, resource) },
    ]),
  )
}

/** The source of a derived field: an aggregate of rows, or a function, which is identified by its results. */
function derivation({ name, field }: Member, { collection, declaration }: Resource): Pick<FieldTerms, 'derived'> {
  const { derived } = field.options
  if (derived === true && declaration.derived?.[name])
    return { derived: collection.fields.find((one) => one.name === name)?.derived?.name as string }
  if (typeof derived !== 'object' || derived.resource === '') return {} // older versions follow the newest one
  const { of, resource, field: source, by } = derived
  return { derived: `${of} of ${source === '' ? '' : `${source} of `}${resource}${by ? ` by ${by}` : ''}` }
}

function memberTerms({ name, from }: Member, { key, settings }: Resource, terms: FieldTerms): FieldTerms {
  if (name === key || from === 'caller') return terms
  const chosen = name === 'id' && key === null && settings.resource.id === 'client'
  const { required, default: usual, ...rest } = terms
  return chosen ? { ...rest, required: true } : { ...rest, readOnly: true }
}
