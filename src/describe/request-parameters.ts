/** Request parameters: describes the path, the headers and the query of operations. Part 13; part 4. */
// long because: one entry for each header

import { type Components, type DocumentPart, pascalCase } from '../bodies/components.ts'
import { idSchema, type SchemaContext } from '../bodies/schemas.ts'
import type { Endpoint, ListOffer, RequestHeader, Route, ServedVersion } from '../flow/route.ts'
import { withArticle } from '../formats/naming.ts'
import { idempotencyKeyField, idempotencyKeyPattern } from '../idempotency/key.ts'
import { mostAlternatives } from '../lists/alternatives.ts'
import { mostEmbedded } from '../lists/embed-names.ts'
import { filterParameter } from '../lists/list-rules.ts'
import { dryRunName } from '../lists/query-string.ts'
import { longestSearch, mostWords } from '../lists/search.ts'
import type { Resource } from '../resources/resource.ts'
import type { Service } from '../service.ts'
import { filterParameters } from './filters.ts'

/** The parameters of all methods of an endpoint: those of the path, and the version. */
export function endpointParameters(
  service: Service,
  version: ServedVersion,
  { template, methods }: Endpoint,
  context: SchemaContext,
): DocumentPart[] {
  const [{ resource, pathPatterns = {}, pathItems = {} }] = [...methods.values()] as [Route]
  const inPath = [...template.matchAll(/\{([^}]+)\}/g)].map(([, name = '']) => {
    const pattern = pathPatterns[name]
    const part = (description: string, schema: DocumentPart) => ({
      name,
      in: 'path',
      required: true,
      description,
      schema,
    })
    if (pattern !== undefined) return part('As answers have it.', { type: 'string', pattern })
    const parent = name === resource.parent?.field ? version.resources.get(resource.parent.resource) : undefined
    const owner = pathItems[name] ?? parent
    const named = owner ?? resource
    const names = [pascalCase(`${named.singular} ${owner ? 'parent' : ''} ${name}`)] as const
    return {
      ...context.components.put(
        'parameters',
        names,
        part(`The id of ${withArticle(named.title)}.`, idSchema(named, context)),
      ),
    }
  })
  return [...inPath, ...versionParameters(service, version.label, context.components)]
}

/** The parameters that can name the version, where `servers` does not; one is required if it is not the default. R188, R192. */
function versionParameters({ choice }: Service, label: string, components: Components): DocumentPart[] {
  const { carriers, usual, fromFeatures } = choice
  if (carriers.includes('path')) return []
  const named = usual === label && fromFeatures === null
  const other = carriers.includes('header') && carriers.includes('query')
  const of = (where: 'header' | 'query', required: boolean) => {
    const description = `Names this version. ${required ? '' : 'Only where nothing else does.'}`.trimEnd()
    const part = {
      name: 'version',
      in: where,
      description,
      ...(required ? { required } : {}),
      schema: { type: 'string', const: label },
    }
    return { ...components.put('parameters', [where === 'header' ? 'Version' : 'VersionQuery'], part) }
  }
  return [
    ...(carriers.includes('header') ? [of('header', !named)] : []),
    ...(carriers.includes('query') ? [of('query', !named && !other)] : []),
  ]
}

const tagPattern = '(?:W/)?"[\\x21\\x23-\\x7e\\x80-\\xff]*"'
const tagsPattern = `^(?:\\*|${tagPattern}(?:, *${tagPattern})*)$`

const requestHeaders: Readonly<
  Record<RequestHeader, readonly [name: string, description: string, schema: DocumentPart]>
> = {
  match: [
    'If-Match',
    'Only if its tag is one of these; with *, if it is there.',
    { type: 'string', pattern: tagsPattern },
  ],
  noneMatch: [
    'If-None-Match',
    'Only if its tag is none of these; with *, if it is not there.',
    { type: 'string', pattern: tagsPattern },
  ],
  unmodifiedSince: ['If-Unmodified-Since', 'Only if it was not changed since, an HTTP date.', { type: 'string' }],
  modifiedSince: ['If-Modified-Since', 'Only if it was changed since, an HTTP date.', { type: 'string' }],
  prefer: [
    'Prefer',
    'With return=minimal the answer has no content.',
    { type: 'string', examples: ['return=minimal'] },
  ],
  wait: [
    'Prefer',
    'With wait=10 the answer waits up to 10 seconds for the operation to end.',
    { type: 'string', examples: ['wait=10', 'respond-async'] },
  ],
  range: [
    'Range',
    'Only these bytes of the content, as bytes=0-1023; with If-Range, only if it still has this tag.',
    { type: 'string', examples: ['bytes=0-1023'] },
  ],
  disposition: [
    'Content-Disposition',
    'The name of the file; with filename* in UTF-8.',
    { type: 'string', examples: ['attachment; filename="invoice.pdf"'] },
  ],
  lastEvent: [
    'Last-Event-ID',
    'The id of the last event that the client has; a stream goes on after it.',
    { type: 'string', examples: ['evt_01jd8m2kq3v9x7c5b1n4f6h8t0'] },
  ],
}

