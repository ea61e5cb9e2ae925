/** Decodes the query string once, into names and values. Part 4, list parameters. */
import { brief } from '../errors/place.ts'
import { invalidQuery, Problem, type Violation } from '../errors/problem.ts'
import { nearest } from '../resources/naming.ts'
import type { Settings } from '../resources/settings.ts'

export type Parameters = readonly (readonly [name: string, value: string])[]

const none: Parameters = []

/** A target without its query. */
export const pathOf = (target: string): string => target.split('?', 1)[0] as string

/** The query of a target, without its question mark; empty where there is none. */
export function search(target: string): string {
  const mark = target.indexOf('?')
  return mark < 0 ? '' : target.slice(mark + 1)
}

/** The versions that a query names; what cannot be read is told by whoever reads all of it. R188. */
export function versionsIn(target: string): readonly string[] {
  const text = search(target)
  if (!text.includes('version') && !text.includes('%')) return []
  try {
    return pairs(text).flatMap(([name, value]) => (name === 'version' ? [value] : []))
  } catch {
    return []
  }
}

/** The parameters of a target. */
export const parameters = (target: string): Parameters => pairs(search(target))

/** Names and values in their order. Empty segments mean nothing. R20, R24. */
export function pairs(text: string): Parameters {
  if (text === '') return none
  if (/[^\x21-\x7e]/.test(text)) throw malformed()
  return text
    .split('&')
    .filter((part) => part !== '')
    .map((part) => {
      const cut = part.indexOf('=')
      return cut < 0 ? [decoded(part), ''] : [decoded(part.slice(0, cut)), decoded(part.slice(cut + 1))]
    })
}

function decoded(text: string): string {
  if (!/[%+]/.test(text)) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw malformed()
  }
}

const malformed = (): Problem =>
  new Problem(
    'invalid-url-encoding',
    'The query has a malformed escape, is not UTF-8, or has a character that is not escaped. Write a literal percent sign as %25.',
    { extra: { in: 'query' } },
  )

/** One violation of the query string. */
export function wrong(type: string, name: string, message: string): Violation {
  return { message, type, in: 'query', name: name === '' ? name : brief(name) }
}

const mostExplained = 50 // no more are ever told, R154

/** What is wrong with the names alone: unknown ones and repeated ones. R22, R23. */
export function nameViolations(
  given: Parameters,
  isKnown: (name: string) => boolean,
  accepted: readonly string[],
  { query }: Settings,
): Violation[] {
  const seen = new Set<string>()
  const found: Violation[] = []
  for (const [name] of given) {
    if (query.ignored.includes(name)) continue
    const isRepeated = seen.has(name)
    seen.add(name)
    if (isRepeated)
      found.push(wrong('repeated-parameter', name, `${brief(name)} is given more than once; give it once.`))
    else if (!isKnown(name) && query.unknown === 'reject')
      found.push(wrong('unknown-parameter', name, found.length < mostExplained ? unknown(name, accepted) : ''))
  }
  return found
}

function unknown(name: string, accepted: readonly string[]): string {
  const says = `${name === '' ? 'A parameter without a name' : brief(name)} is not a parameter here`
  if (accepted.length === 0) return `${says}; none is accepted.`
  const guess = nearest(brief(name.split('[', 1)[0] as string), accepted)
  return `${says}.${guess ? ` Did you mean ${guess}?` : ''} Accepted: ${accepted.join(', ')}.`
}

/** Refuses all parameters: for URLs of items. */
export function noParameters(target: string, settings: Settings): void {
  if (!target.includes('?')) return
  const named = settings.versions.carriers.includes('query') ? ['version'] : []
  const violations = nameViolations(parameters(target), (name) => named.includes(name), named, settings)
  if (violations.length > 0) throw invalidQuery(violations)
}
