/** Shelf: the shared parts of a description, each kept once and referred to by its name. Part 13. */

/** A part of a description: any object of JSON. */
export interface DocumentPart {
  readonly [member: string]: unknown
}
export interface ComponentRef {
  readonly $ref: string
}

const componentKinds = ['schemas', 'parameters', 'headers', 'responses', 'securitySchemes'] as const
type ComponentKind = (typeof componentKinds)[number]

export interface Components {
  /** Keeps a part under the first of the names that is free, or has the same part already. */
  readonly put: (kind: ComponentKind, names: readonly [string, ...string[]], part: DocumentPart) => ComponentRef
  /** All that was kept, in the order of kinds and names. */
  readonly all: () => DocumentPart
}

export function openComponents(): Components {
  const kept = new Map<ComponentKind, Map<string, string>>()
  const put: Components['put'] = (kind, names, part) => {
    const own = kept.get(kind) ?? new Map<string, string>()
    kept.set(kind, own)
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
  return { put, all }
}

/** Of names that all stand for something else, the last one is numbered. */
function freeName(names: readonly string[], fits: (name: string) => boolean): string {
  const found = names.find(fits)
  if (found !== undefined) return found
  for (let i = 2; ; i++) if (fits(`${names.at(-1)}${i}`)) return `${names.at(-1)}${i}`
}

/** A part without the members that say nothing. */
export const withoutUndefined = (part: DocumentPart): DocumentPart =>
  Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined))

/** A name as identifiers are written: `order-lines` is `OrderLines`. */
export const pascalCase = (name: string): string =>
  name
    .split(/[^A-Za-z0-9]+/)
    .filter(Boolean)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