/** The names of parameters whose header has several meanings. */
const longNames: Partial<Record<RequestHeader, string>> = { wait: 'PreferToWait' }

/** The headers that an operation reads. */
export function headerParameters(route: Route, components: Components): DocumentPart[] {
  const parameters = route.about.headers.map((one) => {
    const [name, description, schema] = requestHeaders[one]
    const { pattern, ...anyText } = schema
    const takesAll = route.safe && pattern !== undefined // reads ignore malformed tags: R128
    const partName = (longNames[one] ?? name.replaceAll('-', '')) + (takesAll ? 'OfRead' : '')
    const tags = pattern === undefined ? schema : { ...components.put('schemas', ['EntityTags'], schema) }
    const part = { name, in: 'header', description, schema: takesAll ? anyText : tags }
    return { ...components.put('parameters', [partName], part) }
  })
  return route.claims === null ? parameters : [...parameters, keyParameter(route, components)]
}

/** The parameter of dry runs, which writes of one transaction have. R239. */
export const dryRunParameters = (route: Route, components: Components): DocumentPart[] =>
  route.safe || route.settle || route.importing
    ? []
    : [
        {
          ...components.put('parameters', ['DryRun'], {
            name: dryRunName(route.resource.settings),
            in: 'query',
            description: 'With true the request is checked and answered as otherwise, and changes nothing.',
            schema: { type: 'boolean', default: false },
          }),
        },
      ]

const secondsText = (milliseconds: number): string => `${milliseconds / 1000} seconds`

/** The header `Idempotency-Key`. R93 to R107. */
function keyParameter({ resource: { settings, name }, claims }: Route, components: Components): DocumentPart {
  const { mode, retention } = settings.idempotency
  const repeat =
    mode === 'replay'
      ? 'A repeat is answered as the first request was.'
      : 'A repeat is answered by 409 with old_id: it is done already.'
  const kept = retention === null ? 'Keys are kept for ever.' : `Keys are kept for ${secondsText(retention)}.`
  const needed = claims === 'required'
  const field = idempotencyKeyField(settings)
  const either = needed && field !== null ? ` It is required, here or as ${field} in the content.` : ''
  const key = idempotencyKeyPattern.source.slice(1, -1)
  const part = {
    name: 'Idempotency-Key',
    in: 'header',
    description: `A key that makes repeats of the request safe. ${repeat} ${kept}${either}`,
    ...(needed && field === null ? { required: true } : {}),
    schema: { type: 'string', pattern: `^(?:"${key}"|${key})$` },
  }
  return { ...components.put('parameters', ['IdempotencyKey', `IdempotencyKeyOf${pascalCase(name)}`], part) }
}

/** The query parameters of a list. R216. */
export function listQueryParameters({ offer, resource }: Route, context: SchemaContext): DocumentPart[] {
  if (!offer) return []
  const offered = offer()
  const own = (name: string, description: string, schema: DocumentPart): DocumentPart => ({
    name,
    in: 'query',
    description,
    schema,
  })
  return [
    ...offered.filters.flatMap((one) => filterParameters(one, resource, context)),
    ...offered.parameters.flatMap((name) => listParameter(name, offered, resource, own)),
  ]
}

/** The parameter `fields` of reads. R233. */
export function fieldsParameters({ fields }: Route): DocumentPart[] {
  if (!fields) return []
  const description = 'The answer has only these fields and `id`, and no links.'
  const schema = { type: 'array', minItems: 1, items: { type: 'string', enum: fields } }
  return [{ ...{ name: 'fields', in: 'query', description, explode: false }, schema }]
}

/** The parameter `embed` of reads. R232. */
export function describedEmbeds({ embeds }: Route): DocumentPart[] {
  if (!embeds) return []
  const name = `(?:${embeds.names.map((one) => one.replaceAll('.', '\\.')).join('|')})`
  const description = `What is answered in \`_embedded\` too, at most ${mostEmbedded} names separated by commas: items that it refers to or belongs to, and the first pages of its lists.`
  const most = mostEmbedded - 1
  const double = `(?:[^,]*,){0,${most}}([^,]+),(?:[^,]*,){0,${most - 1}}\\1(?:,|$)`
  const pattern = `^(?!${double})${name}(?:,${name}){0,${most}}$`
  return [{ name: 'embed', in: 'query', description, schema: { type: 'string', pattern } }]
}

