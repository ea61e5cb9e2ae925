/** Locate: finds the endpoint of a path, segment by segment, without resolving dot segments. Part 4, path rules. */
import { Problem } from '../errors/problem.ts'
import type { Endpoint, RouteTree } from '../flow/route.ts'

export interface RouteMatch {
  readonly endpoint: Endpoint
  readonly params: readonly string[]
}

/** The endpoint of a raw path; null if there is no such path. R6, R8. */
export function locate(tree: RouteTree, path: string): RouteMatch | null {
  const params: string[] = []
  let branch: RouteTree | null = tree
  for (let end = 0; end < path.length; ) {
    const start = end + 1
    const slash = path.indexOf('/', start)
    end = slash < 0 ? path.length : slash
    const segment = decodeSegment(path.slice(start, end))
    const named: RouteTree | undefined = branch?.literal.size === 0 ? undefined : branch?.literal.get(segment)
    // If only longer paths exist below a literal segment, as below `/orders/summaries`, the path is that of an item, and the
    // item cannot exist.
    const literal: RouteTree | undefined = end === path.length && named?.endpoint === null ? undefined : named
    if (!literal) params.push(segment)
    branch = literal ?? (segment === '' ? null : (branch?.param ?? null))
  }
  return branch?.endpoint ? { endpoint: branch.endpoint, params } : null
}

function decodeSegment(segment: string): string {
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

interface GrowingTree {
  readonly literal: Map<string, GrowingTree>
  param: GrowingTree | null
  endpoint: Endpoint | null
}

/** Builds the tree of all endpoints from their templates, such as `/orders/{id}`. */
export function routeTreeOf(places: readonly Endpoint[]): RouteTree {
  const root: GrowingTree = { literal: new Map(), param: null, endpoint: null }
  for (const endpoint of places) {
    let at = root
    for (const segment of endpoint.template.slice(1).split('/')) at = branchFor(at, segment)
    at.endpoint = endpoint
  }
  return root
}

function branchFor(at: GrowingTree, segment: string): GrowingTree {
  const fresh = (): GrowingTree => ({ literal: new Map(), param: null, endpoint: null })
  if (segment.startsWith('{')) {
    at.param ??= fresh()
    return at.param
  }
  const next = at.literal.get(segment) ?? fresh()
  at.literal.set(segment, next)
  return next
}
