/** Query string: decodes the query of a URL into names and values. Part 4, list parameters. */
import { shortName } from '../errors/pointer.ts'
import { invalidQuery, Problem, type Violation } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import { nearestName, toCase } from '../formats/naming.ts'
import type { Settings } from '../settings.ts'

export type QueryParameters = readonly (readonly [name: string, value: string])[]

const noQueryParameters: QueryParameters = []

/** A target without its query. */
export const targetPath = (target: string): string => target.split('?', 1)[0] as string

/** The query of a target without its question mark; empty if there is none. */
export function queryStringOf(target: string): string {
  const mark = target.indexOf('?')
  return mark < 0 ? '' : target.slice(mark + 1)
}

/** The values of a parameter; empty if the query cannot be decoded, which is reported when all of it is read. */
function valuesInQuery(target: string, wanted: string): readonly string[] {
  const text = queryStringOf(target)
  if (!text.includes(wanted) && !text.includes('%')) return []
  try {
    return parsePairs(text).flatMap(([name, value]) => (name === wanted ? [value] : []))
  } catch {
    return []
  }
}

/** The versions that a query names. R188. */
export const versionsInQuery = (target: string): readonly string[] => valuesInQuery(target, 'version')

const dryRunNames = { camel: toCase('dry-run', 'camel'), snake: toCase('dry-run', 'snake') } as const

/** The parameter of writes that are checked and answered, but not carried out. R239. */
export const dryRunName = ({ naming }: Pick<Settings, 'naming'>): string => dryRunNames[naming]

const writingMethods: readonly string[] = ['POST', 'PUT', 'PATCH', 'DELETE']

/** Whether a call is a write that must not change anything. R239. */
export const isDryRun = ({ method, target }: Pick<Call, 'method' | 'target'>, settings: Settings): boolean =>
  target.includes('?') &&
  writingMethods.includes(method) &&
  valuesInQuery(target, dryRunName(settings)).includes('true')

/** The parameters of a target. */
export const parametersOf = (target: string): QueryParameters => parsePairs(queryStringOf(target))

/** Names and values in order; empty segments are ignored. R20, R24. */
export function parsePairs(text: string): QueryParameters {
  if (text === '') return noQueryParameters
  if (/[^\x21-\x7e]/.test(text)) throw malformedQuery()
  return text
    .split('&')
    .filter((part) => part !== '')
    .map((part) => {
      const cut = part.indexOf('=')
      return cut < 0
        ? [decodeComponent(part), '']
        : [decodeComponent(part.slice(0, cut)), decodeComponent(part.slice(cut + 1))]
    })
}

function decodeComponent(text: string): string {
  if (!/[%+]/.test(text)) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw malformedQuery()
  }
}

const malformedQuery = (): Problem =>
  new Problem(
    'invalid-url-encoding',
    'The query has a malformed escape, is not UTF-8, or has a character that is not escaped. Write a literal percent sign as %25.',
    { extra: { in: 'query' } },
  )

/** One violation of the query string. */
export function queryViolation(type: string, name: string, message: string): Violation {
  return { message, type, in: 'query', name: name === '' ? name : shortName(name) }
}

const mostExplained = 50 // no answer lists more mistakes, R154

/** The unknown and the repeated parameters. R22, R23. */
export function nameViolations(
  parameters: QueryParameters,
  isKnown: (name: string) => boolean,
  accepted: readonly string[],
  { query }: Settings,
): Violation[] {
  const seen = new Set<string>()
  const violations: Violation[] = []
  for (const [name] of parameters) {
    if (query.ignored.includes(name)) continue
    const isRepeated = seen.has(name)
    seen.add(name)
    if (isRepeated)
      violations.push(
        queryViolation('repeated-parameter', name, `${shortName(name)} is given more than once; give it once.`),
      )
    else if (!isKnown(name) && query.unknown === 'reject')
      violations.push(
        queryViolation(
          'unknown-parameter',
          name,
          violations.length < mostExplained ? unknownParameter(name, accepted) : '',
        ),
      )
  }
  return violations
}

function unknownParameter(name: string, accepted: readonly string[]): string {
  const says = `${name === '' ? 'A parameter without a name' : shortName(name)} is not a parameter here`
  if (accepted.length === 0) return `${says}; none is accepted.`
  const guess = nearestName(shortName(name.split('[', 1)[0] as string), accepted)
  return `${says}.${guess ? ` Did you mean ${guess}?` : ''} Accepted: ${accepted.join(', ')}.`
}

/** The parameters of a URL that accepts these and, where the query names versions, `version`; adds a fault for each unknown one. */
export function namedParameters(
  target: string,
  names: readonly string[],
  settings: Settings,
): { readonly values: ReadonlyMap<string, string>; readonly faults: Violation[] } {
  const parameters = parametersOf(target)
  const accepted = settings.versions.carriers.includes('query') ? [...names, 'version'] : names
  const faults = nameViolations(parameters, (name) => accepted.includes(name), accepted, settings)
  return { values: new Map(parameters), faults }
}

/**
 * Refuses all parameters except `version`, and that of dry runs on writes: for URLs of items. Asynchronous operations have no
 * dry run. R239.
 */
export function refuseParameters(
  { method, target }: Pick<Call, 'method' | 'target'>,
  settings: Settings,
  hasDryRun = writingMethods.includes(method),
): null {
  if (!target.includes('?')) return null
  const dryRun = dryRunName(settings)
  const accepted = [
    ...(settings.versions.carriers.includes('query') ? ['version'] : []),
    ...(hasDryRun ? [dryRun] : []),
  ]
  const parameters = parametersOf(target)
  const violations = nameViolations(parameters, (name) => accepted.includes(name), accepted, settings)
  for (const [name, value] of parameters)
    if (name === dryRun && accepted.includes(name) && value !== 'true' && value !== 'false')
      violations.push(queryViolation('invalid-parameter-value', name, `${name} must be true or false.`))
  if (violations.length > 0) throw invalidQuery(violations)
  return null
}