/** Lists of all resources have the parameters of pages and of times in common; these are stored once. */
export function sharedParameter(
  part: DocumentPart,
  { created, updated, title }: Resource,
  components: Components,
): DocumentPart {
  const name = String(part.name)
  const [base = ''] = name.split('[', 1)
  if (name === 'fields' || name === 'embed')
    return { ...components.put('parameters', [pascalCase(`${title} ${name}`)], part) }
  if (base !== created && base !== updated && !pageParameters.includes(name)) return part
  return { ...components.put('parameters', [pascalCase(name), pascalCase(`${title} ${name}`)], part) }
}

const pageParameters = ['limit', 'page_size', 'offset', 'page', 'cursor', 'order', 'nulls']

type MakeParameter = (name: string, description: string, schema: DocumentPart) => DocumentPart

// long because: one parameter after the other
function listParameter(
  name: string,
  { filters, sorts, customs }: ListOffer,
  { settings, declaration }: Resource,
  own: MakeParameter,
): DocumentPart[] {
  const criteria = customs.map((one) => `${one}: ${declaration.sorts?.[one]?.join(', ')}.`).join(' ')
  const { maxPageSize, pageSize, overMax, maxOffset, nullsDefault } = settings.list
  const usual = Math.min(pageSize, maxPageSize)
  const most = overMax === 'reject' ? { maximum: maxPageSize } : {}
  // Tools send defaults, and the parameters of two styles together are refused.
  const size = (isUsual: boolean) => ({ type: 'integer', minimum: 1, ...most, ...(isUsual && { default: usual }) })
  const isPaged = settings.list.pagination.style === 'page'
  switch (name) {
    case 'sort':
      return sorts.length === 0
        ? []
        : [
            own(name, `The field to sort by${customs.length > 0 ? '; not with custom_sort' : ''}.`, {
              type: 'string',
              enum: sorts,
            }),
          ]
    case 'custom_sort':
      return [own(name, `A declared order, not with sort. ${criteria}`, { type: 'string', enum: customs })]
    case 'order':
      return [own(name, 'The direction of sort or custom_sort.', { type: 'string', enum: ['asc', 'desc'] })]
    case 'nulls': {
      const where = nullsDefault === 'sql' ? 'as if they were the greatest' : nullsDefault
      return sorts.length === 0
        ? []
        : [
            own(name, `Where sort puts items without a value; by default ${where}.`, {
              type: 'string',
              enum: ['first', 'last'],
            }),
          ]
    }
    case 'limit':
      return [own(name, 'How many items at most; with offset or cursor.', size(!isPaged))]
    case 'page_size':
      return [own(name, 'How many items on a page.', size(isPaged))]
    case 'offset':
      return [own(name, 'How many items to pass over.', { type: 'integer', minimum: 0, maximum: maxOffset })]
    case 'page':
      return [
        own(name, `The number of the page; at most ${maxOffset} items can be passed over.`, {
          type: 'integer',
          minimum: 1,
          maximum: 9_999_999_999,
        }),
      ]
    case 'cursor':
      return [
        own(name, 'A place that an answer gave; empty for the first page.', {
          type: 'string',
          pattern: '^[A-Za-z0-9_-]*$',
        }),
      ]
    case 'search':
      return [own(name, searchText, { type: 'string', maxLength: longestSearch, pattern: wordPattern })]
    case 'or':
      return filters.length === 0 ? [] : [own(name, alternativesText, alternativesSchema(filters))]
    default:
      return []
  }
}

/** A letter, a digit, or a character of another script. */
const wordPattern = '[^\\x00-/:-@\\[-`{-\\x7f]'

const searchText = `At most ${mostWords} words, all of which have to begin words of an item, without regard to case and diacritics. Without sort, the items that match best come first.`

const alternativesText = `At most ${mostAlternatives} filters of which one has to match, as (status=paid;total[gte]=100), besides all other filters. In their values the characters ; ( ) and % are percent-encoded, once more than the parameter.`

/** The pattern names the filters; what their values may be is said where each is a parameter. */
function alternativesSchema(filters: ListOffer['filters']): DocumentPart {
  const names = filters.map(({ field, operators }) => {
    const listed = operators.filter((one) => one !== 'in').join('|')
    return `${field.replaceAll('.', '\\.')}(?:\\[(?:${listed})\\])${filterParameter(field) === field ? '?' : ''}`
  })
  const one = `(?:${names.join('|')})=(?:[^;()%]|%[0-9A-Fa-f]{2})*`
  return { type: 'string', pattern: `^\\(${one}(?:;${one}){0,${mostAlternatives - 1}}\\)$` }
}

/** The content of QUERY: the parameters of the list as a form. R15. */
export const queryForm = (parameters: readonly DocumentPart[]): DocumentPart => ({
  type: 'object',
  properties: Object.fromEntries(parameters.map(({ name, schema }) => [name as string, schema])),
  additionalProperties: false,
})
