/** Aggregate mistakes: totals, counts, minimums and maximums that do not fit or would reveal hidden rows. Part 2. */
import type { Aggregate } from '../fields/aggregate.ts'
import type { Field } from '../fields/field.ts'
import { isObject, valueInWords } from '../fields/value-check.ts'
import { listInWords } from '../formats/naming.ts'
import {
  type Access,
  type DeclarationContext,
  rowAlternatives,
  ruleCovers,
  ruleFor,
  scopesIn,
} from '../resources/declaration.ts'
import { linkingFields } from '../resources/derived-fields.ts'
import { checkCycles } from './consistency.ts'
import { type DeclarationCheck, type DeclarationPath, report, soundField } from './field-check.ts'
import { hasMember, nameHint, type UncheckedObject } from './kind-options.ts'
import type { ResourceCheck } from './resource-check.ts'
import { accountOwnerOf } from './visibility.ts'

const kindsOf: Readonly<Record<Aggregate['of'], readonly string[]>> = {
  sum: ['integer', 'bigint', 'decimal'],
  count: ['integer', 'bigint'],
  min: ['integer', 'bigint', 'decimal', 'date', 'timestamp'],
  max: ['integer', 'bigint', 'decimal', 'date', 'timestamp'],
}

/** Checks a field that is an aggregate of other rows. */
export function checkAggregate(
  path: DeclarationPath,
  field: Field,
  judged: ResourceCheck,
  context: DeclarationCheck,
): void {
  const { of, resource, field: source, by } = field.options.derived as Aggregate
  const { resources } = context
  if (!hasMember(kindsOf, of) || !kindsOf[of].includes(field.kind)) {
    report(
      context,
      path,
      `A ${of} cannot be a field of kind ${field.kind}.`,
      `Declare it as ${listInWords(kindsOf[of] ?? [])}.`,
    )
    return
  }
  if ((of === 'min' || of === 'max') && !field.options.optional)
    report(context, path, `Where there are no ${resource}, the ${of} is null.`, 'Write optional: true.')
  if ((of === 'sum' || of === 'count') && field.options.optional)
    report(context, path, `A ${of} always has a value.`, 'Leave `optional` out.')
  const other = hasMember(resources, resource) ? resources[resource] : undefined
  if (!isObject(other)) {
    report(context, path, `There is no resource ${valueInWords(resource)}.`, nameHint(resource, Object.keys(resources)))
    return
  }
  checkLink(path, judged.name, resource, by, context)
  const fields = isObject(other.fields) ? other.fields : {}
  const sourceField = of === 'count' ? null : soundField(fields[source], context)
  if (of !== 'count' && !hasMember(fields, source))
    report(
      context,
      path,
      `\`${resource}\` has no field ${valueInWords(source)}.`,
      nameHint(source, Object.keys(fields)),
    )
  if (sourceField) checkSource(path, field, sourceField, of, context)
  checkSecrets(path, field, { judged, resource, other, sourceField: sourceField ?? null }, context)
}

/** Checks that the rows belong or refer to the item by exactly one field. */
function checkLink(
  path: DeclarationPath,
  name: string,
  resource: string,
  by: unknown,
  context: DeclarationCheck,
): void {
  const { resources, settings, rules } = context
  const declared = { resources, settings, kinds: rules.kinds, concepts: Object.fromEntries(context.soundConcepts) }
  const ways = linkingFields(resource, name, declared as unknown as DeclarationContext)
  if (ways.length === 0)
    report(
      context,
      path,
      `The items of \`${resource}\` neither belong nor refer to those of \`${name}\`.`,
      `Declare \`${name}\` as their parent, or a reference to it.`,
    )
  else if (by === undefined && ways.length > 1)
    report(
      context,
      path,
      `The items of \`${resource}\` refer to those of \`${name}\` by ${listInWords(ways, 'and')}.`,
      `Name one of them, as { by: '${ways[0]}' }.`,
    )
  else if (by !== undefined && !ways.includes(by as string))
    report(context, path, `\`${resource}\` has no reference ${valueInWords(by)} to \`${name}\`.`, nameHint(by, ways))
}

