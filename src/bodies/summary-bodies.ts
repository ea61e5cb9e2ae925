/** Summary bodies: the schema of the groups that a summary answers. Part 13; part 4, list parameters. R236. */
import { mostGroups } from '../fields/summary.ts'
import { termsOf } from '../fields/value-terms.ts'
import type { DescribedMember } from '../flow/route.ts'
import type { Resource } from '../resources/resource.ts'
import { type ComponentRef, type DocumentPart, pascalCase } from './components.ts'
import { fieldSchema, idSchema, type SchemaContext, termsAt } from './schemas.ts'

export function summaryRef(
  resource: Resource,
  name: string,
  members: readonly DescribedMember[],
  context: SchemaContext,
): ComponentRef {
  const { singular, rules, title } = resource
  const own = members.map((one): [string, DocumentPart] =>
    'as' in one
      ? [one.name, nullableValue(resource, one.as, context)]
      : [one.name, fieldSchema(termsOf(one.field, rules, undefined, one.name), 'answered', context)],
  )
  const group = {
    type: 'object',
    properties: Object.fromEntries(own),
    required: members.map((one) => one.name),
    additionalProperties: false,
  }
  const names = [singular, `${resource.name}-item`].map((one) => pascalCase(`${one}-${name}`)) as [string, string]
  return context.components.put('schemas', names, {
    title: `${title}: the groups of ${name}`,
    type: 'object',
    properties: { data: { type: 'array', items: group, maxItems: mostGroups } },
    required: ['data'],
    additionalProperties: false,
  })
}

/** The schema of the values of a field, which may be null where no row of a group has one. */
function nullableValue(resource: Resource, path: string, context: SchemaContext): DocumentPart {
  const owner = path === resource.parent?.field ? context.resources.get(resource.parent.resource) : undefined
  if (owner) return idSchema(owner, context)
  const terms = termsAt(context.storedTermsOf(resource.name), path)
  const { readOnly: _, title: __, description: ___, ...value } = terms
  return fieldSchema({ ...value, nullable: true }, 'answered', context)
}
