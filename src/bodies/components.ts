/** Components: the shared parts of an OpenAPI document, each stored once and referred to by name. Part 13. */

import { Prepared } from '../flow/prepared.ts'
import { withCapital } from '../formats/naming.ts'

/** A part of a document: any JSON object. */
export interface DocumentPart {
  readonly [member: string]: unknown
}
export interface ComponentRef {
  readonly $ref: string
}

const componentKinds = ['schemas', 'parameters', 'headers', 'responses', 'securitySchemes'] as const
type ComponentKind = (typeof componentKinds)[number]

export interface Components {
  /** Stores a part under the first of the names that is free, or already has the same part. */
  readonly put: (kind: ComponentKind, names: readonly [string, ...string[]], part: DocumentPart) => ComponentRef
  /** As `put`, for a part that contains references to itself: `make` receives the reference. */
  readonly putRecursive: (
    kind: ComponentKind,
    names: readonly [string, ...string[]],
    make: (own: ComponentRef) => DocumentPart,
  ) => ComponentRef
  /** The references to the bodies that were put, by name. */
  readonly bodies: Prepared
  /** All parts, sorted by kind and name. */
  readonly all: () => DocumentPart
}

export function openComponents(): Components {
  const kept = new Map<ComponentKind, Map<string, string>>()
  const partsOf = (kind: ComponentKind): Map<string, string> => {
    const own = kept.get(kind) ?? new Map<string, string>()
    kept.set(kind, own)
    return own
  }
  const putRecursive: Components['putRecursive'] = (kind, names, make) => {
    const own = partsOf(kind)
    const name = freeName(names, (one) => !own.has(one))
    const ref = { $ref: `#/components/${kind}/${name}` }
    own.set(name, '')
    own.set(name, JSON.stringify(make(ref)))
    return ref
  }
  const put: Components['put'] = (kind, names, part) => {
    const own = partsOf(kind)
    const text = JSON.stringify(part)
    const name = freeName(names, (one) => !own.has(one) || own.get(one) === text)
    own.set(name, text)
    return { $ref: `#/components/${kind}/${name}` }
  }
  const all = () =>
    Object.fromEntries(
      componentKinds.flatMap((kind) => {
        const own = [...(kept.get(kind) ?? [])].toSorted(([a], [b]) => (a < b ? -1 : 1))
        return own.length === 0 ? [] : [[kind, Object.fromEntries(own.map(([name, text]) => [name, JSON.parse(text)]))]]
      }),
    )
  return { put, putRecursive, bodies: new Prepared(), all }
}

/** The first name that fits; if other parts have all of them, the last name with a number. */
function freeName(names: readonly string[], fits: (name: string) => boolean): string {
  const name = names.find(fits)
  if (name !== undefined) return name
  for (let i = 2; ; i++) if (fits(`${names.at(-1)}${i}`)) return `${names.at(-1)}${i}`
}

/** A part without its undefined members. */
export const withoutUndefined = (part: DocumentPart): DocumentPart =>
  Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined))

/** A name in PascalCase: `order-lines` is `OrderLines`. */
export const pascalCase = (name: string): string =>
  name
    .split(/[^A-Za-z0-9]+/)
    .filter(Boolean)
    .map(withCapital)
    .join('')
