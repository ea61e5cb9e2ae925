/** File links: the members of files with the URLs of their contents, which stored documents do not have. Part 2, fields. */
import { isFileMember } from '../fields/file-kind.ts'
import type { CarriedVersion } from '../flow/call.ts'
import { toKebab } from '../formats/naming.ts'
import type { Resource } from '../resources/resource.ts'
import type { PathOf } from './related-links.ts'

/** Sets the URLs in documents of a version, which are joined by commas. */
export type FileLinker = (carried: CarriedVersion, docs: string) => string

/** The linker of a resource in a version; null if it has no files. */
export function fileLinker(resource: Resource, pathOf: PathOf): FileLinker | null {
  const { members, collection, parent } = resource
  const names = members.filter(({ field }) => field.kind === 'file').map(({ name }) => name)
  if (names.length === 0) return null
  return (carried, docs) => {
    if (!docs.includes('"sha256":')) return docs
    const documents = JSON.parse(`[${docs}]`) as Record<string, unknown>[]
    for (const one of documents) {
      const owner = collection.composite ? String(one[parent?.field ?? '']) : null
      const [path, query] = splitQuery(pathOf(resource, { id: String(one.id), parent: owner }, carried))
      for (const name of names) {
        const member = one[name]
        if (isFileMember(member)) one[name] = { ...member, href: `${path}/${toKebab(name)}${query}` }
      }
    }
    return JSON.stringify(documents).slice(1, -1)
  }
}

function splitQuery(path: string): readonly [string, string] {
  const at = path.indexOf('?')
  return at < 0 ? [path, ''] : [path.slice(0, at), path.slice(at)]
}
