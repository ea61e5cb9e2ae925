/** Revision bodies: the schemas of the revisions of an item, and of the difference between two. Part 13. R237. */
import { mergePatchType } from '../endpoints/content-negotiation.ts'
import type { FieldTerms } from '../fields/kind.ts'
import { forwardPageSchema } from '../lists/page-text.ts'
import type { Resource } from '../resources/resource.ts'
import { type ComponentRef, type DocumentPart, pascalCase } from './components.ts'
import { fieldSchema, type SchemaContext } from './schemas.ts'

/** A page of the revisions of an item. */
export function revisionsRef(resource: Resource, context: SchemaContext): ComponentRef {
  const { settings, singular, title, machine } = resource
  const entered = machine === null ? [] : [...machine.transitions, ...machine.timed].map(({ to }) => to)
  const properties = {
    id: { type: 'string', pattern: '^[1-9][0-9]*$' },
    at: { type: 'string', format: 'date-time' },
    by: { type: ['string', 'null'] },
    type: { type: 'string', enum: [...new Set(['created', 'updated', 'deleted', ...entered])] },
    changes: changesRef(resource, context),
  }
  const entry = { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
  const data = { type: 'array', items: entry, maxItems: settings.list.maxPageSize }
  return context.components.put(
    'schemas',
    [`${pascalCase(singular)}Revisions`, `${pascalCase(resource.name)}Revisions`],
    {
      ...{ title: `${title}: a page of revisions`, type: 'object' },
      ...forwardPageSchema(settings, data),
    },
  )
}

/** The difference between two revisions. */
function changesRef(resource: Resource, context: SchemaContext): ComponentRef {
  const { members, name, singular, title } = resource
  const terms = context.storedTermsOf(name)
  const seen = members.flatMap(({ name: own, writeOnly }) => (writeOnly ? [] : [[own, terms[own]] as const]))
  const schemaOf = (one: FieldTerms): DocumentPart => {
    const { readOnly: _, default: __, ...value } = fieldSchema({ ...one, nullable: true }, 'patched', context)
    return value
  }
  const properties = Object.fromEntries(seen.map(([own, one]) => [own, one ? schemaOf(one) : { type: 'string' }]))
  return context.components.put('schemas', [`${pascalCase(singular)}Changes`, `${pascalCase(name)}Changes`], {
    ...{ title: `${title}: what a revision has changed`, type: 'object', properties },
    description: 'A merge patch from an earlier revision; null empties a field.',
  })
}

/** The content of a difference. */
export const patchContent = (resource: Resource, context: SchemaContext): DocumentPart => ({
  [mergePatchType]: { schema: changesRef(resource, context) },
})
