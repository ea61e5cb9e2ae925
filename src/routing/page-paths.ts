/** Page paths: where the pages for people are, below the base path, as a declared resource keeps its path. Part 13. */
import type { ServedVersion } from '../flow/route.ts'
import type { Settings } from '../settings.ts'

export interface PagePaths {
  /** The reference page. */
  readonly docs: string
  /** The pages about error types. */
  readonly problems: string
  /** The pages whose path from the settings is that of a resource in some version; they are below `/-`, where no resource can be. */
  readonly displaced: readonly ('docs' | 'problems')[]
}

export function pagePaths({ server: { paths, basePath } }: Settings, editions: readonly ServedVersion[]): PagePaths {
  const first = (path: string) => path.split('/', 2)[1]
  const taken = new Set(editions.flatMap(({ endpoints }) => endpoints.map(({ template }) => first(template))))
  const displaced = (['docs', 'problems'] as const).filter((name) => taken.has(first(paths[name])))
  const placeOf = (name: 'docs' | 'problems') =>
    basePath + (displaced.includes(name) ? `/-${paths[name]}` : paths[name])
  return { docs: placeOf('docs'), problems: placeOf('problems'), displaced }
}
