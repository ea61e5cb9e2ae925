/** Finds the place of a path, segment by segment and without resolving anything. Part 4, path rules. */
import { Problem } from '../errors/problem.ts'
import type { Branch, Place } from '../flow/route.ts'

export interface Match {
  readonly place: Place
  readonly params: readonly string[]
}

/** The place of a raw path, or null where none is declared. R6, R8. */
export function locate(tree: Branch, path: string): Match | null {
  const params: string[] = []
  let branch: Branch | null = tree
  for (let end = 0; end < path.length; ) {
    const start = end + 1
    const slash = path.indexOf('/', start)
    end = slash < 0 ? path.length : slash
    const segment = decoded(path.slice(start, end))
    const literal: Branch | undefined = branch?.literal.size === 0 ? undefined : branch?.literal.get(segment)
    if (!literal) params.push(segment)
    branch = literal ?? (segment === '' ? null : (branch?.param ?? null))
  }
  return branch?.place ? { place: branch.place, params } : null
}

function decoded(segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    throw new Problem(
      'invalid-url-encoding',
      'The path has a malformed escape or is not UTF-8. Write a literal percent sign as %25.',
      {
        extra: { in: 'path' },
      },
    )
  }
}

interface Growing {
  readonly literal: Map<string, Growing>
  param: Growing | null
  place: Place | null
}

/** Builds the tree of all places from their templates, `/orders/{id}` and the like. */
export function plant(places: readonly Place[]): Branch {
  const root: Growing = { literal: new Map(), param: null, place: null }
  for (const place of places) {
    let at = root
    for (const segment of place.template.slice(1).split('/')) at = grown(at, segment)
    at.place = place
  }
  return root
}

function grown(at: Growing, segment: string): Growing {
  const fresh = (): Growing => ({ literal: new Map(), param: null, place: null })
  if (segment.startsWith('{')) {
    at.param ??= fresh()
    return at.param
  }
  const next = at.literal.get(segment) ?? fresh()
  at.literal.set(segment, next)
  return next
}
