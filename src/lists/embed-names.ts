/** Embed names: reads the names in `embed`, `customer,lines.product`. Part 4, list parameters. R232. */
import { shortName } from '../errors/pointer.ts'
import type { Violation } from '../errors/problem.ts'
import type { EmbedTree } from '../flow/intent.ts'
import { nearestName } from '../formats/naming.ts'
import { embedNames } from '../resources/references.ts'
import type { Resource } from '../resources/resource.ts'
import { queryViolation } from './query-string.ts'

/** The most names of one request. */
export const mostEmbedded = 5

/** The names that `embed` can have for a resource of a version; empty if the parameter is not offered. */
export const embeddableNames = (
  { name, declaration, settings }: Resource,
  resources: ReadonlyMap<string, Resource>,
): readonly string[] => embedNames(name, declaration.embed, resources, settings.naming)

/** Makes the reader of the parameter, which adds mistakes to `faults`. */
export function embedReader(known: readonly string[]) {
  return (text: string | undefined, faults: Violation[]): EmbedTree | null => {
    if (text === undefined || known.length === 0) return null
    const names = text.split(',')
    const fault = faultIn(names, known)
    if (fault === null) return treeOf(names)
    faults.push(queryViolation(fault.type, 'embed', fault.message))
    return null
  }
}

function faultIn(names: readonly string[], known: readonly string[]): Pick<Violation, 'type' | 'message'> | null {
  const all = known.join(', ')
  if (names.includes('')) return invalid(`embed must be names, separated by commas: ${all}.`)
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined) {
    const guess = nearestName(shortName(unknown), known)
    const meant = guess ? ` Did you mean ${guess}?` : ''
    return { type: 'unsupported-embed', message: `embed cannot have \`${shortName(unknown)}\`.${meant} Names: ${all}.` }
  }
  const double = names.find((name, i) => names.indexOf(name) < i)
  if (double !== undefined) return invalid(`embed has ${double} twice; name it once.`)
  if (names.length <= mostEmbedded) return null
  return invalid(`embed has ${names.length} names; at most ${mostEmbedded} are allowed.`)
}

const invalid = (message: string) => ({ type: 'invalid-parameter-value', message })

/** A nested name also embeds the names on its path. */
function treeOf(paths: readonly string[]): EmbedTree {
  const tops = new Set(paths.map((path) => path.split('.', 1)[0] as string))
  const below = (top: string) => paths.flatMap((path) => (path.startsWith(`${top}.`) ? path.slice(top.length + 1) : []))
  return new Map([...tops].map((top) => [top, treeOf(below(top))]))
}