function checkSource(
  path: DeclarationPath,
  field: Field,
  source: Field,
  of: Aggregate['of'],
  context: DeclarationCheck,
): void {
  const { kind, options } = source
  const scales = of === 'sum' && field.kind === 'decimal' && kind === 'integer'
  if (kind !== field.kind && !scales)
    report(
      context,
      path,
      `It is of kind ${field.kind}, and its source field is of kind ${kind}.`,
      kindsOf[of].includes(kind) ? `Declare it with f.${kind}().` : `Name a field of kind ${listInWords(kindsOf[of])}.`,
    )
  else if (kind === 'decimal' && (options.scale ?? 0) > (field.options.scale ?? 0))
    report(
      context,
      path,
      `It has ${field.options.scale} digits after the point, and its source field has ${options.scale}.`,
      `Write scale: ${options.scale}.`,
    )
  if (options.personal)
    report(
      context,
      path,
      'Its source field is `personal`, and an erasure would not empty the value that is derived from it.',
      'Leave this field out, or leave `personal` out of the source field.',
    )
  if (options.writeOnly)
    report(
      context,
      path,
      'Its source field is `writeOnly`, and a derived field would reveal its values.',
      'Leave this field out, or leave `writeOnly` out of the source field.',
    )
}

interface AggregateSource {
  readonly judged: ResourceCheck
  /** The name of the resource whose rows are read, and its declaration. */
  readonly resource: string
  readonly other: UncheckedObject
  readonly sourceField: Field | null
}

/** A derived value must not reveal rows of other accounts, or rows and fields that need other scopes. */
function checkSecrets(
  path: DeclarationPath,
  field: Field,
  { judged, resource, other, sourceField }: AggregateSource,
  context: DeclarationCheck,
): void {
  const { read } = field.options
  const needed = sourceField?.options.read
  if (needed !== undefined && needed !== read)
    report(context, path, `The values of its source field can only be read with ${needed}.`, `Write read: '${needed}'.`)
  const [own, there] = [judged.given.access, other.access].map((access) =>
    typeof access === 'string' || isObject(access) ? ruleFor(access as Access, 'read') : undefined,
  )
  const ruled = isObject(other.access) ? rowAlternatives(other.access as Access, 'read') : undefined
  if (ruled) checkRuledRows(path, [own, read], scopesIn(ruled), context)
  const isCovered = [own, read].some((rule) => rule !== undefined && ruleCovers(there, rule)) // readers need both
  if (!isCovered)
    report(
      context,
      path,
      `Its value would reveal items of \`${resource}\` that only ${there ?? 'nobody'} can read.`,
      `Write read: '${there}', or give both resources the same rule.`,
    )
  if (accountOwnerOf(resource, context) !== null && accountOwnerOf(judged.name, context) === null)
    report(
      context,
      path,
      `The items of \`${resource}\` belong to accounts, and those of \`${judged.name}\` belong to none.`,
      `Declare an \`owner\` of \`${judged.name}\` too.`,
    )
}

/** A value that follows from rows which only some callers see needs a scope that shows all of them. */
function checkRuledRows(
  path: DeclarationPath,
  rules: readonly unknown[],
  scopes: readonly string[],
  context: DeclarationCheck,
): void {
  if (rules.some((one) => scopes.includes(one as string))) return
  const mend =
    scopes.length > 0
      ? `Write read: '${scopes[0]}'.`
      : 'Add an alternative with a scope to the access rule of these items, and write the scope as `read` of this field.'
  report(context, path, 'Its value would reveal items that exist only for some callers.', mend)
}

/** Refuses cycles: no derived field may depend on itself. */
export function checkDerivedCycles(context: DeclarationCheck): void {
  const aggregates = new Map<string, Aggregate>()
  for (const [name, declaration] of Object.entries(context.resources))
    for (const [field, one] of Object.entries(
      isObject(declaration) && isObject(declaration.fields) ? declaration.fields : {},
    )) {
      const derived = soundField(one, context)?.options.derived
      if (isObject(derived)) aggregates.set(`${name}.${field}`, derived as unknown as Aggregate)
    }
  // A function may read every aggregate of its resource.
  const sources = (place: string): string[] => {
    const { resource, field } = aggregates.get(place) as Aggregate
    const own = `${resource}.${field}`
    return aggregates.has(own) || field === ''
      ? [own].filter((one) => aggregates.has(one))
      : isFunction(resource, field, context)
        ? [...aggregates.keys()].filter((one) => one.startsWith(`${resource}.`))
        : []
  }
  const pathOf = (place: string) => [
    'resources',
    place.split('.')[0] as string,
    'fields',
    place.split('.')[1] as string,
  ]
  checkCycles(pathOf, Object.fromEntries(aggregates), sources, context)
}

function isFunction(resource: string, field: string, context: DeclarationCheck): boolean {
  const declaration = context.resources[resource]
  const one = isObject(declaration) && isObject(declaration.fields) ? declaration.fields[field] : undefined
  return soundField(one, context)?.options.derived === true
}
